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
			if f, ok := decl.(*ast.Field); ok {
				if name, ok := plainName(f.Label); ok {
					selfEmbedded(f.Value, []string{name}, report)
				}
			}
		}
	}
	return bad
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
