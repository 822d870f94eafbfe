package specfile

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/parser"
	"github.com/google/go-cmp/cmp"

	"github.com/xrun-dev/xrun/internal/plan"
	"github.com/xrun-dev/xrun/schema"
)

// own are the types that are decoded by hand: their fields are not those of the schema.
var own = []reflect.Type{
	reflect.TypeFor[plan.Value](), reflect.TypeFor[plan.Canary](), reflect.TypeFor[plan.GPUs](), reflect.TypeFor[plan.Axes](),
	reflect.TypeFor[plan.Match](), reflect.TypeFor[plan.Params](), reflect.TypeFor[plan.Seeds](),
}

// Every field of a definition is a field of its Go type, and the other way round.
func TestGoTypesMatchTheSchema(t *testing.T) {
	for name, typ := range map[string]reflect.Type{
		"experiments": reflect.TypeFor[plan.Experiment](), "hosts": reflect.TypeFor[plan.Host](), "agents": reflect.TypeFor[plan.Agent](),
	} {
		compare(t, "#"+name, schemaShape().at([]string{name, "x"}).shape, typ, "name")
	}
	compare(t, "#settings", schemaShape().at([]string{"settings"}).shape, reflect.TypeFor[plan.Settings]())
	grid := schemaShape().at([]string{"experiments", "x", "sweep", "grid", "x"}).shape
	compare(t, "#Range", grid.variants[0], reflect.TypeFor[plan.Range]())
	compare(t, "#Glob", grid.variants[1], reflect.TypeFor[plan.Glob]())
	dist := schemaShape().at([]string{"experiments", "x", "sweep", "random", "params", "x"}).shape
	compare(t, "#Dist", dist, reflect.TypeFor[plan.Dist](), "name")
}

// compare compares a shape with a type; keys are the fields that in CUE are the label of the entry.
func compare(t *testing.T, path string, s *shape, typ reflect.Type, keys ...string) {
	t.Helper()
	for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice || typ.Kind() == reflect.Map {
		if slices.Contains(own, typ) {
			return
		}
		typ = typ.Elem()
	}
	for s != nil && (s.elem != nil || len(s.fields) == 0 && len(s.patterns) > 0) {
		if s.elem != nil {
			s = s.elem.shape
		} else {
			s = s.patterns[0].shape
		}
	}
	if typ.Kind() != reflect.Struct || slices.Contains(own, typ) {
		if s != nil && len(s.fields) > 0 && !slices.Contains(own, typ) && typ != reflect.TypeFor[plan.Dist]() {
			t.Errorf("%s: the schema has fields, %v has none", path, typ)
		}
		return
	}
	if s == nil {
		t.Errorf("%s: no fields in the schema for %v", path, typ)
		return
	}
	inSchema := map[string]bool{}
	for _, f := range s.fields {
		inSchema[f.name] = true
	}
	inGo := map[string]bool{}
	for _, f := range reflect.VisibleFields(typ) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || name == "-" || slices.Contains(keys, name) {
			continue
		}
		inGo[name] = true
		if inSchema[name] && f.Type != reflect.TypeFor[[]plan.Dist]() {
			compare(t, path+"."+name, s.child(name).shape, f.Type)
		}
	}
	if diff := cmp.Diff(inSchema, inGo); diff != "" {
		t.Errorf("%s and %v have other fields (-schema +Go):\n%s", path, typ, diff)
	}
}

// elsewhere are the defaults that are no row of plan.Defaults, and why.
var elsewhere = map[string]string{
	"experiments.code.path":         "the repository, which the plan does not know",
	"experiments.inputs.trial":      "Fill sets it in each entry",
	"experiments.metrics.pick":      "Fill sets it in each entry",
	"experiments.objective.from":    "absent means the log",
	"experiments.metrics.from":      "absent means the log",
	"experiments.priority":          "0 is the zero value",
	"experiments.needs.gpus":        "0 is the zero value",
	"experiments.retry.max":         "0 is the zero value",
	"experiments.sweep.random.seed": "0 is the zero value",
	"experiments.loop.patience":     "absent means none",
	"experiments.claim.against":     "absent means all others",
	"hosts.shell":                   "the host decides when it is reached",
	"settings.keep_runs":            "absent means all",
}

