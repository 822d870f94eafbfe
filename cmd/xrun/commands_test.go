package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// exits runs a program and compares its exit code: exits CODE PROGRAM ARG…
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits code program [args...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		e, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("%s: %v", args[1], err)
		}
		got = e.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// keys compares the keys of a JSON object: keys FILE PATH KEY… All are given, in any order.
func keys(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: keys file path key...")
	}
	object, ok := value(ts, args[0], args[1]).(map[string]any)
	if !ok {
		ts.Fatalf("%s: %s is no object", args[0], args[1])
	}
	got, want := slices.Sorted(maps.Keys(object)), slices.Sorted(slices.Values(args[2:]))
	if !slices.Equal(got, want) {
		ts.Fatalf("%s: %s has the keys %s", args[0], args[1], strings.Join(got, " "))
	}
}

// take sets a variable of the environment to a value of a JSON document, strings without quotes: take NAME FILE PATH
func take(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: take name file path")
	}
	v := value(ts, args[1], args[2])
	s, ok := v.(string)
	if !ok {
		b, err := json.Marshal(v)
		ts.Check(err)
		s = string(b)
	}
	ts.Setenv(args[0], s)
}

func value(ts *testscript.TestScript, file, path string) any {
	var doc any
	d := json.NewDecoder(strings.NewReader(ts.ReadFile(file)))
	d.UseNumber()
	ts.Check(d.Decode(&doc))
	if path == "." {
		return doc
	}
	v, ok := lookup(doc, path)
	if !ok {
		ts.Fatalf("%s has no %s", file, path)
	}
	return v
}

// snapshot writes what is below a directory to a file: names, modes, times and bytes, so that two of them tell whether
// anything was touched: snapshot DIR FILE
func snapshot(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: snapshot dir file")
	}
	var b strings.Builder
	dir := ts.MkAbs(args[0])
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		var text []byte
		if fi.Mode().IsRegular() {
			if text, err = os.ReadFile(path); err != nil {
				return err
			}
		}
		rel, err := filepath.Rel(dir, path)
		fmt.Fprintf(&b, "%s %s %d %q\n", rel, fi.Mode(), fi.ModTime().UnixNano(), text)
		return err
	})
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(b.String()), 0o600))
}

// gone waits until the processes whose numbers stand in files have ended: gone FILE…
func gone(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: gone file...")
	}
	for _, file := range args {
		pid := strings.TrimSpace(ts.ReadFile(file))
		poll(ts, "process "+pid+" of "+file+" does not end", func() bool {
			b, err := os.ReadFile("/proc/" + pid + "/stat")
			return err != nil || strings.Contains(string(b), ") Z ")
		})
	}
}

// waitEnd waits until one of the jobs whose directories match has ended and its supervisor has let go of it.
func waitEnd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: waitend job-directory-pattern")
	}
	poll(ts, "no job of "+args[0]+" ends", func() bool {
		found, err := filepath.Glob(ts.MkAbs(filepath.Join(args[0], "exit")))
		ts.Check(err)
		return slices.ContainsFunc(found, func(exit string) bool {
			lock, err := os.Open(filepath.Join(filepath.Dir(exit), "lock"))
			if err != nil {
				return false
			}
			defer lock.Close()
			return syscall.Flock(int(lock.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) == nil
		})
	})
}

// TestInCINothingIsMissing: scripts skip where a program is missing, and in CI none may.
func TestInCINothingIsMissing(t *testing.T) {
	if os.Getenv("XRUN_CI") == "" {
		t.Log("not in CI: scripts that need git or python3 skip where they are missing")
		return
	}
	for _, program := range []string{"sh", "bash", "git", "python3"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Error(err)
		}
	}
}
