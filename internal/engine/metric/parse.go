package metric

import (
	"bytes"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// lineAt is the context of the line that is parsed.
type lineAt struct {
	bytes []byte
	line  int64
	step  *float64
	own   bool // the step stands on this line
}

// longText is a length from which a line is not gone through once more for each of its tokens.
const longText = 8 << 10

// A match is a wanted name in a line of text, with the token that follows.
type match struct {
	s          *state
	at         int
	start, end int // of the token
}

var (
	finalMark = []byte("FINAL_RESULTS:")
	barMark   = []byte("%|")
	byteOrder = []byte("\ufeff")
)

// parse reads everything out of one line that has no escapes.
func (x *Extractor) parse(b []byte) {
	s := scanSteps(b)
	x.at = lineAt{bytes: b, line: x.line + 1, step: x.lastStep}
	if s.hasOwn {
		own := s.own
		x.at.step, x.at.own = &own, true
	}
	if !x.parseObjects(b) {
		x.text(b)
	}
	if s.hasLast {
		x.setStep(s.last)
	}
}

// parseObjects reads a line that is an object, alone, behind FINAL_RESULTS: or behind a progress bar that shares the
// line with it.
func (x *Extractor) parseObjects(b []byte) bool {
	if bytes.IndexByte(b, '{') < 0 {
		return false
	}
	from, to := trim(b)
	if n, ok := parseObject(b[from:to], from); ok {
		x.object(n)
		return true
	}
	if i := bytes.Index(b, finalMark); i >= 0 {
		from := skipBlanks(b, i+len(finalMark))
		if n, ok := parseObject(b[from:max(from, to)], from); ok {
			x.object(n)
			if !isSummary(n) {
				x.benchmark(n)
			}
			return true
		}
	}
	if i := bytes.Index(b, barMark); i >= 0 {
		if j := bytes.IndexByte(b[i:], '{'); j >= 0 {
			if n, ok := parseObject(b[i+j:max(i+j, to)], i+j); ok {
				x.text(b[:i+j])
				x.object(n)
				return true
			}
		}
	}
	return false
}

// trim returns the bounds of b without blanks, controls and a byte order mark.
func trim(b []byte) (from, to int) {
	to = len(b)
	for from < to && b[from] <= ' ' {
		from++
	}
	if bytes.HasPrefix(b[from:], byteOrder) {
		from += len(byteOrder)
	}
	for from < to && b[from] <= ' ' {
		from++
	}
	for to > from && b[to-1] <= ' ' {
		to--
	}
	return from, to
}

func (x *Extractor) object(n node) {
	x.objectStep(n)
	n.walk("", func(name string, v node) {
		x.leaf(name, v)
	})
	if name, ok := n.get("metric_name"); ok && name.kind == str {
		if v, ok := n.get("metric_value"); ok && (v.kind == leaf || v.kind == str) {
			x.leaf(name.text, v)
		}
	}
	if isSummary(n) {
		x.benchmark(n)
	}
}

// objectStep takes the step of an object from its own keys: what a nested one says is not about all of it.
func (x *Extractor) objectStep(n node) {
	x.at.step, x.at.own = x.lastStep, false
	for _, want := range []string{"epoch", "step"} {
		for i, key := range n.keys {
			if v, k := parseNumber(n.list[i].text); k == number && strings.EqualFold(key, want) {
				x.at.step, x.at.own = &v, true
			}
		}
	}
}

func (x *Extractor) leaf(name string, v node) {
	text := v.text
	if v.kind == str {
		text = strings.TrimSpace(text)
	}
	states := x.byName[name]
	for _, s := range states {
		x.token(s, text, v.at)
	}
	if len(states) == 0 && x.missing > 0 {
		x.note([]byte(name), []byte(text), x.at.line)
	}
}

// text reads the pairs of a line of text, in their order.
func (x *Extractor) text(b []byte) {
	x.found = x.found[:0]
	for _, s := range x.states {
		for from := 0; s.want.Pattern == nil; {
			i := bytes.Index(b[from:], s.name())
			if i < 0 {
				break
			}
			at, end := from+i, from+i+len(s.want.Name)
			from = at + 1
			if !wholeName(b, at, end) || at == 0 && x.cutBefore {
				continue
			}
			if start, stop, ok := x.value(b, at, end); ok {
				x.found = append(x.found, match{s, at, start, stop})
			}
		}
	}
	slices.SortStableFunc(x.found, func(a, b match) int { return a.at - b.at })
	for _, m := range x.found {
		x.token(m.s, string(b[m.start:m.end]), m.start)
	}
	if x.missing > 0 {
		x.noteNames(b)
	}
}

// value finds the token that belongs to the name b[at:end]: behind : or =, or, at the start of a line, behind blanks if
// it is anything like a number.
func (x *Extractor) value(b []byte, at, end int) (start, stop int, ok bool) {
	i := skipBlanks(b, end)
	switch {
	case i < len(b) && (b[i] == ':' || b[i] == '='):
		i = skipBlanks(b, i+1)
		if i < len(b) && (b[i] == '"' || b[i] == '\'') {
			if j := bytes.IndexByte(b[i+1:min(len(b), i+1+maxToken)], b[i]); j > 0 {
				return i + 1, i + 1 + j, true
			}
		}
	case i == end || !atLineStart(b, at) || x.offset > 0:
		return 0, 0, false
	default:
		if _, k := parseNumber(string(b[i:tokenEnd(b, i)])); k == word {
			return 0, 0, false
		}
	}
	stop = tokenEnd(b, i)
	if stop == i || stop == len(b) && x.cutBehind {
		return 0, 0, false
	}
	// "71.59 %" is no more 71.59 than "71.59%" is.
	if j := skipBlanks(b, stop); j > stop && j < len(b) && b[j] == '%' && isDigit(b[stop-1]) && atTokenEnd(b, j+1) {
		stop = j + 1
	}
	return i, stop, true
}

// atLineStart looks back from at, not forward from the start: it is asked for every name of the line.
func atLineStart(b []byte, at int) bool {
	blank := func(r rune) bool { return r <= ' ' }
	before := bytes.TrimRightFunc(b[:at], blank)
	return len(bytes.TrimRightFunc(bytes.TrimSuffix(before, byteOrder), blank)) == 0
}

// token takes what was printed under a wanted name.
func (x *Extractor) token(s *state, text string, at int) {
	x.seq++
	v, k := parseNumber(text)
	switch k {
	case broken:
		s.addProblem(text, x.at.line, x.column(at), x.seq)
		return
	case word:
		s.addWord(text, x.at.line, x.column(at))
		return
	}
	if s.count == 0 && !s.quiet && s.want.Pattern == nil {
		x.missing--
	}
	r := mark{value: v, line: x.at.line, step: x.at.step, seq: x.seq}
	s.add(r, k == odd)
	if s.quiet {
		return
	}
	s.compare(r, x.at, text, at)
	if x.on != nil {
		x.on(Reading{Metric: s.want.Name, Value: v, Text: text, Step: r.step, Line: r.line})
	}
}

// column counts characters as an editor does; in a very long line bytes, or each of many tokens would cost the line.
func (x *Extractor) column(at int) int {
	if at > longText {
		return 1 + x.offset + at
	}
	return 1 + x.offset + utf8.RuneCount(x.at.bytes[:min(at, len(x.at.bytes))])
}

// noteNames keeps every name of a line that has a number, for near misses.
func (x *Extractor) noteNames(b []byte) {
	for i := 0; i < len(b); {
		n, ok := nameByte(b, i)
		if !ok {
			i += n
			continue
		}
		at, letter := i, false
		for i < len(b) {
			n, ok := nameByte(b, i)
			if !ok {
				break
			}
			letter = letter || !isDigit(b[i]) && b[i] > '@'
			i += n
		}
		if !letter {
			continue
		}
		end, sep := i, i
		if sep < len(b) && (b[sep] == '"' || b[sep] == '\'') {
			sep++
		}
		if start, stop, ok := x.value(b, at, sep); ok {
			x.note(b[at:end], b[start:stop], x.at.line)
		}
	}
}

// wholeName reports whether the name b[at:end] is not part of a longer one.
func wholeName(b []byte, at, end int) bool {
	if end < len(b) {
		if _, ok := nameByte(b, end); ok {
			return false
		}
	}
	if at == 0 {
		return true
	}
	if c := b[at-1]; c < utf8.RuneSelf {
		_, ok := nameByte(b, at-1)
		return !ok
	}
	r, _ := utf8.DecodeLastRune(b[:at])
	return !isNameRune(r)
}

// nameByte reports whether a character of a name starts at b[i], and how long the character there is.
func nameByte(b []byte, i int) (n int, ok bool) {
	c := b[i]
	if c < utf8.RuneSelf {
		return 1, 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || isDigit(c) || c == '_' || c == '.' || c == '/' || c == '-' || c == '@'
	}
	r, n := utf8.DecodeRune(b[i:])
	return n, isNameRune(r)
}

func isNameRune(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r))
}
