package specfile

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/token"
)

// mismatch reports a value of another type than the schema's.
func (d *diagnosis) mismatch(path []string, e errors.Error) {
	name := last(path)
	f := schemaShape().at(path)
	_, args := e.Msg()
	if f == nil || len(args) < 4 {
		d.problem(d.leafPos(path, e), path, strip(inner(e).Error()), "")
		return
	}
	if _, err := strconv.Atoi(name); err == nil && len(path) > 1 {
		name = "an element of " + path[len(path)-2]
	}
	got := fmt.Sprint(args[2])
	if places := d.unit.source.values(path); len(places) > 0 && places[0].value != nil {
		got = literalKind(places[0].value, got)
	}
	want := describe(f.expr)
	suggestion := ""
	if places := d.unit.source.values(path); got == "a bytes" || len(places) > 0 && isBytes(places[0].value) {
		got, suggestion = "bytes", "write a text in double quotes: \"…\""
	}
	if want == "a struct" {
		suggestion = f.likeThis()
	}
	if got != "null" && slices.Contains(strings.Split(want, " or "), got) {
		return // one of its elements is what is wrong
	}
	if want == "a string" && (got == "a number" || got == "true or false") {
		suggestion = "put it in quotes: " + quote(fmt.Sprint(args[0]))
	}
	if want == "a list of strings" && got == "a string" {
		suggestion = "put it in brackets: [" + fmt.Sprint(args[0]) + "]"
		if name == "command" {
			suggestion = `one element for each word: ["python", "train.py"]`
		}
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

// notStruct reports a value that stands where a struct belongs. Of a struct among values CUE's own words are not fit to be
// read: they may hold those of a panic.
func (d *diagnosis) notStruct(path []string, e errors.Error) {
	name := last(path)
	f, got := schemaShape().at(path), "another value"
	for _, p := range d.unit.source.values(path) {
		if p.value != nil {
			got = literalKind(p.value, "value")
			break
		}
	}
	if f == nil || f.shape == nil || got == "a struct" {
		d.problem(d.leafPos(path, e), path, name+" is both a struct and something else", "")
		return
	}
	d.problem(d.leafPos(path, e), path, fmt.Sprintf("%s is a struct, not %s", name, got), f.likeThis())
}

func isBytes(x ast.Expr) bool {
	lit, ok := x.(*ast.BasicLit)
	return ok && lit.Kind == token.STRING && strings.HasPrefix(strings.TrimLeft(lit.Value, "#"), "'")
}
