package specfile

import (
	"slices"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"
)

type entryKind struct{ section, definition, one string }

// entries are the sections that hold entries by name, with what one is.
var entries = []entryKind{
	{"experiments", "#Experiment", "experiment"}, {"hosts", "#Host", "host"}, {"agents", "#Agent", "agent"},
}

// unnamed reports entries that stand in the place of the section that holds them by name: `experiments: {command: …}`, or
// `experiments: schema.#Experiment & {…}`, on which CUE recurses. What it would say of either is then left out.
func (d *diagnosis) unnamed() bool {
	bad := false
	for _, s := range entries {
		shape := schemaShape().child(s.section).shape.patterns[0].shape
		for _, x := range d.unit.source.sectionValues(s.section) {
			if pos, inner := innerEntry(x, s.definition, 0); pos.IsValid() {
				bad = true
				i := slices.IndexFunc(entries, func(e entryKind) bool { return e.definition == inner })
				d.problem(pos, []string{s.section}, article(entries[i].one)+" inside another entry of "+s.section,
					"write "+entries[i].section+": \"name\": schema."+inner+" & {…} at the top of the file, with nothing between")
			} else if pos := unnamedEntry(x, s.definition, shape); pos.IsValid() {
				bad = true
				d.problem(pos, []string{s.section}, article(s.one)+" without a name", "write "+s.section+": \"name\": schema."+s.definition+" & {…}")
			}
		}
	}
	return bad
}

func article(one string) string {
	if one == "host" {
		return "this is a host"
	}
	return "this is an " + one
}

// innerEntry is where an entry stands below others, at a depth of more than one label. As every field of it would have to
// be an entry too, CUE recurses.
func innerEntry(x ast.Node, definition string, depth int) (pos token.Pos, inner string) {
	ast.Walk(x, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			name, _ := plainName(n.Label) // a helper is nobody's entry
			if !pos.IsValid() && !strings.HasPrefix(name, "_") && !strings.HasPrefix(name, "#") {
				pos, inner = innerEntry(n.Value, definition, depth+1)
			}
			return false
		case *ast.SelectorExpr:
			name, _, err := ast.LabelName(n.Sel)
			known := err == nil && slices.ContainsFunc(entries, func(e entryKind) bool { return e.definition == name })
			if known && !pos.IsValid() && (depth > 1 || depth > 0 && name != definition) {
				pos, inner = n.Pos(), name
			}
			return false
		}
		return true
	}, nil)
	return pos, inner
}

// unnamedEntry is where x shows to be an entry itself: it is unified with the definition of one, or has fields of one with
// values that no entry can have.
func unnamedEntry(x ast.Expr, definition string, s *shape) token.Pos {
	switch x := x.(type) {
	case *ast.ParenExpr:
		return unnamedEntry(x.X, definition, s)
	case *ast.BinaryExpr:
		if pos := unnamedEntry(x.X, definition, s); pos.IsValid() || x.Op != token.AND {
			return pos
		}
		return unnamedEntry(x.Y, definition, s)
	case *ast.SelectorExpr:
		if name, _, err := ast.LabelName(x.Sel); err == nil && name == definition {
			return x.Pos()
		}
	case *ast.StructLit:
		for _, decl := range x.Elts {
			switch decl := decl.(type) {
			case *ast.EmbedDecl:
				if pos := unnamedEntry(decl.Expr, definition, s); pos.IsValid() {
					return pos
				}
			case *ast.Field:
				name, _ := plainName(decl.Label)
				i := slices.IndexFunc(s.fields, func(f *field) bool { return f.name == name })
				if i < 0 {
					continue
				}
				switch decl.Value.(type) {
				case *ast.BasicLit, *ast.ListLit:
					return decl.Label.Pos()
				}
			}
		}
	}
	return token.NoPos
}

// sectionValues are the values that a section is given at the top, also by a comprehension.
func (s *source) sectionValues(name string) []ast.Expr {
	var out []ast.Expr
	var look func(decls []ast.Decl)
	look = func(decls []ast.Decl) {
		for _, d := range decls {
			switch d := d.(type) {
			case *ast.Field:
				if label, ok := plainName(d.Label); ok && label == name && d.Value != nil {
					out = append(out, d.Value)
				}
			case *ast.Comprehension:
				if lit, ok := d.Value.(*ast.StructLit); ok {
					look(lit.Elts)
				}
			case *ast.EmbedDecl:
				if lit, ok := d.Expr.(*ast.StructLit); ok {
					look(lit.Elts)
				}
			}
		}
	}
	for _, f := range s.files {
		look(f.Decls)
	}
	return out
}
