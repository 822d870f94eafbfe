package hosts

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// record makes the files of the job say how it ended. A job can write where its supervisor does: it may have deleted,
// replaced or shut what lies beside it, by accident or to be taken for something better. Now nothing of it is left that
// could do so again, and what the supervisor knows does not come from there.
func (r *run) record() error {
	err := r.write()
	if err == nil {
		return nil
	}
	if rerr := r.rebuild(); rerr != nil {
		return errors.Join(err, rerr)
	}
	return r.write()
}

// write writes the exit file last: room first, then content, to disk, then its name. What it says depends on the others.
func (r *run) write() error {
	if noRoom(string(r.dir)) {
		r.dir.noteFull()
	} else if err := r.say(fileFull, ""); err != nil {
		return err
	}
	for _, err := range []error{r.say(fileStop, r.why), r.say(fileStep, r.at), r.saveGPUs(), r.own(), r.sayPath()} {
		if errors.Is(diskFull(err), ErrDiskFull) { // the exit status has its room, and is worth more than what explains it
			fmt.Fprintf(r.s.err, "%s: %v\n", r.dir, err)
		} else if err != nil {
			return err
		}
	}
	if !sameInode(r.dir.file(fileLog), r.log) {
		if err := r.saveLog(); err != nil { // it failed as little as the job did
			fmt.Fprintf(r.s.err, "%s: the log that it replaced: %v\n", r.dir, err)
		}
	}
	if !sameInode(r.dir.file(fileExitTmp), r.tmp) {
		return errReplaced
	}
	line := exitLine(r.code, r.took, r.logSize())
	if sizeOf(r.tmp) != int64(len(line)) {
		if err := unix.Ftruncate(r.tmp, int64(len(line))); err != nil {
			return err
		}
	}
	if _, err := unix.Pwrite(r.tmp, line, 0); err != nil {
		return err
	}
	if err := unix.Fsync(r.tmp); err != nil {
		return err
	}
	return os.Rename(r.dir.file(fileExitTmp), r.dir.file(fileExit))
}

// errReplaced is the error of a file whose name has come to mean another one.
var errReplaced = errors.New("was replaced by the job")

// say makes a small file have that content, and no content no file. It is on disk before the exit file is, which tells
// something else without it.
func (r *run) say(name, text string) error {
	path := r.dir.file(name)
	if err := unix.Unlink(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return &os.PathError{Op: "remove", Path: path, Err: err}
	}
	if text == "" {
		return nil
	}
	err := writeSynced(path, []byte(text))
	if err != nil {
		_ = os.Remove(path) // half a reason is another one
	}
	return err
}

// writeSynced makes a file that was not there, with its bytes on disk.
func writeSynced(path string, text []byte) error {
	fd, err := open(path, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL)
	if err != nil {
		return err
	}
	if err := errors.Join(writeAll(fd, text), unix.Fsync(fd), unix.Close(fd)); err != nil {
		return &os.PathError{Op: "write", Path: path, Err: err}
	}
	return nil
}

// saveGPUs writes what was seen of the GPUs of the job, which is nothing if it had none.
func (r *run) saveGPUs() error {
	if r.grip != nil {
		return r.dir.writeGPUs(r.grip.record)
	}
	return r.say(fileGPU, "")
}

// own makes the pid file say again what the supervisor wrote into it.
func (r *run) own() error {
	b, err := readSmall(r.dir.file(filePID))
	if err == nil && bytes.Equal(bytes.TrimSpace(b), bytes.TrimSpace([]byte(r.owns))) {
		return nil
	}
	return r.say(filePID, r.owns)
}

// owner adds to what the pid file says.
func (r *run) owner(line []byte) error {
	r.owns += string(line)
	return writeAll(r.pidFile, line)
}

// sayPath writes where programs were looked for, if the command failed. A script says so itself, if it can: the PATH is its
// own.
func (r *run) sayPath() error {
	if r.code == 0 || r.asked || !r.direct() || r.at != "" {
		return nil
	}
	path := r.dir.file(filePath)
	if err := unix.Unlink(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return &os.PathError{Op: "remove", Path: path, Err: err}
	}
	_ = writeSmall(path, []byte(pathOf(r.s.env.with(unpack(r.Env))))) // it only explains
	return nil
}

// saveLog gives the log that the job wrote its name again.
func (r *run) saveLog() error {
	from, err := os.Open("/proc/self/fd/" + strconv.Itoa(r.log))
	if err != nil {
		return err
	}
	defer from.Close()
	name := r.dir.file(fileLog)
	if err := removeAll(name); err != nil {
		return err
	}
	to, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	return errors.Join(err, to.Close())
}

// rebuild makes room for what write writes, wherever the job put something else.
func (r *run) rebuild() error {
	dir := string(r.dir)
	if fi, err := os.Lstat(dir); err == nil && !fi.IsDir() {
		if err := os.Remove(dir); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return err
	}
	for _, name := range []string{fileStop, fileStep, fileGPU, fileGPU + ".new", filePath, filePID, fileExit} {
		if err := removeAll(r.dir.file(name)); err != nil {
			return err
		}
	}
	tmp := r.dir.file(fileExitTmp)
	if sameInode(tmp, r.tmp) {
		return nil
	}
	if err := removeAll(tmp); err != nil {
		return err
	}
	fd, err := open(tmp, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL)
	if err != nil {
		return err
	}
	if err := writeAll(fd, []byte(strings.Repeat(" ", exitTmpPadding))); err != nil {
		return errors.Join(err, unix.Close(fd))
	}
	fd, r.tmp = r.tmp, fd
	return unix.Close(fd)
}

// sameInode reports whether a name means the open file.
func sameInode(name string, fd int) bool {
	var a, b unix.Stat_t
	return unix.Lstat(name, &a) == nil && unix.Fstat(fd, &b) == nil && a.Dev == b.Dev && a.Ino == b.Ino
}

func sizeOf(fd int) int64 {
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil {
		return -1
	}
	return st.Size
}
