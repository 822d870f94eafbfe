package hosts

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// A GlobFile is a file or directory of a host. MTime is in nanoseconds of the Unix epoch.
type GlobFile struct {
	Path        string
	Size, MTime int64
}

// maxGlob bounds what a pattern may match.
const maxGlob = 100_000

// GlobHere lists what a pattern matches on this machine: an absolute one, or one below the home directory (~/). A file
// that goes away meanwhile is left out.
func GlobHere(ctx context.Context, pattern string) ([]GlobFile, error) {
	full := pattern
	if rest, ok := strings.CutPrefix(pattern, "~/"); ok {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil, fmt.Errorf("glob %s: %w", pattern, err)
		}
		full = filepath.Join(home, rest)
	}
	if !filepath.IsAbs(full) {
		return nil, fmt.Errorf("glob %s: it begins with neither / nor ~/", pattern)
	}
	names, err := filepath.Glob(full)
	if err != nil {
		return nil, fmt.Errorf("glob %s: %w", pattern, err)
	}
	if len(names) > maxGlob {
		return nil, fmt.Errorf("glob %s: it matches %d files, %d are allowed", pattern, len(names), maxGlob)
	}
	out := make([]GlobFile, 0, len(names))
	for _, n := range names {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		fi, err := os.Stat(n)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("glob %s: %w", pattern, err)
		}
		f := GlobFile{Path: n, MTime: fi.ModTime().UnixNano()}
		if fi.Mode().IsRegular() {
			f.Size = fi.Size()
		}
		out = append(out, f)
	}
	return out, nil
}
