package specfile

import (
	"regexp"
	"strconv"
	"strings"
	"sync"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/literal"
	"cuelang.org/go/cue/parser"
	"cuelang.org/go/cue/token"

	"github.com/xrun-dev/xrun/schema"
)

// A shape is what the schema says about the fields of one struct or the elements of one list: which there may be, which
// there must be, and when. CUE stops at the first kind of error: a conflict hides every missing field, and an invalid
// field hides its unknown neighbours. The diagnosis therefore looks for both itself, along the shape.
type shape struct {
	fields   []*field
	patterns []pattern
	elem     *field // of a list
}

// A field of a shape.
type field struct {
	name     string
	required bool
	expr     ast.Expr
	allowed  string // the text of its error("…")
	when     condition
	shape    *shape // nil: nothing is known about what is below
}

// A pattern is a field constraint like [#Param]: string.
type pattern struct {
	name string         // of the definition; "" for any string
	re   *regexp.Regexp // nil matches all
	field
}

// A condition is that of an `if` round fields. The zero condition always holds.
type condition struct {
	on     string
	values []string
	not    bool
}

// holds reports whether the condition holds for the value of its discriminator.
func (c condition) holds(value string) bool {
	in := false
	for _, v := range c.values {
		in = in || v == value
	}
	return in != c.not
}

func (c condition) String() string {
	is := " is "
	if c.not {
		is = " is not "
	}
	return c.on + is + join(c.values, "or")
}

// schemaShape is the shape of #File, read once from the schema's own text.
var schemaShape = sync.OnceValue(func() *shape {
	syntax, err := parser.ParseFile("schema.cue", schema.Source)
	if err != nil {
		return &shape{}
	}
	b := &shaper{defs: map[string]ast.Expr{}, done: map[string]*shape{}}
	for _, d := range syntax.Decls {
		if f, ok := d.(*ast.Field); ok {
			if name, _, err := ast.LabelName(f.Label); err == nil {
				b.defs[name] = f.Value
			}
		}
	}
	return b.definition("#File")
})

// A shaper reads shapes from the syntax of the schema.
type shaper struct {
	defs map[string]ast.Expr
	done map[string]*shape
}

func (b *shaper) definition(name string) *shape {
	if s, ok := b.done[name]; ok {
		return s
	}
	lit, ok := b.defs[name].(*ast.StructLit)
	if !ok {
		return b.of(b.defs[name])
	}
	s := &shape{}
	b.done[name] = s // before its fields: definitions may refer to each other
	b.decls(s, lit.Elts, condition{})
	return s
}

// of is the shape of an expression; nil where it can be several things.
func (b *shaper) of(x ast.Expr) *shape {
	switch x := x.(type) {
	case *ast.Ident:
		if _, ok := b.defs[x.Name]; ok {
			return b.definition(x.Name)
		}
	case *ast.StructLit:
		s := &shape{}
		b.decls(s, x.Elts, condition{})
		return s
	case *ast.ListLit:
		for _, e := range x.Elts {
			if dots, ok := e.(*ast.Ellipsis); ok {
				e = dots.Type
			}
			if e != nil {
				return &shape{elem: b.field("", e)}
			}
		}
	case *ast.ParenExpr:
		return b.of(x.X)
	case *ast.BinaryExpr:
		if options := alternatives(x); x.Op == token.OR && len(options) == 1 {
			return b.of(options[0])
		}
	}
	return nil
}

func (b *shaper) decls(s *shape, ds []ast.Decl, when condition) {
	for _, d := range ds {
		switch d := d.(type) {
		case *ast.Field:
			if list, ok := d.Label.(*ast.ListLit); ok && len(list.Elts) == 1 {
				b.pattern(s, list.Elts[0], d.Value)
				continue
			}
			name, _, err := ast.LabelName(d.Label)
			if err != nil || strings.HasPrefix(name, "_") {
				continue // a check of the schema's own
			}
			f := b.field(name, d.Value)
			f.required, f.when = d.Constraint == token.NOT, when
			s.fields = append(s.fields, f)
		case *ast.EmbedDecl:
			if inner := b.of(d.Expr); inner != nil {
				s.fields = append(s.fields, inner.fields...)
			}
		case *ast.Comprehension:
			lit, ok := d.Value.(*ast.StructLit)
			if c, known := conditionOf(d.Clauses); ok && known {
				b.decls(s, lit.Elts, c)
			}
		}
	}
}

