package plan

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// idle finds what is set and does nothing.
func (c *checker) idle(e *Experiment) {
	if r := e.Retry; r != nil && r.Max == 0 && !e.Set["retry.max"] {
		c.warn([]string{"retry"}, "add retry: max: 2", "nothing is tried again while retry.max is 0")
	}
	if s := e.Limits.Silence; s != nil && *s > 0 && *s >= e.Limits.Trial && e.Limits.Trial > 0 {
		c.warn([]string{"limits", "silence"}, "", "silence %s never ends a trial, which ends after %s anyway", *s, e.Limits.Trial)
	}
	if e.Checkpoint != nil && e.Checkpoint.Ahead != nil && e.Limits.Trial > 0 && *e.Checkpoint.Ahead >= e.Limits.Trial {
		c.add([]string{"checkpoint", "ahead"}, "it is counted back from limits.trial", "ahead %s is not below limits.trial %s: the signal would come before the trial begins",
			*e.Checkpoint.Ahead, e.Limits.Trial)
	}
}

// idleExcludes finds those that drop no point.
func (c *checker) idleExcludes(e *Experiment) {
	s := *e.Sweep
	s.Exclude, s.Include = nil, nil
	n, err := s.count()
	if len(e.Sweep.Exclude) == 0 || err != nil || s.onlyIncludes() || e.glob() != "" || times(n, int64(len(e.Sweep.Exclude))) > 10*maxCompared {
		return
	}
	all := *e
	all.Sweep = &s
	points, err := all.points()
	if err != nil {
		return
	}
	left := slices.Clone(e.Sweep.Exclude) // nil once it has matched
	for p := range points {
		for i, m := range left {
			if m != nil && m.matches(p) {
				left[i] = nil
			}
		}
	}
	names, _ := e.declared()
	for i, m := range left {
		if m != nil && !slices.ContainsFunc(m, func(a Axis) bool { return !contains(names, a.Name) }) {
			c.idleExclude(&all, m, strconv.Itoa(i))
		}
	}
}

// idleExclude says which of its values no point has, or that no point has all of them.
func (c *checker) idleExclude(e *Experiment, m Match, i string) {
	for _, a := range m {
		values, all := e.valuesOf(a.Name)
		if fixed, ok := e.Params[a.Name]; ok {
			values = append(values, fixed)
		}
		if !all || len(values) == 0 || slices.ContainsFunc(a.Values, func(v Value) bool { return slices.Contains(values, v) }) {
			continue
		}
		c.warn([]string{"sweep", "exclude", i, a.Name}, meantValue(a.Values[0], values), "this drops no point: %s never is %s", a.Name, a.Values[0])
		return
	}
	c.warn([]string{"sweep", "exclude", i}, "", "this drops no point: none has all of these values")
}

// shellOperators are what a shell makes something of between words. An operator that may also be an operand (of test,
// expr, find) is told only where nothing else can be meant.
var (
	shellOperators = regexp.MustCompile(`^(&&|\|\||[12&]?>>?|<|\||[12]?>&[12]|&>|&)$`)
	shellVariable  = regexp.MustCompile(`^[^\s'"\\]*\$([A-Za-z_][A-Za-z0-9_]*)`) // in braces it is a placeholder
	// shellLike are programs, beside the shells, that read such words themselves or hand them to a shell.
	shellLike = []string{
		"fish", "ssh", "su", "eval", "parallel", "xargs", "watch", "script", "perl", "awk", "gawk", "mawk", "sed", "make",
		"find", "expr", "test", "[", "tmux", "screen", "docker", "podman",
	}
	// ownVariables are those of ours that a placeholder gives too.
	ownVariables = map[string]string{
		"XRUN_OUT": "{xrun.out}", "XRUN_SEED": "{seed}", "XRUN_SETUP_DIR": "{xrun.setup}", "XRUN_CHECKPOINT_DIR": "{xrun.checkpoint}",
		"XRUN_RUN_ID": "{xrun.run}", "XRUN_EXPERIMENT": "{xrun.experiment}", "XRUN_TRIAL_ID": "{xrun.trial}", "XRUN_ATTEMPT": "{xrun.attempt}",
		"MASTER_PORT": "{xrun.port}",
	}
)

// shellLine is how a line for a shell is written.
const shellLine = `let one read the line: ["sh", "-c", "…"]`

// readsShell reports whether something in a command may make of words what a shell does.
func readsShell(argv []string) bool {
	return slices.ContainsFunc(argv, func(arg string) bool {
		name := path.Base(arg)
		return shells[name] || contains(shellLike, name)
	})
}

// shellWords finds what only a shell would understand in a command that none reads.
func (c *checker) shellWords(e *Experiment, argv []string, where ...string) {
	if readsShell(argv) {
		return
	}
	for i, arg := range argv {
		at := append(slices.Clone(where), strconv.Itoa(i))
		switch {
		case i > 0 && shellOperators.MatchString(arg) && (!strings.HasPrefix(argv[i-1], "-") || strings.Contains(argv[i-1], "=")):
			suggestion := shellLine
			if strings.ContainsAny(arg, "|>") && arg != "||" {
				suggestion = "leave it out: xrun keeps what the program prints (`xrun logs`); or " + shellLine
			}
			c.warn(at, suggestion, "%q is passed to the program: no shell reads a command", arg)
			return
		default:
			c.unfilled(e, arg, at, "write its value, or "+shellLine)
		}
	}
}

// unfilled finds a variable in a text that no shell reads.
func (c *checker) unfilled(e *Experiment, text string, at []string, suggestion string) {
	variable := shellVariable.FindStringSubmatch(text)
	if variable == nil {
		return
	}
	name := variable[1]
	if ours := e.placeholderOf(name); ours != "" {
		suggestion = "write " + ours
	} else if strings.ToUpper(name) != name {
		return // a pattern, more likely than a variable
	}
	c.warn(at, suggestion, "$%s is passed as it is: no shell reads a command and fills it in", name)
}

// shellEnv does the same for the values of an environment.
func (c *checker) shellEnv(e *Experiment, env map[string]string, where ...string) {
	for _, name := range sortedKeys(env) {
		c.unfilled(e, env[name], append(slices.Clone(where), name), "write its value")
	}
}

// placeholderOf is the placeholder that gives what a variable of ours holds, or "".
func (e *Experiment) placeholderOf(variable string) string {
	names, _ := e.declared()
	for _, name := range append(names, "seed") {
		if EnvName(name) == variable || strings.EqualFold(name, variable) {
			return "{" + name + "}"
		}
	}
	return ownVariables[variable]
}

// priced finds placeholders behind a $, which stays: ${lr} becomes $0.1.
func (c *checker) priced(in scope, t template, path []string) {
	for i, s := range t {
		if !s.hole || i == 0 || t[i-1].hole || !strings.HasSuffix(t[i-1].text, "$") || !contains(in.known, s.text) {
			continue
		}
		c.warn(path, fmt.Sprintf("write {%s}; a variable of the shell is ${{%s}}", s.text, s.text), "the $ before {%s} stays in front of its value", s.text)
		return
	}
}
