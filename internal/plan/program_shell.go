package plan

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// programsOf are the programs that an argv starts: that of programOf, or those of the line that a shell is given, where it
// is so plain that they are certain.
func programsOf(argv []string) []program {
	if p, ok := programOf(argv); ok {
		return []program{p}
	}
	if len(argv) < 3 || !shells[path.Base(argv[0])] || !shellLineRE.MatchString(argv[1]) {
		return nil
	}
	var out []program
	for _, words := range plainLine(argv[2]) {
		if p, ok := programOf(words); ok {
			p.at, p.inLine = 2, true
			out = append(out, p)
		}
	}
	return out
}

var (
	shellLineRE = regexp.MustCompile(`^-[elux]*c$`)
	redirection = regexp.MustCompile(`[0-9]?>>?(&[0-9]|[ \t]*[\w./{}-]+)`)
	lineEnds    = regexp.MustCompile(`\|\||&&|[|;&]`)
)

// leads are words after which a line's other words are looked for elsewhere, or mean something else.
var leads = []string{"cd", "pushd", "source", ".", "eval", "if", "for", "while", "until", "case", "function", "exec", "trap", "set"}

// plainLine is the commands of a line of shell, word by word; none if it holds anything that only a shell can read.
func plainLine(line string) [][]string {
	line = redirection.ReplaceAllString(line, "")
	if strings.ContainsAny(line, "'\"\\$`()*?[]#~!<>\n\r") {
		return nil
	}
	var out [][]string
	for _, part := range lineEnds.Split(line, -1) {
		words := strings.Fields(part)
		if len(words) == 0 {
			continue
		}
		if slices.Contains(leads, words[0]) {
			return nil
		}
		out = append(out, words)
	}
	return out
}
