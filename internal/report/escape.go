package report

import (
	"fmt"
	"html"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// visible shows what could command a terminal, hide text or turn its direction as codes: \n, \x1b, \u202e. Bytes that
// are not UTF-8 are shown too.
func visible(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return !shown(r) }) < 0 {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case shown(r):
			b.WriteString(s[:n])
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			b.Write(appendU(nil, r))
		}
		s = s[n:]
	}
	return b.String()
}

// shown reports whether r has a glyph and leaves its surroundings alone.
func shown(r rune) bool {
	return r != utf8.RuneError && unicode.IsPrint(r)
}

// appendU appends \u and four hexadecimal digits, or a pair of surrogates where four are not enough.
func appendU(b []byte, r rune) []byte {
	if r < 0x10000 {
		return fmt.Appendf(b, `\u%04x`, r)
	}
	r -= 0x10000
	return fmt.Appendf(b, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
}

// clip cuts s to n characters and says how long it was and where the rest is.
func clip(s string, n int, where string) string {
	long := utf8.RuneCountInString(s)
	if long <= n {
		return s
	}
	cut := 0
	for i := range s {
		if cut == n {
			return fmt.Sprintf("%s… (%d characters, whole in %s)", s[:i], long, where)
		}
		cut++
	}
	return s
}

// nameLimit is how many characters of a point's parameters the text shows.
const nameLimit = 120

// squeeze cuts s to n characters in its middle: long names often differ at their ends only.
func squeeze(s string, n int) string {
	long := []rune(s)
	if len(long) <= n {
		return s
	}
	head := n / 2
	return string(long[:head]) + "…" + string(long[len(long)-(n-head-1):])
}

// plain reports whether Markdown has no meaning in s, wherever s stands.
func plain(s string) bool {
	for i, r := range s {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
		case strings.ContainsRune(" .,:=/%+-±()", r) && (i > 0 || r != '+'):
		case r == '_' && i > 0 && i < len(s)-1 && isWord(s[i-1]) && isWord(s[i+1]):
		case r > 0x7f && (unicode.IsLetter(r) || strings.ContainsRune("…–µ≈→×·", r)):
		default:
			return false
		}
	}
	return !strings.Contains(s, "://") && !strings.Contains(s, "www.") && strings.TrimSpace(s) == s && !emoji.MatchString(s)
}

// emoji matches what GitHub shows as a picture: :tada: and :100:.
var emoji = regexp.MustCompile(`:[A-Za-z0-9_+-]+:`)

func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// cellLimit is how many characters of a value a table shows.
const cellLimit = 60

// cell is s for a cell of a Markdown table: one line, no pipe that could end it, no mark-up, no mention or link. What is
// not plain stands in an HTML code element with character references, which works in every renderer: a backslash before
// a pipe undoes itself where the text has one already.
func cell(s string) string {
	s = visible(clip(s, cellLimit, "report.json"))
	if s == "" || plain(s) {
		return s
	}
	return "<code>" + refs(s) + "</code>"
}

// inline is s within a line of Markdown text, as code unless it is plain words.
func inline(s string) string {
	s = visible(clip(s, 300, "report.json"))
	if s == "" || plain(s) {
		return s
	}
	return code(s)
}

// code is s as a code span, whatever backticks it has. Not for cells: there a pipe would end it.
func code(s string) string {
	s = visible(s)
	if s == "" {
		return "` `"
	}
	ticks := strings.Repeat("`", longestRun(s, '`')+1)
	if s[0] == '`' || s[len(s)-1] == '`' || s[0] == ' ' && s[len(s)-1] == ' ' {
		s = " " + s + " "
	}
	return ticks + s + ticks
}

// refs writes every character that means something to HTML or Markdown as a character reference.
func refs(s string) string {
	var b strings.Builder
	for _, r := range html.EscapeString(s) {
		if strings.ContainsRune("|\\`*_[]~!@:", r) {
			fmt.Fprintf(&b, "&#%d;", r)
		} else {
			b.WriteRune(r)
		}
	}
	return strings.NewReplacer("&#34;", `"`, "&#39;", "'").Replace(b.String()) // quotes mean nothing outside a tag
}

// fence is text as a fenced code block, with a fence that nothing inside can close.
func fence(info, text string) string {
	ticks := strings.Repeat("`", max(3, longestRun(text, '`')+1))
	var b strings.Builder
	b.WriteString(ticks + info + "\n")
	for line := range strings.Lines(strings.TrimRight(text, "\r\n \t")) {
		line = strings.TrimRight(line, "\r\n")
		b.WriteString(visible(strings.ReplaceAll(line, "\t", "    ")) + "\n")
	}
	b.WriteString(ticks + "\n")
	return b.String()
}

func longestRun(s string, c byte) int {
	longest, run := 0, 0
	for i := range len(s) {
		if s[i] != c {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}

// shell is argv as a line that a POSIX shell (bash where it has control characters) reads back as argv.
func shell(argv []string) string {
	words := make([]string, len(argv))
	for i, a := range argv {
		words[i] = shellWord(a)
	}
	return strings.Join(words, " ")
}

func shellWord(s string) string {
	safe := func(r rune) bool {
		return r < 0x80 && (isWord(byte(r)) || strings.ContainsRune("@%+=:,./-_", r))
	}
	control := func(r rune) bool { return r != '\n' && !shown(r) }
	switch {
	case s != "" && strings.IndexFunc(s, func(r rune) bool { return !safe(r) }) < 0:
		return s
	case strings.IndexFunc(s, control) >= 0:
		s = strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\n", `\n`).Replace(s)
		var b strings.Builder
		for len(s) > 0 {
			r, n := utf8.DecodeRuneInString(s)
			if shown(r) {
				b.WriteString(s[:n])
			} else {
				for i := range n {
					fmt.Fprintf(&b, `\x%02x`, s[i])
				}
			}
			s = s[n:]
		}
		return "$'" + b.String() + "'"
	default:
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
}

// escapeText is a sentence in running text: plain words stay as they are; from the first to the last word that Markdown or
// GitHub could read as something else it is code. s has no control characters.
func escapeText(s string) string {
	words := strings.Split(strings.TrimSpace(s), " ")
	first, last := -1, -1
	for i, w := range words {
		if !harmless(w) || i == 0 && block.MatchString(w) {
			last = i
			if first < 0 {
				first = i
			}
		}
	}
	if first < 0 {
		return strings.Join(words, " ")
	}
	out := append(words[:first:first], code(strings.Join(words[first:last+1], " ")))
	return strings.Join(append(out, words[last+1:]...), " ")
}

// block matches a first word that begins a list, a heading or a rule where a line begins with it.
var block = regexp.MustCompile(`^([-+=]+|[0-9]+[.)])$`)

// harmless reports whether a word has no meaning in Markdown or on GitHub, except at the start of a line.
func harmless(w string) bool {
	for _, part := range strings.FieldsFunc(w, func(r rune) bool { return strings.ContainsRune("\"'?;!{}", r) }) {
		if !plain(part) {
			return false
		}
	}
	return !strings.HasPrefix(w, "+")
}
