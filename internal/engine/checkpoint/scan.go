package checkpoint

import (
	"cmp"
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

// maxPointer is more than any git-lfs pointer has.
const maxPointer = 1024

// A scan is the work of one call of Scan.
type scan struct {
	lister
	m        *Manifest
	real     string // Dir with its links resolved
	head     map[string]entry
	blobs    []string // git's ids of m.Files, where HEAD has the path
	dirs     map[string]bool
	listOnly bool // the bytes are not hashed, and the commit is not looked at
}

// Scan lists and hashes what Selection selects. It writes nothing and runs no program but git itself; of an error of
// several files it names the first.
func Scan(ctx context.Context, sel Selection) (*Manifest, error) { return scanWith(ctx, sel, false) }

// List is Scan without the hashes and the commit: it finds the same files, notes and errors, in less time.
func List(ctx context.Context, sel Selection) (*Manifest, error) { return scanWith(ctx, sel, true) }

func scanWith(ctx context.Context, sel Selection, listOnly bool) (*Manifest, error) {
	sel.Dir = filepath.Clean(sel.Dir)
	real, err := filepath.EvalSymlinks(sel.Dir)
	if err != nil {
		return nil, wrong("path", "", "the code's directory: %w", err)
	}
	if within := resolved(sel.Within); sel.Within != "" && real != within && !strings.HasPrefix(real, strings.TrimSuffix(within, "/")+"/") {
		return nil, wrong("path", "code lies within the repository of its experiment", "code.path leads out of the repository, through a link")
	}
	if fi, err := os.Stat(real); err != nil || !fi.IsDir() {
		return nil, wrong("path", "", "the code's directory: %s is not a directory", sel.Dir)
	}
	f, err := newFilter(sel, real)
	if err != nil {
		return nil, err
	}
	s := &scan{
		lister: lister{filter: f, paths: map[string]bool{}, sparse: map[string]bool{}},
		m:      &Manifest{Dir: sel.Dir},
		real:   real,
		dirs:   map[string]bool{".": true},

		listOnly: listOnly,
	}
	if err := s.list(ctx, real, "", ""); err != nil {
		return nil, err
	}
	if err := s.included(ctx); err != nil {
		return nil, err
	}
	if err := s.refuseNested(); err != nil {
		return nil, err
	}
	if err := s.stat(); err != nil {
		return nil, err
	}
	if err := checkSize(s.m.Files, sel.MaxSize); err != nil {
		return nil, err
	}
	if !listOnly {
		s.provenance(ctx)
	}
	if err := s.hash(ctx); err != nil {
		return nil, err
	}
	if !listOnly {
		s.compare()
	}
	s.m.Notes = append(s.m.Notes, s.notes...)
	slices.Sort(s.m.Notes)
	if !listOnly {
		s.m.identify()
	}
	return s.m, nil
}

// included adds what the include globs name and no other rule found.
func (s *scan) included(ctx context.Context) error {
	if len(s.filter.include) == 0 {
		return nil
	}
	return walkFiles(ctx, s.real, func(rel string, d fs.DirEntry) error {
		switch {
		case d.IsDir() && !s.filter.include.mayHold(rel):
			return fs.SkipDir
		case !d.IsDir() && s.filter.include.match(rel):
			s.paths[rel] = true
		}
		return nil
	})
}

// refuseNested: git would record such a directory as a bare commit id, and the files in it would be missing.
func (s *scan) refuseNested() error {
	slices.Sort(s.nested)
	for _, dir := range s.nested {
		if s.filter.excludesDir(dir) || s.filter.include.covers(dir) || !s.filter.ships(dir+"/\x01") {
			continue
		}
		return wrong("", "", "nested repository %s: make it a submodule, or name it in code.exclude (or in code.include, to ship its files)", dir)
	}
	return nil
}

// stat turns the candidates into files, in order of their paths.
func (s *scan) stat() error {
	names := make([]string, 0, len(s.paths))
	for name := range s.paths {
		if s.filter.ships(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		if !s.realDir(path.Dir(name)) {
			continue // tracked behind what is a link now: git calls it deleted, and the link itself is shipped
		}
		fi, err := os.Lstat(s.file(name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		f := File{Path: name, Mode: "100644", Size: fi.Size(), Ignored: s.filter.ignore.match(name)}
		switch t := fi.Mode().Type(); {
		case t == fs.ModeSymlink:
			f.Mode = "120000"
		case t.IsDir():
			continue // tracked as a file, a directory now: its files have entries of their own
		case t != 0:
			s.notes = append(s.notes, fmt.Sprintf("%s is left out: it is a %s", name, kindOf(t)))
			continue
		case fi.Mode().Perm()&0o100 != 0:
			f.Mode = "100755"
		}
		s.m.Files = append(s.m.Files, f)
	}
	return nil
}

// realDir reports whether dir is a directory and none of its parents is a link.
func (s *scan) realDir(dir string) bool {
	if ok, known := s.dirs[dir]; known {
		return ok
	}
	ok := s.realDir(path.Dir(dir))
	if ok {
		fi, err := os.Lstat(s.file(dir))
		ok = err == nil && fi.IsDir()
	}
	s.dirs[dir] = ok
	return ok
}

func (s *scan) file(name string) string { return filepath.Join(s.real, filepath.FromSlash(name)) }

func kindOf(t fs.FileMode) string {
	switch {
	case t&fs.ModeSocket != 0:
		return "socket"
	case t&fs.ModeNamedPipe != 0:
		return "fifo"
	case t&fs.ModeDevice != 0:
		return "device"
	}
	return "special file"
}

func checkSize(files []File, most int64) error {
	var total int64
	for _, f := range files {
		total += f.Size
	}
	if most <= 0 || total <= most {
		return nil
	}
	largest := slices.Clone(files)
	slices.SortStableFunc(largest, func(a, b File) int { return cmp.Compare(b.Size, a.Size) })
	var names []string
	for _, f := range largest[:min(5, len(largest))] {
		names = append(names, fmt.Sprintf("%s (%s)", f.Path, bytesText(f.Size)))
	}
	return wrong("max_size", "exclude what the trials do not need (code: exclude), or raise code.max_size", "%w: %s in %s, %s allowed; the largest are %s",
		ErrTooLarge, bytesText(total), filesText(len(files)), bytesText(most), strings.Join(names, ", "))
}

func filesText(n int) string {
	if n == 1 {
		return "1 file"
	}
	return fmt.Sprintf("%d files", n)
}

func bytesText(n int64) string {
	v, unit := float64(n), 0
	for v >= 1024 && unit < 4 {
		v, unit = v/1024, unit+1
	}
	if unit == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", v, []string{"", "KiB", "MiB", "GiB", "TiB"}[unit])
}
