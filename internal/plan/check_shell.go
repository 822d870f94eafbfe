package plan

import (
	"regexp"
	"strings"
)

// A shellScan is what is seen of a shell script without running it: enough to tell pipes from what looks like them.
type shellScan struct {
	pipes      [][]string // the names of the commands of each pipe
	background bool       // the last command is left running

	text    string
	word    strings.Builder
	begun   bool     // word has a beginning, if only an empty string in quotes
	name    string   // of the command
	command []string // the commands of the pipe so far
	open    map[string]bool
}

// scanShell reads a script. What stands in quotes, in $(…), in case … esac and in [[ … ]] is passed over.
func scanShell(text string) *shellScan {
	s := &shellScan{text: text, open: map[string]bool{}}
	for s.text != "" {
		s.step()
	}
	s.endPipe(false)
	return s
}

func (s *shellScan) step() {
	t := s.text
	two := t[:min(2, len(t))]
	switch {
	case t[0] == '\\':
		s.take(min(2, len(t)))
	case t[0] == '\'', t[0] == '`':
		s.take(closing(t))
	case t[0] == '"':
		s.take(quoted(t))
	case two == "$(":
		s.take(1 + parens(t[1:]))
	case two == "((" && !s.begun:
		s.take(parens(t))
	case t[0] == '#' && !s.begun:
		s.text = t[lineEnd(t):]
	case two == "||", two == "&&":
		s.endPipe(false)
		s.text = t[2:]
	case two == ">|", two == ">&", two == "<&", two == "&>":
		s.take(2)
	case t[0] == '|':
		s.endCommand()
		s.text = strings.TrimPrefix(t[1:], "&")
	case t[0] == '&':
		s.endPipe(true)
		s.text = t[1:]
	case t[0] == ';', t[0] == '\n':
		s.endPipe(false)
		s.text = t[1:]
	case strings.IndexByte(" \t\r()", t[0]) >= 0:
		s.text = t[1:]
		s.endWord()
	default:
		s.take(1)
	}
}

// take adds n bytes to the word.
func (s *shellScan) take(n int) {
	s.word.WriteString(s.text[:n])
	s.begun, s.text = true, s.text[n:]
}

func (s *shellScan) endWord() {
	if !s.begun {
		return
	}
	w := s.word.String()
	s.word.Reset()
	s.begun = false
	if s.name != "" {
		return
	}
	if end := map[string]string{"[[": "]]", "case": "esac"}[w]; end != "" && !s.open[end] {
		i := strings.Index(s.text, end)
		s.open[end] = i < 0 // looked for once: it is nowhere behind this place
		if i >= 0 {
			s.text = s.text[i+len(end):]
		}
	}
	if !notName.MatchString(w) {
		s.name = strings.ToValidUTF8(w[:min(len(w), maxName)], "")
	}
}

// maxName is how much of a name is kept: what is longer is text in quotes.
const maxName = 60

// notName are words in front of a command that are not its name.
var notName = regexp.MustCompile(`^(?:[A-Za-z_][A-Za-z0-9_]*=.*|[{!]|if|then|else|elif|while|until|do|time|exec|sudo)$`)

func (s *shellScan) endCommand() {
	s.endWord()
	if s.name != "" {
		s.command = append(s.command, s.name)
	}
	s.name = ""
}

func (s *shellScan) endPipe(background bool) {
	s.endCommand()
	if len(s.command) > 1 {
		s.pipes = append(s.pipes, s.command)
	}
	if len(s.command) > 0 {
		s.background = background
	}
	s.command = nil
}

// closing is the length of what stands between two marks like the first one.
func closing(t string) int {
	if i := strings.IndexByte(t[1:], t[0]); i >= 0 {
		return i + 2
	}
	return len(t)
}

// quoted is the length of a text in double quotes, in which a command may be substituted.
func quoted(t string) int {
	for i := 1; i < len(t); i++ {
		switch {
		case t[i] == '\\':
			i++
		case t[i] == '"':
			return i + 1
		case strings.HasPrefix(t[i:], "$("):
			i += parens(t[i+1:])
		}
	}
	return len(t)
}

// parens is the length of what stands in parentheses, with those inside of it.
func parens(t string) int {
	depth := 0
	for i := 0; i < len(t); {
		switch t[i] {
		case '\\':
			i++
		case '\'', '`':
			i += closing(t[i:]) - 1
		case '"':
			i += quoted(t[i:]) - 1
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return len(t)
}

func lineEnd(t string) int {
	if i := strings.IndexByte(t, '\n'); i >= 0 {
		return i
	}
	return len(t)
}
