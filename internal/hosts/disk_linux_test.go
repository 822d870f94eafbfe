package hosts_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/xrun-dev/xrun/internal/citest"
	"github.com/xrun-dev/xrun/internal/hosts"
)

// smallDisk is a file system of 256 KiB.
func smallDisk(t *testing.T) string {
	t.Helper()
	if os.Getuid() != 0 {
		citest.Skip(t, "only root may mount a small file system")
	}
	mnt := t.TempDir()
	if err := syscall.Mount("xrun-test", mnt, "tmpfs", 0, "size=256k"); err != nil {
		citest.Skip(t, "mount: "+err.Error())
	}
	t.Cleanup(func() {
		for range 100 { // a supervisor may be about to end
			if syscall.Unmount(mnt, 0) == nil {
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
		t.Error("still mounted: " + mnt)
	})
	return mnt
}

// C21: a full disk starts nothing, says so, and does not cost the result of what runs.
func TestFullDisk(t *testing.T) {
	mnt := smallDisk(t)
	l := newLocal(t, onWorkdir(mnt+"/work"))
	goOn := t.TempDir() + "/go"
	r, wait := begin(t, l, sh("runs", `echo up; while ! [ -e `+goOn+` ]; do sleep 0.02; done; exit 3`))
	r.waitFor(t, "up")
	fillUp(t, mnt)
	if err := l.Start(t.Context(), []hosts.Job{sh("new", "true")})[0]; !errorsIs(err, hosts.ErrDiskFull) {
		t.Errorf("start: %v", err)
	}
	if err := os.WriteFile(goOn, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if exit := wait(); exit.End != hosts.Exited || exit.Code != 3 || !exit.DiskFull {
		t.Errorf("got %+v", exit)
	}
}

// Half of what was to be fetched looks like the whole: it is there when all of it is, and what was there before stays.
func TestAFetchIntoAFullDiskLeavesNothing(t *testing.T) {
	kept, home := t.TempDir(), smallDisk(t)
	if err := errors.Join(os.WriteFile(kept+"/m.pt", make([]byte, 1<<20), 0o600), os.WriteFile(home+"/m.pt", []byte("old"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if names, err := hosts.BringKept(t.Context(), kept, home, nil); !errors.Is(err, hosts.ErrDiskFull) || len(names) > 0 {
		t.Errorf("%q, %v", names, err)
	}
	entries, err := os.ReadDir(home)
	if err != nil || len(entries) != 1 || read(t, home+"/m.pt") != "old" {
		t.Errorf("%v, %v", entries, err)
	}
}

// What was seen of GPUs is not worth the exit status either.
func TestAFullDiskDoesNotCostTheEndOfAJobWithGPUs(t *testing.T) {
	mnt := smallDisk(t)
	f := fakeMachine(t, 1)
	l := f.local(onWorkdir(mnt + "/work"))
	goOn := t.TempDir() + "/go"
	r, wait := begin(t, l, onGPUs(sh("runs", `echo up; while ! [ -e `+goOn+` ]; do sleep 0.02; done; exit 3`), hosts.GPUNeed{Count: 1}))
	r.waitFor(t, "up")
	fillUp(t, mnt)
	if err := os.WriteFile(goOn, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if exit := wait(); exit.End != hosts.Exited || exit.Code != 3 || len(exit.GPUs) != 1 {
		t.Errorf("got %+v", exit)
	}
}

// What cannot be written on a full disk is not there: an empty word would be one.
func TestWithdrawOnAFullDiskStopsNothing(t *testing.T) {
	mnt := smallDisk(t)
	l := newLocal(t, onWorkdir(mnt+"/work"))
	goOn := t.TempDir() + "/go"
	r, wait := begin(t, l, sh("runs", `echo up; while ! [ -e `+goOn+` ]; do sleep 0.02; done`))
	r.waitFor(t, "up")
	if err := l.Start(t.Context(), []hosts.Job{sh("waits", "true")})[0]; err != nil {
		t.Fatal(err)
	}
	fillUp(t, mnt)
	for _, id := range []string{"waits", "runs"} {
		if taken, err := l.Withdraw(t.Context(), id, "no reason"); taken && err == nil {
			t.Errorf("%s was taken back, and nothing says so", id)
		}
	}
	if found, err := filepath.Glob(mnt + "/work/*/jobs/*/stop"); err != nil || len(found) > 0 {
		t.Errorf("%v, %v", found, err)
	}
	if err := errors.Join(os.Remove(mnt+"/filler"), os.WriteFile(goOn, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if exit := wait(); exit.End != hosts.Exited || exit.Code != 0 {
		t.Errorf("got %+v", exit)
	}
}

func fillUp(t *testing.T, dir string) {
	t.Helper()
	f, err := os.Create(dir + "/filler")
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = f.Write(make([]byte, 1000))
	}
	if !errorsIs(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	_ = f.Close()
}
