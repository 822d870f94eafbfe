package specfile

import (
	"regexp"
	"strconv"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/literal"
	"cuelang.org/go/cue/token"
)

// at is how far a walk has come.
type at struct {
	depth, vague int
	skip         int // components still to go that stem from a selector (a.b), not from the path
	refs         int // references followed
}

type walker struct {
	source *source
	visit  func(place)
	budget int
}

func (w *walker) decls(ds []ast.Decl, rest []string, a at) {
	if len(rest) == 0 {
		return
	}
	for _, d := range ds {
		if w.budget--; w.budget < 0 {
			return
		}
		switch d := d.(type) {
		case *ast.Field:
			ok, exact := matches(d.Label, rest[0])
			if ok {
				w.enter(d.Label.Pos(), d.Value, rest, a, exact)
			}
		case *ast.EmbedDecl:
			w.expr(d.Expr, rest, a)
		case *ast.Comprehension:
			a.vague++
			w.expr(d.Value, rest, a)
			a.vague--
		}
	}
}

// enter goes one component down, into the value of a label or list element that matches it.
func (w *walker) enter(pos token.Pos, value ast.Expr, rest []string, a at, exact bool) {
	if !exact {
		a.vague++
	}
	if a.skip > 0 {
		a.skip--
	} else {
		a.depth++
		w.visit(place{pos: pos, depth: a.depth, vague: a.vague, value: value})
	}
	if value != nil {
		w.expr(value, rest[1:], a)
	}
}

func (w *walker) expr(x ast.Expr, rest []string, a at) {
	if w.budget--; w.budget < 0 || len(rest) == 0 {
		return
	}
	switch x := x.(type) {
	case *ast.StructLit:
		w.decls(x.Elts, rest, a)
	case *ast.BinaryExpr:
		w.expr(x.X, rest, a)
		w.expr(x.Y, rest, a)
	case *ast.UnaryExpr:
		w.expr(x.X, rest, a)
	case *ast.ParenExpr:
		w.expr(x.X, rest, a)
	case *ast.PostfixExpr:
		w.expr(x.X, rest, a)
	case *ast.Alias:
		w.expr(x.Expr, rest, a)
	case *ast.ListLit:
		w.list(x, rest, a)
	case *ast.SelectorExpr:
		if name, _, err := ast.LabelName(x.Sel); err == nil {
			a.skip++
			w.expr(x.X, append([]string{name}, rest...), a)
		}
	case *ast.Ident:
		if a.refs++; a.refs > 32 {
			return
		}
		for _, n := range w.resolve(x) {
			w.node(n, rest, a)
		}
	}
}

// resolve is what an identifier refers to: in its own file as the parser found it, else at the top of any file.
func (w *walker) resolve(x *ast.Ident) []ast.Node {
	if x.Node != nil {
		if _, isImport := x.Node.(*ast.ImportSpec); isImport {
			return nil
		}
		// A field may be declared in several places; the parser knows one of them.
		if all := w.source.top[x.Name]; len(all) > 1 {
			for _, n := range all {
				if n == x.Node {
					return all
				}
			}
		}
		return []ast.Node{x.Node}
	}
	return w.source.top[x.Name]
}

func (w *walker) node(n ast.Node, rest []string, a at) {
	switch n := n.(type) {
	case *ast.Field:
		w.expr(n.Value, rest, a)
	case *ast.LetClause:
		w.expr(n.Expr, rest, a)
	case ast.Expr:
		w.expr(n, rest, a)
	}
}

func (w *walker) list(x *ast.ListLit, rest []string, a at) {
	n, err := strconv.Atoi(rest[0])
	if err != nil || n < 0 {
		return
	}
	for i, e := range x.Elts {
		switch e := e.(type) {
		case *ast.Comprehension: // makes any number of elements
			if n >= i {
				w.enter(e.Pos(), nil, rest, a, false)
			}
		case *ast.Ellipsis:
		default:
			if i == n {
				w.enter(e.Pos(), e, rest, a, true)
			}
		}
	}
}

// matches reports whether a label stands for the field name, and whether it does so by name.
func matches(l ast.Label, name string) (ok, exact bool) {
	switch x := l.(type) {
	case *ast.Interpolation:
		return interpolates(x, name), false
	case *ast.ListLit: // a pattern constraint; its expression is not looked at
		return true, false
	case *ast.Alias:
		if inner, ok := x.Expr.(ast.Label); ok {
			return matches(inner, name)
		}
		return false, false
	case *ast.ParenExpr: // a dynamic field
		return true, false
	}
	n, _, err := ast.LabelName(l)
	return err == nil && n == name, true
}

// interpolates reports whether an interpolated label can give name.
func interpolates(x *ast.Interpolation, name string) bool {
	var re strings.Builder
	re.WriteString("^(?s:")
	for _, e := range x.Elts {
		lit, ok := e.(*ast.BasicLit)
		if !ok {
			re.WriteString(".*")
			continue
		}
		// The pieces carry the quotes and the \( ) of the interpolation round them.
		text := strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(lit.Value, ")"), `"`), `"`)
		text = strings.TrimSuffix(text, `\(`)
		if s, err := literal.Unquote(`"` + text + `"`); err == nil {
			text = s
		}
		re.WriteString(regexp.QuoteMeta(text))
	}
	re.WriteString(")$")
	ok, err := regexp.MatchString(re.String(), name)
	return ok || err != nil
}
