package hosts

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// lockPause is how often a supervisor looks whether the setup of another one is over.
const lockPause = 50 * time.Millisecond

// setup runs the setup of the job, unless that was done before. False: the job ends here.
func (r *run) setup(env int) bool {
	dir := string(r.Setup.Dir)
	lock, err := open(dir+".lock", unix.O_RDWR|unix.O_CREAT)
	if err != nil {
		return r.broken(stepSetup, err)
	}
	defer unix.Close(lock)
	if err := r.await(lock); err != nil {
		return r.broken(stepSetup, err)
	}
	if r.heed(); r.asked { // perhaps while the one before was ended
		r.code = 128 + int(unix.SIGTERM)
		return false
	}
	if exists(dir+doneSuffix) && exists(dir) {
		return true
	}
	err = errors.Join(removeAll(dir+doneSuffix), removeAll(dir), os.MkdirAll(dir, 0o700)) // half of one is none
	if err == nil {
		err = errors.Join(unix.Ftruncate(lock, 0), writeAll(lock, []byte(r.dir)))
	}
	if err != nil {
		return r.broken(stepSetup, err)
	}
	r.kept = []int{lock}
	ok := r.step(stepSetup, env, r.Setup.Time)
	if r.kept = nil; !ok {
		return false
	}
	if err := sealSetup(dir); err != nil {
		return r.broken(stepSetup, err)
	}
	return true
}

// sealSetup says that a setup is done when all that it made is on disk: after a power loss it would be done, and empty.
// What it made is whatever lies there, and may be many files: the file system is asked once for all that it holds.
func sealSetup(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil { // it may have had nothing to make
		return err
	}
	if err := syncFS(filepath.Dir(dir)); err != nil {
		return err
	}
	if err := writeSynced(dir+doneSuffix, nil); err != nil {
		return err
	}
	return syncDir(filepath.Dir(dir))
}

// await takes the lock of a setup as soon as nobody else has it, or until the job is asked to end. Whoever has it ends in
// time, by its own limit, as long as its supervisor lives. What a killed supervisor left has none: it is not ours to end,
// and is waited for no longer than a setup may take.
func (r *run) await(lock int) error {
	var orphaned time.Time
	for errors.Is(flock(lock, unix.LOCK_EX|unix.LOCK_NB), unix.EWOULDBLOCK) {
		if r.heed(); r.asked {
			return nil
		}
		owner, orphan := r.setupOwner(lock)
		switch {
		case !orphan:
			orphaned = time.Time{}
		case orphaned.IsZero():
			orphaned = time.Now()
		case r.Setup.Time > 0 && time.Since(orphaned) >= r.Setup.Time:
			return fmt.Errorf("that of job %s still runs after %v, though its supervisor is gone%s", filepath.Base(string(owner)), r.Setup.Time, crew{marker: owner}.named())
		}
		time.Sleep(lockPause)
	}
	return nil
}

// setupOwner is the job whose setup holds the lock, and whether nobody looks after that job any more.
func (r *run) setupOwner(lock int) (owner jobDir, orphan bool) {
	buf := make([]byte, 4096)
	n, err := unix.Pread(lock, buf, 0)
	if owner = jobDir(buf[:max(n, 0)]); err != nil || filepath.Dir(string(owner)) != filepath.Dir(string(r.dir)) {
		return owner, false // it has just taken it
	}
	return owner, !owner.held()
}

// named lists the processes of a crew, to be read.
func (c crew) named() string {
	text := ""
	for _, pid := range slices.Sorted(maps.Keys(c.pids())) {
		text += fmt.Sprintf(" (process %d)", pid)
	}
	return text
}
