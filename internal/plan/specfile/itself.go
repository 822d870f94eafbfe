package specfile

import "cuelang.org/go/cue/ast"

// insideItself reports structs that hold themselves: the name of a top-level field that stands, as a slip of the editor
// leaves it, alone on a line inside that field; or that of a section at the top of a file. CUE recurses on it until the
// process ends.
func (d *diagnosis) insideItself() bool {
	bad := false
	report := func(x *ast.Ident, path []string) {
		bad = true
		d.problem(x.Pos(), path, quote(x.Name)+" stands inside itself", "remove it, or give it a value: "+x.Name+": …")
	}
	for _, f := range d.unit.source.files {
		for _, decl := range f.Decls {
			if e, ok := decl.(*ast.EmbedDecl); ok {
				if x, ok := e.Expr.(*ast.Ident); ok && schemaShape().child(x.Name) != nil {
					report(x, nil)
				}
			}
			d.sectionsInside(decl, report)
		}
	}
	return bad
}

// sectionsInside looks into a field at the top, or into what a comprehension makes there.
func (d *diagnosis) sectionsInside(decl ast.Decl, report func(*ast.Ident, []string)) {
	switch decl := decl.(type) {
	case *ast.Field:
		if name, ok := plainName(decl.Label); ok {
			selfEmbedded(decl.Value, []string{name}, report)
		}
	case *ast.Comprehension:
		if lit, ok := decl.Value.(*ast.StructLit); ok {
			for _, inner := range lit.Elts {
				d.sectionsInside(inner, report)
			}
		}
	case *ast.EmbedDecl:
		if lit, ok := decl.Expr.(*ast.StructLit); ok {
			for _, inner := range lit.Elts {
				d.sectionsInside(inner, report)
			}
		}
	}
}

// selfEmbedded finds embeddings of the field path[0] in its own value x, which stands at path.
func selfEmbedded(x ast.Expr, path []string, report func(*ast.Ident, []string)) {
	switch x := x.(type) {
	case *ast.BinaryExpr:
		selfEmbedded(x.X, path, report)
		selfEmbedded(x.Y, path, report)
	case *ast.ParenExpr:
		selfEmbedded(x.X, path, report)
	case *ast.StructLit:
		for _, decl := range x.Elts {
			switch decl := decl.(type) {
			case *ast.Field:
				name, ok := plainName(decl.Label)
				if ok && name == path[0] {
					return // from here down the name means this field
				}
				below := path
				if ok {
					below = append(path[:len(path):len(path)], name)
				}
				selfEmbedded(decl.Value, below, report)
			case *ast.Comprehension:
				selfEmbedded(decl.Value, path, report)
			case *ast.EmbedDecl:
				if id, ok := decl.Expr.(*ast.Ident); ok && id.Name == path[0] {
					report(id, path)
				}
			}
		}
	}
}
