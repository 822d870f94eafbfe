package plan

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A Look is what lies in and around the code of an experiment. Paths are slash-separated and relative to the directory
// of the code, where its commands run. Experiments that ship the same have one Look.
type Look interface {
	// At says what lies at a path.
	At(path string) Seen
	// Find lists the files of the repository that have the name of a path, in whatever case, the likeliest first.
	Find(path string) []Elsewhere
	// Beside lists what is shipped in the directory of a path.
	Beside(path string) []string
	// Text is a shipped file of at most 1 MiB, the beginning of a larger one; "" of what is none.
	Text(path string) string
	// Links are the links that are shipped and lead out of the code, each with its target.
	Links() []string
}

// Seen is what lies at a path. The zero value is nothing.
type Seen struct {
	Kind    SeenKind
	Shipped bool // of a directory: something in it
	// Why what is there is not shipped: "git ignores it (.gitignore:1: data/)".
	Why string
	// Executable files have their x bit.
	Executable bool
	// Bytes are those that are shipped, of a directory of all that lies in it.
	Bytes int64
}

// SeenKind is what a Seen is.
type SeenKind int

// The kinds of what is there.
const (
	Nothing SeenKind = iota
	RegularFile
	Directory
	Special // a fifo, a device
)

// Elsewhere is a file of the repository that could be meant.
type Elsewhere struct {
	Path string // relative to the code
	Name string // relative to the root of the repository
	// CodePath is the code.path under which the path that was looked for is this file; "" if there is none.
	CodePath string
	Shipped  bool
}

// CheckCode compares the commands of s with the code that is shipped. What it finds depends on nothing else of the
// machine: its warnings are part of a plan.
func CheckCode(s *Spec, look func(*Experiment) Look) []Finding {
	c := &codeChecker{checker: checker{spec: s}, seen: map[Look]bool{}}
	for i := range s.Experiments {
		e := &s.Experiments[i]
		if e.Code.Ref != "" {
			continue // another tree than the one that lies here
		}
		c.at, c.e = []string{"experiments", e.Name}, e
		if c.look = look(e); c.look == nil {
			continue
		}
		for _, cmd := range e.commands() {
			c.inLine = false
			c.oneWord(cmd)
			c.forShells(cmd)
			for _, p := range programsOf(cmd.argv) {
				c.inLine = p.inLine
				c.program(p, slices.Concat(cmd.path, []string{strconv.Itoa(p.at)}))
			}
		}
		c.named()
		c.links()
		c.seen[c.look] = true
	}
	return c.found
}

type codeChecker struct {
	checker
	e    *Experiment
	look Look
	seen map[Look]bool

	inLine bool // what a shell makes of its line is never quite certain
}

// oneWord finds a whole command line in the place of the program's name.
func (c *codeChecker) oneWord(cmd commandAt) {
	word := cmd.argv[0]
	if !strings.ContainsAny(word, " \t\n") || strings.HasPrefix(word, "/") || c.look.At(path.Clean(word)).Kind != Nothing {
		return
	}
	fields := strings.Fields(word)
	if len(fields) == 0 {
		return
	}
	write := []string{}
	switch {
	case strings.ContainsAny(word, "|&;<>$*?\"'`()\\\n"):
		write = append(write, "sh", "-c", word)
	default:
		write = append(write, fields...)
	}
	for i, w := range write {
		write[i] = strconv.Quote(w)
	}
	if n := len(cmd.argv) - 1; n > 0 {
		write = append(write, "…")
	}
	c.add(append(slices.Clone(cmd.path), "0"), "write ["+strings.Join(write, ", ")+"]", "the program's name is the whole of %q: a command is a list, one word each", word)
}

// program checks that what the command starts is shipped.
func (c *codeChecker) program(p program, at []string) {
	if p.kind == module {
		c.module(p, at)
		return
	}
	name := path.Clean(p.name)
	if strings.HasPrefix(p.name, "/") || strings.HasPrefix(p.name, "~") || c.promised(name) || strings.ContainsAny(p.name, " \t\n") {
		return
	}
	switch seen := c.look.At(name); {
	case seen.Kind == Directory && p.kind == script && (strings.HasPrefix(p.by, "py") || p.by == "node"):
		// python DIR runs DIR/__main__.py
	case seen.Kind == Nothing && p.by == "node" && c.look.At(name+".js").Kind == RegularFile:
	case seen.Kind == Directory:
		c.add(at, "", "%s is a directory", name)
	case seen.Shipped:
		if p.kind == direct && seen.Kind == RegularFile {
			c.executable(name, seen, at)
		}
	case seen.Kind != Nothing:
		c.kept(name, seen.Why, at)
	default:
		c.missing(p, name, at)
	}
}

