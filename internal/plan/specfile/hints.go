package specfile

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/scanner"
	"cuelang.org/go/cue/token"

	"github.com/xrun-dev/xrun/schema"
)

// otherWords are words of other tools, and how the field is called here, for where no spelling is close.
var otherWords = map[string][]string{
	"cmd": {"command"}, "args": {"command", "params"}, "program": {"command"}, "run": {"command"}, "script": {"command"},
	"environment": {"env"}, "variables": {"env"}, "goal": {"direction"}, "mode": {"direction"}, "optimize": {"direction"},
	"name": {"metric"}, "metric": {"objective"}, "image": {"container"}, "docker": {"container"}, "gpu": {"gpus"}, "cpu": {"cpus"},
	"mem": {"memory"}, "ram": {"memory"}, "host": {"hosts", "address"}, "hostname": {"address"}, "ip": {"address"}, "type": {"kind", "dist"},
	"repeat": {"seeds"}, "repeats": {"seeds"}, "replicates": {"seeds"}, "parameters": {"params", "grid"}, "grid": {"sweep"}, "axes": {"grid"},
	"retries": {"retry", "max"}, "attempts": {"max"}, "outputs": {"artifacts", "paths"}, "success": {"criteria", "objective"},
	"timeout": {"trial", "limits"}, "time": {"trial", "limits"}, "resources": {"needs"}, "where": {"needs"}, "requires": {"needs"},
	"min": {"from", "at_least"}, "max": {"to", "at_most"}, "start": {"from"}, "stop": {"to"}, "end": {"to"}, "num": {"points", "n"},
	"count": {"points", "n", "slots"}, "path": {"file", "pointer", "workdir"}, "working_dir": {"workdir"}, "cwd": {"workdir"},
	"depends": {"inputs"}, "depends_on": {"inputs"}, "dataset": {"data"}, "datasets": {"data"}, "stdout": {"from"},
}

// meantField is the field of those allowed that a name most likely stands for.
func meantField(name string, allowed []string) (string, bool) {
	if near, ok := didYouMean(name, allowed); ok {
		return near, true
	}
	for _, w := range otherWords[strings.ToLower(name)] {
		if slices.Contains(allowed, w) {
			return w, true
		}
	}
	return "", false
}

var (
	quantity  = regexp.MustCompile(`^\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)\s*$`)
	timeUnits = map[string]string{
		"s": "s", "sec": "s", "secs": "s", "second": "s", "seconds": "s", "m": "m", "min": "m", "mins": "m", "minute": "m", "minutes": "m",
		"h": "h", "hr": "h", "hrs": "h", "hour": "h", "hours": "h", "ms": "ms",
	}
)

// duration is what a user most likely means by a text or number that is no duration; "" if that is unclear.
func duration(text string) string {
	m := quantity.FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	unit := strings.ToLower(m[2])
	switch days := map[string]float64{"d": 24, "day": 24, "days": 24, "w": 168, "week": 168, "weeks": 168}[unit]; {
	case days > 0:
		n, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			return ""
		}
		return "write " + quote(strconv.FormatFloat(n*days, 'f', -1, 64)+"h")
	case unit == "":
		return fmt.Sprintf("say in which unit: %q, %q or %q", m[1]+"s", m[1]+"m", m[1]+"h")
	case timeUnits[unit] != "":
		if s := m[1] + timeUnits[unit]; isDuration(s) && s != text {
			return "write " + quote(s)
		}
	}
	return ""
}

func isDuration(s string) bool {
	_, err := time.ParseDuration(s)
	return err == nil
}

