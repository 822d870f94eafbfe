//go:build unix && !linux

package hosts

import "os"

// reflink makes out share the blocks of in, if the file system can.
func reflink(_, _ *os.File) bool { return false }
