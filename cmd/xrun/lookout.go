package main

import (
	"context"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/xrun-dev/xrun/internal/engine/checkpoint"
	"github.com/xrun-dev/xrun/internal/plan"
)

// Bounds of a look round: what lies beyond is not seen, and a tree of any size is looked through in a moment.
const (
	mostEntries = 20_000
	mostInOne   = 2_000
	mostLeft    = 50
	mostText    = 1 << 20
)

// A lookout is what lies in and around a manifest, found when it is asked for. It lists and reads, and follows no link
// out of the repository.
type lookout struct {
	manifest *checkpoint.Manifest
	files    map[string]checkpoint.File
	dirs     map[string]bool  // that hold something shipped
	bytes    map[string]int64 // that are shipped, by file and directory
	real     string           // the directory of the code, its links resolved
	root     string           // of the repository, likewise
	pkg      string           // of the package that code.path starts at
	why      func(path string) string
	whys     map[string]string
	names    treeNames
	left     []plan.Left
	entries  int // that Left may still look at
	looked   bool
}

// treeNames are the files of each repository by lower-case base name, relative to its root. The lookouts of a spec share
// them: a thousand packages of one repository are a thousand manifests, and one walk.
type treeNames map[string]map[string][]string

func newLookout(ctx context.Context, m *checkpoint.Manifest, sel checkpoint.Selection, pkg, root string, known treeNames) *lookout {
	l := &lookout{
		manifest: m, names: known, files: map[string]checkpoint.File{}, dirs: map[string]bool{".": true}, bytes: map[string]int64{}, whys: map[string]string{},
		real: resolve(m.Dir), root: resolve(root), pkg: resolve(pkg),
		why: func(path string) string { return checkpoint.WhyLeft(ctx, sel, path) },
	}
	if r := checkpoint.FindRoot(pkg); r != "" {
		l.root = resolve(r)
	}
	for _, f := range m.Files {
		l.files[f.Path] = f
		l.bytes[f.Path] = f.Size
		for d := path.Dir(f.Path); d != "."; d = path.Dir(d) {
			l.dirs[d] = true
			l.bytes[d] += f.Size
		}
	}
	return l
}

// resolve follows the links of a path; what is not there stays as it is.
func resolve(p string) string {
	if real, err := filepath.EvalSymlinks(p); err == nil {
		return real
	}
	return p
}

// inside reports whether p is dir or lies below it.
func inside(dir, p string) bool {
	return p == dir || strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/")
}

// At says what lies at a path relative to the code.
func (l *lookout) At(name string) plan.Seen {
	full := filepath.Join(l.real, filepath.FromSlash(name))
	if strings.ContainsRune(name, 0) || !inside(l.root, full) {
		return plan.Seen{}
	}
	real, err := filepath.EvalSymlinks(full)
	if err != nil {
		return plan.Seen{}
	}
	fi, err := os.Lstat(real)
	if err != nil {
		return plan.Seen{}
	}
	seen := plan.Seen{Executable: fi.Mode()&0o100 != 0, Bytes: l.bytes[name]}
	switch {
	case fi.IsDir():
		seen.Kind = plan.Directory
	case fi.Mode().IsRegular():
		seen.Kind = plan.RegularFile
	default:
		_, seen.Shipped = l.files[name]
		seen.Kind, seen.Why = plan.Special, "it is no plain file"
		return seen
	}
	if seen.Shipped = l.ships(name, real); !seen.Shipped {
		seen.Why = l.whyLeft(name)
	}
	return seen
}

// ships reports whether a trial finds something at name. What lies behind a link that leads out of the code may be
// there or not: that is said of the link.
func (l *lookout) ships(name, real string) bool {
	if _, ok := l.files[name]; ok || l.dirs[name] {
		return true
	}
	if full := filepath.Join(l.real, filepath.FromSlash(name)); real == full {
		return false
	}
	rel, err := filepath.Rel(l.real, real)
	if err != nil || !inside(l.real, real) {
		return l.throughLink(name)
	}
	rel = filepath.ToSlash(rel)
	_, ok := l.files[rel]
	return ok || l.dirs[rel]
}

// throughLink reports whether a path leads through a link that is shipped.
func (l *lookout) throughLink(name string) bool {
	for p := name; p != "." && p != ".."; p = path.Dir(p) {
		if f, ok := l.files[p]; ok && f.Mode == "120000" {
			return true
		}
	}
	return false
}

func (l *lookout) whyLeft(name string) string {
	if strings.HasPrefix(name, "../") {
		return "it lies outside the code (code.path)"
	}
	why, ok := l.whys[name]
	if !ok {
		why = l.why(name)
		l.whys[name] = why
	}
	return why
}

