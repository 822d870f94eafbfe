package checkpoint

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// gitDeadline ends a git program that hangs, say on a network file system.
const gitDeadline = 2 * time.Minute

// errNoGit is the error where there is no git program.
var errNoGit = errors.New("there is no git program")

// runGit runs the git program in dir and returns what it prints. Nothing that the repository or the user configures is
// run on the way (monitor, hooks, pager), nothing is asked, fetched or written, and git looks no further up than root.
func runGit(ctx context.Context, root, dir string, args ...string) ([]byte, error) {
	program, err := exec.LookPath("git")
	if err != nil {
		return nil, errNoGit
	}
	ctx, cancel := context.WithTimeoutCause(ctx, gitDeadline, fmt.Errorf("git did not answer within %s", gitDeadline))
	defer cancel()
	all := []string{
		"--no-pager", "--no-optional-locks", "--work-tree=" + root, // whatever core.worktree says
		"-c", "core.fsmonitor=false",
		"-c", "core.hooksPath=/dev/null",
		"-c", "core.untrackedCache=false",
		"-c", "core.precomposeUnicode=false",
	}
	if args[0] != "check-ignore" { // which refuses it
		all = append(all, "--literal-pathspecs")
	}
	cmd := exec.CommandContext(ctx, program, append(all, args...)...)
	cmd.Dir = dir
	cmd.Env = gitEnv(os.Environ(), root)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(stderr.String()))
	}
	return stdout.Bytes(), nil
}

// gitEnv drops every variable that would point git at another repository, index or configuration of one command (a
// hook of git that calls us sets some), and keeps those that say where the user's own configuration is.
func gitEnv(env []string, root string) []string {
	keep := map[string]bool{"GIT_CONFIG_GLOBAL": true, "GIT_CONFIG_SYSTEM": true, "GIT_CONFIG_NOSYSTEM": true, "GIT_EXEC_PATH": true}
	var out []string
	for _, kv := range env {
		name, _, _ := strings.Cut(kv, "=")
		if strings.HasPrefix(name, "GIT_") && !keep[name] || strings.HasPrefix(name, "LC_") || name == "LANGUAGE" || name == "LANG" {
			continue
		}
		out = append(out, kv)
	}
	return append(out,
		"LC_ALL=C",
		"GIT_OPTIONAL_LOCKS=0",
		"GIT_TERMINAL_PROMPT=0",
		"GIT_ALLOW_PROTOCOL=none", // a partial clone would fetch what it lacks
		"GIT_NO_LAZY_FETCH=1",
		"GIT_CEILING_DIRECTORIES="+filepath.Dir(root),
	)
}
