package specfile

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/token"
)

// The beginnings of CUE's own messages by which they are told apart; a test with every one of them guards an upgrade.
const (
	msgNotAllowed = "field not allowed"
	msgRequired   = "field is required but not present"
	msgHeader     = "%d errors in empty disjunction:"
	msgConflict   = "conflicting values"
	msgMismatch   = "conflicting values %s and %s (mismatched types"
	msgIncomplete = "incomplete value"
)

// loading reports an error that kept the package from being evaluated.
func (d *diagnosis) loading(e errors.Error) {
	pos := d.userPos(e)
	message := strip(inner(e).Error())
	suggestion := ""
	switch {
	case strings.Contains(message, "cannot find package"), strings.Contains(message, "cannot find module"):
		suggestion = "packages are not downloaded: copy it below cue.mod/pkg, or remove the import"
	case strings.HasPrefix(message, "imported and not used"):
		suggestion = "remove the import"
	case strings.HasPrefix(message, "reference "):
		if name, err := strconv.Unquote(strings.Fields(message)[1]); err == nil {
			suggestion = d.unit.source.reference(name)
		}
	}
	var path []string
	for _, c := range e.Path() {
		path = append(path, unquote(c))
	}
	d.problem(pos, path, message, suggestion)
}

// reference suggests a name for one that is not found.
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

// inner is the last error of a chain, which says what is wrong; the others say what was being done.
func inner(err error) error {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err
		}
		err = next
	}
}

var (
	placePrefix = regexp.MustCompile(`^(import failed: |"[^"]*": |\S+\.cue:\d+:\d+: |cannot get syntax for "[^"]*": )+`)
	pathPrefix  = regexp.MustCompile(`^[#_a-zA-Z0-9."\[\]-]+: `)
)

// strip removes the places that CUE writes into messages.
func strip(message string) string {
	message = placePrefix.ReplaceAllString(message, "")
	message, _, _ = strings.Cut(message, "\n")
	message, _, _ = strings.Cut(message, ": cannot find module providing")
	return strings.TrimSuffix(message, ":")
}

func unquote(s string) string {
	if u, err := strconv.Unquote(s); err == nil {
		return u
	}
	return s
}

// userPos is the first of e's positions that lies in a file of the user's.
func (d *diagnosis) userPos(e errors.Error) token.Pos {
	for _, p := range d.userPositions(e) {
		return p
	}
	return token.NoPos
}

func (d *diagnosis) userPositions(e errors.Error) []token.Pos {
	var out []token.Pos
	for _, p := range errors.Positions(e) {
		if p.IsValid() && filepath.IsAbs(p.Filename()) && !d.unit.module.ours(p.Filename()) {
			out = append(out, p)
		}
	}
	return out
}

// evaluation reports what CUE found wrong with the values.
func (d *diagnosis) evaluation(errs []errors.Error) {
	byPath := map[string][]errors.Error{}
	var order []string
	for _, e := range errs {
		path := make([]string, 0, len(e.Path()))
		for _, c := range e.Path() {
			path = append(path, unquote(c))
		}
		if n := len(path); n > 0 && strings.HasPrefix(path[n-1], "_") {
			path = path[:n-1] // a check of the schema's own
		}
		k := key(path)
		if byPath[k] == nil {
			order = append(order, k)
		}
		byPath[k] = append(byPath[k], e)
	}
	for _, k := range order {
		if !d.covered(k) {
			var path []string
			if k != "" {
				path = strings.Split(k, "\x00")
			}
			d.path(path, byPath[k])
		}
	}
}

// covered reports whether a problem has been found along the shape at this path or above it.
func (d *diagnosis) covered(k string) bool {
	for ; k != ""; k = k[:max(0, strings.LastIndexByte(k, 0))] {
		if d.reported[k] {
			return true
		}
	}
	return false
}

// path reports the errors at one path: one problem, or one for each message of the schema.
func (d *diagnosis) path(path []string, errs []errors.Error) {
	if d.conflict(path, errs) {
		return
	}
	for _, e := range errs {
		format, args := e.Msg()
		switch {
		case format == msgHeader:
			continue
		case strings.HasPrefix(format, msgMismatch):
			d.mismatch(path, e)
			return
		case strings.HasPrefix(format, msgNotAllowed):
			d.closed(path, e)
		case strings.HasPrefix(format, msgRequired):
			d.problem(token.NoPos, path, "missing field "+quote(path[len(path)-1]), "")
		case strings.HasPrefix(format, msgIncomplete):
			d.incomplete(path, e)
		case format == "%s" && len(args) == 1: // error("…") of the schema, or of the user
			d.problem(d.leafPos(path, e), path, fmt.Sprint(args[0]), "")
		default:
			message := strip(inner(e).Error())
			d.problem(d.leafPos(path, e), path, pathPrefix.ReplaceAllString(message, ""), "")
		}
	}
}

