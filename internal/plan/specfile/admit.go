package specfile

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/literal"
	"cuelang.org/go/cue/load"
	"cuelang.org/go/cue/parser"

	"github.com/xrun-dev/xrun/internal/plan"
)

// mostPackages is how many packages of one directory are loaded: for each, CUE looks at all of its files.
const mostPackages = 250

// An admission decides what CUE gets to read, before it does: a spec may come from a stranger's pull request, and what
// is read can come to stand in a plan. Nothing outside of the repository is, and nothing that would not end.
type admission struct {
	*loader
	seen map[string]bool // directories
	bad  map[string]bool // those of them that hold something that is not read
}

// admits reports whether all that the package of t is made of may be read, and reports what may not.
func (a *admission) admits(t target, m *cueModule) bool {
	good := true
	if t.files != nil { // CUE reads these and nothing beside them
		for _, f := range a.shelf.dir(t.dir) {
			good = (!slices.Contains(t.files, f.name) || a.file(f, t.inventory)) && good
		}
		return a.replacements(m) && good && a.imports(a.shelf.filesOf(t, m), m, t.inventory)
	}
	for dir := t.dir; within(a.root, dir) || dir == t.dir; dir = filepath.Dir(dir) {
		good = a.dir(dir, m, t.inventory) && good
		if dir == a.root {
			break
		}
	}
	return a.replacements(m) && good && a.imports(a.shelf.filesOf(t, m), m, t.inventory)
}

// dir looks at the files of one directory. An inventory is the user's own and may be anywhere.
func (a *admission) dir(dir string, m *cueModule, inventory bool) bool {
	a.shelf.dir(dir)
	for _, pipe := range a.shelf.pipes[dir] {
		m.overlay[pipe] = load.FromString("") // so that it is not opened; embedding it is a problem of its own
	}
	if a.seen[dir] {
		return !a.bad[dir]
	}
	a.seen[dir] = true
	for _, f := range a.shelf.dir(dir) {
		if !a.file(f, inventory) {
			a.bad[dir] = true
		}
	}
	return !a.bad[dir]
}

func (a *admission) file(f cueFile, inventory bool) bool {
	switch {
	case f.unfit != nil:
		a.problems = append(a.problems, plan.Problem{File: f.path, Message: f.unfit.message, Suggestion: &f.unfit.hint})
	case f.link && !inventory && a.leaves(f.path):
		a.problems = append(a.problems, plan.Problem{File: f.path, Message: "this link leads out of the repository"})
	default:
		return a.encoding(f)
	}
	return false
}

// encoding looks for bytes that are no UTF-8. CUE would put another character in their place: a path would be another.
func (a *admission) encoding(f cueFile) bool {
	text, err := readText(f.path)
	if err != nil {
		return true // loading says why
	}
	line, col := notUTF8(text)
	if line > 0 {
		hint := "save the file as UTF-8"
		a.problems = append(a.problems, plan.Problem{File: f.path, Line: line, Col: col, Message: "these bytes are not UTF-8", Suggestion: &hint})
	}
	return line == 0
}

// imports looks at the directories of the packages that files import, and those that these import.
func (a *admission) imports(files []string, m *cueModule, inventory bool) bool {
	good := true
	for _, file := range files {
		text, err := readText(file)
		if err != nil {
			continue // told already
		}
		syntax, err := parser.ParseFile(file, text, parser.ImportsOnly)
		if err != nil {
			continue // loading says why
		}
		for spec := range syntax.ImportSpecs() {
			path, err := literal.Unquote(spec.Path.Value)
			if err != nil {
				continue
			}
			for _, dir := range m.dirsOf(path) {
				first := !a.seen[dir]
				if !a.dir(dir, m, inventory) {
					good = false
				} else if first {
					var below []string
					for _, f := range a.shelf.dir(dir) {
						below = append(below, f.path)
					}
					good = a.imports(below, m, inventory) && good
				}
			}
		}
	}
	return good
}

// dirsOf are the directories that an import path may mean: in the module itself, or a copy below cue.mod.
func (m *cueModule) dirsOf(path string) []string {
	path, _, _ = strings.Cut(path, ":")
	var dirs []string
	if rest, ok := strings.CutPrefix(path, m.path); ok && m.path != "" && (rest == "" || rest[0] == '/') {
		dirs = append(dirs, filepath.Join(m.root, filepath.FromSlash(rest)))
	}
	for _, kind := range []string{"pkg", "gen", "usr"} {
		dirs = append(dirs, filepath.Join(m.root, "cue.mod", kind, filepath.FromSlash(path)))
	}
	return dirs
}

const localModule = "local-module.cue"