// size is the same for a number of bytes.
func size(text string) string {
	m := quantity.FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	unit := strings.ToUpper(m[2])
	switch {
	case unit == "":
		return fmt.Sprintf("say in which unit: %q or %q", m[1]+"MB", m[1]+"GB")
	case len(unit) == 1 && strings.Contains("KMGT", unit):
		unit += "B"
	case len(unit) == 2 && unit[1] == 'I' && strings.Contains("KMGT", unit[:1]), len(unit) == 3 && unit[1:] == "IB":
		unit = unit[:1] + "iB"
	case len(unit) == 2 && unit[1] == 'B' && strings.Contains("KMGT", unit[:1]):
	default:
		return ""
	}
	if s := m[1] + unit; s != text {
		return "write " + quote(s)
	}
	return ""
}

// rewritten says how a literal that the user wrote is to be written; "" if there is no obvious way.
func rewritten(f *field, lit *ast.BasicLit) string {
	text := unquote(lit.Value)
	switch want := describe(f.expr); {
	case strings.HasPrefix(lit.Value, "'"): // bytes, to CUE
		return "write double quotes: " + quote(strings.Trim(lit.Value, "'"))
	case strings.Contains(want, "a duration"):
		return duration(text)
	case strings.HasPrefix(f.allowed, f.name+" is a size"):
		return size(text)
	case lit.Kind == token.FLOAT && strings.Contains(want, "a whole number"):
		if n, err := strconv.ParseFloat(lit.Value, 64); err == nil && n == float64(int64(n)) {
			return fmt.Sprintf("write %d", int64(n))
		}
	case lit.Kind == token.STRING && strings.Contains(want, "number") && number.MatchString(text):
		return "write " + text + ", without quotes"
	case (lit.Kind == token.INT || lit.Kind == token.FLOAT) && strings.HasPrefix(f.allowed, f.name+" is a text"):
		return "put it in quotes: " + quote(lit.Value)
	case f.name == "address" && strings.ContainsAny(text, "@:"):
		return "user and port have fields of their own"
	}
	return ""
}

// axis says how the one value that was given for an axis is written.
func axis(path []string, lit *ast.BasicLit) string {
	if len(path) < 3 || path[len(path)-3] != "sweep" || path[len(path)-2] != "grid" && path[len(path)-2] != "zip" {
		return ""
	}
	if text := unquote(lit.Value); lit.Kind == token.STRING && strings.Contains(text, ",") {
		return "write " + listed(text)
	}
	return fmt.Sprintf("write [%s]; a value that does not vary belongs into params: %s: %s", lit.Value, last(path), lit.Value)
}

var number = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?$`)

// listed is a text with commas as a list: of numbers, if they are all numbers.
func listed(text string) string {
	parts := strings.Split(strings.Trim(text, "[] "), ",")
	numbers := true
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
		numbers = numbers && number.MatchString(parts[i])
	}
	for i := range parts {
		if !numbers {
			parts[i] = quote(parts[i])
		}
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// constants are words of other languages for what CUE calls otherwise.
var constants = map[string]string{"True": "true", "False": "false", "None": "null", "nil": "null", "nan": "", "inf": "", "NaN": "", "Inf": ""}

// unquotedWord is the hint for a reference that nothing declares: most likely a text whose quotes are missing.
func unquotedWord(name string) string {
	if c, ok := constants[name]; ok && c != "" {
		return "write " + c
	}
	if isSchemaField(name) {
		return "a field is written with a colon: " + name + ": …; a text in quotes: " + quote(name)
	}
	return "a text is written in quotes: " + quote(name)
}

// definitions are the names of those of the schema.
func definitions() []string {
	var out []string
	for _, m := range regexp.MustCompile(`(?m)^(#\w+):`).FindAllStringSubmatch(schema.Source, -1) {
		out = append(out, m[1])
	}
	return out
}

func isSchemaField(name string) bool {
	return regexp.MustCompile(`(?m)^\t*` + regexp.QuoteMeta(name) + `[?!]:`).MatchString(schema.Source)
}

// schemaImport suggests the schema for an import that is most likely meant to be it.
func schemaImport(message string) string {
	m := regexp.MustCompile(`"([^"]+)"`).FindStringSubmatch(message)
	if m != nil && (strings.Contains(m[1], "xrun") || strings.HasSuffix(m[1], "schema")) {
		return "the schema is " + quote(schema.Package)
	}
	return ""
}

