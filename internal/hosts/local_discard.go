package hosts

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Discard deletes what is left of an ended job. It is out of the way at once and deleted in the background; what a crash
// leaves, the next controller deletes.
func (l *Local) Discard(id string) {
	if validID(id) != nil {
		return
	}
	d := l.dir(id)
	l.mu.Lock()
	busy := l.known[id] != nil
	l.mu.Unlock()
	if busy || d.held() {
		l.log.Warn("job not discarded: it has not ended", "job", id)
		return
	}
	l.discard(d)
}

// discard moves a directory to the trash.
func (l *Local) discard(d jobDir) {
	to := filepath.Join(l.home, dirTrash, filepath.Base(string(d))+"."+strconv.FormatInt(time.Now().UnixNano(), 36))
	err := os.Rename(string(d), to)
	if os.IsPermission(err) && os.Chmod(string(d), 0o700) == nil { // the job shut it
		err = os.Rename(string(d), to)
	}
	if err != nil {
		if !os.IsNotExist(err) {
			l.log.Warn("job not discarded", "dir", string(d), "error", err)
		}
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	select {
	case l.trash <- struct{}{}:
	default: // it will see this one too
	}
}

// While jobs come and go, directories are deleted no faster than deletePause allows: ext4 is slow to make files where many
// were deleted in the last minutes. Close waits for closePatience until the rest is deleted.
const (
	deletePause   = 20 * time.Millisecond
	closePatience = 2 * time.Second
)

// deleter empties the trash whenever something was put in. What is left when its time is over, the next controller
// deletes.
func (l *Local) deleter() {
	dir := filepath.Join(l.home, dirTrash)
	pause := time.NewTimer(0)
	defer pause.Stop()
	var stop <-chan time.Time
	for range l.trash {
		names, err := os.ReadDir(dir)
		if err != nil {
			l.log.Warn("trash not read", "error", err)
		}
		for _, n := range names {
			if l.dispose(filepath.Join(dir, n.Name())) {
				continue
			}
			if stop == nil && l.busy() {
				pause.Reset(deletePause)
				select {
				case <-pause.C:
				case <-l.closing:
				}
			}
			select {
			case <-l.closing:
				if stop == nil {
					stop = time.After(closePatience)
				}
			case <-stop:
				return
			default:
			}
		}
	}
}

// dispose recycles a directory in the trash, or deletes it; true: that cost next to nothing. Several controllers share the
// trash, and whoever deletes what is in a directory goes on with that where another has made a job of it: only who has
// its lock may touch it.
func (l *Local) dispose(dir string) bool {
	fd, err := open(dir, unix.O_RDONLY|unix.O_DIRECTORY)
	if errors.Is(err, os.ErrNotExist) {
		return true
	}
	if err == nil {
		defer unix.Close(fd)
		if flock(fd, unix.LOCK_EX|unix.LOCK_NB) == unix.EWOULDBLOCK || !isAt(fd, dir) {
			return true // another one's
		}
		if l.recycle(dir) {
			return true
		}
	}
	if err := removeAll(dir); err != nil {
		l.log.Warn("trash not deleted", "error", err)
	}
	return false
}

// isAt reports whether a descriptor is of what has that name now.
func isAt(fd int, name string) bool {
	var have, at unix.Stat_t
	return unix.Fstat(fd, &have) == nil && unix.Lstat(name, &at) == nil && at.Ino == have.Ino && at.Dev == have.Dev
}

func (l *Local) busy() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.known) > 0
}

// removeAll deletes also what a job made unwritable.
func removeAll(dir string) error {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	_ = filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if e != nil && e.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	return os.RemoveAll(dir)
}
