package specfile

import (
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/load"
)

const msgUnused = "imported and not used"

// withoutUnused is the unit without the imports that it does not use, evaluated; nil if these are not all that keeps it
// from being evaluated. CUE says nothing else of a package with one, and a user would meet the next mistake after the next.
func (d *diagnosis) withoutUnused(ctx *cue.Context, errs []errors.Error) *unit {
	u := d.unit
	lines := map[string]map[int]bool{}
	for _, e := range errs {
		pos := e.Position()
		if !strings.Contains(e.Error(), msgUnused) || !pos.IsValid() {
			return nil
		}
		if lines[pos.Filename()] == nil {
			lines[pos.Filename()] = map[int]bool{}
		}
		lines[pos.Filename()][pos.Line()] = true
	}
	overlay := map[string]load.Source{}
	for _, f := range u.source.files {
		if lines[f.Filename] == nil {
			continue
		}
		text, err := readText(f.Filename)
		if err != nil {
			return nil
		}
		overlay[f.Filename] = load.FromBytes(blanked(text, f, lines[f.Filename]))
	}
	m := *u.module
	m.overlay = overlay
	for name, source := range u.module.overlay {
		m.overlay[name] = source
	}
	again := loadUnit(u.target, &m, d.loader.shelf, d.tags())
	if again.inst.Err != nil {
		return nil
	}
	again.evaluate(ctx)
	if again.inst.Err != nil {
		return nil
	}
	again.module, again.source = u.module, u.source
	return again
}

// tags are those of the loader that the unit knows.
func (d *diagnosis) tags() []string {
	return newTagList(d.loader.Tags, d.loader.shelf).of(d.unit.target, d.unit.module.root)
}

// blanked is a text with spaces in the place of the imports of some lines: everything else stays where it is.
func blanked(text []byte, f *ast.File, lines map[int]bool) []byte {
	text = slices.Clone(text)
	blank := func(n ast.Node) {
		for i := n.Pos().Offset(); i < n.End().Offset() && i < len(text); i++ {
			if text[i] != '\n' {
				text[i] = ' '
			}
		}
	}
	for _, d := range f.Decls {
		imports, ok := d.(*ast.ImportDecl)
		if !ok {
			continue
		}
		unused := 0
		for _, spec := range imports.Specs {
			if lines[spec.Path.Pos().Line()] || lines[spec.Pos().Line()] {
				blank(spec)
				unused++
			}
		}
		if unused == len(imports.Specs) {
			blank(imports)
		}
	}
	return text
}
