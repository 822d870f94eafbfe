package specfile

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/token"
)

// The beginnings of CUE's own messages by which they are told apart; a test with every one of them guards an upgrade.
const (
	msgNotAllowed = "field not allowed"
	msgRequired   = "field is required but not present"
	msgHeader     = "%d errors in empty disjunction:"
	msgConflict   = "conflicting values"
	msgMismatch   = "conflicting values %s and %s (mismatched types"
	msgIncomplete = "incomplete value"
	msgCombine    = "cannot combine regular field"
	msgLengths    = "incompatible list lengths"
)

// inner is the last error of a chain, which says what is wrong; the others say what was being done.
func inner(err error) error {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err
		}
		err = next
	}
}

var (
	placePrefix = regexp.MustCompile(`^(import failed: |\S+\.cue:\d+:\d+: |cannot get syntax for "[^"]*": )+`)
	pathPrefix  = regexp.MustCompile(`^[#_a-zA-Z0-9."\[\]-]+: `)
)

// strip removes the places that CUE writes into messages.
func strip(message string) string {
	message = placePrefix.ReplaceAllString(message, "")
	message, _, _ = strings.Cut(message, "\n")
	message, _, _ = strings.Cut(message, ": cannot find module providing")
	message, _, _ = strings.Cut(message, ": cannot fetch")
	return strings.TrimSuffix(message, ":")
}

func unquote(s string) string {
	if u, err := strconv.Unquote(s); err == nil {
		return u
	}
	return s
}

// last is the last component of a path: the name of the field that a message is about.
func last(path []string) string {
	if len(path) == 0 {
		return "this package"
	}
	return path[len(path)-1]
}

// userPos is the first of e's positions that lies in a file of the user's.
func (d *diagnosis) userPos(e errors.Error) token.Pos {
	for _, p := range d.userPositions(e) {
		return p
	}
	return token.NoPos
}

func (d *diagnosis) userPositions(e errors.Error) []token.Pos {
	var out []token.Pos
	for _, p := range errors.Positions(e) {
		if p.IsValid() && filepath.IsAbs(p.Filename()) && !d.unit.module.ours(p.Filename()) {
			out = append(out, p)
		}
	}
	return out
}

// evaluation reports what CUE found wrong with the values.
func (d *diagnosis) evaluation(errs []errors.Error) {
	byPath := map[string][]errors.Error{}
	var order []string
	for _, e := range errs {
		path := make([]string, 0, len(e.Path()))
		for _, c := range e.Path() {
			path = append(path, unquote(c))
		}
		k := key(path)
		if byPath[k] == nil {
			order = append(order, k)
		}
		byPath[k] = append(byPath[k], e)
	}
	for _, k := range order {
		if !d.covered(k) {
			var path []string
			if k != "" {
				path = strings.Split(k, "\x00")
			}
			d.path(path, byPath[k])
		}
	}
}

// covered reports whether a problem has been found along the shape at this path or above it.
func (d *diagnosis) covered(k string) bool {
	for ; k != ""; k = k[:max(0, strings.LastIndexByte(k, 0))] {
		if d.reported[k] {
			return true
		}
	}
	return false
}

// path reports the errors at one path: those about the user's own values, else what the schema says, else CUE's words.
func (d *diagnosis) path(path []string, errs []errors.Error) {
	errs = slices.DeleteFunc(errs, func(e errors.Error) bool { format, _ := e.Msg(); return format == msgHeader })
	if d.conflict(path, errs) || d.below(path) {
		return
	}
	for _, pick := range []func(errors.Error) bool{d.usersOwn, isMessage, isMismatch} {
		if i := slices.IndexFunc(errs, pick); i >= 0 {
			errs = errs[i : i+1]
			break
		}
	}
	for _, e := range errs {
		format, args := e.Msg()
		switch {
		case isMismatch(e):
			d.mismatch(path, e)
		case strings.HasPrefix(format, msgNotAllowed):
			d.closed(path, e)
		case strings.HasPrefix(format, msgRequired):
			d.problem(token.NoPos, path, "missing field "+quote(last(path)), "")
		case strings.HasPrefix(format, msgIncomplete):
			d.incomplete(path)
		case isMessage(e) && strings.Contains(fmt.Sprint(args[0]), " name is lower-case"): // it is about the label
			d.problem(d.unit.source.find(path).pos, path, fmt.Sprint(args[0]), plainer(last(path)))
		case isMessage(e):
			d.problem(d.leafPos(path, e), path, fmt.Sprint(args[0]), d.meant(path))
		case strings.HasPrefix(format, msgCombine):
			d.notStruct(path, e)
		default:
			d.other(path, e)
		}
	}
}

// below reports whether a problem has been found inside a struct that is one of several that may stand at path. Then CUE
// says of the whole that it is none of them.
func (d *diagnosis) below(path []string) bool {
	f := schemaShape().at(path)
	if f == nil || f.shape == nil || len(f.shape.variants) == 0 {
		return false
	}
	for k := range d.reported {
		if strings.HasPrefix(k, key(path)+"\x00") {
			return true
		}
	}
	return false
}

// usersOwn reports whether an error is about nothing but the user's own values.
func (d *diagnosis) usersOwn(e errors.Error) bool {
	mine := d.userPositions(e)
	return len(mine) > 0 && len(mine) == len(errors.Positions(e))
}

// isMessage reports whether an error is that of an error("…").
func isMessage(e errors.Error) bool {
	format, args := e.Msg()
	return format == "%s" && len(args) == 1
}