// leafPos is where the user wrote the value that an error is about.
func (d *diagnosis) leafPos(path []string, e errors.Error) token.Pos {
	if values := d.unit.source.values(path); len(values) == 1 && values[0].vague == 0 {
		return d.unit.source.valuePos(path)
	}
	if pos := d.userPos(e); pos.IsValid() {
		return pos
	}
	return d.unit.source.valuePos(path)
}

// conflict reports values of the user's own that contradict each other, naming both places. What the schema would have
// said to either is then left out.
func (d *diagnosis) conflict(path []string, errs []errors.Error) bool {
	for _, e := range errs {
		format, args := e.Msg()
		mine := d.userPositions(e)
		if !strings.HasPrefix(format, msgConflict) || len(mine) < 2 || len(mine) != len(errors.Positions(e)) {
			continue
		}
		// The positions include references; the values themselves are the ones with the literals.
		places := d.literals(path, mine)
		other := ""
		if len(places) > 1 {
			other = "the other is at " + d.loader.place(places[0])
		}
		d.problem(places[len(places)-1], path, fmt.Sprintf("conflicting values %v and %v", args[0], args[1]), other)
		return true
	}
	return false
}

// literals are the positions among mine at which a value of path is written.
func (d *diagnosis) literals(path []string, mine []token.Pos) []token.Pos {
	var at []token.Pos
	for _, p := range d.unit.source.values(path) {
		if p.value != nil && slices.Contains(mine, p.value.Pos()) && !slices.Contains(at, p.value.Pos()) {
			at = append(at, p.value.Pos())
		}
	}
	if len(at) < 2 {
		at = mine
	}
	slices.SortStableFunc(at, token.Pos.Compare)
	return at
}

// mismatch reports a value of another type than the schema's.
func (d *diagnosis) mismatch(path []string, e errors.Error) {
	name := path[len(path)-1]
	f := schemaShape().at(path)
	_, args := e.Msg()
	if f == nil || len(args) < 4 {
		d.problem(d.leafPos(path, e), path, strip(inner(e).Error()), "")
		return
	}
	if _, err := strconv.Atoi(name); err == nil && len(path) > 1 {
		name = "an element of " + path[len(path)-2]
	}
	v := d.unit.value.LookupPath(cue.ParsePath(pathString(path)))
	got := fmt.Sprint(args[2])
	if places := d.unit.source.values(path); len(places) > 0 && places[0].value != nil {
		got = literalKind(places[0].value, got)
	}
	_ = v
	want := describe(f.expr)
	suggestion := ""
	if want == "a string" && (got == "a number" || got == "true or false") {
		suggestion = "put it in quotes: " + quote(fmt.Sprint(args[0]))
	}
	if want == "a list of strings" && got == "a string" {
		suggestion = `one element for each word: ["python", "train.py"]`
	}
	d.problem(d.leafPos(path, e), path, fmt.Sprintf("%s is %s, not %s", name, want, got), suggestion)
}

// literalKind says what the user wrote; typ is CUE's word for it.
func literalKind(x ast.Expr, typ string) string {
	switch x := x.(type) {
	case *ast.StructLit:
		return "a struct"
	case *ast.ListLit:
		return "a list"
	case *ast.BasicLit:
		switch x.Kind {
		case token.STRING:
			return "a string"
		case token.INT, token.FLOAT:
			return "a number"
		case token.TRUE, token.FALSE:
			return "true or false"
		case token.NULL:
			return "null"
		}
	}
	switch typ {
	case "int", "float", "number":
		return "a number"
	case "bool":
		return "true or false"
	case "null":
		return typ
	default:
		return "a " + typ
	}
}

// closed reports a field that the schema has and something else forbids.
func (d *diagnosis) closed(path []string, e errors.Error) {
	pos := d.userPos(e)
	if schemaShape().at(path) == nil {
		d.problem(pos, path, "unknown field "+quote(path[len(path)-1]), "")
		return
	}
	d.problem(pos, path, "the schema has this field, but a definition that it is unified with is closed and has not",
		"write the template as `_name: {…}`, or end the definition with `...`")
}

// incomplete reports a value that is a constraint still.
func (d *diagnosis) incomplete(path []string, e errors.Error) {
	name := path[len(path)-1]
	message := name + " has no value yet"
	if values := d.unit.source.values(path); len(values) == 0 {
		message = strip(inner(e).Error())
	}
	d.problem(d.unit.source.valuePos(path), path, message, "give it a value, set it with a tag (-t), or remove it")
}
