package metric

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A kind says what a token is.
type kind int

const (
	word   kind = iota // no number at all
	number             // a whole finite number
	odd                // nan or inf: the program diverged
	broken             // begins like a number and is none: 71.59%, 1,234.5, 12:30
)

// maxToken is how much of a token is looked at: more than any number needs that a program prints (the least float64
// has 1076 digits). What is as long is no number, and so never a part of one.
const maxToken = 1100

// parseNumber reads a whole token. strconv alone is no judge: it takes 1_000 and 0x1p-2, and 1e400 as infinite.
func parseNumber(tok string) (float64, kind) {
	body := strings.TrimLeft(tok, "+-")
	if len(tok)-len(body) > 1 || body == "" {
		return 0, word
	}
	if len(tok) < maxToken && wholeDecimal(body) {
		v, err := strconv.ParseFloat(tok, 64)
		if err != nil {
			return 0, broken
		}
		return v, number
	}
	switch strings.ToLower(body) {
	case "nan":
		return math.NaN(), odd
	case "inf", "infinity":
		if tok[0] == '-' {
			return math.Inf(-1), odd
		}
		return math.Inf(1), odd
	}
	for _, lead := range []string{"\u2212", "."} { // a typographic minus is not read as one, and not dropped either
		body = strings.TrimPrefix(body, lead)
	}
	if body != "" && isDigit(body[0]) {
		return 0, broken
	}
	return 0, word
}

// wholeDecimal reports whether all of s is digits with at most one point, then at most one exponent.
func wholeDecimal(s string) bool {
	i, digits := 0, 0
	for ; i < len(s) && isDigit(s[i]); i++ {
		digits++
	}
	if i < len(s) && s[i] == '.' {
		for i++; i < len(s) && isDigit(s[i]); i++ {
			digits++
		}
	}
	if digits == 0 {
		return false
	}
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		i++
		if i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		from := i
		for ; i < len(s) && isDigit(s[i]); i++ {
			continue
		}
		if i == from {
			return false
		}
	}
	return i == len(s)
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

func skipBlanks(b []byte, i int) int {
	for i < len(b) && isBlank(b[i]) {
		i++
	}
	return i
}

// atTokenEnd reports whether no token goes on at b[i].
func atTokenEnd(b []byte, i int) bool {
	return i >= len(b) || tokenEnd(b[:min(len(b), i+utf8.UTFMax)], i) == i
}

// tokenEnd returns the index behind the token that starts at b[i], or behind maxToken bytes of it: a line of many names
// and no blank would else be gone through once for each of them. A comma before a digit belongs to the token, so that
// 1,234.5 is seen whole.
func tokenEnd(b []byte, i int) int {
	b = b[:min(len(b), i+maxToken)]
	for i < len(b) {
		switch c := b[i]; {
		case c <= ' ' || c == 0x7f:
			return i
		case c == ',':
			if i+1 >= len(b) || !isDigit(b[i+1]) {
				return i
			}
		case c == ';' || c == '|' || c == '"' || c == '\'' || c == ')' || c == ']' || c == '}' || c == '>':
			return i
		case c >= utf8.RuneSelf:
			r, n := utf8.DecodeRune(b[i:])
			if r == '\u00a0' || 0x2500 <= r && r <= 0x259f { // frames and bars of tables and progress
				return i
			}
			i += n
			continue
		}
		i++
	}
	return i
}