// promised are files that somebody else is to make.
func (c *codeChecker) promised(name string) bool {
	return c.e.Loop != nil && c.e.Loop.Bootstrap != nil && path.Clean(c.e.Loop.Bootstrap.Path) == name
}

// mendable reports whether something may still put files where the command looks for them, or make it look elsewhere: a
// setup, a container, a prelude, a PATH.
func (c *codeChecker) mendable() bool {
	if c.e.Setup != nil || c.e.Container != nil || c.e.Env["PATH"] != "" {
		return true
	}
	return slices.ContainsFunc(c.spec.Hosts, func(h Host) bool {
		return h.Env["PATH"] != "" || len(h.Prelude) > 0 && !onlyActivates(h.Prelude)
	})
}

// onlyActivates: such lines make no file and go nowhere.
func onlyActivates(prelude []string) bool {
	return !slices.ContainsFunc(prelude, func(line string) bool {
		word, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		return !slices.Contains([]string{".", "source", "export", "module", "ulimit", "umask", "conda", "set", "#"}, word) || strings.ContainsAny(line, ";&|")
	})
}

// problem adds what will fail, as a warning where something could still mend it.
func (c *codeChecker) problem(at []string, suggestion, format string, args ...any) {
	c.add(at, suggestion, format, args...)
	c.found[len(c.found)-1].Warning = c.inLine || c.mendable()
}

// kept is about a program that is here and not shipped.
func (c *codeChecker) kept(name, why string, at []string) {
	suggestion := fmt.Sprintf("ship it: code: include: [%q]", name)
	switch {
	case c.look.At(name).Kind == Special:
		suggestion = ""
	case inEnvironment(name):
		suggestion = "environments are not shipped: name the program by its absolute path, or activate the environment in the prelude of a host"
	case strings.HasPrefix(why, "code.exclude"):
		suggestion = "take it out of code.exclude"
	case strings.HasPrefix(name, "../"):
		suggestion = "code.path is the whole of what is shipped: let it be a directory that holds both"
	}
	c.problem(at, suggestion, "%s is here, but is not shipped: %s", name, why)
}

var environmentDir = regexp.MustCompile(`(^|/)(\.?venv|\.?env|\.conda|\.pixi|\.tox)/`)

func inEnvironment(name string) bool { return environmentDir.MatchString(name) }

// missing is about a program that does not lie where the command looks for it.
func (c *codeChecker) missing(p program, name string, at []string) {
	found := c.look.Find(name)
	for _, f := range found {
		if path.Dir(f.Path) == path.Dir(name) && f.Path != name {
			c.problem(at, fmt.Sprintf("write %q", f.Path), "%s is not found: it is called %s, in other case", name, f.Path)
			return
		}
	}
	if len(found) > 0 {
		c.elsewhere(name, found, at)
		return
	}
	if c.mendable() {
		return
	}
	suggestion := "it is looked for in the directory of the code (code.path, or else the repository)"
	var same []string
	for _, b := range c.look.Beside(name) {
		if path.Ext(b) == path.Ext(name) && b != path.Base(name) {
			same = append(same, b)
		}
	}
	switch near := Nearest(path.Base(name), same); {
	case near != "":
		suggestion = fmt.Sprintf("did you mean %q?", path.Join(path.Dir(name), near))
	case p.kind == script && len(same) > 0 && len(same) <= 6:
		suggestion = "here are " + strings.Join(same, ", ")
		if len(same) == 1 {
			suggestion = "here is " + same[0]
		}
	}
	c.warn(at, suggestion, "%s is not found: neither in the code nor elsewhere in the repository", name)
}

// elsewhere is about a program that lies in another directory.
func (c *codeChecker) elsewhere(name string, found []Elsewhere, at []string) {
	f := found[0]
	var ways []string
	if f.Shipped {
		ways = append(ways, fmt.Sprintf("write %q", f.Path))
	}
	if f.CodePath != "" {
		ways = append(ways, fmt.Sprintf("code: path: %q", f.CodePath))
	}
	if len(ways) == 0 {
		ways = append(ways, "code.path names the directory that is shipped, and paths start there")
	}
	more := ""
	if n := len(found) - 1; n > 0 {
		more = fmt.Sprintf(" (and %d more of that name)", n)
	}
	c.problem(at, strings.Join(ways, ", or "), "%s is not found in the directory of the code, but %s is there%s", name, f.Name, more)
}

