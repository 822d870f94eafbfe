package specfile

import (
	"path/filepath"
	"slices"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/parser"

	"github.com/xrun-dev/xrun/schema"
)

// Root is the directory that the files of a spec are shown relative to, for a spec in dir.
func Root(dir string) string { return rootOf(dir) }

// Paths are the PATHs that load just these absolute files: a directory where they are its whole package. A file of a
// parent directory comes with the package below it.
func Paths(files []string) []string {
	disk := newShelf()
	byDir := map[string][]string{}
	pkgs := map[string]string{}
	for _, f := range files {
		dir := filepath.Dir(f)
		byDir[dir] = append(byDir[dir], f)
		pkgs[dir] = packageOf(f)
	}
	var out []string
	for dir, listed := range byDir {
		switch {
		case pkgs[dir] != "" && parent(dir, pkgs):
		case pkgs[dir] != "" && len(disk.of(dir, pkgs[dir])) == len(listed) && len(disk.packages(dir)) == 1:
			out = append(out, dir)
		default:
			out = append(out, listed...)
		}
	}
	slices.Sort(out)
	return out
}

// parent reports whether dir holds a part of the package of a directory below it.
func parent(dir string, pkgs map[string]string) bool {
	for d, pkg := range pkgs {
		if d != dir && pkg == pkgs[dir] && within(dir, d) {
			return true
		}
	}
	return false
}

// Finder returns a function that tells whether a file is part of a package of experiment files, loaded or not: what is
// code must not depend on which PATHs were named together.
func Finder() func(file string) bool {
	disk := newShelf()
	known := map[[2]string]bool{}
	return func(file string) bool {
		if !isSpecFile(filepath.Base(file)) {
			return false
		}
		dir, pkg := filepath.Dir(file), packageOf(file)
		if pkg == "" {
			return holdsSpec(file)
		}
		ours, ok := known[[2]string{dir, pkg}]
		if !ok {
			ours = disk.holdsSpec(dir, pkg)
			known[[2]string{dir, pkg}] = ours
		}
		return ours
	}
}

// holdsSpec reports whether a file of a package does.
func (s *shelf) holdsSpec(dir, pkg string) bool {
	return slices.ContainsFunc(s.of(dir, pkg), func(name string) bool { return holdsSpec(filepath.Join(dir, name)) })
}

// holdsSpec reports whether a file imports the schema, or declares sections of ours and nothing else.
func holdsSpec(file string) bool {
	text, err := readText(file)
	if err != nil {
		return false
	}
	f, err := parser.ParseFile(file, text)
	if err != nil {
		return false
	}
	for spec := range f.ImportSpecs() {
		if spec.Path.Value == `"`+schema.Package+`"` {
			return true
		}
	}
	declares := false
	for _, d := range f.Decls {
		field, ok := d.(*ast.Field)
		if !ok {
			continue
		}
		name, ok := plainName(field.Label)
		if !ok || name != "" && (name[0] == '_' || name[0] == '#') {
			continue
		}
		if !slices.ContainsFunc(sections, func(s struct{ name, definition string }) bool { return s.name == name }) {
			return false
		}
		declares = declares || name == "experiments" || name == "hosts"
	}
	return declares
}
