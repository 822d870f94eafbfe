package plan

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A Surrounding is a Look that also sees what is not shipped.
type Surrounding interface {
	Look
	// Left are directories that are not shipped although they look like part of the code.
	Left() []Left
}

// Left is a directory of which nothing is shipped.
type Left struct {
	Path string
	// Environment: of Python or conda; otherwise a directory of source files.
	Environment bool
	Package     bool // it holds an __init__.py
	Why         string
	Abs         string // its absolute path
}

// A Machine is this one.
type Machine interface {
	// Which is where the program lies on the PATH of xrun's environment; "" if it is not there.
	Which(program string) string
	// GPUs is how many the system lists.
	GPUs() int
	// Has reports whether something lies at an absolute path.
	Has(path string) bool
	// Home is the user's home directory.
	Home() string
}

// CheckHere looks for what will fail on this machine, or because of what lies in this checkout only. All of it are
// warnings, and none is part of a plan: a plan is the same everywhere.
func CheckHere(s *Spec, look func(*Experiment) Surrounding, m Machine) []Finding {
	c := &hereChecker{checker: checker{spec: s}, m: m, told: map[leftKey]bool{}}
	for i := range s.Experiments {
		e := &s.Experiments[i]
		c.at, c.e = []string{"experiments", e.Name}, e
		c.serving()
		c.gpus()
		if c.look = look(e); c.look == nil || e.Code.Ref != "" {
			c.programs(false)
			continue
		}
		c.programs(c.environments())
		c.unseenGPUs()
		c.leftCode()
		for _, cmd := range e.commands() {
			c.paths(cmd)
		}
		c.named()
	}
	return c.found
}

// A leftKey is a directory, of the one Look of all that ship the same.
type leftKey struct {
	look Look
	path string
}

type hereChecker struct {
	checker
	m       Machine
	e       *Experiment
	look    Surrounding
	told    map[leftKey]bool
	local   []*Host // that the experiment may use, of kind local
	distant []*Host // of other kinds
}

// serving sorts the hosts that the experiment may use.
func (c *hereChecker) serving() {
	c.local, c.distant = nil, nil
	for i := range c.spec.Hosts {
		h := &c.spec.Hosts[i]
		switch {
		case whyNot(c.e, h, nil) != "":
		case h.Kind == "local":
			c.local = append(c.local, h)
		default:
			c.distant = append(c.distant, h)
		}
	}
}

// ownPath reports whether the programs of a host are found by another PATH than that of xrun.
func ownPath(h *Host) bool { return len(h.Prelude) > 0 || h.Env["PATH"] != "" }

// programs finds those that are not on this machine's PATH. With told, that of the command has been spoken of.
func (c *hereChecker) programs(told bool) {
	bare := slices.ContainsFunc(c.local, func(h *Host) bool { return !ownPath(h) })
	if !bare || c.e.Container != nil || c.e.Env["PATH"] != "" {
		return
	}
	for _, cmd := range c.e.commands() {
		word, ok := literal(cmd.argv[0])
		if !ok || word == "" || isShellLead(word) || told && cmd.path[0] == "command" || strings.ContainsAny(word, "/ \t\n") || c.m.Which(word) != "" {
			continue
		}
		message, suggestion := fmt.Sprintf("%s is not found on this machine", word), "install it, or activate its environment: `xrun run` uses the PATH that it is started with"
		for _, other := range alike(word) {
			if c.m.Which(other) != "" {
				message, suggestion = message+"; "+other+" is", fmt.Sprintf("write %q, or activate an environment first", other)
				break
			}
		}
		if len(c.distant) > 0 {
			message += " (host " + c.local[0].Name + ")"
		}
		c.warn(append(slices.Clone(cmd.path), "0"), suggestion, "%s", message)
		c.found[len(c.found)-1].Kind = MissingProgram
	}
}

// alike are other names of a program.
func alike(program string) []string {
	switch {
	case pythonName.MatchString(program):
		return []string{"python3", "python"}
	case program == "pip":
		return []string{"pip3"}
	case shells[program]:
		return []string{"bash", "sh"}
	}
	return nil
}

var cudaRE = regexp.MustCompile(`\.cuda\(\)|device\s*=\s*["']cuda|\.to\(\s*["']cuda|torch\.device\(\s*["']cuda`)

