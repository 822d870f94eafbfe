package specfile

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/parser"
	"cuelang.org/go/cue/token"
	"github.com/google/go-cmp/cmp"

	"github.com/xrun-dev/xrun/internal/plan"
	"github.com/xrun-dev/xrun/schema"
)

const referenceHead = `# The schema, field by field

<!-- Generated from schema/schema.cue and the table of defaults by a test; ` + "`just update`" + ` rewrites it. -->

What a package of experiment files may say. A package imports the schema and unifies its entries with it:

` + "```cue" + `
package lab

import "github.com/xrun-dev/xrun/schema"

experiments: "first": schema.#Experiment & {
	command: ["python", "train.py", "--lr={lr}", "--seed={seed}"]
	objective: {metric: "val_loss", direction: "minimize"}
	seeds: 3
	sweep: grid: lr: [0.1, 0.01]
}
` + "```" + `

A field in **bold** is required. A default is what xrun puts in where a field is absent; ` + "`xrun plan`" + ` shows those that
an experiment gets. A duration is written ` + "`\"90s\"`, `\"1h30m\"`" + `; a size ` + "`\"20GB\"`, `\"512MiB\"`" + `.
`

// docs/reference/schema.md says what the schema and the table of defaults say.
func TestReferenceOfTheSchema(t *testing.T) {
	const name = "../../../docs/reference/schema.md"
	got := newReference(t).page()
	if update := flag.Lookup("update"); update != nil && update.Value.String() == "true" {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("schema.md is not in step (`just update` rewrites it):\n%s", diff)
	}
	for _, d := range plan.Defaults {
		if value, _, _ := strings.Cut(d.Value, " ("); !strings.Contains(got, "| "+code(value)) && !strings.Contains(got, "| "+value+" |") && !strings.Contains(got, ", "+code(value)) {
			t.Errorf("the default %s of %s is nowhere in the page", d.Value, d.Path)
		}
	}
}

// A reference is the page about the schema.
type reference struct {
	strings.Builder
	order []*ast.Field
	defs  map[string]ast.Expr
	paths map[string][]string // of a definition: where it stands
}

func newReference(t *testing.T) *reference {
	t.Helper()
	syntax, err := parser.ParseFile("schema.cue", schema.Source, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	r := &reference{defs: map[string]ast.Expr{}, paths: map[string][]string{}}
	for _, d := range syntax.Decls {
		if f, ok := d.(*ast.Field); ok {
			r.order = append(r.order, f)
			r.defs[labelOf(f)] = f.Value
		}
	}
	r.locate(r.defs["#File"], "", 0)
	return r
}

func labelOf(f *ast.Field) string {
	name, _, err := ast.LabelName(f.Label)
	if err != nil {
		return ""
	}
	return name
}

// locate finds the paths at which definitions stand. A definition that holds itself does not occur.
func (r *reference) locate(x ast.Node, path string, depth int) {
	ast.Walk(x, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			name := labelOf(n)
			if name == "" {
				name = "NAME"
			}
			r.locate(n.Value, strings.TrimPrefix(path+"."+name, "."), depth+1)
			return false
		case *ast.Ident:
			if def, ok := r.defs[n.Name]; ok && depth < 12 {
				if n.Name != "#Experiments" && n.Name != "#Hosts" && n.Name != "#Agents" {
					r.paths[n.Name] = append(r.paths[n.Name], path)
				}
				r.locate(def, path, depth+1)
			}
		}
		return true
	}, nil)
}

func (r *reference) page() string {
	r.WriteString(referenceHead)
	r.WriteString("\n| section | holds |\n| --- | --- |\n")
	for _, s := range sections {
		def := strings.TrimSuffix(s.definition, "s")
		if s.name == "settings" {
			def = s.definition
		}
		fmt.Fprintf(r, "| `%s` | %s |\n", s.name, link(def))
	}
	for _, f := range r.order {
		name := labelOf(f)
		if lit, ok := f.Value.(*ast.StructLit); ok && name != "#File" && name != "#Experiments" && name != "#Hosts" && name != "#Agents" {
			r.definition(name, comment(f), lit)
		}
	}
	r.WriteString("\n## Values\n\n| name | is |\n| --- | --- |\n")
	for _, f := range r.order {
		if _, isStruct := f.Value.(*ast.StructLit); !isStruct {
			text := r.value(f.Value)
			if c := comment(f); c != "" {
				text += ". " + c
			}
			fmt.Fprintf(r, "| <a id=%q></a>`%s` | %s |\n", strings.ToLower(labelOf(f)[1:]), labelOf(f), cell(text))
		}
	}
	return r.String()
}