// replacements looks at the modules that cue.mod/local-module.cue puts in the place of others.
func (a *admission) replacements(m *cueModule) bool {
	name := filepath.Join(m.root, "cue.mod", localModule)
	if a.seen[name] {
		return !a.bad[name]
	}
	a.seen[name] = true
	if _, err := os.Lstat(name); err != nil {
		return true
	}
	text, err := readText(name)
	if err != nil {
		a.refuse(name, plan.Problem{File: name, Message: err.Error()})
		return false
	}
	syntax, err := parser.ParseFile(name, text)
	if err != nil {
		return true // loading says why
	}
	ast.Walk(syntax, func(n ast.Node) bool {
		field, ok := n.(*ast.Field)
		if !ok {
			return true
		}
		label, _ := plainName(field.Label)
		lit, ok := field.Value.(*ast.BasicLit)
		if label != "replaceWith" || !ok {
			return true
		}
		to, err := literal.Unquote(lit.Value)
		if err != nil || !strings.HasPrefix(to, ".") && !filepath.IsAbs(to) {
			return true // another module, which is not downloaded
		}
		dir := filepath.FromSlash(to)
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(m.root, dir)
		}
		at := lit.Pos().Position()
		p := plan.Problem{File: name, Line: at.Line, Col: at.Column, Path: "replaceWith"}
		if !within(a.root, dir) || a.leaves(dir) {
			p.Message = "this module lies outside of the repository"
		} else if u := unfitBelow(dir); u != "" {
			p.Message = u
		}
		if p.Message != "" {
			a.refuse(name, p)
		}
		return true
	}, nil)
	return !a.bad[name]
}

func (a *admission) refuse(name string, p plan.Problem) {
	a.bad[name] = true
	a.problems = append(a.problems, p)
}

// unfitBelow names something below dir that is not read; "" if there is nothing.
func unfitBelow(dir string) (message string) {
	_ = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Type().IsRegular() && !strings.HasSuffix(d.Name(), ".cue") {
			return nil // what cannot be listed, CUE cannot read
		}
		if info, err := os.Stat(p); !strings.HasSuffix(d.Name(), ".cue") && (err != nil || info.IsDir() || info.Mode().IsRegular()) {
			return nil // a link that CUE does not open
		}
		if u := unfitness(p); u != nil {
			message = fmt.Sprintf("of this module, %s cannot be read: %s", d.Name(), u.message)
			return fs.SkipAll
		}
		return nil
	})
	return message
}

// strays reports files that CUE has read all the same, from where nothing is to be read.
func (d *diagnosis) strays() bool {
	if d.unit.inventory {
		return false
	}
	bad := false
	dirs := map[string]bool{} // seen; whether they lie outside
	leaves := func(file string) bool {
		dir := filepath.Dir(file)
		if _, ok := dirs[dir]; !ok {
			dirs[dir] = d.loader.leaves(dir)
		}
		info, err := os.Lstat(file)
		return dirs[dir] || err == nil && info.Mode()&fs.ModeSymlink != 0 && d.loader.leaves(file)
	}
	d.eachInstance(func(inst *build.Instance) {
		for _, f := range inst.Files {
			if filepath.IsAbs(f.Filename) && !d.unit.module.ours(f.Filename) && leaves(f.Filename) {
				bad = true
				d.loader.wrong[""] = true
				d.loader.problems = append(d.loader.problems, plan.Problem{File: f.Filename, Message: "this file lies outside of the repository"})
			}
		}
	})
	return bad
}

// eachInstance visits the package and all that it imports, each once.
func (d *diagnosis) eachInstance(visit func(*build.Instance)) {
	seen := map[*build.Instance]bool{}
	var look func(inst *build.Instance)
	look = func(inst *build.Instance) {
		if seen[inst] {
			return
		}
		seen[inst] = true
		visit(inst)
		for _, dep := range inst.Imports {
			look(dep)
		}
	}
	look(d.unit.inst)
}

// crowded are the directories with more packages than are loaded, each reported once.
func (l *loader) crowded(targets []target) map[string]bool {
	count, crowded := map[string]int{}, map[string]bool{}
	for _, t := range targets {
		if t.files == nil || t.found {
			count[t.dir]++
		}
	}
	for dir, n := range count {
		if n > mostPackages {
			crowded[dir] = true
			hint := "name the files that belong to the experiments"
			l.problems = append(l.problems, plan.Problem{
				File: dir, Suggestion: &hint,
				Message: fmt.Sprintf("this directory holds %d packages, counting files without a package clause, and %d are the most that is loaded", n, mostPackages),
			})
		}
	}
	return crowded
}
