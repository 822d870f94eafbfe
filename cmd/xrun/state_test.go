package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
)

// `xrun status` and `xrun runs` take the lock for a moment to see who has it: a run that starts then is not skipped.
func TestWhoOnlyLooksAtTheLockDoesNotKeepIt(t *testing.T) {
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(10*time.Millisecond, func() { f.Close() })
	l, err := lockState(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.release()
	if err := l.name("r1", time.Now()); err != nil {
		t.Fatal(err)
	}
	if h, held := lockHolder(dir); !held || h.Run != "r1" || h.PID != os.Getpid() {
		t.Errorf("%+v %v", h, held)
	}
	if _, err := lockState(t.Context(), dir, nil); err == nil {
		t.Error("two have the lock")
	}
}

// Who was killed leaves its name in the lock. Whoever has the lock next is not that run: nobody is to wait for it, or to ask
// it for anything.
func TestTheNameInTheLockIsOfWhoHasIt(t *testing.T) {
	dir := t.TempDir()
	l, err := lockState(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(l.name("r1", time.Now()), l.release()); err != nil {
		t.Fatal(err)
	}
	a := &app{now: time.Now, log: hclog.NewNullLogger(), stderr: io.Discard}
	s, err := a.open(t.Context(), dir, "fail")
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	if h, held := lockHolder(dir); !held || h.Run != "" || h.PID != os.Getpid() || lockHeldBy(dir, "r1") {
		t.Errorf("%+v %v", h, held)
	}
	e, ok := errors.AsType[*cliError](skipped(a.open(t.Context(), dir, "skip")))
	if !ok || !strings.HasPrefix(e.msg, "skipped: another xrun is active in this state directory (process ") {
		t.Errorf("%v", e)
	}
}

func skipped(_ *session, err error) error { return err }

func TestTheFlagsOfARunAreReadAsItReadThem(t *testing.T) {
	for _, c := range []struct {
		command []string
		want    runFlags
	}{
		{[]string{"xrun", "run", "--max-parallel", "2", "a/", "--deadline=8h"}, runFlags{2, "8h"}},
		{[]string{"xrun", "-C", "x", "resume", "--max-parallel=3"}, runFlags{3, ""}},
		{[]string{"xrun", "run", "--", "--max-parallel=3"}, runFlags{}},
		{[]string{"xrun", "run", "--help"}, runFlags{}},
		{[]string{"xrun", "run", "--of-another-version"}, runFlags{}},
		{[]string{"xrun"}, runFlags{}},
		{nil, runFlags{}},
	} {
		if got := parseRun(c.command); got != c.want {
			t.Errorf("%q: %+v", c.command, got)
		}
	}
}
