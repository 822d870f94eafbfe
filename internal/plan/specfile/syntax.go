package specfile

import (
	"cmp"
	"slices"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"
)

// A source is the syntax of a package's files, in which the places of paths are looked up. CUE's own positions are often
// those of the schema, or missing: a field that is not there has no position at all.
type source struct {
	files []*ast.File
	rank  map[string]int        // of a file, in CUE's order
	top   map[string][]ast.Node // values of the top-level fields and lets, for references across files
	// fields are the top-level declarations by name, split into the entries below them: a spec of a thousand
	// experiments is then searched once, not once for each.
	fields map[string]*section
	loose  []ast.Decl // embeddings, comprehensions and patterns, which may give any field
}

// A section is a top-level field, wherever in the files it is declared.
type section struct {
	labels  []place
	entries map[string][]ast.Decl
	loose   []ast.Decl
}

func newSource(files []*ast.File) *source {
	s := &source{files: files, rank: map[string]int{}, top: map[string][]ast.Node{}, fields: map[string]*section{}}
	for i, f := range files {
		s.rank[f.Filename] = i
		for _, d := range f.Decls {
			s.add(d)
		}
	}
	return s
}

func (s *source) add(d ast.Decl) {
	switch d := d.(type) {
	case *ast.Field:
		name, ok := plainName(d.Label)
		if !ok {
			s.loose = append(s.loose, d)
			return
		}
		s.top[name] = append(s.top[name], d.Value)
		if s.fields[name] == nil {
			s.fields[name] = &section{entries: map[string][]ast.Decl{}}
		}
		s.fields[name].labels = append(s.fields[name].labels, place{pos: d.Label.Pos(), depth: 1, value: d.Value})
		s.fields[name].add(d.Value)
	case *ast.LetClause:
		s.top[d.Ident.Name] = append(s.top[d.Ident.Name], d.Expr)
	case *ast.EmbedDecl, *ast.Comprehension:
		s.loose = append(s.loose, d)
	}
}

func (c *section) add(x ast.Expr) {
	lit, ok := x.(*ast.StructLit)
	if !ok {
		c.loose = append(c.loose, &ast.EmbedDecl{Expr: x})
		return
	}
	for _, d := range lit.Elts {
		if f, ok := d.(*ast.Field); ok {
			if name, ok := plainName(f.Label); ok {
				c.entries[name] = append(c.entries[name], d)
				continue
			}
		}
		c.loose = append(c.loose, d)
	}
}

// plainName is the name of a label that is an identifier or a string.
func plainName(l ast.Label) (string, bool) {
	switch l.(type) {
	case *ast.Ident, *ast.BasicLit:
		name, _, err := ast.LabelName(l)
		return name, err == nil
	}
	return "", false
}

// declares reports whether the files have a top-level field of that name.
func (s *source) declares(name string) bool { return len(s.top[name]) > 0 }

// A place is where a path, or the longest part of it that the user wrote, stands in the source.
type place struct {
	pos   token.Pos // of the label, or of the list element
	depth int       // how many components of the path are found
	vague int       // how many of them are patterns or made by a comprehension
	value ast.Expr  // what the label is given; nil for a list element made by a comprehension
}

func (p place) valid() bool { return p.depth > 0 }

// find is the best place of path: the longest part, exact labels before patterns, the first in the source.
func (s *source) find(path []string) place {
	var best place
	s.each(path, func(p place) {
		if p.depth > best.depth || p.depth == best.depth && p.vague < best.vague {
			best = p
		}
	})
	return best
}

// values are the places of the whole path.
func (s *source) values(path []string) []place {
	var all []place
	s.each(path, func(p place) {
		if p.depth == len(path) {
			all = append(all, p)
		}
	})
	return all
}

// names are the labels in the struct literals at path; nil if something else stands there.
func (s *source) names(path []string) []string {
	var names []string
	for _, p := range s.values(path) {
		lit, ok := p.value.(*ast.StructLit)
		if !ok {
			return nil
		}
		for _, d := range lit.Elts {
			f, ok := d.(*ast.Field)
			if !ok {
				return nil
			}
			name, ok := plainName(f.Label)
			if !ok {
				return nil
			}
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

func (s *source) each(path []string, visit func(place)) {
	// Templates may refer to each other in circles, and comprehensions match in many ways: the budget bounds both.
	w := &walker{source: s, visit: visit, budget: 100_000}
	if len(path) == 0 {
		return
	}
	if c := s.fields[path[0]]; c != nil {
		for _, p := range c.labels {
			visit(p)
		}
		if len(path) > 1 {
			w.decls(c.entries[path[1]], path[1:], at{depth: 1})
			w.decls(c.loose, path[1:], at{depth: 1})
		}
	}
	w.decls(s.loose, path, at{})
}

// before orders places as a reader meets them, files in CUE's order.
func (s *source) before(a, b place) int {
	return cmp.Or(cmp.Compare(s.rank[a.pos.Filename()], s.rank[b.pos.Filename()]), cmp.Compare(a.pos.Offset(), b.pos.Offset()))
}

// order gives the names of fields below path in the order of the source. CUE's own order is that of one struct; where
// several are unified, as in two files, it goes by the alphabet.
func (s *source) order(path []string, names []string) []string {
	places := make(map[string]place, len(names))
	for _, n := range names {
		p := s.find(append(slices.Clip(path), n))
		if p.depth <= len(path) {
			return names // made in a way that we do not see through
		}
		places[n] = p
	}
	out := slices.Clone(names)
	slices.SortStableFunc(out, func(a, b string) int { return s.before(places[a], places[b]) })
	return out
}

// isList reports whether a list literal stands at path.
func (s *source) isList(path []string) bool {
	return slices.ContainsFunc(s.values(path), func(p place) bool {
		_, ok := p.value.(*ast.ListLit)
		return ok
	})
}
