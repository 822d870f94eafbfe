package specfile

import (
	"regexp"
	"sync"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/parser"

	"github.com/xrun-dev/xrun/schema"
)

// A shape is what the schema says about the fields of one struct or the elements of one list: which there may be, which
// there must be, and when. CUE stops at the first kind of error: a conflict hides every missing field, and an invalid
// field hides its unknown neighbours. The diagnosis therefore looks for both itself, along the shape.
type shape struct {
	fields   []*field
	patterns []pattern
	elem     *field // of a list
	// exclusive are sets of fields of which only one may be there.
	exclusive []exclusion
	// variants are what a struct can be instead, told apart by the fields that it has.
	variants []*shape
}

// An exclusion is an `if a != _|_ if b != _|_ {_one: error("…")}`.
type exclusion struct {
	fields  []string
	message string
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
	for _, v := range s.variants {
		if f := v.child(name); f != nil {
			return f
		}
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