func (r *reference) definition(name, doc string, lit *ast.StructLit) {
	fmt.Fprintf(r, "\n## %s\n\n", name)
	if paths := r.paths[name]; len(paths) > 0 {
		var at []string
		for _, p := range paths {
			if q := code(p); !strings.Contains(strings.Join(at, " "), q) {
				at = append(at, q)
			}
		}
		fmt.Fprintf(r, "At %s.", strings.Join(at, ", "))
	}
	if doc != "" {
		fmt.Fprintf(r, " %s", sentence(doc))
	}
	r.WriteString("\n\n| field | value | default | |\n| --- | --- | --- | --- |\n")
	var notes []string
	path := ""
	if len(r.paths[name]) > 0 {
		path = r.paths[name][0]
	}
	r.rows(lit.Elts, path, "", "", &notes)
	for _, n := range notes {
		fmt.Fprintf(r, "\n%s\n", sentence(n))
	}
}

func (r *reference) rows(decls []ast.Decl, path, prefix, when string, notes *[]string) {
	for _, d := range decls {
		switch d := d.(type) {
		case *ast.Field:
			r.row(d, path, prefix, when, notes)
		case *ast.EmbedDecl:
			if id, ok := d.Expr.(*ast.Ident); ok {
				fmt.Fprintf(r, "| `%s…` | | | the fields of %s |\n", prefix, link(id.Name))
			}
		case *ast.Comprehension:
			lit, ok := d.Value.(*ast.StructLit)
			if !ok {
				continue
			}
			if c, known := conditionOf(d.Clauses); known {
				is := " is "
				if c.not {
					is = " is not "
				}
				r.rows(lit.Elts, path, prefix, "Where "+code(c.on)+is+alternativesOf(c.values)+". ", notes)
			} else if f, ok := lit.Elts[0].(*ast.Field); ok {
				*notes = append(*notes, allowed(f.Value))
			}
		}
	}
}

func alternativesOf(values []string) string {
	quoted := make([]string, len(values))
	for i, v := range values {
		quoted[i] = code(quote(v))
	}
	return join(quoted, "or")
}

func (r *reference) row(f *ast.Field, path, prefix, when string, notes *[]string) {
	name := prefix + labelOf(f)
	if labelOf(f) == "" {
		name = prefix + "NAME"
	}
	shown := code(name)
	if f.Constraint == token.NOT {
		shown = "**" + shown + "**"
	}
	text := comment(f)
	fmt.Fprintf(r, "| %s | %s | %s | %s |\n", shown, cell(r.value(f.Value)), cell(r.defaultOf(path+"."+name)), cell(strings.TrimSpace(when+sentence(text))))
	if lit, ok := f.Value.(*ast.StructLit); ok && len(lit.Elts) > 0 {
		if inner, ok := lit.Elts[0].(*ast.Field); !ok || labelOf(inner) != "" {
			r.rows(lit.Elts, path, name+".", when, notes)
		}
	}
}

// defaultOf is the default of a path, with the entry's name left out as in the table.
func (r *reference) defaultOf(path string) string {
	path = strings.Replace(path, ".NAME", "", 1)
	var all []string
	for _, d := range plan.Defaults {
		if d.Path == path {
			value, rest, _ := strings.Cut(d.Value, " (")
			if !strings.HasPrefix(value, "the ") {
				value = code(value)
			}
			if rest != "" {
				value += " (" + rest
			}
			all = append(all, value)
		}
	}
	return strings.Join(all, ", ")
}

