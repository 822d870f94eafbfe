//go:build unix && !linux

package hosts

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// reflink makes out share the blocks of in, if the file system can.
func reflink(_, _ *os.File) bool { return false }

const canRenameNoReplace = false

func renameNoReplace(_, _ string) error { return errors.ErrUnsupported }

// syncFS writes everything to disk that the file system of dir holds.
func syncFS(string) error { return unix.Sync() }
