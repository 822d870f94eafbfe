package hosts

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A job directory that was used by a small job is used again, up to spareMax of them: on ext4 a file costs up to half a
// millisecond to make where many were deleted in the last minutes, and a directory as much. Nothing of the old job
// stays but empty files.
const spareMax = 64

// claim makes the directory of a job, exclusively: out of a spare one, or anew.
func (l *Local) claim(d jobDir) error {
	for {
		spare := l.takeSpare()
		if spare == "" {
			break
		}
		err := renameNoReplace(filepath.Join(l.home, dirSpare, spare), string(d))
		if err == nil {
			return nil
		}
		if errors.Is(err, os.ErrExist) {
			l.addSpare(spare)
			return err
		}
		if !errors.Is(err, os.ErrNotExist) { // of another controller's taking it, nothing need be said
			l.log.Debug("spare directory not used", "error", err)
			break
		}
	}
	if err := os.Mkdir(string(d), 0o700); err != nil {
		return err
	}
	for _, sub := range []string{dirOut, dirTree} {
		if err := os.Mkdir(d.file(sub), 0o700); err != nil {
			return errors.Join(err, os.RemoveAll(string(d)))
		}
	}
	return nil
}

func (l *Local) takeSpare() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.spare) == 0 {
		return ""
	}
	name := l.spare[len(l.spare)-1]
	l.spare = l.spare[:len(l.spare)-1]
	return name
}

// addSpare says whether there is room for one more.
func (l *Local) addSpare(name string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.spare) >= spareMax {
		return false
	}
	l.spare = append(l.spare, name)
	return true
}

// recycle makes a spare directory of one in the trash, if it can be made as new with a few calls.
func (l *Local) recycle(dir string) bool {
	l.mu.Lock()
	full := len(l.spare) >= spareMax
	l.mu.Unlock()
	if full || !canRenameNoReplace || !jobDir(dir).clean() {
		return false
	}
	name := strconv.FormatInt(time.Now().UnixNano(), 36)
	to := filepath.Join(l.home, dirSpare, name)
	if os.Rename(dir, to) != nil {
		return false
	}
	if !l.addSpare(name) {
		_ = removeAll(to)
	}
	return true
}

// clean takes out of a directory what its job left. False: there is more than that, or the job's end is not certain.
func (d jobDir) clean() bool {
	for _, sub := range []string{dirOut, dirTree} {
		if !emptyDir(d.file(sub)) {
			return false
		}
	}
	entries, err := os.ReadDir(string(d))
	if err != nil {
		return false
	}
	ended := false
	for _, e := range entries {
		switch name := e.Name(); {
		case name == dirOut || name == dirTree:
		case !e.Type().IsRegular():
			return false
		case name == fileExit: // without fileStop and fileStep, which are not among the names below, it is all there is to say
			b, rerr := readSmall(d.file(fileExit))
			_, ended = parseExit(b)
			err = errors.Join(err, rerr)
		case name == fileJob || name == filePID || name == fileParams:
			err = errors.Join(err, blank(d.file(name)))
		case name == fileLock: // it is empty, and has to be the same file for whoever still looks at it
		case name == fileLog || name == fileBeat || name == filePath || strings.HasPrefix(name, fileAsk):
			err = errors.Join(err, os.Remove(d.file(name))) // the log may have a second name by now
		default:
			return false
		}
	}
	return err == nil && ended && os.Rename(d.file(fileExit), d.file(fileExitTmp)) == nil
}

var errNotSmall = errors.New("not a small file")

// blank overwrites a small file with empty lines. It keeps its block: see writeOver.
func blank(name string) error {
	fd, err := open(name, unix.O_WRONLY|unix.O_NONBLOCK)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	switch err := unix.Fstat(fd, &st); {
	case err != nil:
		return err
	case st.Mode&unix.S_IFMT != unix.S_IFREG || st.Size > directMax:
		return errNotSmall
	}
	return writeAll(fd, bytes.Repeat([]byte{'\n'}, int(st.Size)))
}

// emptyDir says whether name is a directory as claim makes it.
func emptyDir(name string) bool {
	fd, err := open(name, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil || st.Mode&0o7777 != 0o700 {
		return false
	}
	buf := make([]byte, 1024)
	n, err := unix.ReadDirent(fd, buf)
	_, count, _ := unix.ParseDirent(buf[:max(n, 0)], 1, nil)
	return err == nil && count == 0
}