// value says in words what a field may be.
func (r *reference) value(x ast.Expr) string {
	if text := allowed(x); text != "" && !enumerated(x) {
		// "gpus is a whole number from 0 to 64"
		for _, verb := range []string{" is ", " lists "} {
			if _, rest, ok := strings.Cut(text, verb); ok {
				return rest
			}
		}
		return text
	}
	var words []string
	for _, option := range alternatives(x) {
		words = append(words, r.one(option))
	}
	return join(words, "or")
}

func enumerated(x ast.Expr) bool {
	for _, o := range alternatives(x) {
		if lit, ok := o.(*ast.BasicLit); !ok || lit.Kind != token.STRING {
			return false
		}
	}
	return true
}

func (r *reference) one(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.Ident:
		if x.Name == "#EnvVar" || x.Name == "#Name" || x.Name == "#Param" {
			return "a string"
		}
		if strings.HasPrefix(x.Name, "#") {
			return link(x.Name)
		}
	case *ast.BasicLit:
		return code(x.Value)
	case *ast.UnaryExpr:
		if id, ok := x.X.(*ast.Ident); ok && id.Name == "nameRE" {
			return "lower-case letters, digits, - and _, a letter first, at most 63"
		}
		if x.Op == token.MAT {
			return "a string like " + code(strings.Trim(nodeText(x.X), `"`))
		}
	case *ast.StructLit:
		if len(x.Elts) == 1 {
			if f, ok := x.Elts[0].(*ast.Field); ok && labelOf(f) == "" {
				return "a struct, by name: " + r.value(f.Value)
			}
		}
	case *ast.ListLit:
		for _, e := range x.Elts {
			if dots, ok := e.(*ast.Ellipsis); ok {
				e = dots.Type
			}
			if e != nil {
				return "a list of " + strings.Replace(plural(r.value(e)), "a struct,", "structs,", 1)
			}
		}
	case *ast.BinaryExpr:
		if x.Op == token.AND {
			return strings.TrimSpace(describeOne(x.X) + " " + bounds(x))
		}
	case *ast.CallExpr:
		if sel, ok := x.Fun.(*ast.SelectorExpr); ok && nodeText(sel.Sel) == "MaxRunes" {
			return "a string of at most " + nodeText(x.Args[0]) + " letters"
		}
		return "a string that is not empty"
	}
	return describeOne(x)
}

// bounds are the comparisons of a & chain.
func bounds(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.BinaryExpr:
		return strings.TrimSpace(bounds(x.X) + " " + bounds(x.Y))
	case *ast.UnaryExpr:
		words := map[token.Token]string{token.GTR: "above ", token.GEQ: "from ", token.LSS: "below ", token.LEQ: "to "}
		return words[x.Op] + nodeText(x.X)
	}
	return ""
}

// nodeText is the source of a literal or a name.
func nodeText(n ast.Node) string {
	switch n := n.(type) {
	case *ast.BasicLit:
		if n.Kind != token.STRING {
			return strings.ReplaceAll(n.Value, "_", "")
		}
		return n.Value
	case *ast.Ident:
		return n.Name
	}
	return ""
}

func link(def string) string {
	return fmt.Sprintf("[%s](#%s)", def, strings.ToLower(strings.TrimPrefix(def, "#")))
}

func code(s string) string { return "`" + s + "`" }

// cell keeps a text within its cell.
func cell(s string) string {
	return strings.NewReplacer("|", `\|`, "?P<value>", "?P&lt;value>").Replace(s)
}

func comment(f *ast.Field) string {
	var lines []string
	for _, g := range ast.Comments(f) {
		if g.Doc {
			lines = append(lines, strings.Fields(g.Text())...)
		}
	}
	text, _, _ := strings.Cut(strings.Join(lines, " "), " (No error()") // a note to those who change the schema
	return strings.TrimPrefix(text, labelOf(f)+": ")
}

// sentence begins with a capital and ends with a full stop.
func sentence(s string) string {
	if s == "" {
		return ""
	}
	if s[0] >= 'a' && s[0] <= 'z' && !strings.HasPrefix(s, "argv") {
		s = strings.ToUpper(s[:1]) + s[1:]
	}
	if !strings.HasSuffix(s, ".") && !strings.HasSuffix(s, ")") {
		s += "."
	}
	return s
}
