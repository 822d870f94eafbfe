package specfile

import (
	"regexp"
	"strconv"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/literal"
	"cuelang.org/go/cue/token"
)

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
		if x.Op == token.OR {
			return b.either(alternatives(x))
		}
	}
	return nil
}

// either is the shape of a disjunction: of its only operand, or of its structs.
func (b *shaper) either(options []ast.Expr) *shape {
	if len(options) == 1 {
		return b.of(options[0])
	}
	s := &shape{}
	for _, o := range options {
		if inner := b.of(o); inner != nil && len(inner.fields) > 0 {
			s.variants = append(s.variants, inner)
		} else if inner != nil {
			s.variants = append(s.variants, inner.variants...)
		}
	}
	if len(s.variants) == 0 {
		return nil
	}
	return s
}

// variant is the shape that has most of the names.
func (s *shape) variant(names []string) *shape {
	best, most := s, -1
	for _, v := range s.variants {
		n := 0
		for _, name := range names {
			if v.child(name) != nil {
				n++
			}
		}
		if n > most {
			best, most = v, n
		}
	}
	return best
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
			if !ok {
				continue
			}
			if c, known := conditionOf(d.Clauses); known {
				b.decls(s, lit.Elts, c)
			} else if both := presence(d.Clauses); len(both) > 0 && len(lit.Elts) == 1 {
				if f, ok := lit.Elts[0].(*ast.Field); ok {
					s.exclusive = append(s.exclusive, exclusion{both, allowed(f.Value)})
				}
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

// presence reads `if a != _|_ if b != _|_`: the names of fields that are there.
func presence(clauses []ast.Clause) []string {
	var names []string
	for _, c := range clauses {
		clause, ok := c.(*ast.IfClause)
		if !ok {
			return nil
		}
		e, ok := clause.Condition.(*ast.BinaryExpr)
		if !ok || e.Op != token.NEQ {
			return nil
		}
		name, okX := e.X.(*ast.Ident)
		_, okY := e.Y.(*ast.BottomLit)
		if !okX || !okY {
			return nil
		}
		names = append(names, name.Name)
	}
	return names
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
