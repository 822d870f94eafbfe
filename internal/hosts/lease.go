package hosts

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// A lease is the right to a GPU. It is a lock on a file that all users of the machine share; the job inherits the
// descriptor, so it lasts as long as anything of the job does.
//
//   - A job that has the GPU alone holds the lock exclusively.
//   - Jobs of one controller that share a GPU each hold it shared. Who finds the file unlocked locks it exclusively,
//     writes the group into it and then makes the lock a shared one; who finds it locked takes a shared lock. Both then
//     read the group, and whoever finds another than its own lets go. The group is written under an exclusive lock only,
//     so it cannot change while anybody holds a shared one: all that hold the lock have read the same group.
//   - Cleaners unlink files whose locks are held. So every holder is also announced to the kernel under a name that no
//     file system knows: one that can be had once for who is alone, one for each of a group. Who has locked a file
//     announces itself first and looks for others then, so that of two that locked different files at least one sees the
//     other.
type lease struct {
	uuid     string
	file     int // descriptor, locked
	announce int // descriptor; -1: not announced
	joined   bool
	weak     bool // the file system knows no locks
}

// A leaseDir is an open directory of leases.
type leaseDir struct {
	path string
	fd   int
}

// A busyError says why a GPU cannot be had now.
type busyError struct{ uuid, why string }

func (e *busyError) Error() string { return "GPU " + e.uuid + ": " + e.why }

// A brokenError says why a GPU cannot be had until somebody puts it right.
type brokenError struct{ uuid, why string }

func (e *brokenError) Error() string { return "GPU " + e.uuid + ": " + e.why }

// leaseRecord is the size of a lease file: written at its full length at once, so that a disk that fills up later has
// room for every further holder.
const leaseRecord = 1024

// A holder is what a lease file says of who took it last: enough to find it, and nothing secret.
type holder struct {
	Marker string `json:"marker"` // of the job
	Group  string `json:"group"`  // of those that share; empty: it is alone
	PID    int    `json:"pid"`    // of its supervisor
	Start  string `json:"start"`
	Boot   string `json:"boot"`
	User   string `json:"user"`
}

// openLeaseDir opens a directory of leases, and makes it so that everybody can make files and nobody can delete those of
// others.
func openLeaseDir(path string) (leaseDir, error) {
	err := os.Mkdir(path, 0o777)
	if err != nil && !errors.Is(err, os.ErrExist) {
		return leaseDir{}, err
	}
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return leaseDir{}, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	d := leaseDir{path, fd}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return d, errors.Join(err, d.close())
	}
	// One that was just made, perhaps by somebody who was killed between the two steps. A user's own with files in it is
	// as its owner wants it.
	if int(st.Uid) == os.Geteuid() && st.Mode&0o7777 != 0o1777 && emptyLeases(path) {
		if err := unix.Fchmod(fd, 0o1777); err != nil {
			return d, errors.Join(err, d.close())
		}
	}
	return d, nil
}

func emptyLeases(path string) bool {
	names, err := os.ReadDir(path)
	return err == nil && len(names) == 0
}

func (d leaseDir) close() error { return unix.Close(d.fd) }

// leaseName is the name of a GPU's file: old UUIDs of MIG instances hold slashes.
func leaseName(uuid string) string {
	return strings.Map(func(r rune) rune {
		if r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, uuid)
}

// open opens the file of a GPU, which may have to be made. It follows no link and waits for no pipe.
func (d leaseDir) open(uuid string, flags int) (int, error) {
	name := leaseName(uuid)
	for range 100 {
		fd, err := unix.Openat(d.fd, name, flags|unix.O_CLOEXEC|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
		made := false
		// Not in one call: in a sticky directory the kernel refuses to "make" what another user made.
		if errors.Is(err, unix.ENOENT) {
			fd, err = unix.Openat(d.fd, name, flags|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0o666)
			made = err == nil
		}
		if errors.Is(err, unix.EEXIST) || errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return -1, d.blame(uuid, err)
		}
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG || st.Nlink > 1 {
			_ = unix.Close(fd)
			return -1, &brokenError{uuid, fmt.Sprintf("its lease %s is no file of its own", d.file(uuid))}
		}
		if made || int(st.Uid) == os.Geteuid() && st.Mode&0o777 != 0o666 { // whatever the umask
			_ = unix.Fchmod(fd, 0o666)
		}
		return fd, nil
	}
	return -1, &busyError{uuid, "its lease comes and goes"}
}

func (d leaseDir) file(uuid string) string { return d.path + "/" + leaseName(uuid) }

// blame says whose file it is that cannot be opened.
func (d leaseDir) blame(uuid string, err error) error {
	switch {
	case errors.Is(err, unix.ELOOP):
		return &brokenError{uuid, fmt.Sprintf("its lease %s is a link", d.file(uuid))}
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT):
		return &busyError{uuid, fmt.Sprintf("no space for its lease in %s", d.path)}
	}
	var st unix.Stat_t
	if unix.Fstatat(d.fd, leaseName(uuid), &st, unix.AT_SYMLINK_NOFOLLOW) == nil {
		return &brokenError{uuid, fmt.Sprintf("its lease %s, of user %s, cannot be opened: %v", d.file(uuid), userName(int(st.Uid)), err)}
	}
	return &brokenError{uuid, fmt.Sprintf("its lease %s cannot be made: %v", d.file(uuid), err)}
}

