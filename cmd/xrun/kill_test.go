package main

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

const killSpec = `package nap

hosts: local: {kind: "local", slots: 3}

experiments: nap: {
	command: ["sh", "-c", "echo $1.$2 >>$RAN; sleep 0.$2; echo score=0.$1", "nap", "{i}", "{j}"]
	objective: {metric: "score", direction: "maximize"}
	sweep: grid: {i: [1, 2, 3, 4, 5, 6, 7, 8], j: [0, 1, 2]}
}
`

// TestKilledAtAnyInstantNothingIsLostAndNothingRunsTwice kills xrun with -9 at random instants, goes on with resume or
// with a new run, and is killed again, until one comes through. Every trial's program was started exactly once.
func TestKilledAtAnyInstantNothingIsLostAndNothingRunsTwice(t *testing.T) {
	rounds := 1
	if os.Getenv("XRUN_SOAK") != "" {
		rounds = 40
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for range rounds {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "nap.cue"), []byte(killSpec), 0o600); err != nil {
			t.Fatal(err)
		}
		xrun := func(args ...string) *exec.Cmd {
			cmd := exec.Command(os.Args[0], append([]string{"--state", filepath.Join(dir, "state")}, args...)...)
			cmd.Args[0], cmd.Dir = "xrun", dir
			cmd.Env = append(os.Environ(), "RAN="+filepath.Join(dir, "state", "ran"), "XDG_CACHE_HOME="+filepath.Join(dir, "cache"), "XDG_CONFIG_HOME="+filepath.Join(dir, "none"))
			return cmd
		}
		args, kills := []string{"run", "-q", "nap.cue"}, 0
		// Longer each time: on a slow machine no more than the start might fit in.
		for !finished(t, xrun(args...), time.Duration((20+rng.IntN(700))*(4+kills)/4)*time.Millisecond) {
			kills++
			args = []string{"run", "-q", "nap.cue"}
			if bytes.Contains(output(t, xrun("runs")), []byte("nap")) && rng.IntN(3) > 0 {
				args = []string{"resume", "-q"}
			}
		}
		ran, err := os.ReadFile(filepath.Join(dir, "state", "ran"))
		if err != nil {
			t.Fatal(err)
		}
		counts := map[string]int{}
		for _, line := range strings.Fields(string(ran)) {
			counts[line]++
		}
		for trial, n := range counts {
			if n != 1 {
				t.Errorf("after %d kills: the program of trial %s was started %d times", kills, trial, n)
			}
		}
		if len(counts) != 24 {
			t.Errorf("after %d kills: %d of 24 trials ran", kills, len(counts))
		}
	}
}

// output runs cmd to its end. One that hangs is made to tell where.
func output(t *testing.T, cmd *exec.Cmd) []byte {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	quit := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Signal(syscall.SIGQUIT) }) // it is no matter if it ended meanwhile
	defer quit.Stop()
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, stderr.Bytes())
	}
	return stdout.Bytes()
}

// finished runs cmd and kills it after a while; it reports whether cmd came to its end before that.
func finished(t *testing.T, cmd *exec.Cmd, after time.Duration) bool {
	t.Helper()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill := time.AfterFunc(after, func() { _ = cmd.Process.Kill() }) // one that ended meanwhile is no matter
	err := cmd.Wait()
	kill.Stop()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == -1 {
		return false
	}
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, stderr.Bytes())
	}
	return true
}
