package checkpoint

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// A Store keeps the bytes of shipped files under <dir>/blobs/<sha256>, so that a run is not touched by later edits.
type Store struct{ Dir string }

// Blobs is the directory of the bytes, for hosts.Tree.
func (s Store) Blobs() string { return filepath.Join(s.Dir, "blobs") }

// Put copies what m lists from m.Dir into the store. A file whose bytes are no longer those of the manifest is an
// error that names it. What the store has already is not copied again, but it is read: a disk or a hand may have changed
// it, and a result of other bytes would be kept, and reused, under the id of these.
func (s Store) Put(ctx context.Context, m *Manifest) error {
	if err := os.MkdirAll(s.Blobs(), 0o700); err != nil {
		return err
	}
	real, gone := filepath.EvalSymlinks(m.Dir) // of no interest if the store has everything
	first := map[string]bool{}                 // equal files are one blob
	var todo []File
	for _, f := range m.Files {
		if !first[f.SHA256] {
			first[f.SHA256] = true
			todo = append(todo, f)
		}
	}
	return forEach(ctx, len(todo), func(i int, buf []byte) error {
		f := todo[i]
		to := filepath.Join(s.Blobs(), f.SHA256)
		if whole(to, f, buf) {
			return nil
		}
		if gone != nil {
			return fmt.Errorf("keep %s: %w", f.Path, gone)
		}
		if err := s.put(filepath.Join(real, filepath.FromSlash(f.Path)), to, f, buf); err != nil {
			return fmt.Errorf("keep %s: %w", f.Path, err)
		}
		return nil
	})
}

// whole says whether a blob has the bytes that it should have.
func whole(blob string, f File, buf []byte) bool {
	// A size that differs is a file that a power loss cut.
	if fi, err := os.Lstat(blob); err != nil || !fi.Mode().IsRegular() || fi.Size() != f.Size {
		return false
	}
	in, err := os.Open(blob)
	if err != nil {
		return false
	}
	defer in.Close()
	h := sha256.New()
	_, err = io.CopyBuffer(h, onlyReader{in}, buf)
	return err == nil && hex.EncodeToString(h.Sum(nil)) == f.SHA256
}

var errChanged = errors.New("it changed while it was being copied: plan again")

func (s Store) put(from, to string, f File, buf []byte) error {
	src, err := openShipped(from, f)
	if err != nil {
		return err
	}
	defer src.Close()
	return writeFile(to, func(w io.Writer) error {
		h := sha256.New()
		// One byte more than there was tells a file that has grown, without filling the disk with what it has grown to.
		n, err := io.CopyBuffer(io.MultiWriter(w, h), io.LimitReader(src, f.Size+1), buf)
		if err != nil {
			return err
		}
		if n != f.Size || hex.EncodeToString(h.Sum(nil)) != f.SHA256 {
			return errChanged
		}
		return nil
	})
}

// openShipped opens the bytes of a file, or the target of a link. Whatever is there now instead has changed.
func openShipped(from string, f File) (io.ReadCloser, error) {
	if f.Mode == "120000" {
		target, err := os.Readlink(from)
		if err != nil {
			return nil, fmt.Errorf("%w (%w)", errChanged, err)
		}
		return io.NopCloser(strings.NewReader(target)), nil
	}
	src, _, err := openRegular(from)
	if errors.Is(err, fs.ErrPermission) {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("%w (%w)", errChanged, err)
	}
	return src, nil
}

// writeFile makes a file of mode 0600 appear whole or not at all.
func writeFile(to string, fill func(io.Writer) error) (err error) {
	tmp, err := os.CreateTemp(filepath.Dir(to), ".tmp-*") // 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(tmp.Name())
		}
	}()
	if err := fill(tmp); err != nil {
		tmp.Close()
		return err
	}
	// Onto the disk before its name is: a run that a power loss ends is resumed with these bytes.
	if err := tmp.Sync(); err != nil {
		tmp.Close()
		return err
	}
	if err := tmp.Close(); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), to)
}