// gpus compares what is needed with what this machine has.
func (c *hereChecker) gpus() {
	switch n := c.e.Needs.GPUs; {
	case len(c.local) == 0 || len(c.distant) > 0:
	case n > 0 && c.m.GPUs() == 0:
		c.warn([]string{"needs", "gpus"}, "declare the host that has them, or plan for none: needs: gpus: 0", "no GPU: %s needed, and this machine, the only host, has none", number(n, "is", "are"))
	}
}

func number(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// environments finds a virtual environment that the command most likely means and does not get, and reports whether
// there is one.
func (c *hereChecker) environments() bool {
	if c.e.Setup != nil || c.e.Container != nil || c.e.Env["PATH"] != "" || !wantsPython(c.e.Command) {
		return false
	}
	var bare []string
	for _, h := range append(slices.Clone(c.local), c.distant...) {
		if !ownPath(h) {
			bare = append(bare, h.Name)
		}
	}
	for _, l := range c.look.Left() {
		if !l.Environment || len(bare) == 0 {
			continue
		}
		found := c.m.Which(c.e.Command[0])
		if len(c.distant) == 0 && strings.HasPrefix(found, l.Abs+"/") {
			return false // it is active
		}
		if found == "" {
			found = "not found"
		}
		message := fmt.Sprintf("no environment: %s is not shipped and not active: %s here is %s", l.Path, c.e.Command[0], found)
		suggestion := fmt.Sprintf("`. %s/bin/activate` before `xrun run`, or in the prelude of a host of kind local", l.Abs)
		if len(c.distant) > 0 {
			message = fmt.Sprintf("no environment: %s is not shipped, and host %s has no prelude that activates one", l.Path, bare[len(bare)-1])
			suggestion = "make one there with setup, or activate one that is there in the prelude of the host: prelude: [\". /path/to/venv/bin/activate\"]"
		}
		c.warn([]string{"command", "0"}, suggestion, "%s", message)
		return true
	}
	return false
}

// wantsPython reports whether a command starts Python by its plain name, and not by a manager that finds its own
// environment.
func wantsPython(argv []string) bool {
	word := argv[0]
	_, starter := starters[word]
	return pythonName.MatchString(word) || starter || word == "accelerate"
}

// unseenGPUs finds a program that cannot do without a GPU, in an experiment that gives it none.
func (c *hereChecker) unseenGPUs() {
	if c.e.Needs.GPUs > 0 || len(c.local) == 0 || c.m.GPUs() == 0 {
		return
	}
	p, ok := programOf(c.e.Command)
	if !ok || p.kind == module {
		return
	}
	text := c.look.Text(path.Clean(p.name))
	if m := cudaRE.FindString(text); m != "" && !strings.Contains(text, "is_available") && !strings.Contains(text, "device_count") {
		c.warn([]string{"command", strconv.Itoa(p.at)}, "add needs: gpus: 1", "%s asks for a GPU (%s), and the trials see none: needs.gpus is not set", p.name, m)
	}
}

// leftCode finds directories that look like code and are not shipped.
func (c *hereChecker) leftCode() {
	for _, l := range c.look.Left() {
		key := leftKey{c.look, l.Path}
		if l.Environment || c.told[key] {
			continue
		}
		imported := c.imported(l.Path)
		excluded := strings.HasPrefix(l.Why, "code.exclude") // by somebody who thought of it
		if imported == "" && (excluded || !l.Package) {
			continue
		}
		c.told[key] = true
		message := fmt.Sprintf("%s looks like code, and is not shipped: %s", l.Path, l.Why)
		if imported != "" {
			message = fmt.Sprintf("%s imports %s, which is not shipped: %s", imported, l.Path, l.Why)
		}
		suggestion := fmt.Sprintf("ship it: code: include: [%q]; if it is none, code: exclude: [%q] says so", l.Path+"/**", l.Path)
		if excluded {
			suggestion = "take it out of code.exclude"
		}
		c.warn([]string{"code"}, suggestion, "%s", message)
	}
}

// imported is the program of the command that imports the directory by its name, or "".
func (c *hereChecker) imported(dir string) string {
	for _, cmd := range c.e.commands() {
		p, ok := programOf(cmd.argv)
		if !ok || p.kind == module || path.Ext(p.name) != ".py" {
			continue
		}
		name := path.Clean(p.name)
		if path.Dir(name) != path.Dir(dir) { // Python looks beside its script
			continue
		}
		re, err := regexp.Compile(`(?m)^\s*(import|from)\s+` + regexp.QuoteMeta(path.Base(dir)) + `(\.|\s|$|,)`)
		if err == nil && re.MatchString(c.look.Text(name)) {
			return name
		}
	}
	return ""
}
