package hosts_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/xrun-dev/xrun/internal/hosts"
)

// What a killed supervisor leaves of a setup has no limit any more: whoever waits for it does, and says for what.
func TestASetupThatNobodyLooksAfterIsNotWaitedForForEver(t *testing.T) {
	t.Parallel()
	l := newLocal(t, func(c *hosts.LocalConfig) { c.Slots = 2 })
	up := filepath.Join(t.TempDir(), "up")
	first, second := sh("first", "true"), sh("second", "true")
	first.Setup = &hosts.Setup{Key: "key", Step: step(`echo $$ >` + up + `.new; mv ` + up + `.new ` + up + `; exec sleep 300`)}
	second.Setup = &hosts.Setup{Key: "key", Step: hosts.Step{Argv: []string{"true"}, Time: 300 * time.Millisecond}}
	if err := l.Start(t.Context(), []hosts.Job{first})[0]; err != nil {
		t.Fatal(err)
	}
	until(t, "the setup runs", func() bool { _, err := os.Stat(up); return err == nil })
	pid := strings.TrimSpace(read(t, up))
	if err := unix.Kill(supervisorOf(t, place(t, l, "first")), unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	exit, got := ended(t, l, second)
	if exit.Step != "setup" || exit.Code != 1 {
		t.Errorf("%+v", exit)
	}
	want := fmt.Sprintf("xrun: setup: that of job first still runs after 300ms, though its supervisor is gone (process %s)\n", pid)
	if log := read(t, got+"/setup.log"); log != want {
		t.Errorf("%q, not %q", log, want)
	}
	// When somebody looks after the dead job, what is left of it ends, and the setup can be done.
	if exit, err := l.Watch(t.Context(), "first", newRecorder()); err != nil || exit.End != hosts.Vanished {
		t.Errorf("%+v, %v", exit, err)
	}
	third := second
	third.ID = "third"
	if exit, _ := ended(t, l, third); exit.Code != 0 || exit.Step != "" {
		t.Errorf("%+v", exit)
	}
}

// A setup is done while what it made is there: an empty directory under its name is none.
func TestASetupWhoseDirectoryIsGoneIsDoneAgain(t *testing.T) {
	t.Parallel()
	l := newLocal(t, nil)
	dir := place(t, l, "x").Setup + "/key"
	j := sh("a", `cat "$XRUN_SETUP_DIR/made"`)
	j.Env = []string{"XRUN_SETUP_DIR=" + dir}
	j.Setup = &hosts.Setup{Key: "key", Step: step(`echo made >"$XRUN_SETUP_DIR/made"`, "XRUN_SETUP_DIR="+dir)}
	for _, id := range []string{"a", "b", "c"} {
		j.ID = id
		if exit, got := ended(t, l, j); exit.Code != 0 || read(t, got+"/log") != "made\n" {
			t.Errorf("%s: %+v", id, exit)
		}
		if id == "b" {
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
		}
	}
	// One that makes nothing is done too.
	j.ID, j.Argv = "d", []string{"test", "-d", dir + "-none"}
	j.Env = []string{"XRUN_SETUP_DIR=" + dir + "-none"}
	j.Setup = &hosts.Setup{Key: "key-none", Step: step(`rmdir "$XRUN_SETUP_DIR"`, j.Env...)}
	if exit, _ := ended(t, l, j); exit.Code != 0 {
		t.Errorf("%+v", exit)
	}
}
