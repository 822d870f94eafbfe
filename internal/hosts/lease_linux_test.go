package hosts

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/xrun-dev/xrun/internal/citest"
)

func leases(t *testing.T) leaseDir {
	t.Helper()
	d, err := openLeaseDir(filepath.Join(t.TempDir(), "leases"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.close() })
	return d
}

func takerOf(marker, group string) holder {
	start, _ := startTime(os.Getpid())
	return holder{Marker: marker, Group: group, PID: os.Getpid(), Start: start, Boot: bootID(), User: "me@here"}
}

// uniqueUUID keeps tests apart: announcements are for the whole machine.
func uniqueUUID(t *testing.T) string {
	return fmt.Sprintf("GPU-%d-%d", os.Getpid(), time.Now().UnixNano())
}

func TestLeaseIsAnyones(t *testing.T) {
	old := unix.Umask(0o077)
	defer unix.Umask(old)
	d := leases(t)
	uuid := uniqueUUID(t)
	l, err := d.take(uuid, takerOf("/a", ""))
	if err != nil {
		t.Fatal(err)
	}
	defer l.release()
	for path, want := range map[string]os.FileMode{d.path: os.ModeDir | os.ModeSticky | 0o777, d.file(uuid): 0o666} {
		fi, err := os.Stat(path)
		if err != nil || fi.Mode() != want {
			t.Errorf("%s: %v, %v; want %v", path, fi.Mode(), err, want)
		}
	}
	_, err = d.take(uuid, takerOf("/b", ""))
	if !isBusy(err) || !strings.Contains(err.Error(), fmt.Sprintf("leased by me@here (pid %d)", os.Getpid())) {
		t.Errorf("taken twice: %v", err)
	}
	before := time.Now().Add(-time.Hour)
	if err := os.Chtimes(d.file(uuid), before, before); err != nil {
		t.Fatal(err)
	}
	l.touch()
	if fi, _ := os.Stat(d.file(uuid)); time.Since(fi.ModTime()) > time.Minute {
		t.Error("the beat does not reach the lease")
	}
}

func isBusy(err error) bool {
	var busy *busyError
	return errors.As(err, &busy)
}

func isBroken(err error) bool {
	var broken *brokenError
	return errors.As(err, &broken)
}

