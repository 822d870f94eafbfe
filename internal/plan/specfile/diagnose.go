package specfile

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/token"

	"github.com/xrun-dev/xrun/internal/plan"
)

// A diagnosis finds what is wrong with one unit and puts it at the user's lines.
type diagnosis struct {
	loader *loader
	unit   *unit
	// reported are the paths for which a problem has been found along the shape: CUE's own words for it are left out.
	reported map[string]bool
}

// diagnose reports every problem of a unit that was evaluated.
func (l *loader) diagnose(ctx *cue.Context, u *unit) {
	d := &diagnosis{loader: l, unit: u, reported: map[string]bool{}}
	if u.inst.Err != nil {
		errs := errors.Errors(u.inst.Err)
		d.unloadable(errs)
		if again := d.withoutUnused(ctx, errs); again != nil {
			l.diagnose(ctx, again)
		}
		return
	}
	err := u.value.Validate(cue.Concrete(true))
	if err == nil && !d.strangers() {
		return
	}
	before := len(l.problems)
	d.fields(schemaShape(), u.value, nil)
	d.evaluation(errors.Errors(err))
	if err != nil && len(l.problems) == before { // better in CUE's words than not at all
		e := errors.Errors(err)[0]
		d.other(unquoted(e.Path()), e)
	}
}

func unquoted(path []string) []string {
	out := make([]string, len(path))
	for i, c := range path {
		out[i] = unquote(c)
	}
	return out
}

// strangers reports whether the package has a field that is none of ours. The package itself is not closed.
func (d *diagnosis) strangers() bool {
	for _, name := range names(d.unit.value) {
		if schemaShape().child(name) == nil {
			return true
		}
	}
	return false
}

// misspelt reports top-level fields that are most likely meant to be sections, in a package that has none.
func (d *diagnosis) misspelt() bool {
	bad := false
	for _, name := range slices.Sorted(maps.Keys(d.unit.source.top)) {
		allowed := schemaShape().names(func(string) (string, bool) { return "", false })
		if near, ok := didYouMean(name, allowed); ok {
			bad = true
			d.problem(d.unit.source.find([]string{name}).pos, []string{name}, "unknown field "+quote(name), "did you mean "+quote(near)+"?")
		}
	}
	return bad
}

// problem reports at the place of path, or of the longest part of it in the source.
func (d *diagnosis) problem(pos token.Pos, path []string, message, suggestion string) {
	if !pos.IsValid() {
		pos = d.unit.source.find(path).pos
	}
	d.loader.report(d.unit, pos, path, message, suggestion)
}

// report adds a problem, and remembers which entry of the spec it makes wrong.
func (l *loader) report(u *unit, pos token.Pos, path []string, message, suggestion string) {
	l.wrong[entryOf(path)] = true
	l.problems = append(l.problems, u.problem(pos, path, message, suggestion))
}

// problem makes a Problem with an absolute File.
func (u *unit) problem(pos token.Pos, path []string, message, suggestion string) plan.Problem {
	p := plan.Problem{Message: message, File: u.dir}
	if len(path) > 0 {
		p.Path = pathString(path)
	}
	if suggestion != "" {
		p.Suggestion = &suggestion
	}
	switch {
	case pos.IsValid():
		at := pos.Position()
		p.File, p.Line, p.Col = at.Filename, at.Line, at.Column
	case len(u.source.files) > 0:
		p.File, p.Line, p.Col = u.source.files[0].Filename, 1, 1
	}
	return p
}

// at reports a problem of a value that CUE accepts.
func (l *loader) at(u *unit, path []string, message, suggestion string) {
	l.report(u, u.source.valuePos(path), path, message, suggestion)
}

// firstPos is the package clause of the unit's first file.
func (u *unit) firstPos() token.Pos {
	for _, f := range u.source.files {
		for _, d := range f.Decls {
			if d.Pos().IsValid() {
				return d.Pos()
			}
		}
	}
	return token.NoPos
}

// place is a position as it is shown in the text of a message.
func (l *loader) place(pos token.Pos) string {
	p := pos.Position()
	return fmt.Sprintf("%s:%d:%d", l.rel(p.Filename), p.Line, p.Column)
}

