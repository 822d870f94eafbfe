package metric

import (
	"bytes"
	"regexp"
)

// patterns looks for the metrics that are described by a pattern, in one line or a piece of one, without escapes.
func (x *Extractor) patterns(b []byte) {
	for _, s := range x.regexps {
		re := s.want.Pattern
		value, step := re.SubexpIndex("value"), re.SubexpIndex("step")
		for _, m := range re.FindAllSubmatchIndex(b, -1) {
			start, end := m[2*value], m[2*value+1]
			if start < 0 || end == start {
				continue // an alternative without a value
			}
			x.at = lineAt{bytes: b, line: x.line + 1, step: x.stepOf(b, m, step)}
			x.seq++
			if from, to := wholeNumber(b, start, end); from != start || to != end {
				s.addProblem(string(b[from:to]), x.at.line, x.column(from), x.seq)
				continue
			}
			x.token(s, string(b[start:end]), start)
		}
	}
}

// stepOf is the step that the pattern captures, else the one of the line, else the last one.
func (x *Extractor) stepOf(b []byte, m []int, group int) *float64 {
	if group >= 0 && m[2*group] >= 0 {
		if v, k := parseNumber(string(b[m[2*group]:m[2*group+1]])); k == number {
			return &v
		}
	}
	if s := scanSteps(b); s.hasOwn {
		return &s.own
	}
	return x.lastStep
}

// wholeNumber is the number that b[start:end] is a part of: a pattern may take 71.5 out of 71.5%, and not 1 out of 1e-5
// or 234.5 out of 1,234.5. What is no number is returned as it is.
func wholeNumber(b []byte, start, end int) (from, to int) {
	low, high := start, end
	for low > max(0, start-maxToken) && bytes.IndexByte(numberBytes, b[low-1]) >= 0 {
		low--
	}
	for high < min(len(b), end+maxToken) && bytes.IndexByte(numberBytes, b[high]) >= 0 {
		high++
	}
	for _, m := range numberRE.FindAllIndex(b[low:high], -1) {
		from, to = low+m[0], low+m[1]
		if to <= start || from >= end {
			continue
		}
		if from > 0 && isSign(b[from-1]) && (from == start+1 || from == 1 || !isNameRune(rune(b[from-2]))) {
			from--
		}
		if end == to+1 && b[to] == '.' { // 71. is 71
			to++
		}
		return from, to
	}
	return start, end
}

var (
	numberBytes = []byte("0123456789.,eE+-")
	numberRE    = regexp.MustCompile(`(?:[0-9]{1,3}(?:,[0-9]{3})+\b|[0-9]+)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|\.[0-9]+(?:[eE][+-]?[0-9]+)?`)
)

func isSign(c byte) bool { return c == '+' || c == '-' }
