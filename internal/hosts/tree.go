package hosts

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sync/errgroup"
)

// checkTree refuses a tree that would reach out of its directory: by a path, or through one of its own links.
func checkTree(t Tree) error {
	files := make(map[string]bool, len(t.Files))
	for _, f := range t.Files {
		if f.Path == "." || !fs.ValidPath(f.Path) && !oddButValid(f.Path) || strings.Contains(f.Path, "\x00") {
			return fmt.Errorf("tree %s: path %q", t.ID, f.Path)
		}
		if f.Mode != "100644" && f.Mode != "100755" && f.Mode != "120000" {
			return fmt.Errorf("tree %s: %q has mode %q", t.ID, f.Path, f.Mode)
		}
		if f.SHA256 == "" || strings.ContainsAny(f.SHA256, "/.") {
			return fmt.Errorf("tree %s: %q has digest %q", t.ID, f.Path, f.SHA256)
		}
		if files[f.Path] {
			return fmt.Errorf("tree %s: %q twice", t.ID, f.Path)
		}
		files[f.Path] = true
	}
	for _, f := range t.Files {
		for p := path.Dir(f.Path); p != "."; p = path.Dir(p) {
			if files[p] {
				return fmt.Errorf("tree %s: %q is both a file and a directory", t.ID, p)
			}
		}
	}
	return nil
}

// oddButValid accepts what fs.ValidPath refuses only because it is not UTF-8.
func oddButValid(p string) bool {
	for elem := range strings.SplitSeq(p, "/") {
		if elem == "" || elem == "." || elem == ".." {
			return false
		}
	}
	return true
}

// treeWorkers copy one tree. More only compete for the disk.
const treeWorkers = 4

// materialise makes a copy of the tree in dir that is the job's own: never hard links, what it writes stays its own.
func materialise(dir string, t Tree) error {
	if len(t.Files) == 0 {
		return nil
	}
	made := map[string]bool{".": true}
	for _, f := range t.Files {
		if parent := path.Dir(f.Path); !made[parent] {
			if err := os.MkdirAll(dir+"/"+parent, 0o755); err != nil {
				return err
			}
			for p := parent; !made[p]; p = path.Dir(p) {
				made[p] = true
			}
		}
	}
	if len(t.Files) < 32 {
		return putFiles(dir, t.Blobs, t.Files)
	}
	var g errgroup.Group
	share := (len(t.Files) + treeWorkers - 1) / treeWorkers
	for from := 0; from < len(t.Files); from += share {
		files := t.Files[from:min(from+share, len(t.Files))]
		g.Go(func() error { return putFiles(dir, t.Blobs, files) })
	}
	return g.Wait()
}

func putFiles(dir, blobs string, files []TreeFile) error {
	for _, f := range files {
		blob, to := filepath.Join(blobs, f.SHA256), dir+"/"+f.Path
		if err := putFile(blob, to, f.Mode); err != nil {
			return fmt.Errorf("file %q: %w", f.Path, err)
		}
	}
	return nil
}

func putFile(blob, to, mode string) error {
	switch mode {
	case "120000":
		target, err := os.ReadFile(blob)
		if err != nil {
			return err
		}
		return os.Symlink(string(target), to)
	case "100755":
		return copyFile(blob, to, 0o755)
	default:
		return copyFile(blob, to, 0o644)
	}
}

// copyFile copies a regular file, sharing its blocks where the file system can. The target must not exist.
func copyFile(from, to string, perm fs.FileMode) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	if perm&0o111 != 0 {
		// No fork while it is open for writing: the child would keep it open for an instant, and whoever starts the
		// program in that instant gets "text file busy" (golang/go#22315).
		syscall.ForkLock.RLock()
		defer syscall.ForkLock.RUnlock()
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	if !reflink(out, in) {
		_, err = io.Copy(out, in) // copy_file_range where there is one
	}
	if cerr := out.Close(); err == nil {
		err = cerr
	}
	return err
}
