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
	homeRE       = regexp.MustCompile(`^~(/|$)`)
)

// forShells finds a command that begins with a word of the shell, and home directories that nobody fills in. (Check
// finds operators and variables: those need no look at the code.)
func (c *codeChecker) forShells(cmd commandAt) {
	if c.shellLead(cmd) || readsShell(cmd.argv) {
		return
	}
	for i := range cmd.argv {
		arg, ok := literal(cmd.argv[i])
		if value := optionValue(arg); ok && homeRE.MatchString(value) && !c.expandsHome(cmd, i) {
			c.warn(append(slices.Clone(cmd.path), strconv.Itoa(i)), "write the absolute path, or declare it as data",
				"%s is passed as it is: no shell reads a command and puts the home directory for ~", value)
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

// expandsHome: a program that says so may do for itself what a shell does. The program's own path it cannot.
func (c *codeChecker) expandsHome(cmd commandAt, at int) bool {
	p, ok := programOf(cmd.argv)
	if !ok || at <= p.at {
		return false
	}
	text := c.look.Text(path.Clean(p.name))
	return strings.Contains(text, "expanduser") || strings.Contains(text, "HOME")
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