// valuePos is the position of the value at path, or of the longest part of path.
func (s *source) valuePos(path []string) token.Pos {
	p := s.find(path)
	if p.depth == len(path) && p.value != nil {
		if _, isStruct := p.value.(*ast.StructLit); !isStruct && p.value.Pos().IsValid() {
			return p.value.Pos()
		}
	}
	return p.pos
}

// fields looks for unknown and missing fields along the shape.
func (d *diagnosis) fields(s *shape, v cue.Value, path []string) {
	if s.elem != nil {
		if s.elem.shape != nil {
			for i, e := range elements(v) {
				d.fields(s.elem.shape, e, append(slices.Clip(path), strconv.Itoa(i)))
			}
		}
		return
	}
	if len(s.variants) > 0 && d.unit.source.isList(path) {
		return // what is wrong with its elements, CUE says
	}
	present := names(v)
	if !isStruct(v) {
		// A struct that fits no operand of a disjunction has no fields for CUE; it has in the source.
		if present = d.unit.source.names(path); present == nil {
			return
		}
	}
	if len(s.variants) > 0 {
		s = s.variant(present)
	}
	discriminator := func(on string) (string, bool) {
		text, err := v.LookupPath(cue.MakePath(cue.Str(on))).String()
		return text, err == nil && d.known(s, on, text)
	}
	meant := map[string]bool{} // fields that are there under a wrong name
	for _, name := range present {
		f, p := s.child(name), append(slices.Clip(path), name)
		var elsewhere string
		if f != nil {
			f, elsewhere = d.variantOf(s, f, discriminator)
		}
		switch {
		case f == nil:
			meant[d.unknown(s, name, p, present, discriminator)] = true
		case elsewhere != "":
			d.found(p, d.unit.source.find(p).pos, p, "unknown field "+quote(name), "only where "+elsewhere)
		case f.shape != nil:
			d.fields(f.shape, v.LookupPath(cue.MakePath(cue.Str(name))), p)
		}
	}
	for _, f := range s.fields {
		if !f.required || slices.Contains(present, f.name) || meant[f.name] {
			continue
		}
		if _, ok := discriminator(f.when.on); f.when.on != "" && (!ok || !d.applies(f, discriminator)) {
			continue
		}
		p := append(slices.Clip(path), f.name)
		d.found(p, token.NoPos, p, "missing field "+quote(f.name), f.wants())
	}
	for _, x := range s.exclusive {
		if !slices.ContainsFunc(x.fields, func(n string) bool { return !slices.Contains(present, n) }) {
			p := append(slices.Clip(path), x.fields[len(x.fields)-1])
			d.found(append(slices.Clip(path), "_one"), d.unit.source.find(p).pos, path, x.message, "")
		}
	}
}

// found reports a problem, after which CUE's own words about the path at are left out.
func (d *diagnosis) found(at []string, pos token.Pos, path []string, message, suggestion string) {
	d.reported[key(at)] = true
	d.problem(pos, path, message, suggestion)
}

// elements are those of a list, also where one of them is wrong.
func elements(v cue.Value) []cue.Value {
	var out []cue.Value
	it, err := v.Fields()
	if !isList(v) {
		// Fields yields the elements of a list with an error in it.
		for err == nil && it.Next() {
			if it.Selector().LabelType() == cue.IndexLabel {
				out = append(out, it.Value())
			}
		}
		return out
	}
	list, _ := v.List()
	for list.Next() {
		out = append(out, list.Value())
	}
	return out
}

// known reports whether the schema knows that value of a discriminator. If it does not, that is the only problem.
func (d *diagnosis) known(s *shape, on, text string) bool {
	f := s.child(on)
	if f == nil {
		return false
	}
	for _, x := range alternatives(f.expr) {
		if lit, ok := x.(*ast.BasicLit); ok && lit.Value == quote(text) {
			return true
		}
	}
	return false
}

func (d *diagnosis) applies(f *field, discriminator func(string) (string, bool)) bool {
	if f.when.on == "" {
		return true
	}
	value, ok := discriminator(f.when.on)
	return !ok || f.when.holds(value)
}

