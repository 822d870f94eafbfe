package checkpoint

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

const gitlink = "160000"

// A level is one repository whose files are shipped: that of the code, or one of its submodules.
type level struct {
	root string // real path of the checkout; empty outside git
	dir  string // real path of what is listed: root or below
	at   string // where dir stands in the code: "" or "sub/"
	link string // of a submodule: the path of its gitlink in the code
}

// A lister collects the candidates of a scan. Paths are relative to the code's directory.
type lister struct {
	filter *filter
	levels []level
	paths  map[string]bool
	sparse map[string]bool // tracked, and left out of the checkout by git itself
	nested []string        // repositories that are no submodules
	notes  []string
}

// list adds the files of dir, a real path that stands at the prefix at in the code.
func (l *lister) list(ctx context.Context, dir, at, link string) error {
	root := climb(dir)
	if at != "" && root != dir {
		root = "" // bytes that lie where a submodule should: not a repository of their own
	}
	if root == "" {
		l.levels = append(l.levels, level{dir: dir, at: at, link: link})
		return l.walk(ctx, dir, at)
	}
	l.levels = append(l.levels, level{root: root, dir: dir, at: at, link: link})
	found, err := listProgram(ctx, root, dir)
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		why := err
		if found, err = listLibrary(ctx, root, dir); err != nil {
			return fmt.Errorf("list the files of %s: %w (and before that: %w)", dir, err, why)
		}
		if !errors.Is(why, errNoGit) {
			l.notes = append(l.notes, unlisted(root, why))
		}
	}
	for _, p := range found.paths {
		l.paths[at+p] = true
	}
	for _, p := range found.sparse {
		l.sparse[at+p] = true
	}
	for _, p := range found.nested {
		l.nested = append(l.nested, at+p)
	}
	for _, p := range found.links {
		if err := l.submodule(ctx, root, filepath.Join(dir, filepath.FromSlash(p)), at+p); err != nil {
			return err
		}
	}
	return nil
}

// unlisted says that git refused to list a repository. Of what git says the first line is the reason.
func unlisted(root string, why error) string {
	reason, _, _ := strings.Cut(why.Error(), "\n")
	if strings.Contains(reason, "dubious ownership") {
		reason += "; if you trust it: git config --global --add safe.directory DIR"
	}
	return fmt.Sprintf("git does not list %s, xrun's own reading of the ignore rules was used: %s", root, reason)
}

// portable is a note without the absolute paths of this machine: it becomes part of plans, which are the same everywhere.
func (l *lister) portable(note, real string) string {
	dirs := []string{real}
	for _, v := range l.levels {
		dirs = append(dirs, v.root, v.dir)
	}
	slices.SortFunc(dirs, func(a, b string) int { return len(b) - len(a) })
	for _, dir := range dirs {
		if dir != "" && dir != "/" {
			note = strings.ReplaceAll(strings.ReplaceAll(note, dir+"/", ""), dir, ".")
		}
	}
	return note
}

// submodule adds the files of a submodule, which must be checked out.
func (l *lister) submodule(ctx context.Context, root, dir, name string) error {
	if l.filter.excludesDir(name) || l.sparse[name] {
		return nil
	}
	fi, err := os.Lstat(dir)
	entries, _ := os.ReadDir(dir)
	if err != nil || fi.IsDir() && len(entries) == 0 {
		return wrong("", "", "submodule %s is not checked out: run git -C %s submodule update --init --recursive, or exclude it", name, root)
	}
	if !fi.IsDir() {
		l.paths[name] = true
		return nil
	}
	return l.list(ctx, dir, name+"/", name)
}

// walk adds every file below dir except what git keeps for itself.
func (l *lister) walk(ctx context.Context, dir, at string) error {
	return walkFiles(ctx, dir, func(rel string, d fs.DirEntry) error {
		if !d.IsDir() {
			l.paths[at+rel] = true
		}
		return nil
	})
}

// walkFiles calls on for everything below dir, with slash-separated relative paths; it does not follow links and does
// not enter .git. fs.SkipDir from on leaves a directory out.
func walkFiles(ctx context.Context, dir string, on func(rel string, d fs.DirEntry) error) error {
	return filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if p == dir {
			return nil
		}
		if d.Name() == ".git" {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		return on(filepath.ToSlash(p[len(strings.TrimSuffix(dir, "/"))+1:]), d)
	})
}

// found is what one repository says of its own files, relative to the listed directory.
type found struct {
	paths, links, sparse, nested []string
}

// listProgram asks the git program. It lists; it never compares, so it runs no filter.
func listProgram(ctx context.Context, root, dir string) (found, error) {
	var f found
	cached, err := runGit(ctx, root, dir, "ls-files", "-z", "-t", "--stage", "--cached")
	if err != nil {
		return f, err
	}
	for rec := range bytes.SplitSeq(cached, []byte{0}) {
		if len(rec) == 0 {
			continue
		}
		head, name, ok := strings.Cut(string(rec), "\t")
		fields := strings.Fields(head) // H 100644 <id> 0
		if !ok || len(fields) != 4 {
			return f, fmt.Errorf("git ls-files: unexpected line %q", rec)
		}
		if fields[0] == "S" {
			f.sparse = append(f.sparse, name)
		}
		if fields[1] == gitlink {
			f.links = append(f.links, name)
			continue
		}
		f.paths = append(f.paths, name)
	}
	others, err := runGit(ctx, root, dir, "ls-files", "-z", "--others", "--exclude-standard")
	if err != nil {
		return f, err
	}
	for rec := range bytes.SplitSeq(others, []byte{0}) {
		name := string(rec)
		switch {
		case name == "":
		case strings.HasSuffix(name, "/"):
			f.nested = append(f.nested, path.Clean(name))
		default:
			f.paths = append(f.paths, name)
		}
	}
	return f, nil
}