// Odd things in the place of a lease are refused and named, never followed, never waited for.
func TestLeaseIsAFileOfItsOwn(t *testing.T) {
	d := leases(t)
	target := filepath.Join(t.TempDir(), "precious")
	if err := os.WriteFile(target, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, make := range map[string]func(path string) error{
		"link":      func(p string) error { return os.Symlink(target, p) },
		"dangling":  func(p string) error { return os.Symlink(target+"2", p) },
		"pipe":      func(p string) error { return unix.Mkfifo(p, 0o666) },
		"directory": func(p string) error { return os.Mkdir(p, 0o777) },
		"hard link": func(p string) error { return os.Link(target, p) },
	} {
		uuid := "GPU-" + leaseName(name)
		if err := make(d.file(uuid)); err != nil {
			t.Fatal(err)
		}
		if _, err := d.take(uuid, takerOf("/a", "")); !isBroken(err) || !strings.Contains(err.Error(), d.file(uuid)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if b, err := os.ReadFile(target); string(b) != "precious" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
	if _, err := os.Lstat(target + "2"); err == nil {
		t.Error("a link was followed")
	}
	if got := leaseName("MIG-GPU-2ac4/1/0"); got != "MIG-GPU-2ac4_1_0" {
		t.Error(got)
	}
}

// A lease of another user is one as well; what only its owner can open is named.
func TestLeaseOfAnotherUser(t *testing.T) {
	if os.Getuid() != 0 {
		citest.Skip(t, "only root can be two users")
	}
	d := leases(t)
	if err := os.Chmod(filepath.Dir(d.path), 0o711); err != nil {
		t.Fatal(err)
	}
	uuid := uniqueUUID(t)
	if err := os.WriteFile(d.file(uuid), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Chmod(d.file(uuid), 0o666), os.Chown(d.file(uuid), 12345, 12345)); err != nil {
		t.Fatal(err)
	}
	l, err := d.take(uuid, takerOf("/a", ""))
	if err != nil {
		t.Fatal(err)
	}
	l.release()
	// As somebody who is not root.
	cmd := exec.Command("/proc/self/exe", "-test.run=TestTakeAsNobody", "-test.v")
	closed := uniqueUUID(t)
	if err := os.WriteFile(d.file(closed), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd.Env = append(os.Environ(), "XRUN_TEST_LEASES="+d.path, "XRUN_TEST_OPEN="+uuid, "XRUN_TEST_CLOSED="+closed)
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS") {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestTakeAsNobody is the other user of TestLeaseOfAnotherUser.
func TestTakeAsNobody(t *testing.T) {
	dir := os.Getenv("XRUN_TEST_LEASES")
	if dir == "" {
		return // it runs as part of the other
	}
	d, err := openLeaseDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Setresuid(54321, 54321, 54321); err != nil {
		t.Fatal(err)
	}
	for uuid, want := range map[string]func(error) bool{
		os.Getenv("XRUN_TEST_OPEN"):   func(err error) bool { return err == nil },
		os.Getenv("XRUN_TEST_CLOSED"): func(err error) bool { return isBroken(err) && strings.Contains(err.Error(), "of user root") },
		"GPU-new":                     func(err error) bool { return err == nil },
	} {
		if _, err := d.take(uuid, takerOf("/nobody", "")); !want(err) {
			t.Errorf("%s: %v", uuid, err)
		}
	}
}

// Whoever carries the marker of the last holder still has the GPU, though nothing holds the lock: Python closes what it
// inherits.
func TestStaleHolder(t *testing.T) {
	d := leases(t)
	uuid := uniqueUUID(t)
	marker := jobDir(filepath.Join(t.TempDir(), "job"))
	l, err := d.take(uuid, takerOf(string(marker), ""))
	if err != nil {
		t.Fatal(err)
	}
	l.release()
	cmd := exec.Command("sleep", "60")
	cmd.Env = []string{markerName + "=" + string(marker)}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err = d.take(uuid, takerOf("/b", "")); !isBusy(err) || !strings.Contains(err.Error(), fmt.Sprintf("pid %d (", cmd.Process.Pid)) {
		t.Errorf("left by a job that still runs: %v", err)
	}
	_, _ = cmd.Process.Kill(), cmd.Wait()
	if l, err = d.take(uuid, takerOf("/b", "")); err != nil {
		t.Fatal(err)
	}
	l.release()
	// A holder of before the machine was started again holds nothing, and what nobody can read is nobody.
	for _, text := range []string{`{"marker":"/c","pid":1,"boot":"another"}`, "garbage", ""} {
		if err := os.WriteFile(d.file(uuid), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if l, err = d.take(uuid, takerOf("/d", "")); err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		l.release()
	}
}

// Those of one group share, nobody else, and the last of them still keeps others out.
func TestSharedLease(t *testing.T) {
	d := leases(t)
	uuid := uniqueUUID(t)
	take := func(marker, group string) *lease {
		l, err := d.take(uuid, takerOf(marker, group))
		if err != nil {
			if !isBusy(err) {
				t.Error(err)
			}
			return nil
		}
		return l
	}
	a, b := take("/jobs/a", "one"), take("/jobs/b", "one")
	if a == nil || b == nil || a.joined || !b.joined {
		t.Fatalf("%+v %+v", a, b)
	}
	a.release() // its founder
	for _, group := range []string{"", "two"} {
		if take("/other/c", group) != nil {
			t.Errorf("group %q got in", group)
		}
	}
	if take("/jobs/c", "one") == nil {
		t.Error("the group lost its GPU")
	}
}

// Takers of many kinds and a cleaner that unlinks what it finds, all at once: there is never more than one holder, or one
// group. Each holder checks that against the others in memory.
func TestLeasesHoldAgainstCleaners(t *testing.T) {
	d := leases(t)
	uuid := uniqueUUID(t)
	long := 700 * time.Millisecond
	if os.Getenv("XRUN_SOAK") != "" {
		long = 20 * time.Second
	}
	end := time.Now().Add(long)
	var alone, taken atomic.Int64
	var groups [2]atomic.Int64
	var wg sync.WaitGroup
	for n := range 8 {
		wg.Go(func() {
			group, mine := "", &alone
			if n >= 4 {
				group, mine = fmt.Sprint("group", n%2), &groups[n%2]
			}
			for i := 0; time.Now().Before(end); i++ {
				l, err := d.take(uuid, takerOf(fmt.Sprintf("/j%d/%d", n%2, 1000*n+i), group))
				if err != nil {
					if !isBusy(err) {
						t.Error(err)
					}
					continue
				}
				taken.Add(1)
				mine.Add(1)
				for range 3 {
					a, g0, g1 := alone.Load(), groups[0].Load(), groups[1].Load()
					if a > 1 || a > 0 && g0+g1 > 0 || g0 > 0 && g1 > 0 {
						t.Errorf("held by %d alone, %d and %d in groups", a, g0, g1)
					}
					time.Sleep(100 * time.Microsecond)
				}
				mine.Add(-1)
				l.release()
			}
		})
	}
	wg.Go(func() {
		for time.Now().Before(end) {
			_ = os.Remove(d.file(uuid))
			time.Sleep(300 * time.Microsecond)
		}
	})
	wg.Wait()
	if taken.Load() < 10 {
		t.Errorf("only %d were ever taken", taken.Load())
	}
	t.Logf("%d taken", taken.Load())
}

// A full disk keeps new leases from being had, not those that were had before.
func TestLeasesOnAFullDisk(t *testing.T) {
	if os.Getuid() != 0 {
		citest.Skip(t, "only root may mount a small file system")
	}
	mnt := t.TempDir()
	if err := unix.Mount("xrun-test", mnt, "tmpfs", 0, "size=64k"); err != nil {
		citest.Skip(t, "mount: "+err.Error())
	}
	t.Cleanup(func() {
		if err := unix.Unmount(mnt, 0); err != nil {
			t.Error(err)
		}
	})
	d, err := openLeaseDir(mnt + "/leases")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.close() }()
	old, fresh := uniqueUUID(t), uniqueUUID(t)
	l, err := d.take(old, takerOf("/a", ""))
	if err != nil {
		t.Fatal(err)
	}
	l.release()
	f, err := os.Create(mnt + "/filler")
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = f.Write(make([]byte, 1000))
	}
	_ = f.Close()
	if l, err = d.take(old, takerOf("/b", "")); err != nil {
		t.Errorf("one that was there: %v", err)
	} else {
		l.release()
	}
	if _, err = d.take(fresh, takerOf("/c", "")); !isBusy(err) || !strings.Contains(err.Error(), "no space") {
		t.Errorf("a new one: %v", err)
	}
}