// variantOf is the field of f's name whose condition holds: min is one field of uniform and another of int. If none
// holds, elsewhere says where there is such a field.
func (d *diagnosis) variantOf(s *shape, f *field, discriminator func(string) (string, bool)) (of *field, elsewhere string) {
	when := f.when
	when.values = nil
	for _, g := range s.fields {
		if g.name != f.name {
			continue
		}
		if d.applies(g, discriminator) {
			return g, ""
		}
		when.values = append(when.values, g.when.values...)
	}
	if f.when.on == "" {
		return f, "" // a pattern's
	}
	return f, when.String()
}

// isStruct reports whether v is a struct, also where fields of it are wrong.
func isStruct(v cue.Value) bool {
	_, err := v.Fields()
	return err == nil && len(elements(v)) == 0 && !isList(v)
}

// names are the fields that the user gave.
func names(v cue.Value) []string {
	var names []string
	it, err := v.Fields()
	if err != nil {
		return nil
	}
	for it.Next() {
		if it.Selector().LabelType() == cue.StringLabel && !absent(it.Value()) {
			names = append(names, it.Selector().Unquoted())
		}
	}
	return names
}

func key(path []string) string { return strings.Join(path, "\x00") }

// unknown reports a field that the schema does not have, and returns the name that was probably meant.
func (d *diagnosis) unknown(s *shape, name string, path, present []string, discriminator func(string) (string, bool)) string {
	pos := d.unit.source.find(path).pos
	if len(s.fields) == 0 && len(s.patterns) > 0 {
		d.found(path, pos, path, quote(name)+" cannot be a name here", nameRules[s.patterns[0].name])
		return ""
	}
	allowed := s.names(discriminator)
	free := slices.DeleteFunc(slices.Clone(allowed), func(n string) bool { return slices.Contains(present, n) })
	near, ok := meantField(name, free)
	if !ok {
		near, ok = meantField(name, allowed)
	}
	hint := "did you mean " + quote(near) + "?"
	if owner := s.owner(name, allowed); owner != "" {
		near, ok, hint = owner, true, name+" belongs into "+owner+": "+owner+": "+name+": …"
	}
	if !ok && len(path) > 1 && path[len(path)-2] == "sweep" {
		hint = "an axis belongs into grid: sweep: grid: " + name + ": …"
	} else if !ok {
		hint = "fields here: " + strings.Join(allowed, ", ")
		if len(path) == 1 {
			hint += "; a helper of your own is `_" + name + "`"
		}
	}
	d.found(path, pos, path, "unknown field "+quote(name), hint)
	return near
}

// owner is the one field of those allowed in which a field of that name belongs; "" if none or several have it, or if
// users of other tools mean another by it: a timeout is that of the trial, and not the setup's.
func (s *shape) owner(name string, allowed []string) string {
	owner, words := "", otherWords[name]
	for _, f := range s.fields {
		if f.shape == nil || !slices.Contains(allowed, f.name) || !slices.ContainsFunc(f.shape.fields, func(g *field) bool { return g.name == name }) {
			continue
		}
		if owner != "" && owner != f.name {
			return ""
		}
		owner = f.name
	}
	if len(words) > 0 && !slices.Contains(words, owner) {
		return ""
	}
	return owner
}

// nameRules say in words what the patterns of the schema allow.
var nameRules = map[string]string{
	"#Param":  "letters, digits and _ . @ / -, with a letter or _ first",
	"#EnvVar": "the name of an environment variable: letters, digits and _, no digit first",
}

// wants says what a missing field is to be.
func (f *field) wants() string {
	if f.allowed != "" {
		return f.allowed
	}
	if f.shape != nil && f.shape.elem == nil {
		var needs []string
		for _, inner := range f.shape.fields {
			if inner.required && inner.when.on == "" {
				needs = append(needs, inner.name)
			}
		}
		if len(needs) > 0 {
			return f.name + " is a struct with " + join(needs, "and")
		}
		if len(f.shape.fields) == 0 && len(f.shape.patterns) > 0 && f.name != "" {
			return "each has a name: " + f.name + ": \"name\": …"
		}
	}
	return f.name + " is " + describe(f.expr)
}

// likeThis says more of a struct than that it is one; "" if there is no more to say.
func (f *field) likeThis() string {
	if s := f.wants(); f.name != "" && s != f.name+" is a struct" {
		return s
	}
	return ""
}
