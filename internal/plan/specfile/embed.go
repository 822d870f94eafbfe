package specfile

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/literal"
)

// embedArgument finds the file or glob of an @embed attribute.
var embedArgument = regexp.MustCompile(`\b(file|glob)\s*=\s*("(?:[^"\\]|\\.)*"|[^,)]*)`)

// embedsOutside reports embedded files that are reached through a link out of the repository. CUE follows links, and
// what it reads can come to stand in a plan.
func (d *diagnosis) embedsOutside() bool {
	bad := false
	d.eachInstance(func(inst *build.Instance) {
		for _, f := range inst.Files {
			ast.Walk(f, func(n ast.Node) bool {
				if a, ok := n.(*ast.Attribute); ok && strings.HasPrefix(a.Text, "@embed(") {
					bad = d.embedOutside(filepath.Dir(f.Filename), a) || bad
				}
				return true
			}, nil)
		}
	})
	return bad
}

func (d *diagnosis) embedOutside(dir string, a *ast.Attribute) bool {
	for _, m := range embedArgument.FindAllStringSubmatch(a.Text, -1) {
		name := strings.TrimSpace(m[2])
		if s, err := literal.Unquote(name); err == nil {
			name = s
		}
		if slices.Contains(strings.Split(name, "/"), "..") || strings.HasPrefix(name, "/") {
			continue // CUE refuses it
		}
		paths := []string{filepath.Join(dir, filepath.FromSlash(name))}
		if m[1] == "glob" {
			paths = globbed(paths[0])
		}
		if slices.ContainsFunc(paths, d.loader.leaves) {
			d.problem(a.Pos(), nil, "what is embedded here lies behind a link that leads out of the repository", "")
			return true
		}
		for _, p := range paths {
			info, err := os.Stat(p)
			if err != nil || info.IsDir() {
				continue // CUE says what is wrong with it
			}
			if u := unfitness(p); u != nil {
				d.problem(a.Pos(), nil, "what is embedded here is not read: "+u.message, "")
				return true
			}
		}
	}
	return false
}

// globbed are the files that a pattern matches; with **, everything below the part without wildcards.
func globbed(pattern string) []string {
	if before, _, ok := strings.Cut(pattern, "**"); ok {
		var all []string
		_ = filepath.WalkDir(filepath.Dir(before), func(p string, _ fs.DirEntry, err error) error {
			all = append(all, p)
			return err
		})
		return all
	}
	all, _ := filepath.Glob(pattern)
	return all
}

// leaves reports whether a path that is there lies outside the repository once its links are followed.
func (l *loader) leaves(path string) bool {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return false // there is nothing, which CUE reports
	}
	if l.realRoot == "" {
		if l.realRoot, err = filepath.EvalSymlinks(l.root); err != nil {
			return true
		}
	}
	return !within(l.realRoot, real)
}
