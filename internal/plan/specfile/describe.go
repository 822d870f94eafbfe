package specfile

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue/ast"

	"github.com/xrun-dev/xrun/internal/plan"
)

// describe says in words what an expression of the schema admits: "a list of strings".
func describe(x ast.Expr) string {
	var words []string
	for _, option := range alternatives(x) {
		if w := describeOne(option); !slices.Contains(words, w) {
			words = append(words, w)
		}
	}
	return join(words, "or")
}

func describeOne(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.Ident:
		switch x.Name {
		case "string", "#Param", "#EnvVar", "#Name", "#Bytes":
			return "a string"
		case "int":
			return "a whole number"
		case "number":
			return "a number"
		case "bool":
			return "true or false"
		case "#Scalar":
			return "a number, string or bool"
		case "#Axis":
			return "a list or a struct"
		}
		return "a struct"
	case *ast.BasicLit:
		return x.Value
	case *ast.StructLit:
		return "a struct"
	case *ast.ListLit:
		for _, e := range x.Elts {
			if dots, ok := e.(*ast.Ellipsis); ok {
				e = dots.Type
			}
			if e != nil {
				return "a list of " + plural(describe(e))
			}
		}
		return "a list"
	case *ast.BinaryExpr:
		return describeOne(x.X)
	case *ast.SelectorExpr: // time.Duration
		return "a duration"
	default: // a validator such as strings.MinRunes(1)
		return "a string"
	}
}

func plural(s string) string {
	if rest, ok := strings.CutPrefix(s, "a "); ok && !strings.Contains(rest, " or ") && !strings.Contains(rest, ",") {
		return rest + "s"
	}
	return s
}

// join is "a, b or c".
func join(words []string, conjunction string) string {
	if n := len(words); n > 1 {
		return strings.Join(words[:n-1], ", ") + " " + conjunction + " " + words[n-1]
	}
	return strings.Join(words, "")
}

func quote(s string) string { return strconv.Quote(s) }

var identifier = regexp.MustCompile(`^(#|_#?)?[A-Za-z_$][A-Za-z0-9_$]*$`)

// pathString writes a path as CUE does: experiments."a-b".command[1].
func pathString(path []string) string {
	var b strings.Builder
	for i, c := range path {
		if n, err := strconv.Atoi(c); err == nil && n >= 0 && i > 0 {
			b.WriteString("[" + c + "]")
			continue
		}
		if i > 0 {
			b.WriteByte('.')
		}
		if identifier.MatchString(c) {
			b.WriteString(c)
		} else {
			b.WriteString(strconv.Quote(c))
		}
	}
	return b.String()
}

// didYouMean names the candidate that is closest to name, if one is close.
func didYouMean(name string, candidates []string) (string, bool) {
	near := plan.Nearest(name, candidates)
	return near, near != ""
}
