package hosts

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
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

// clean empties a directory of what its job left. False: there is more than that, or the job's end is not certain.
func (d jobDir) clean() bool {
	if e, ok := d.readRecord(); !ok || e.End != Exited {
		return false
	}
	for _, sub := range []string{dirOut, dirTree} {
		if !emptyDir(d.file(sub)) {
			return false
		}
	}
	entries, err := os.ReadDir(string(d))
	if err != nil {
		return false
	}
	for _, e := range entries {
		switch name := e.Name(); {
		case name == dirOut || name == dirTree || name == fileExit:
		case !e.Type().IsRegular():
			return false
		case name == fileJob || name == filePID || name == fileParams:
			err = errors.Join(err, os.Truncate(d.file(name), 0))
		case name == fileLock: // it is empty, and has to be the same file for whoever still looks at it
		case name == fileLog || name == fileBeat || name == filePath || strings.HasPrefix(name, fileAsk):
			err = errors.Join(err, os.Remove(d.file(name))) // the log may have a second name by now
		default:
			return false
		}
	}
	return errors.Join(err, os.Rename(d.file(fileExit), d.file(fileExitTmp))) == nil
}

// emptyDir says whether name is a directory as claim makes it.
func emptyDir(name string) bool {
	info, err := os.Lstat(name)
	if err != nil || info.Mode() != fs.ModeDir|0o700 {
		return false
	}
	f, err := os.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	names, _ := f.Readdirnames(1)
	return len(names) == 0
}