func isMismatch(e errors.Error) bool {
	format, _ := e.Msg()
	return strings.HasPrefix(format, msgMismatch)
}

// meant suggests the word among those allowed that is closest to the user's.
func (d *diagnosis) meant(path []string) string {
	f := schemaShape().at(path)
	lit := d.literal(path)
	if f == nil || lit == nil {
		return ""
	}
	if how := rewritten(f, lit); how != "" {
		return how
	}
	if how := axis(path, lit); how != "" {
		return how
	}
	text := unquote(lit.Value)
	var words []string
	for _, x := range alternatives(f.expr) {
		if lit, ok := x.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			words = append(words, unquote(lit.Value))
		}
	}
	near, ok := didYouMean(text, words)
	for _, w := range words {
		if !ok && len(text) > 2 && strings.HasPrefix(w, strings.ToLower(text)) {
			near, ok = w, true
		}
	}
	if ok {
		return "did you mean " + quote(near) + "?"
	}
	return ""
}

// literal is the text or number that the user wrote at path; nil for anything else.
func (d *diagnosis) literal(path []string) *ast.BasicLit {
	for _, p := range d.unit.source.values(path) {
		if lit, ok := p.value.(*ast.BasicLit); ok {
			return lit
		}
	}
	return nil
}

var unknownYet = regexp.MustCompile(`non-concrete value (.+) \(type `)

// other reports an error in CUE's own words.
func (d *diagnosis) other(path []string, e errors.Error) {
	message := pathPrefix.ReplaceAllString(strip(inner(e).Error()), "")
	suggestion := ""
	if f := schemaShape().at(path); strings.HasPrefix(message, msgLengths) && f != nil {
		message = fmt.Sprintf("%s is %s, with at least one element", last(path), describe(f.expr))
	}
	if strings.HasPrefix(message, "invalid operation -\"") {
		message, suggestion = "a text has no minus", `a list is written in brackets, with commas: ["a", "b"]`
	}
	if name, ok := strings.CutPrefix(message, "undefined field: "); ok {
		if near, ok := didYouMean(name, definitions()); ok {
			suggestion = "did you mean " + near + "?"
		}
	}
	if m := unknownYet.FindStringSubmatch(message); m != nil {
		message = "this is made of a value that is not known yet: " + m[1]
		suggestion = valueHint
	}
	d.problem(d.leafPos(path, e), path, message, suggestion)
}

// leafPos is where the user wrote the value that an error is about.
func (d *diagnosis) leafPos(path []string, e errors.Error) token.Pos {
	if values := d.unit.source.values(path); len(values) == 1 && values[0].vague == 0 {
		return d.unit.source.valuePos(path)
	}
	if pos := d.userPos(e); pos.IsValid() {
		return pos
	}
	return d.unit.source.valuePos(path)
}

// conflict reports values of the user's own that contradict each other, naming both places. What the schema would have
// said to either is then left out.
func (d *diagnosis) conflict(path []string, errs []errors.Error) bool {
	for _, e := range errs {
		format, args := e.Msg()
		mine := d.userPositions(e)
		if !strings.HasPrefix(format, msgConflict) || len(mine) < 2 || len(mine) != len(errors.Positions(e)) {
			continue
		}
		// The positions include references; the values themselves are the ones with the literals.
		places := d.literals(path, mine)
		other := ""
		if len(places) > 1 {
			other = "the other is at " + d.loader.place(places[0])
		}
		if len(path) == 0 {
			d.problem(places[len(places)-1], path, "a value without a name stands among the fields", "write name: value, or remove it")
			return true
		}
		d.problem(places[len(places)-1], path, fmt.Sprintf("conflicting values %s and %s", brief(args[0]), brief(args[1])), other)
		return true
	}
	return false
}

// brief is a value as it fits into a message.
func brief(v any) string {
	const most = 60
	r := []rune(fmt.Sprint(v))
	if len(r) > most {
		return string(r[:most]) + "…"
	}
	return string(r)
}

// literals are the positions among mine at which a value of path is written.
func (d *diagnosis) literals(path []string, mine []token.Pos) []token.Pos {
	var at []token.Pos
	for _, p := range d.unit.source.values(path) {
		if p.value != nil && slices.Contains(mine, p.value.Pos()) && !slices.Contains(at, p.value.Pos()) {
			at = append(at, p.value.Pos())
		}
	}
	if len(at) < 2 {
		at = mine
	}
	slices.SortStableFunc(at, token.Pos.Compare)
	return at
}

// closed reports a field that the schema has and something else forbids.
func (d *diagnosis) closed(path []string, e errors.Error) {
	if len(path) > 0 && d.unit.source.isList(path[:len(path)-1]) {
		return // CUE has tried to read a list as a struct; what is wrong with its elements it says of them
	}
	pos := d.userPos(e)
	if schemaShape().at(path) == nil {
		d.problem(pos, path, "unknown field "+quote(last(path)), "")
		return
	}
	d.problem(pos, path, "the schema has this field, but a definition that it is unified with is closed and has not",
		"write the template as `_name: {…}`, or end the definition with `...`")
}

// incomplete reports a value that is a constraint still.
func (d *diagnosis) incomplete(path []string) {
	d.problem(d.unit.source.valuePos(path), path, last(path)+" has no value yet", valueHint)
}

const valueHint = "give it a value, or set it with a tag (-t)"