func (b *shaper) field(name string, x ast.Expr) *field {
	return &field{name: name, expr: x, allowed: allowed(x), shape: b.of(x)}
}

func (b *shaper) pattern(s *shape, label, value ast.Expr) {
	p := pattern{field: *b.field("", value)}
	switch x := label.(type) {
	case *ast.UnaryExpr: // [!~nameRE]: error("…") says what is wrong with a name
		return
	case *ast.Ident:
		if def, ok := b.defs[x.Name].(*ast.UnaryExpr); ok {
			if lit, ok := def.X.(*ast.BasicLit); ok {
				text, _ := literal.Unquote(lit.Value)
				p.name, p.re = x.Name, regexp.MustCompile(text)
			}
		}
	}
	s.patterns = append(s.patterns, p)
}

// conditionOf reads `if kind == "a" || kind == "b"`; known is false for any other clause.
func conditionOf(clauses []ast.Clause) (c condition, known bool) {
	if len(clauses) != 1 {
		return c, false
	}
	clause, ok := clauses[0].(*ast.IfClause)
	if !ok {
		return c, false
	}
	var read func(x ast.Expr) bool
	read = func(x ast.Expr) bool {
		e, ok := x.(*ast.BinaryExpr)
		if !ok {
			return false
		}
		if e.Op == token.LOR {
			return read(e.X) && read(e.Y)
		}
		on, okX := e.X.(*ast.Ident)
		lit, okY := e.Y.(*ast.BasicLit)
		if !okX || !okY || e.Op != token.EQL && e.Op != token.NEQ {
			return false
		}
		text, err := strconv.Unquote(lit.Value)
		c.on, c.not, c.values = on.Name, e.Op == token.NEQ, append(c.values, text)
		return err == nil
	}
	return c, read(clause.Condition)
}

// alternatives are the operands of a disjunction without error("…").
func alternatives(x ast.Expr) []ast.Expr {
	switch e := x.(type) {
	case *ast.ParenExpr:
		return alternatives(e.X)
	case *ast.BinaryExpr:
		if e.Op == token.OR {
			return append(alternatives(e.X), alternatives(e.Y)...)
		}
	case *ast.CallExpr:
		if id, ok := e.Fun.(*ast.Ident); ok && id.Name == "error" {
			return nil
		}
	}
	return []ast.Expr{x}
}

// allowed is the text of the error("…") in a disjunction; "" if there is none.
func allowed(x ast.Expr) string {
	switch e := x.(type) {
	case *ast.BinaryExpr:
		if e.Op == token.OR {
			return allowed(e.X) + allowed(e.Y)
		}
	case *ast.CallExpr:
		if id, ok := e.Fun.(*ast.Ident); ok && id.Name == "error" && len(e.Args) == 1 {
			if lit, ok := e.Args[0].(*ast.BasicLit); ok {
				text, _ := literal.Unquote(lit.Value)
				return text
			}
		}
	}
	return ""
}

// at is the field of the schema at a path; nil where it has none.
func (s *shape) at(path []string) *field {
	f := &field{shape: s}
	for _, name := range path {
		if f.shape == nil {
			return nil
		}
		if f = f.shape.child(name); f == nil {
			return nil
		}
	}
	return f
}

// child is the field of that name, whatever its condition, or the element of a list.
func (s *shape) child(name string) *field {
	if s.elem != nil {
		return s.elem
	}
	for _, f := range s.fields {
		if f.name == name {
			return f
		}
	}
	for i, p := range s.patterns {
		if p.re == nil || p.re.MatchString(name) {
			return &s.patterns[i].field
		}
	}
	return nil
}

// names are those of the fields that may be set where the discriminators have the values that value gives.
func (s *shape) names(value func(on string) (string, bool)) []string {
	var names []string
	for _, f := range s.fields {
		if f.when.on != "" {
			if v, ok := value(f.when.on); ok && !f.when.holds(v) {
				continue
			}
		}
		names = append(names, f.name)
	}
	return names
}
