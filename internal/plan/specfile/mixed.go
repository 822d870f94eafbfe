package specfile

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/parser"

	"github.com/xrun-dev/xrun/internal/plan"
)

// A dirPackage is the files of one package that lie in one directory.
type dirPackage struct {
	name  string
	files []string // base names
}

// packages are the packages of a directory, the one with the most files first. One that cannot be read has none here:
// loading it says why.
func (s *shelf) packages(dir string) []dirPackage {
	var out []dirPackage
	index := map[string]int{}
	for _, f := range s.dir(dir) {
		if f.pkg == "" || !isSpecFile(f.name) {
			continue
		}
		i, ok := index[f.pkg]
		if !ok {
			i = len(out)
			index[f.pkg] = i
			out = append(out, dirPackage{name: f.pkg})
		}
		out[i].files = append(out[i].files, f.name)
	}
	slices.SortStableFunc(out, func(a, b dirPackage) int { return cmp.Compare(len(b.files), len(a.files)) })
	return out
}

// mixed reports a unit without anything of ours whose directory, which the user named, holds files of several packages:
// most likely one of them was given another name, at the package clause of the smallest. Packages that each have
// something of ours may share a directory.
func (l *loader) mixed(u *unit) bool {
	pkgs := l.shelf.packages(u.dir)
	if u.files != nil || len(pkgs) < 2 {
		return false
	}
	var each []string
	for _, p := range pkgs {
		files := strings.Join(p.files[:min(3, len(p.files))], ", ")
		if n := len(p.files) - 3; n > 0 {
			files += fmt.Sprintf(" and %d more", n)
		}
		each = append(each, fmt.Sprintf("%s (%s)", p.name, files))
	}
	number := fmt.Sprint(len(pkgs))
	if len(pkgs) == 2 {
		number = "two"
	}
	file := filepath.Join(u.dir, pkgs[len(pkgs)-1].files[0])
	hint := "give the files one package name, or name a file"
	p := plan.Problem{
		File: file, Suggestion: &hint,
		Message: fmt.Sprintf("this directory holds %s packages: %s", number, join(each, "and")),
	}
	p.Line, p.Col = clauseOf(file)
	l.wrong[""] = true
	l.problems = append(l.problems, p)
	return true
}

// clauseOf is where the package clause of a file stands; 0 for one without.
func clauseOf(file string) (line, col int) {
	text, err := readText(file)
	if err != nil {
		return 0, 0
	}
	syntax, err := parser.ParseFile(file, text, parser.PackageClauseOnly)
	if err != nil {
		return 0, 0
	}
	for _, d := range syntax.Decls {
		if clause, ok := d.(*ast.Package); ok {
			at := clause.Pos().Position()
			return at.Line, at.Column
		}
	}
	return 0, 0
}
