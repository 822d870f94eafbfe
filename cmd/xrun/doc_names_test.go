package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestEveryExportedNameIsDocumented: `go doc` is a product.
func TestEveryExportedNameIsDocumented(t *testing.T) {
	root := filepath.Join("..", "..")
	packages := map[string]bool{} // directory: has a package comment
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || file != root && strings.HasPrefix(d.Name(), ".")):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go"):
			return nil
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, file, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		dir := filepath.Dir(file)
		packages[dir] = packages[dir] || f.Doc != nil
		for _, decl := range f.Decls {
			for _, name := range undocumented(decl) {
				t.Errorf("%s: %s is exported and not documented", set.Position(decl.Pos()), name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for dir, documented := range packages {
		if !documented {
			t.Errorf("%s: the package has no comment", dir)
		}
	}
}

// TestNoTestSkipsByItself: a skip goes through citest, which fails in CI. (Scripts: TestInCINothingIsMissing.)
func TestNoTestSkipsByItself(t *testing.T) {
	skip := regexp.MustCompile(`\b[a-z]\.(Skip|Skipf|SkipNow)\(`)
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(file, "_test.go") {
			return err
		}
		src, err := os.ReadFile(file)
		if m := skip.Find(src); m != nil {
			t.Errorf("%s: %s…): use citest.Skip", file, m)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// undocumented lists the exported names of a declaration that no comment covers. A comment over a group covers it.
func undocumented(decl ast.Decl) []string {
	var out []string
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && d.Doc == nil && (d.Recv == nil || receiverIsExported(d)) {
			out = append(out, d.Name.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				if s.Name.IsExported() && d.Doc == nil && s.Doc == nil {
					out = append(out, s.Name.Name)
				}
			case *ast.ValueSpec:
				for _, n := range s.Names {
					if n.IsExported() && d.Doc == nil && s.Doc == nil && s.Comment == nil {
						out = append(out, n.Name)
					}
				}
			}
		}
	}
	return out
}

func receiverIsExported(d *ast.FuncDecl) bool {
	x := d.Recv.List[0].Type
	if star, ok := x.(*ast.StarExpr); ok {
		x = star.X
	}
	name, ok := x.(*ast.Ident)
	return ok && name.IsExported()
}