// Find lists the files of the repository with the base name of a path: what is shipped first, then what has most of the
// path in common.
func (l *lookout) Find(name string) []plan.Elsewhere {
	if l.names[l.root] == nil {
		l.names[l.root] = walk(l.root)
	}
	var out []plan.Elsewhere
	for _, file := range l.names[l.root][strings.ToLower(path.Base(name))] {
		full := filepath.Join(l.root, filepath.FromSlash(file))
		rel, err := filepath.Rel(l.real, full)
		if err != nil {
			continue
		}
		e := plan.Elsewhere{Path: filepath.ToSlash(rel), Name: file}
		_, e.Shipped = l.files[e.Path]
		if base, ok := strings.CutSuffix("/"+file, "/"+name); ok {
			if dir, err := filepath.Rel(l.pkg, filepath.Join(l.root, filepath.FromSlash(base))); err == nil {
				e.CodePath = filepath.ToSlash(dir)
			}
		}
		out = append(out, e)
	}
	rank := func(e plan.Elsewhere) int {
		n := strings.Count(e.Name, "/")
		if !e.Shipped {
			n += 1000
		}
		if e.CodePath == "" {
			n += 100
		}
		return n
	}
	slices.SortStableFunc(out, func(a, b plan.Elsewhere) int { return rank(a) - rank(b) })
	return out
}

// walk lists the files of the repository by their names.
func walk(root string) map[string][]string {
	found := map[string][]string{}
	left := mostEntries
	queue := []string{""}
	for len(queue) > 0 && left > 0 {
		dir := queue[0]
		queue = queue[1:]
		for _, d := range list(filepath.Join(root, filepath.FromSlash(dir))) {
			left--
			name := path.Join(dir, d.Name())
			switch {
			case d.IsDir() && !quiet(d.Name()):
				if !isEnvironment(filepath.Join(root, filepath.FromSlash(name))) {
					queue = append(queue, name)
				}
			case d.Type().IsRegular():
				key := strings.ToLower(d.Name())
				found[key] = append(found[key], name)
			}
		}
	}
	return found
}

// list is what lies in a directory, sorted; of a very large one a part.
func list(dir string) []fs.DirEntry {
	f, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer f.Close()
	entries, err := f.ReadDir(mostInOne)
	if err != nil && err != io.EOF {
		return nil
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries
}

// quiet are directories in which nobody looks for his code.
func quiet(name string) bool {
	return strings.HasPrefix(name, ".") || strings.HasSuffix(name, ".egg-info") ||
		slices.Contains([]string{"node_modules", "__pycache__", "build", "dist", "site-packages", "target"}, name)
}

// isEnvironment reports whether a directory is a virtual environment of Python or of conda.
func isEnvironment(dir string) bool {
	for _, mark := range []string{"pyvenv.cfg", "conda-meta"} {
		if _, err := os.Lstat(filepath.Join(dir, mark)); err == nil {
			return true
		}
	}
	return false
}

// Beside lists what is shipped in the directory of a path.
func (l *lookout) Beside(name string) []string {
	var out []string
	for _, f := range l.manifest.Files {
		if path.Dir(f.Path) == path.Dir(name) {
			out = append(out, path.Base(f.Path))
		}
	}
	return out
}

// Text is a shipped file, or the beginning of a large one.
func (l *lookout) Text(name string) string {
	if f, ok := l.files[name]; !ok || f.Mode == "120000" {
		return ""
	}
	b, err := l.manifest.Head(name, mostText)
	if err != nil {
		return ""
	}
	return string(b)
}

// Links are those that are shipped and lead out of the code.
func (l *lookout) Links() []string {
	var out []string
	for _, k := range l.manifest.Links {
		out = append(out, k.Path+" to "+k.Target)
	}
	return out
}

// Left lists the directories at the top of the code, and one below, of which nothing is shipped and that hold source
// files or an environment.
func (l *lookout) Left() []plan.Left {
	if !l.looked {
		l.looked, l.entries = true, mostEntries
		l.lookIn(".", 2)
	}
	return l.left
}

func (l *lookout) lookIn(dir string, depth int) {
	for _, d := range list(filepath.Join(l.real, filepath.FromSlash(dir))) {
		if l.entries--; l.entries < 0 || len(l.left) == mostLeft {
			return
		}
		name := path.Join(dir, d.Name())
		full := filepath.Join(l.real, filepath.FromSlash(name))
		switch {
		case !d.IsDir():
		case l.dirs[name]:
			if depth > 1 {
				l.lookIn(name, depth-1)
			}
		case isEnvironment(full):
			l.left = append(l.left, plan.Left{Path: name, Environment: true, Abs: full})
		case quiet(d.Name()):
		default:
			if k := (plan.Left{Path: name, Abs: full}); l.holdsCode(full, &k.Package) {
				k.Why = l.whyLeft(name)
				l.left = append(l.left, k)
			}
		}
	}
}

var sourceEnds = []string{".py", ".sh", ".cu", ".cpp", ".cc", ".c", ".h", ".rs", ".go", ".jl", ".R", ".r", ".pl", ".js", ".ts"}

// holdsCode reports whether source files lie in a directory, and whether they are a package of Python.
func (l *lookout) holdsCode(dir string, isPackage *bool) bool {
	found := false
	for _, d := range list(dir) {
		l.entries--
		found = found || d.Type().IsRegular() && slices.Contains(sourceEnds, path.Ext(d.Name()))
		*isPackage = *isPackage || d.Name() == "__init__.py"
	}
	return found
}
