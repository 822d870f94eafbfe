package specfile

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// longest is how much of a line is shown, in columns of the terminal.
const longest = 160

func splitLines(text string) []string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimSuffix(lines[i], "\r")
	}
	return lines
}

// excerpt is a line as it is shown, and the space that moves a mark below column col (which counts bytes from 1). Tabs
// stay tabs in both, so that any width of tab will do.
func excerpt(line string, col int) (shown, space string) {
	at := min(max(col-1, 0), len(line))
	before, after := line[:at], line[at:]
	if w := columns(before); w > longest*3/4 {
		cut := len(before)
		for n := 0; cut > 0 && n < longest/2; {
			r, size := utf8.DecodeLastRuneInString(before[:cut])
			cut -= size
			n += width(r)
		}
		before = "…" + before[cut:]
	}
	n := columns(before)
	for i, r := range after {
		if n += width(r); n > longest {
			after = after[:i] + "…"
			break
		}
	}
	var b strings.Builder
	for _, r := range before {
		if r == '\t' {
			b.WriteByte('\t')
		} else {
			b.WriteString(strings.Repeat(" ", width(r)))
		}
	}
	return visible(before + after), b.String()
}

func columns(s string) int {
	n := 0
	for _, r := range s {
		n += width(r)
	}
	return n
}

// width is the number of columns that a terminal gives to r.
func width(r rune) int {
	switch {
	case r == '\t':
		return 1
	case r < ' ', r == 0x7f:
		return 1 // shown as a replacement
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case wide(r):
		return 2
	default:
		return 1
	}
}

// wide reports whether r is a character of East Asian width, or an emoji.
func wide(r rune) bool {
	return r >= 0x1100 && r <= 0x115f || r >= 0x2e80 && r <= 0x303e || r >= 0x3041 && r <= 0xa4cf || r >= 0xac00 && r <= 0xd7a3 ||
		r >= 0xf900 && r <= 0xfaff || r >= 0xfe30 && r <= 0xfe6f || r >= 0xff00 && r <= 0xff60 || r >= 0xffe0 && r <= 0xffe6 ||
		r >= 0x1f300 && r <= 0x1f64f || r >= 0x1f680 && r <= 0x1f6ff || r >= 0x1f900 && r <= 0x1f9ff || r >= 0x20000 && r <= 0x3fffd
}

// visible replaces what could command a terminal: a spec may come from a stranger's pull request.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return r
		case r < ' ', r >= 0x7f && r < 0xa0, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
			return '\ufffd'
		}
		return r
	}, s)
}
