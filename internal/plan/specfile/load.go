package specfile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync/atomic"

	"github.com/xrun-dev/xrun/internal/plan"
)

// UserConfigDir begins the names of files in the user's configuration directory, wherever that is.
const UserConfigDir = "$XDG_CONFIG_HOME/"

// Options say what to load.
type Options struct {
	// Dir is the absolute directory that relative Paths start from.
	Dir string
	// Paths are directories, files or ./...; none is ".".
	Paths []string
	// Tags are CUE tags, "key=value" or "key".
	Tags []string
	// Inventory is the path of further hosts; "" looks in UserConfig.
	Inventory string
	// UserConfig is the user's configuration directory (its xrun/*.cue is the inventory of last resort); "" for none.
	UserConfig string
	// MaxMemory is how many bytes the evaluation may use; 0 is 4 GiB. The context bounds its time.
	MaxMemory uint64
}

// Problems is the error of a spec that is wrong: every problem of every file, in the order of file, line and column.
type Problems []plan.Problem

// Error is the first problem, and how many more there are.
func (p Problems) Error() string {
	if len(p) == 0 {
		return "no problems"
	}
	s := heading(p[0])
	if n := len(p) - 1; n == 1 {
		s += " (and 1 more problem)"
	} else if n > 1 {
		s += fmt.Sprintf(" (and %d more problems)", n)
	}
	return s
}

// Load reads, checks and resolves. If the files are wrong the error is Problems; another error means that xrun could
// not do its work. The Spec has its defaults filled in.
func Load(ctx context.Context, o Options) (*plan.Spec, error) {
	l := &loader{Options: o, shelf: newShelf(), modules: map[string]*cueModule{}, lines: map[string][]string{}, wrong: map[string]bool{}}
	spec, err := bounded(ctx, o.MaxMemory, l.load)
	// An evaluation without end is the spec's fault. The loader is still at work: nothing else of it may be looked at.
	if e, ok := errors.AsType[runaway](err); ok {
		hint := e.hint
		p := plan.Problem{File: ".", Message: e.Error(), Suggestion: &hint}
		if dir := l.current.Load(); dir != nil {
			p.File = *dir
		}
		return nil, Problems{p}
	}
	return spec, err
}

// A loader is one call of Load.
type loader struct {
	Options
	shelf    *shelf
	root     string
	realRoot string                // without links, once it is needed
	modules  map[string]*cueModule // by directory
	units    []*unit
	problems []plan.Problem  // their Files are absolute until the end
	wrong    map[string]bool // the entries ("hosts", "a") that have problems; "" is a whole package
	lines    map[string][]string
	spec     plan.Spec
	current  atomic.Pointer[string] // the directory of the package being evaluated, relative to the root
}

func (l *loader) load() (*plan.Spec, error) {
	targets, err := l.targets()
	if err != nil {
		return nil, err
	}
	l.spec.Root = l.root
	if len(targets) > 0 {
		l.units = l.read(targets)
		l.evaluate()
		l.merge()
		if err := l.listFiles(); err != nil {
			return nil, err
		}
		l.spec.Fill()
		l.check()
	}
	if problems := l.finish(l.problems); len(problems) > 0 {
		return nil, Problems(problems)
	}
	l.spec.Warnings = l.finish(l.spec.Warnings)
	return &l.spec, nil
}

// targets are the packages that the options name, and sets the root.
func (l *loader) targets() ([]target, error) {
	f := &finder{base: l.Dir, shelf: l.shelf, index: map[string]int{}}
	paths := l.Paths
	if len(paths) == 0 {
		paths = []string{"."}
	}
	for _, p := range paths {
		if err := f.find(p); err != nil {
			return nil, err
		}
	}
	l.root = rootOf(l.Dir)
	if f.first != "" {
		l.root = rootOf(f.first)
	}
	if err := f.inventory(l.Inventory, l.UserConfig); err != nil {
		return nil, err
	}
	for _, p := range f.problems {
		if p.File != "" && !filepath.IsAbs(p.File) {
			p.File = filepath.Join(l.Dir, p.File)
		}
		l.problems = append(l.problems, p)
	}
	return f.targets, nil
}

// finish makes problems fit to be shown: Files relative to the root, with excerpts, sorted, each once.
func (l *loader) finish(ps []plan.Problem) []plan.Problem {
	out := make([]plan.Problem, 0, len(ps))
	for _, p := range ps {
		if p.Line > 0 && p.Excerpt == "" {
			p.Excerpt = l.line(p.File, p.Line)
		}
		if p.Suggestion != nil && *p.Suggestion == "" {
			p.Suggestion = nil // null in JSON: there is none
		}
		p.File = l.rel(p.File)
		out = append(out, p)
	}
	slices.SortStableFunc(out, func(a, b plan.Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
	return slices.CompactFunc(out, func(a, b plan.Problem) bool {
		return a.File == b.File && a.Line == b.Line && a.Col == b.Col && a.Path == b.Path && a.Message == b.Message
	})
}

// rel is file relative to the root; a file elsewhere (an inventory) stays absolute.
func (l *loader) rel(file string) string {
	if file == "" || !within(l.root, file) && !within(l.Dir, file) {
		return file
	}
	rel, err := filepath.Rel(l.root, file)
	if err != nil {
		return file
	}
	return filepath.ToSlash(rel)
}

// line is one line of a file.
func (l *loader) line(file string, n int) string {
	lines, ok := l.lines[file]
	if !ok {
		// A file behind a link, of an imported package, may have a syntax error; its lines are not shown all the same.
		if text, err := readText(file); err == nil && (!within(l.root, file) || !l.leaves(file)) {
			lines = splitLines(string(text))
		}
		l.lines[file] = lines
	}
	if n < 1 || n > len(lines) {
		return ""
	}
	return lines[n-1]
}
