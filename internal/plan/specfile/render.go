package specfile

import (
	"fmt"
	"io"
	"strings"

	"github.com/xrun-dev/xrun/internal/plan"
)

// heading is "file:line:col: path: message" without the parts that are unknown.
func heading(p plan.Problem) string {
	s := where(p)
	if p.Path != "" {
		s += p.Path + ": "
	}
	return s + p.Message
}

func where(p plan.Problem) string {
	switch {
	case p.File == "":
		return ""
	case p.Line == 0:
		return p.File + ": "
	default:
		return fmt.Sprintf("%s:%d:%d: ", p.File, p.Line, p.Col)
	}
}

// longestMessage is how many characters of a message are shown. What is longer quotes a value of the user's, who has it.
const longestMessage = 600

// shortened leaves out the middle of a long message: what is wrong stands at its beginning or at its end.
func shortened(s string) string {
	if len(s) <= longestMessage {
		return s
	}
	r := []rune(s)
	if len(r) <= longestMessage {
		return s
	}
	return string(r[:longestMessage*3/4]) + " … " + string(r[len(r)-longestMessage/4:])
}

// Render writes problems for a reader: the place, what is wrong, the line with a mark below the column, what to do.
func Render(w io.Writer, ps []plan.Problem, color bool) error {
	var b strings.Builder
	for _, p := range ps {
		render(&b, p, color)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func render(b *strings.Builder, p plan.Problem, color bool) {
	paint := func(code, s string) string {
		if !color || s == "" {
			return s
		}
		return "\x1b[" + code + "m" + s + "\x1b[0m"
	}
	b.WriteString(paint("1", visible(where(p))))
	if p.Path != "" {
		b.WriteString(visible(shortened(p.Path)) + ": ")
	}
	b.WriteString(paint("31", visible(p.Message)) + "\n")
	margin := "      "
	if p.Line > 0 && p.Excerpt != "" {
		number := fmt.Sprintf("%5d ", p.Line)
		margin = strings.Repeat(" ", len(number))
		line, caret := excerpt(p.Excerpt, p.Col)
		fmt.Fprintf(b, "%s| %s\n%s| %s%s\n", number, line, margin, caret, paint("31", "^"))
	}
	if p.Suggestion != nil {
		b.WriteString(margin + "= " + paint("36", visible(*p.Suggestion)) + "\n")
	}
}