// current reports whether the file that fd is still has its name.
func (d leaseDir) current(uuid string, fd int) bool {
	var at, have unix.Stat_t
	return unix.Fstat(fd, &have) == nil && unix.Fstatat(d.fd, leaseName(uuid), &at, unix.AT_SYMLINK_NOFOLLOW) == nil &&
		at.Ino == have.Ino && at.Dev == have.Dev
}

// take takes the lease of a GPU for h, alone or with the others of its group.
func (d leaseDir) take(uuid string, h holder) (*lease, error) {
	for range 100 {
		fd, err := d.open(uuid, unix.O_RDONLY)
		if err != nil {
			return nil, err
		}
		l := &lease{uuid: uuid, file: fd, announce: -1}
		if err = d.lock(l, h); err == nil && !d.current(uuid, fd) {
			l.release() // somebody unlinked it between open and lock
			continue
		}
		if err == nil {
			err = d.claim(l, h)
		}
		if err != nil {
			l.release()
			return nil, err
		}
		return l, nil
	}
	return nil, &busyError{uuid, "its lease comes and goes"}
}

// lock locks the file: exclusively, or, where somebody shares it, shared.
func (d leaseDir) lock(l *lease, h holder) error {
	err := flock(l.file, unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) && h.Group != "" {
		l.joined = true
		err = flock(l.file, unix.LOCK_SH|unix.LOCK_NB)
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.EWOULDBLOCK):
		return &busyError{l.uuid, "leased by " + readHolder(l.file).String()}
	}
	l.weak = true // no flock here: the announcement has to do
	return nil
}

// claim looks for what is left of the last holder, and makes h the holder of a lease that is locked.
func (d leaseDir) claim(l *lease, h holder) error {
	if l.joined {
		return d.join(l, h)
	}
	if last := readHolder(l.file); last != (holder{}) && last.Marker != h.Marker { // the same: it had to wait, and never ran
		if pid := last.remains(l.uuid); pid != 0 {
			return &busyError{l.uuid, fmt.Sprintf("left by %s: %s still runs", last, processName(pid, ""))}
		}
	}
	if err := d.write(l, h); err != nil {
		return err
	}
	if h.Group != "" {
		if err := flock(l.file, unix.LOCK_SH|unix.LOCK_NB); err != nil && !l.weak {
			return &busyError{l.uuid, "somebody else was quicker"}
		}
		if err := d.join(l, h); err != nil {
			return err
		}
	}
	return announce(l, h)
}

// join reads whose group it is that holds the lock.
func (d leaseDir) join(l *lease, h holder) error {
	if now := readHolder(l.file); now.Group != h.Group {
		return &busyError{l.uuid, "leased by " + now.String()}
	}
	if !l.joined {
		return nil
	}
	return announce(l, h)
}

// write puts the holder into the file. The lock is on a descriptor that only reads.
func (d leaseDir) write(l *lease, h holder) error {
	b, err := json.Marshal(h)
	if err != nil {
		return err
	}
	if len(b) >= leaseRecord {
		return &brokenError{l.uuid, "the name of its job is too long for a lease"}
	}
	b = append(b, bytes.Repeat([]byte{' '}, leaseRecord-1-len(b))...)
	fd, err := d.open(l.uuid, unix.O_WRONLY)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var mine, its unix.Stat_t
	if unix.Fstat(l.file, &mine) != nil || unix.Fstat(fd, &its) != nil || mine.Ino != its.Ino || mine.Dev != its.Dev {
		return &busyError{l.uuid, "its lease comes and goes"}
	}
	for off := 0; off < leaseRecord; {
		n, err := unix.Pwrite(fd, append(b, '\n')[off:], int64(off))
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return d.blame(l.uuid, err)
		}
		off += n
	}
	return nil
}

// touch keeps cleaners away, which delete what is old.
func (l *lease) touch() {
	_ = unix.UtimesNanoAt(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(l.file), nil, 0)
}

// release lets go of what is ours of the lease. What a job inherited of it, it keeps.
func (l *lease) release() {
	_ = unix.Close(l.file)
	if l.announce >= 0 {
		_ = unix.Close(l.announce)
	}
}

// readHolder reads who took a lease last; the zero holder if nobody can tell.
func readHolder(fd int) holder {
	b := make([]byte, leaseRecord)
	n, err := unix.Pread(fd, b, 0)
	var h holder
	if err != nil || json.Unmarshal(bytes.Trim(b[:max(n, 0)], " \n\x00"), &h) != nil {
		return holder{}
	}
	return h
}

// String names the holder.
func (h holder) String() string {
	if h == (holder{}) {
		return "somebody"
	}
	if h.Group != "" {
		return fmt.Sprintf("%s, for jobs that share it (the first: pid %d)", h.User, h.PID)
	}
	return fmt.Sprintf("%s (pid %d)", h.User, h.PID)
}

// token is the same for all of a group, and short.
func (h holder) token() string {
	sum := sha256.Sum256([]byte("group " + h.Group))
	return hex.EncodeToString(sum[:6])
}

// userName is the name of a user of this machine.
func userName(uid int) string {
	if u, err := user.LookupId(strconv.Itoa(uid)); err == nil {
		return u.Username
	}
	return strconv.Itoa(uid)
}
