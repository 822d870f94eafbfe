package specfile

import (
	"slices"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"
)

// entries are the sections that hold entries by name, with what one is.
var entries = []struct{ section, definition, one string }{
	{"experiments", "#Experiment", "experiment"}, {"hosts", "#Host", "host"}, {"agents", "#Agent", "agent"},
}

// unnamed reports entries that stand in the place of the section that holds them by name: `experiments: {command: …}`, or
// `experiments: schema.#Experiment & {…}`, on which CUE recurses. What it would say of either is then left out.
func (d *diagnosis) unnamed() bool {
	bad := false
	for _, s := range entries {
		shape := schemaShape().child(s.section).shape.patterns[0].shape
		for _, v := range d.unit.source.top[s.section] {
			x, ok := v.(ast.Expr)
			if !ok {
				continue
			}
			if pos := unnamedEntry(x, s.definition, shape); pos.IsValid() {
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
