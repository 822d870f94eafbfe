package checkpoint

import (
	"bytes"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
)

// hash reads every file once, for our hash and, where HEAD has the path, for git's. To list, it reads only what could be
// a git-lfs pointer.
func (s *scan) hash(ctx context.Context) error {
	s.blobs = make([]string, len(s.m.Files))
	links := make([]string, len(s.m.Files))
	err := forEach(ctx, len(s.m.Files), func(i int, buf []byte) error {
		f := &s.m.Files[i]
		if f.Mode == "120000" {
			target, err := os.Readlink(s.file(f.Path))
			if err != nil {
				return err
			}
			f.Size, links[i] = int64(len(target)), target
			s.blobs[i] = blobID(s.head[f.Path].id, int64(len(target)), strings.NewReader(target))
			sum := sha256.Sum256([]byte(target))
			f.SHA256 = hex.EncodeToString(sum[:])
			return nil
		}
		return s.hashFile(i, buf)
	})
	if err != nil {
		return err
	}
	for i, f := range s.m.Files {
		s.m.Bytes += f.Size
		if f.Mode == "120000" && s.outward(f.Path, links[i]) {
			s.m.Links = append(s.m.Links, Link{f.Path, links[i]})
		}
	}
	return nil
}

func (s *scan) hashFile(i int, buf []byte) error {
	f := &s.m.Files[i]
	if s.listOnly && f.Size > maxPointer {
		return nil
	}
	file, fi, err := openRegular(s.file(f.Path))
	if err != nil {
		return err
	}
	defer file.Close()
	ours := sha256.New()
	var w io.Writer = ours
	theirs := gitHash(s.head[f.Path].id, fi.Size())
	if theirs != nil {
		w = io.MultiWriter(ours, theirs)
	}
	if fi.Size() <= maxPointer {
		n, err := io.ReadFull(file, buf[:maxPointer])
		if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
			return err
		}
		if bytes.HasPrefix(buf[:n], []byte(lfsMagic)) {
			return wrong("", "", "%s is a git-lfs pointer, not the file itself: run git lfs pull, or name it in code.exclude", f.Path)
		}
		w.Write(buf[:n])
		f.Size = int64(n)
	} else {
		f.Size = 0
	}
	n, err := io.CopyBuffer(w, onlyReader{file}, buf)
	if err != nil {
		return fmt.Errorf("read %s: %w", f.Path, err)
	}
	f.Size += n
	f.SHA256 = hex.EncodeToString(ours.Sum(nil))
	if theirs != nil {
		s.blobs[i] = hex.EncodeToString(theirs.Sum(nil))
	}
	return nil
}

// onlyReader hides WriteTo, which would not use the buffer.
type onlyReader struct{ io.Reader }

// gitHash returns the hash that git would take of a blob of n bytes, in the format of the id it is compared with.
func gitHash(id string, n int64) hash.Hash {
	var h hash.Hash
	switch len(id) {
	case 2 * sha1.Size:
		h = sha1.New()
	case 2 * sha256.Size:
		h = sha256.New()
	default:
		return nil
	}
	fmt.Fprintf(h, "blob %d\x00", n)
	return h
}

func blobID(like string, n int64, r io.Reader) string {
	h := gitHash(like, n)
	if h == nil {
		return ""
	}
	io.Copy(h, r)
	return hex.EncodeToString(h.Sum(nil))
}

// openRegular opens a file without following a link and without waiting for the other end of a fifo that took its
// place.
func openRegular(name string) (*os.File, os.FileInfo, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	fi, err := f.Stat()
	if err == nil && !fi.Mode().IsRegular() {
		err = fmt.Errorf("%s: not a regular file any more", name)
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, fi, nil
}

// outward reports whether a link leads out of the code's directory, by its text or by where it ends.
func (s *scan) outward(name, target string) bool {
	if filepath.IsAbs(target) {
		return true
	}
	lexical := path.Join(path.Dir(name), target)
	if lexical == ".." || strings.HasPrefix(lexical, "../") {
		return true
	}
	end, err := filepath.EvalSymlinks(s.file(name))
	return err == nil && end != s.real && !strings.HasPrefix(end, strings.TrimSuffix(s.real, "/")+"/")
}

const copyBuffer = 128 << 10

// forEach calls do for 0 to n-1 from two to four goroutines, each with a buffer of its own. It waits for all of them
// and returns the error of the lowest number that was tried.
func forEach(ctx context.Context, n int, do func(i int, buf []byte) error) error {
	var (
		wg   sync.WaitGroup
		next atomic.Int64
		mu   sync.Mutex
		at   = n
		err  error
	)
	for range min(max(runtime.GOMAXPROCS(0), 2), 4, max(n, 1)) {
		wg.Go(func() {
			buf := make([]byte, copyBuffer)
			for {
				i := int(next.Add(1) - 1)
				if i >= n {
					return
				}
				e := context.Cause(ctx)
				if e == nil {
					e = do(i, buf)
				}
				if e == nil {
					continue
				}
				mu.Lock()
				if i < at {
					at, err = i, e
				}
				mu.Unlock()
				next.Store(int64(n))
			}
		})
	}
	wg.Wait()
	return err
}