// quoted finds the values that a comment calls a default: `default "5m"`, `"formal" (default)`.
var (
	defaultAfter  = regexp.MustCompile(`[Dd]efault(?: of [a-z ]+)?:? ?(\[.*?\]|"[^"]*"|\d[\d.]*\d|\d|the smaller of 8 and iterations)?`)
	defaultBefore = regexp.MustCompile(`("[^"]*") \(default`)
)

// Every default that a comment of the schema names is a row of the table with that value, and the other way round.
func TestDefaultsAreThoseOfTheComments(t *testing.T) {
	rows := map[string][]string{}
	for _, d := range plan.Defaults {
		value, _, _ := strings.Cut(d.Value, " (")
		rows[d.Path] = append(rows[d.Path], value)
	}
	seen := map[string]bool{}
	for path, values := range commentDefaults(t) {
		seen[path] = true
		if _, ok := elsewhere[path]; ok {
			if rows[path] != nil {
				t.Errorf("%s is a row now: take it from the list of those that are not", path)
			}
			continue
		}
		if !slices.Equal(values, rows[path]) {
			t.Errorf("%s: the comment says %q, the table %q", path, values, rows[path])
		}
	}
	for path := range rows {
		if !seen[path] {
			t.Errorf("%s: the table has %q, no comment of the schema says so", path, rows[path])
		}
	}
	for path := range elsewhere {
		if !seen[path] && path != "experiments.metrics.from" {
			t.Errorf("%s: no comment names a default", path)
		}
	}
}

// commentDefaults are the values that the comments of the schema call defaults, by path.
func commentDefaults(t *testing.T) map[string][]string {
	t.Helper()
	syntax, err := parser.ParseFile("schema.cue", schema.Source, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	defs := map[string]ast.Expr{}
	for _, d := range syntax.Decls {
		if f, ok := d.(*ast.Field); ok {
			if name, _, err := ast.LabelName(f.Label); err == nil {
				defs[name] = f.Value
			}
		}
	}
	out := map[string][]string{}
	var walk func(x ast.Expr, path string)
	walk = func(x ast.Expr, path string) {
		switch x := x.(type) {
		case *ast.Ident:
			if def, ok := defs[x.Name]; ok && x.Name != "#Scalar" && x.Name != "#Axis" {
				walk(def, path)
			}
		case *ast.ListLit:
			for _, e := range x.Elts {
				if dots, ok := e.(*ast.Ellipsis); ok && dots.Type != nil {
					walk(dots.Type, path)
				}
			}
		case *ast.StructLit:
			var next []string // a comment may name the defaults of several fields in a row
			for _, d := range x.Elts {
				switch d := d.(type) {
				case *ast.Comprehension:
					walk(d.Value, path)
				case *ast.EmbedDecl:
					walk(d.Expr, path)
				case *ast.Field:
					name, _, err := ast.LabelName(d.Label)
					if err != nil {
						walk(d.Value, path)
						continue
					}
					p := strings.TrimPrefix(path+"."+name, ".")
					if values := defaultsIn(d); len(values) == 2 && name == "timeout" {
						out[p], next = values[:1], values[1:]
					} else if len(values) > 0 {
						out[p], next = values, nil
					} else if len(next) > 0 && len(ast.Comments(d)) == 0 {
						out[p], next = next, nil
					}
					walk(d.Value, p)
				}
			}
		}
	}
	walk(defs["#File"], "")
	return out
}

// defaultsIn are the values that the comment above a field calls defaults; "" stands for one in words.
func defaultsIn(f *ast.Field) []string {
	var text strings.Builder
	for _, g := range ast.Comments(f) {
		text.WriteString(strings.ReplaceAll(g.Text(), "\n", " "))
	}
	comment := text.String()
	var values []string
	for _, m := range defaultBefore.FindAllStringSubmatch(comment, -1) {
		values = append(values, unquote(m[1]))
	}
	if len(values) > 0 {
		return values
	}
	for _, m := range defaultAfter.FindAllStringSubmatch(comment, -1) {
		values = append(values, unquote(m[1]))
		if _, rest, ok := strings.Cut(comment, m[0]+", "); ok && strings.HasPrefix(rest, `"`) {
			second, _, _ := strings.Cut(rest, ".")
			values = append(values, unquote(second))
		}
	}
	return values
}
