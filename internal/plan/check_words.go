package plan

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// No shell of ours reads a command. Words that only a shell understands reach the program as they are, or are looked for
// as a program.

var (
	assignmentRE = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]*)=(.*)$`)
	// A value behind an option, or an argument of its own. More than a name and a path behind it can be anything.
	variableRE = regexp.MustCompile(`^\$([A-Za-z_][A-Za-z0-9_]*)(/|$)`)
	homeRE     = regexp.MustCompile(`^~(/|$)`)
)

// readers are programs that give their arguments to a shell, or to a language of their own in which such words mean
// something.
var readers = []string{"ssh", "eval", "xargs", "parallel", "find", "tmux", "screen", "awk", "gawk", "mawk", "perl", "expr", "test", "["}

// operators are words of their own by which a shell joins commands; those that single are also found as an argument.
var (
	operators = []string{"|", "||", "&&", "&", ";", ">", ">>", "<", "2>", "2>>", "2>&1", "&>", "|&", ">&2"}
	single    = []string{"|", "&", ";", ">", "<"}
	outputs   = []string{"|", ">", ">>", "2>", "2>>", "2>&1", "&>", "|&"}
)

// shellWords finds what was written for a shell.
func (c *codeChecker) shellWords(cmd commandAt) {
	if c.shellLead(cmd) {
		return
	}
	for _, arg := range cmd.argv {
		if base := path.Base(arg); shells[base] || slices.Contains(readers, base) {
			return
		}
	}
	told := false
	for i := range cmd.argv {
		arg, ok := literal(cmd.argv[i])
		at := append(slices.Clone(cmd.path), strconv.Itoa(i))
		switch value := optionValue(arg); {
		case !ok:
		case i > 0 && !told && isOperator(cmd.argv[i-1], arg):
			told = true
			suggestion := `let one read the line: ["sh", "-c", "…"]`
			if slices.Contains(outputs, arg) {
				suggestion = "leave it out: xrun keeps what the program prints (`xrun logs`); or " + suggestion
			}
			c.warn(at, suggestion, "%q is passed to the program: no shell reads a command", arg)
		case homeRE.MatchString(value) && !c.expandsHome(cmd, i):
			c.warn(at, "write the absolute path, or declare it as data", "%s is passed as it is: no shell reads a command and puts the home directory for ~", value)
		case i > 0 && variableRE.MatchString(value):
			name := variableRE.FindStringSubmatch(value)[1]
			c.warn(at, c.fillIn(name), "%s is passed as it is: no shell reads a command and fills in $%s", value, name)
		}
	}
}

// optionValue is the value of --name=value, or the whole argument.
func optionValue(arg string) string {
	if m := optionRE.FindStringSubmatch(arg); m != nil {
		return m[2]
	}
	return arg
}

// isOperator reports whether arg joins commands; behind an option some can be its value (--sep ";").
func isOperator(before, arg string) bool {
	if slices.Contains(single, arg) && strings.HasPrefix(before, "-") && !strings.Contains(before, "=") {
		return false
	}
	return slices.Contains(operators, arg)
}

// expandsHome: a program that says so may do for itself what a shell does. The program's own path it cannot.
func (c *codeChecker) expandsHome(cmd commandAt, at int) bool {
	p, ok := programOf(cmd.argv)
	if !ok || at <= p.at {
		return false
	}
	text := c.look.Text(path.Clean(p.name))
	return strings.Contains(text, "expanduser") || strings.Contains(text, "HOME")
}

// fillIn says how a variable of a shell is written here.
func (c *codeChecker) fillIn(name string) string {
	known, _ := c.e.declared()
	for _, k := range append(known, "seed") {
		if strings.EqualFold(k, name) {
			return fmt.Sprintf("write {%s}", k)
		}
	}
	return `write its value, or let one read the line: ["sh", "-c", "…"]`
}

// shellLead finds a command that begins with a word of the shell.
func (c *codeChecker) shellLead(cmd commandAt) bool {
	word := cmd.argv[0]
	at := append(slices.Clone(cmd.path), "0")
	if m := assignmentRE.FindStringSubmatch(word); m != nil && c.look.At(path.Clean(word)).Kind == Nothing {
		suggestion := fmt.Sprintf("write env: %s: %q", m[1], m[2])
		switch {
		case m[1] == "CUDA_VISIBLE_DEVICES":
			suggestion = "write needs: gpus: 1, and xrun sets it"
		case cmd.path[0] == "evaluate":
			suggestion = fmt.Sprintf("write evaluate: env: %s: %q", m[1], m[2])
		}
		c.problem(at, suggestion, "%s is looked for as a program: no shell reads a command", word)
		return true
	}
	suggestion := ""
	switch word {
	case "source", ".":
		suggestion = "activate the environment before `xrun run`, or in the prelude of a host, and begin with the program"
	case "cd":
		suggestion = "code: path names the directory where the command starts; begin with the program"
	case "export":
		suggestion = "write it under env, and begin with the program"
	default:
		return false
	}
	c.problem(at, suggestion, "%q is a word of the shell, and no shell reads a command", word)
	return true
}

// isShellLead is what CheckCode has a better word for than that it is no program.
func isShellLead(word string) bool {
	return slices.Contains([]string{"source", ".", "cd", "export"}, word) || assignmentRE.MatchString(word)
}
