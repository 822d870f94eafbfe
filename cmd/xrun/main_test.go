package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"testing"
	"time"

	cue "cuelang.org/go/cmd/cue/cmd"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/xrun-dev/xrun/internal/ledger"
)

func TestMain(m *testing.M) {
	// A /proc and a /dev of the test's own, for what is on a machine and what is not.
	if root := os.Getenv("XRUN_TEST_ROOT"); root != "" {
		testOnlyRoot = root
	}
	if at := os.Getenv("XRUN_TEST_KILL"); at != "" {
		ledger.TestOnlyMoment = killAt(at)
	}
	// The program starts itself again as a supervisor; here the program is the test binary.
	if len(os.Args) == 2 && os.Args[1] == superviseArg {
		main()
	}
	testscript.Main(m, map[string]func(){
		"xrun": main,
		"cue":  func() { os.Exit(cue.Main()) },
	})
}

// TestScript runs the documents in testdata/script: each shows a part of xrun as a user sees it.
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       os.Getenv("XRUN_UPDATE") != "",
		Setup:               setup,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"waitfile": waitFile,
			"waitgrep": waitGrep,
			"killwait": killWait,
			"same":     same,
			"json":     jsonCmd,
			"exits":    exits,
			"keys":     keys,
			"take":     take,
			"snapshot": snapshot,
			"gone":     gone,
			"waitend":  waitEnd,
		},
	})
}

// setup gives each script a home of its own, and an environment that is the same everywhere.
func setup(env *testscript.Env) error {
	home := filepath.Join(env.WorkDir, ".home")
	for _, dir := range []string{home, filepath.Join(home, "cache"), filepath.Join(home, "config")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	env.Setenv("HOME", home)
	env.Setenv("XDG_CACHE_HOME", filepath.Join(home, "cache"))
	env.Setenv("XDG_CONFIG_HOME", filepath.Join(home, "config"))
	env.Setenv("CUE_CACHE_DIR", filepath.Join(home, "cue"))
	env.Setenv("CUE_REGISTRY", "none")
	env.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	env.Setenv("XRUN_TEST_ROOT", filepath.Join(home, "machine")) // without GPUs, whatever is in this one
	env.Setenv("NO_COLOR", "1")
	env.Setenv("LC_ALL", "C.UTF-8")
	env.Setenv("GORACE", os.Getenv("GORACE"))
	repo, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		return err
	}
	env.Setenv("REPO", repo)
	return nil
}

const patience = 30 * time.Second

// waitFile polls until a file that matches each pattern exists, so that no script sleeps.
func waitFile(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: waitfile pattern...")
	}
	for _, p := range args {
		poll(ts, p+" never appeared", func() bool {
			found, err := filepath.Glob(ts.MkAbs(p))
			ts.Check(err)
			return len(found) > 0
		})
	}
}

// waitGrep polls until a file contains a match.
func waitGrep(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: waitgrep regexp file-pattern")
	}
	re, err := regexp.Compile(args[0])
	ts.Check(err)
	poll(ts, args[0]+" never appeared in "+args[1], func() bool {
		found, err := filepath.Glob(ts.MkAbs(args[1]))
		ts.Check(err)
		for _, f := range found {
			if b, err := os.ReadFile(f); err == nil && re.Match(b) {
				return true
			}
		}
		return false
	})
}

func poll(ts *testscript.TestScript, what string, ok func() bool) {
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			ts.Fatalf("%s", what)
		}
	}
}

// killWait ends the process whose number stands in a file with SIGKILL, and waits until it is gone.
func killWait(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: killwait file")
	}
	re := regexp.MustCompile(`"pid": ?(\d+)`)
	m := re.FindStringSubmatch(ts.ReadFile(args[0]))
	if m == nil {
		ts.Fatalf("%s holds no pid", args[0])
	}
	pid, err := strconv.Atoi(m[1])
	ts.Check(err)
	ts.Check(syscall.Kill(pid, syscall.SIGKILL))
	poll(ts, fmt.Sprintf("process %d does not end", pid), func() bool {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return err != nil || regexp.MustCompile(`\) [ZX] `).Match(b)
	})
}

// same compares two files byte for byte.
func same(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: same file file")
	}
	if equal := ts.ReadFile(args[0]) == ts.ReadFile(args[1]); equal == neg {
		ts.Fatalf("%s and %s: same is %v", args[0], args[1], equal)
	}
}
