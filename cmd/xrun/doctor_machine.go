package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/xrun-dev/xrun/internal/ledger"
	"github.com/xrun-dev/xrun/internal/plan"
)

// Less room than this is a problem, or worth a word.
const (
	leastDisk = 100 << 20
	someDisk  = 1 << 30
)

// nearest is dir, or the first directory above it that is there.
func nearest(dir string) string {
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			return dir
		}
	}
}

// writable tries to write where xrun will write. What is not there yet is not made: that it can be is enough.
func writable(dir string) error {
	if at := nearest(dir); at != dir {
		const writeAndEnter = 0x2 | 0x1
		err := syscall.Access(at, writeAndEnter)
		if fi, e := os.Stat(at); e == nil && !fi.IsDir() {
			err = syscall.ENOTDIR
		}
		if err != nil {
			return &os.PathError{Op: "make a directory in", Path: at, Err: err}
		}
		return nil
	}
	f, err := os.CreateTemp(dir, ".xrun-doctor-*")
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, 4096))
	return errors.Join(err, f.Sync(), f.Close(), os.Remove(f.Name()))
}

// stateDir is where everything is kept.
func (d *doctor) stateDir(context.Context) error {
	if err := writable(d.state); err != nil {
		d.problem(exitError, "state", fmt.Sprintf("%s cannot be written: %v", d.state, err), "name another directory with --state")
		return nil
	}
	d.ok("state", "%s", d.state)
	if name := ledger.NetworkFS(nearest(d.state)); name != "" {
		d.warn("state", fmt.Sprintf("%s lies on a network file system (%s): the ledger uses a rollback journal there, which is slower, and its lock holds as far as that of %s does", d.state, name, name),
			"keep it on a disk of this machine with --state, and start xrun on one machine only")
	}
	return nil
}

// ledger is read, and who is at work.
func (d *doctor) ledger(ctx context.Context) error {
	l, err := ledger.OpenReader(ctx, d.state)
	if err != nil {
		d.problem(exitError, "state", err.Error(), hintOf(err))
		return nil
	}
	defer l.Close()
	runs, err := l.Runs(ctx)
	if err != nil {
		d.problem(exitError, "state", err.Error(), hintOf(err))
		return nil
	}
	d.ok("state", "%s in the ledger", count(len(runs), "run"))
	if h, held := lockHolder(d.state); held {
		d.warn("state", (&lockedError{h}).Error(), "a start tonight finds it, if it still runs; settings.overlap says what then")
	}
	for _, r := range runs {
		if r.Outcome == "skipped" {
			continue
		}
		if r.Unfinished() && !lockHeldBy(d.state, r.ID) {
			d.warn("state", fmt.Sprintf("run %s is not finished", r.ID), "`xrun resume` goes on with it; `xrun run` settles what it left and starts anew")
		}
		if ahead := r.Last.Sub(d.app.now()); ahead > time.Minute {
			d.problem(exitError, "clock", fmt.Sprintf("the clock of this machine stands %s before the newest record", ahead.Round(time.Second)), "set it; deadlines and ages depend on it")
		}
		break
	}
	return nil
}

// hosts of kind local take jobs on this machine.
func (d *doctor) hosts(context.Context) error {
	if d.job == nil {
		return nil
	}
	usable, local := 0, 0
	for i := range d.job.spec.Hosts {
		h := &d.job.spec.Hosts[i]
		if h.Kind != "local" {
			continue // the spec says what is not built yet
		}
		local++
		if message, hint := d.hostProblem(h); message != "" {
			d.warn("host", h.Name+": "+message, hint)
			continue
		}
		usable++
		d.ok("host", "%s: %s, jobs in %s", h.Name, count(h.Slots, "slot"), d.workdir(h))
	}
	if usable == 0 && local > 0 {
		d.problem(6, "host", "no host can be used", "the lines above say why")
	}
	return nil
}

// hostProblem is why a host cannot be used; "" if it can.
func (d *doctor) hostProblem(h *plan.Host) (message, hint string) {
	dir := d.workdir(h)
	if dir == "" {
		return "there is no directory for its jobs", "set HOME or XDG_CACHE_HOME"
	}
	if err := writable(dir); err != nil {
		return fmt.Sprintf("its directory for jobs cannot be written: %v", err), "name another one with workdir"
	}
	shell := or(h.Shell, "sh")
	if fi, err := os.Stat(shell); filepath.IsAbs(shell) && err == nil && fi.Mode()&0o111 != 0 {
		shell = ""
	}
	if shell != "" && thisMachine().Which(shell) == "" {
		return fmt.Sprintf("its shell %s is not found", shell), "name another one with shell, or mend the PATH"
	}
	for _, name := range sortedKeys(h.Data) {
		if _, err := os.Stat(h.Data[name]); err != nil {
			return fmt.Sprintf("data %s: %v", name, err), "bring it there, or correct data." + name
		}
	}
	return "", ""
}

// workdir is where the jobs of a host lie; "" where that cannot be said.
func (d *doctor) workdir(h *plan.Host) string {
	if dir, err := localWorkdir(h.Workdir, nearest(d.state)); err == nil {
		return dir
	}
	return ""
}

// disks have to have room where xrun writes.
func (d *doctor) disks(context.Context) error {
	dirs := []string{d.state}
	if d.job != nil {
		for i := range d.job.spec.Hosts {
			if h := &d.job.spec.Hosts[i]; h.Kind == "local" && d.workdir(h) != "" {
				dirs = append(dirs, d.workdir(h))
			}
		}
	}
	told := map[string]bool{}
	for _, dir := range dirs {
		var fs syscall.Statfs_t
		if at := nearest(dir); syscall.Statfs(at, &fs) == nil && !told[fmt.Sprint(fs.Fsid)] {
			told[fmt.Sprint(fs.Fsid)] = true
			d.disk(at, int64(fs.Bavail)*int64(fs.Bsize), fs.Files > 0 && fs.Ffree < 1000)
		}
	}
	return nil
}

func (d *doctor) disk(dir string, free int64, noInodes bool) {
	const hint = "make room; `xrun gc --keep N` removes old runs"
	switch {
	case noInodes:
		d.problem(exitError, "disk", fmt.Sprintf("no more files can be made at %s: its file system has no inodes left", dir), hint)
	case free < leastDisk:
		d.problem(exitError, "disk", fmt.Sprintf("%s free at %s", plan.Bytes(free), dir), hint)
	case free < someDisk:
		d.warn("disk", fmt.Sprintf("only %s free at %s", plan.Bytes(free), dir), hint)
	default:
		d.ok("disk", "%s free at %s", plan.Bytes(free), dir)
	}
}

// clock of this machine, and what it makes of the deadline.
func (d *doctor) clock(context.Context) error {
	now := d.app.now()
	if now.Year() < 2025 {
		d.problem(exitError, "clock", "the clock of this machine says "+now.UTC().Format("2006-01-02 15:04 UTC"), "set it; deadlines and ages depend on it")
		return nil
	}
	if d.job != nil && d.job.spec.Settings.Deadline != "" {
		at, err := plan.ParseDeadline(d.job.spec.Settings.Deadline, now)
		if err != nil {
			d.problem(exitUsage, "spec", "settings.deadline: "+err.Error(), "")
			return nil
		}
		d.ok("clock", "%s; the deadline of a run that starts now is %s", now.Format("2006-01-02 15:04 -07:00"), at.Format("2006-01-02 15:04 -07:00"))
		return nil
	}
	d.ok("clock", "%s", now.Format("2006-01-02 15:04 -07:00"))
	return nil
}