// module is about python -m; what is installed cannot be seen from here.
func (c *codeChecker) module(p program, at []string) {
	if !moduleName.MatchString(p.name) {
		return
	}
	file := strings.ReplaceAll(p.name, ".", "/")
	for _, f := range []string{file + ".py", file + "/__main__.py"} {
		if seen := c.look.At(f); seen.Kind == RegularFile {
			if !seen.Shipped {
				c.kept(f, seen.Why, at)
			}
			return
		}
	}
	top, _, nested := strings.Cut(file, "/")
	if seen := c.look.At(top); nested && seen.Kind == Directory && seen.Shipped && c.look.At(top+"/__init__.py").Kind == RegularFile {
		suggestion := ""
		var names []string
		for _, b := range c.look.Beside(file + ".py") {
			names = append(names, strings.TrimSuffix(b, ".py"))
		}
		if near := Nearest(path.Base(file), names); near != "" {
			suggestion = fmt.Sprintf("did you mean %q?", strings.ReplaceAll(path.Join(path.Dir(file), near), "/", "."))
		}
		c.warn(at, suggestion, "there is no module %s: neither %s.py nor %s/__main__.py", p.name, file, file)
		return
	}
	if c.mendable() || c.e.Env["PYTHONPATH"] != "" || slices.ContainsFunc(c.spec.Hosts, func(h Host) bool { return h.Env["PYTHONPATH"] != "" }) {
		return
	}
	for _, f := range []string{file + ".py", file + "/__main__.py"} {
		for _, e := range c.look.Find(f) {
			if e.CodePath != "" && e.Shipped && strings.HasSuffix(e.Path, f) {
				c.warn(at, fmt.Sprintf("code: path: %q, or PYTHONPATH in env, unless it is installed", e.CodePath), "the module %s is not in the directory of the code, but %s is there", p.name, e.Name)
				return
			}
		}
	}
}

var moduleName = regexp.MustCompile(`^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$`)

// executable is about a program that is started by its own name.
func (c *codeChecker) executable(name string, seen Seen, at []string) {
	text := c.look.Text(name)
	first, _, _ := strings.Cut(text, "\n")
	switch {
	case !seen.Executable:
		c.problem(at, "chmod +x "+name+", or name its interpreter first", "%s is not executable", name)
	case strings.HasPrefix(first, "#!") && strings.HasSuffix(first, "\r"):
		c.problem(at, "save it with the line ends of Unix", "%s begins with a line that ends in CR: no interpreter has that name", name)
	case text != "" && !strings.HasPrefix(text, "#!") && !strings.ContainsRune(text[:min(len(text), 512)], 0):
		c.warn(at, "let it begin with #!/bin/sh or the like, or name its interpreter first", "%s does not say which program reads it", name)
	}
}

// links is about links that are shipped and end nowhere on another machine.
func (c *codeChecker) links() {
	links := c.look.Links()
	if len(links) == 0 || len(c.e.Data) > 0 || c.seen[c.look] {
		return
	}
	shown, more := links, ""
	if n := len(links) - 3; n > 0 {
		shown, more = links[:3], fmt.Sprintf(" and %d more", n)
	}
	c.warn([]string{"code"}, "what lies there is not shipped: on another machine it is missing; declare it as data, or name the link in code.exclude",
		"shipped as a link that leads outside the code: %s%s", strings.Join(shown, ", "), more)
}

// Reads reports whether a shipped file that the commands of e name mentions a variable of its environment, or the
// beginning of some (variable).
func Reads(e *Experiment, look Look, variable string) bool {
	for _, cmd := range e.commands() {
		for _, arg := range cmd.argv {
			if name, ok := literal(arg); ok && strings.Contains(look.Text(path.Clean(name)), variable) {
				return true
			}
		}
		for _, p := range programsOf(cmd.argv) {
			texts := look.Text(path.Clean(p.name))
			if p.kind == module {
				file := strings.ReplaceAll(p.name, ".", "/")
				texts = look.Text(file+".py") + look.Text(file+"/__main__.py")
			}
			if strings.Contains(texts, variable) {
				return true
			}
		}
	}
	return false
}
