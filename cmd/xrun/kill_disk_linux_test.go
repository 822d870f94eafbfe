package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/xrun-dev/xrun/internal/citest"
	"github.com/xrun-dev/xrun/internal/ledger"
)

// A disk is a file system whose size is the test's to choose.
type disk struct {
	*testing.T
	dir string
}

const roomy = 256 << 20

func newDisk(t *testing.T) *disk {
	t.Helper()
	if os.Getuid() != 0 {
		citest.Skip(t, "only root may mount a small file system")
	}
	d := &disk{t, t.TempDir()}
	if err := syscall.Mount("xrun-test", d.dir, "tmpfs", 0, fmt.Sprint("size=", roomy)); err != nil {
		citest.Skip(t, "mount: "+err.Error())
	}
	t.Cleanup(func() {
		for range 200 { // a supervisor may be about to end
			if syscall.Unmount(d.dir, 0) == nil {
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
		t.Error("still mounted: " + d.dir)
	})
	return d
}

// resize gives the disk a size. It cannot be smaller than what is in use.
func (d *disk) resize(size int64) error {
	return syscall.Mount("xrun-test", d.dir, "tmpfs", syscall.MS_REMOUNT, fmt.Sprint("size=", size))
}

// squeeze leaves room for so many bytes, while others write.
func (d *disk) squeeze(room int64) {
	for range 1000 {
		var fs syscall.Statfs_t
		if err := syscall.Statfs(d.dir, &fs); err != nil {
			d.Error(err)
			return
		}
		if d.resize(max(1, int64(fs.Blocks-fs.Bfree))*fs.Bsize+room) == nil {
			return
		}
	}
	d.Error("the disk cannot be made small")
}

func (d *disk) free() {
	d.Helper()
	if err := d.resize(roomy); err != nil {
		d.Fatal(err)
	}
}

// TestAFullDiskLosesNothing lets the disk that state and jobs lie on fill up at random moments. xrun says so, starts
// nothing more and leaves alone what runs; with room on the disk it goes on, and finds the same as a run to which
// nothing happened.
func TestAFullDiskLosesNothing(t *testing.T) {
	t.Parallel()
	want := unharmed(t)
	for full := 0; full < soaking(8, 80); {
		l := newLab(t, "kill")
		d := newDisk(t)
		on := l.rng.IntN(4) // one of the two has room, or both are on the disk that has not
		if on != 0 {
			l.state = filepath.Join(d.dir, "state")
		}
		if on != 1 {
			l.cache = filepath.Join(d.dir, "cache")
		}
		t.Logf("on the disk: %s, %s", l.state, l.cache)
		l.throughFullDisks(d)
		l.forgiveFullDisk()
		l.onceEach()
		l.oneResultEach(40)
		l.sameReport(want)
		full += l.lives
		if t.Failed() {
			return
		}
	}
}

func (l *lab) throughFullDisks(d *disk) {
	l.Helper()
	for {
		args := []string{"run", "-q"}
		if began(l) && l.rng.IntN(4) > 0 {
			args = []string{"resume", "-q"}
		} else {
			l.runs++
		}
		after := time.Duration(20+l.rng.IntN(600)) * time.Millisecond * time.Duration(4+l.lives) / 4
		room := int64(l.rng.IntN(4)) * int64(l.rng.IntN(256<<10)) // a fourth: none
		e := l.life(l.xrun(args...), func(int) {
			time.Sleep(after)
			d.squeeze(room)
		})
		switch {
		case e.code == 3: // it came to its end before
			d.free()
			l.good([]int{0}, "report", "-q")
			return
		case e.code != 1 || !strings.Contains(e.said, " is full: ") || !strings.Contains(e.said, "hint: make room there"):
			l.Fatalf("xrun %v on a full disk: exit code %d\n%s", args, e.code, e.said)
		}
		l.lives++
		l.whileFull()
		l.waitForJobs()
		d.free()
	}
}

// whileFull looks at the state on the full disk: what reads needs no room.
func (l *lab) whileFull() {
	l.Helper()
	if began(l) {
		l.good([]int{0}, "show", "last")
		l.good([]int{0}, "report", "-o", "json")
	}
}

// waitForJobs waits until nothing runs that a supervisor has begun.
func (l *lab) waitForJobs() {
	l.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		alive := ""
		for _, dir := range l.jobs() {
			b, _ := os.ReadFile(filepath.Join(dir, "pid"))
			if f := strings.Fields(string(b)); len(f) >= 4 {
				if pid, err := strconv.Atoi(f[0]); err == nil && startOf(pid) == f[1] {
					alive = dir
				}
			}
		}
		if alive == "" {
			return
		}
		if time.Now().After(deadline) {
			l.Fatalf("job %s does not end", alive)
		}
	}
}

// forgiveFullDisk notes which attempts ended because the disk was full: their trials are run again, and rightly so.
func (l *lab) forgiveFullDisk() {
	l.Helper()
	led, err := ledger.OpenReader(l.Context(), l.state)
	if err != nil {
		l.Fatal(err)
	}
	defer led.Close()
	runs, err := led.Runs(l.Context())
	if err != nil {
		l.Fatal(err)
	}
	for _, r := range runs {
		names := map[ledger.Key]string{}
		for e, err := range led.Events(l.Context(), r.ID) {
			if err != nil {
				l.Fatal(err)
			}
			switch b := e.Body.(type) {
			case ledger.TrialPlanned:
				var p struct{ I int }
				if err := json.Unmarshal(b.Params, &p); err != nil {
					l.Fatal(err)
				}
				names[b.Key] = fmt.Sprintf("%s.%d", b.Experiment, p.I)
			case ledger.AttemptFinished:
				if b.Cause == "disk_full" {
					l.hurt[names[b.Key]]++
				}
			}
		}
	}
}