var (
	rangeDots  = regexp.MustCompile(`[0-9]\s*\.\.`)
	assignment = regexp.MustCompile(`^\s*[\w"-]+\s*=[^=~]`)
	dashedName = regexp.MustCompile(`(\w+(?:-\w+)+)\s*:`)
	fieldLine  = regexp.MustCompile(`^\s*[\w"-]+\s*:`)
	yamlItem   = regexp.MustCompile(`^\s*- `)
)

// syntaxHint says what was most likely meant by a line that CUE cannot parse, or by the one before it.
func syntaxHint(message, line string, col int, before, text string) string {
	switch {
	case strings.HasPrefix(strings.TrimSpace(line), "#") && !strings.HasPrefix(strings.TrimSpace(line), "#\""):
		return "a comment begins with //"
	case strings.Contains(message, "'..'"), rangeDots.MatchString(line):
		return "a range is a struct: {from: 1e-4, to: 1e-2, points: 5, log: true}"
	case strings.ContainsAny(line, "“”„‘’«»") && strings.Contains(message, "illegal character"):
		return `write straight quotes: "…"`
	case strings.HasPrefix(strings.TrimSpace(line), "package "):
		return "the package clause comes first, above the imports"
	case strings.HasSuffix(strings.TrimSpace(before), "&") || strings.HasPrefix(strings.TrimSpace(line), "&"):
		return "& stands between two values, at the end of a line and not at its beginning"
	case yamlItem.MatchString(line):
		return `a list is written in brackets, with commas: ["a", "b"]`
	case assignment.MatchString(line), assignment.MatchString(before):
		return "a field is written with a colon: name: value"
	case strings.Contains(message, "missing ','") && dashedName.MatchString(line):
		return "a name with a dash is written in quotes: " + quote(dashedName.FindStringSubmatch(line)[1])
	case strings.Contains(message, "EOF"):
		return unclosed(text)
	case strings.Contains(message, "missing ',' in list") && fieldLine.MatchString(line) && !strings.Contains(line[:min(col-1, len(line))], "["):
		return "a ] is missing above this line"
	case strings.Contains(message, "missing ',' in list"):
		return "a comma stands between the elements of a list"
	}
	return ""
}

// unclosed names the innermost bracket of a text that nothing closes.
func unclosed(text string) string {
	var s scanner.Scanner
	file := token.NewFile("", -1, len(text))
	s.Init(file, []byte(text), nil, 0)
	type bracket struct {
		tok token.Token
		pos token.Pos
	}
	var open []bracket
	for {
		pos, tok, _ := s.Scan()
		switch tok {
		case token.LBRACE, token.LBRACK, token.LPAREN:
			open = append(open, bracket{tok, pos})
		case token.RBRACE, token.RBRACK, token.RPAREN:
			if len(open) > 0 {
				open = open[:len(open)-1]
			}
		case token.EOF:
			if len(open) == 0 {
				return ""
			}
			b := open[len(open)-1]
			return fmt.Sprintf("the %s of line %d is not closed", b.tok, b.pos.Position().Line)
		}
	}
}

// longestName is how long the schema lets a name be.
const longestName = 63

// plainer suggests a name of the allowed letters for one that has others.
func plainer(name string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(name) {
		switch {
		case r >= 'a' && r <= 'z', b.Len() > 0 && (r >= '0' && r <= '9' || r == '-' || r == '_'):
			b.WriteRune(r)
		case b.Len() > 0:
			b.WriteByte('-')
		}
	}
	plain := strings.TrimRight(b.String(), "-")
	if plain == "" || len(plain) > longestName || plain == name || name[0] >= '0' && name[0] <= '9' {
		return fmt.Sprintf("a letter comes first, and it has at most %d characters", longestName)
	}
	return "write " + quote(plain)
}
