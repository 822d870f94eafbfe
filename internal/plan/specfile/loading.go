package specfile

import (
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/literal"
	"cuelang.org/go/cue/parser"
	"cuelang.org/go/cue/token"

	"github.com/xrun-dev/xrun/schema"
)

// unloadable reports why a package could not be evaluated.
func (d *diagnosis) unloadable(errs []errors.Error) {
	// The loader gives up at the first file that it cannot parse.
	if syntax := d.syntax(); len(syntax) > 0 {
		errs = syntax
	}
	for _, e := range errs {
		d.loading(e)
	}
}

// syntax is every syntax error of every file of the package.
func (d *diagnosis) syntax() []errors.Error {
	var errs []errors.Error
	for _, file := range d.loader.shelf.filesOf(d.unit.target, d.unit.module) {
		text, err := readText(file)
		if err != nil {
			continue // that is told on its own
		}
		if _, err := parser.ParseFile(file, text, parser.ParseComments); err != nil {
			errs = append(errs, telling(errors.Errors(err))...)
		}
	}
	return errs
}

// telling are the errors of one file that say something new: the first of each line, and none of those that follow from a
// character that was left out.
func telling(errs []errors.Error) []errors.Error {
	var out []errors.Error
	illegal, last := false, 0
	for _, e := range errs {
		line := e.Position().Line()
		isIllegal := strings.Contains(e.Error(), "illegal character")
		if line == last && line > 0 || illegal && !isIllegal {
			continue
		}
		illegal, last = illegal || isIllegal, line
		out = append(out, e)
	}
	return out
}

// filesOf are the files of a target on disk, whether or not they can be parsed.
func (s *shelf) filesOf(t target, m *cueModule) []string {
	var paths []string
	if t.files != nil {
		for _, name := range t.files {
			paths = append(paths, filepath.Join(t.dir, name))
		}
		return paths
	}
	for dir := t.dir; within(m.root, dir); dir = filepath.Dir(dir) {
		for _, name := range s.of(dir, t.pkg) {
			paths = append(paths, filepath.Join(dir, name))
		}
		if dir == m.root {
			break
		}
	}
	return paths
}

// loading reports an error that kept the package from being evaluated.
func (d *diagnosis) loading(e errors.Error) {
	message := strip(inner(e).Error())
	suggestion := ""
	switch {
	case strings.Contains(message, "cannot find package"), strings.Contains(message, "cannot find module"), strings.HasPrefix(message, "builtin package"):
		if suggestion = schemaImport(message); suggestion == "" {
			suggestion = "packages are not downloaded: copy it below cue.mod/pkg, or remove the import"
		}
	case strings.HasPrefix(message, "imported and not used"):
		suggestion = "remove the import"
		if strings.Contains(message, quote(schema.Package)) {
			suggestion = "use it: experiments: \"name\": schema.#Experiment & {…}; or remove the import"
		}
	case strings.HasPrefix(message, "reference "):
		if name, err := strconv.Unquote(strings.Fields(message)[1]); err == nil {
			suggestion = d.reference(name, e)
		}
	case strings.HasPrefix(message, "undefined field: "):
		if near, ok := didYouMean(strings.TrimPrefix(message, "undefined field: "), definitions()); ok {
			suggestion = "did you mean " + near + "?"
		}
	default:
		suggestion = d.syntaxHint(message, e)
	}
	var path []string
	for _, c := range e.Path() {
		if strings.Contains(c, "@") { // the import path of a package, not a path in it
			path = nil
			break
		}
		path = append(path, unquote(c))
	}
	if pos := d.userPos(e); pos.IsValid() || len(path) > 0 {
		d.problem(pos, path, message, suggestion)
		return
	}
	if strings.Contains(message, "module.cue") {
		p := d.unit.problem(token.NoPos, nil, message, suggestion)
		p.File = filepath.Join(d.unit.module.root, "cue.mod", "module.cue")
		d.loader.wrong[""] = true
		d.loader.problems = append(d.loader.problems, p)
		return
	}
	if pos, tag := d.badTag(); tag != "" {
		d.problem(pos, nil, "the value of -t "+tag+" does not have the type of the tag: "+message, "")
		return
	}
	d.problem(token.NoPos, nil, message, suggestion)
}

var tagType = regexp.MustCompile(`^@tag\(\s*(\w+).*\btype=(int|number|bool)\b`)

// badTag finds the tag whose value does not have the type that its attribute says; CUE does not say which it is.
func (d *diagnosis) badTag() (pos token.Pos, tag string) {
	for _, f := range d.unit.source.files {
		ast.Walk(f, func(n ast.Node) bool {
			a, ok := n.(*ast.Attribute)
			if !ok {
				return true
			}
			m := tagType.FindStringSubmatch(a.Text)
			for _, t := range d.loader.Tags {
				if key, value, _ := strings.Cut(t, "="); m != nil && key == m[1] && !hasType(value, m[2]) {
					pos, tag = a.Pos(), t
				}
			}
			return true
		}, nil)
	}
	return pos, tag
}

// hasType reports whether CUE takes the value of a tag for that type.
func hasType(value, typ string) bool {
	if typ == "bool" {
		_, err := strconv.ParseBool(strings.TrimSpace(value))
		return err == nil
	}
	var n literal.NumInfo
	return literal.ParseNum(value, &n) == nil && (typ == "number" || n.IsInt())
}

// syntaxHint is the hint for an error that the parser gave.
func (d *diagnosis) syntaxHint(message string, e errors.Error) string {
	pos := d.userPos(e)
	if !pos.IsValid() {
		return ""
	}
	at := pos.Position()
	text, err := readText(at.Filename)
	if err != nil {
		return ""
	}
	before := at.Line - 1
	for before > 1 && strings.TrimSpace(d.loader.line(at.Filename, before)) == "" {
		before--
	}
	return syntaxHint(message, d.loader.line(at.Filename, at.Line), at.Column, d.loader.line(at.Filename, before), string(text))
}

// reference suggests what is meant by a name that is not found.
func (d *diagnosis) reference(name string, e errors.Error) string {
	if slices.Contains(definitions(), name) {
		return "write schema." + name
	}
	if hint := d.unit.source.reference(name); hint != "" {
		return hint
	}
	if pos := d.userPos(e); pos.IsValid() {
		at := pos.Position()
		line := d.loader.line(at.Filename, at.Line)
		switch {
		case strings.HasSuffix(line[:min(at.Column-1, len(line))], `\(`):
			return "a parameter is filled in by xrun, not by CUE: write {" + name + "}"
		case yamlItem.MatchString(line):
			return `a list is written in brackets, with commas, a text in quotes: ["a", "b"]`
		}
	}
	return unquotedWord(name)
}

// reference suggests a name of the package for one that is not found.
func (s *source) reference(name string) string {
	var names []string
	for n := range s.top {
		names = append(names, n)
	}
	slices.Sort(names)
	if near, ok := didYouMean(name, names); ok {
		return "did you mean " + quote(near) + "?"
	}
	if name == "schema" {
		return `import "github.com/xrun-dev/xrun/schema" at the top of the file`
	}
	return ""
}
