package hosts

import (
	"errors"
	"os"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// noReflink remembers that the file system said it cannot, so that ten thousand small files do not ask again.
var noReflink atomic.Bool

// reflink makes out share the blocks of in, if the file system can.
func reflink(out, in *os.File) bool {
	if noReflink.Load() {
		return false
	}
	err := unix.IoctlFileClone(int(out.Fd()), int(in.Fd()))
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOTTY) {
		noReflink.Store(true)
	}
	return err == nil
}

const canRenameNoReplace = true

// renameNoReplace renames unless the new name is taken.
func renameNoReplace(from, to string) error {
	err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
	if err != nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	return nil
}

// syncFS writes everything to disk that the file system of dir holds.
func syncFS(dir string) error {
	fd, err := open(dir, unix.O_RDONLY)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.Syncfs(fd); err != nil {
		return &os.PathError{Op: "sync", Path: dir, Err: err}
	}
	return nil
}
