package checkpoint

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/storage/filesystem"
	"github.com/go-git/go-git/v5/storage/filesystem/dotgit"
)

// FindRoot returns the root of the git repository that holds dir, or "" if there is none. It reads only.
func FindRoot(dir string) string {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return ""
	}
	// git looks from where a link leads to, not from where it stands.
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return ""
	}
	root := climb(real)
	if root == "" || real == abs {
		return root
	}
	// The caller's spelling, if one of its parents is that root: he compares it with his own paths.
	for up := abs; ; up = filepath.Dir(up) {
		if r, err := filepath.EvalSymlinks(up); err == nil && r == root {
			return up
		}
		if up == filepath.Dir(up) {
			return root
		}
	}
}

func climb(dir string) string {
	for {
		if _, err := gitDir(dir); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			return ""
		}
		dir = up
	}
}

// gitDir returns the git directory of the checkout at root: its .git, or where a .git file of a linked worktree or a
// submodule leads.
func gitDir(root string) (string, error) {
	dot := filepath.Join(root, ".git")
	fi, err := os.Stat(dot)
	if err != nil {
		return "", err
	}
	if !fi.IsDir() {
		if dot, err = followGitFile(root, dot, fi); err != nil {
			return "", err
		}
	}
	if _, err := os.Lstat(filepath.Join(dot, "HEAD")); err != nil {
		return "", err
	}
	return dot, nil
}

func followGitFile(root, file string, fi os.FileInfo) (string, error) {
	const most = 64 << 10 // longer than any path; a fifo or a device is not read at all
	if !fi.Mode().IsRegular() || fi.Size() > most {
		return "", fmt.Errorf("%s: not a .git file", file)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	target, ok := bytes.CutPrefix(bytes.TrimRight(b, "\r\n"), []byte("gitdir: "))
	if !ok {
		return "", fmt.Errorf("%s: not a .git file", file)
	}
	to := string(target)
	if !filepath.IsAbs(to) {
		to = filepath.Join(root, to)
	}
	return filepath.Clean(to), nil
}

// openRepo opens what git keeps of the checkout at root, for reading. go-git's own PlainOpen rewrites absolute links,
// does not find the objects of linked worktrees and alternates, and refuses a sparse checkout for its worktreeConfig;
// the storage itself does none of that, so the two extensions that change what it reads are refused here. Opening
// costs 0.2 ms: a storage that is kept open does not see that git packed anew.
func openRepo(root string) (*filesystem.Storage, error) {
	root, err := filepath.EvalSymlinks(root)
	if err != nil {
		return nil, err
	}
	dir, err := gitDir(root)
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, err
	}
	dot := dotgit.NewRepositoryFilesystem(bound(dir), nil)
	b, err := os.ReadFile(filepath.Join(dir, "commondir"))
	switch {
	case err == nil:
		common := strings.TrimSpace(string(b))
		if !filepath.IsAbs(common) {
			common = filepath.Join(dir, common)
		}
		if common, err = filepath.EvalSymlinks(common); err != nil {
			return nil, err
		}
		dot = dotgit.NewRepositoryFilesystem(bound(dir), bound(common))
	case !errors.Is(err, os.ErrNotExist):
		return nil, err
	}
	st := filesystem.NewStorageWithOptions(dot, cache.NewObjectLRUDefault(),
		filesystem.Options{AlternatesFS: bound("/")})
	cfg, err := st.Config()
	if err != nil {
		return nil, err
	}
	extensions := cfg.Raw.Section("extensions")
	if f := extensions.Option("refstorage"); f != "" && f != "files" {
		return nil, fmt.Errorf("references in the format %s are read by the git program only", f)
	}
	if f := extensions.Option("objectformat"); f != "" && f != "sha1" {
		return nil, fmt.Errorf("objects in the format %s are read by the git program only", f)
	}
	return st, nil
}

func bound(dir string) *osfs.BoundOS {
	return osfs.New(dir, osfs.WithBoundOS()).(*osfs.BoundOS)
}
