package plan

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// A Finding is something wrong (or, as a Warning, dubious) at a path of the spec, found by looking across fields.
// Whoever has the source places it.
type Finding struct {
	Path       []string // "experiments", "lr-sweep", "sweep", "zip", "lr"; list elements by index
	Message    string
	Suggestion string // what to do; empty if there is nothing to add
	Warning    bool
	// Kind is one of the kinds below, or "" for most findings.
	Kind string
}

// The kinds of warnings that the text of the program can answer, which a plan does not read. Whoever can read it may drop
// UnusedParams if the text mentions XRUN_PARAM, and UnusedSeed if it mentions XRUN_SEED.
const (
	UnusedParams = "unused-params"
	UnusedSeed   = "unused-seed"
)

// MissingProgram is the kind of a warning about a program that is not on this machine's PATH: on this machine it is sure
// to fail.
const MissingProgram = "missing-program"

// Check looks across the fields of a filled Spec, and lists everything that it finds.
func Check(s *Spec) []Finding {
	c := &checker{spec: s, byName: make(map[string]*Experiment, len(s.Experiments)), several: map[string]bool{}}
	for i := range s.Experiments {
		c.byName[s.Experiments[i].Name] = &s.Experiments[i]
	}
	for i := range s.Experiments {
		c.experiment(&s.Experiments[i])
	}
	c.at = nil
	c.cycles()
	for i := range s.Hosts {
		c.host(&s.Hosts[i])
	}
	c.shared()
	return c.found
}

type checker struct {
	spec  *Spec
	at    []string // the experiment's path
	found []Finding
	// byName are the experiments, and several those that have more than one trial, as far as somebody has asked.
	byName  map[string]*Experiment
	several map[string]bool
	// astray: a placeholder of the experiment has no parameter, so that what seems unused may have been meant by it.
	astray bool
}

func (c *checker) add(path []string, suggestion, format string, args ...any) {
	c.found = append(c.found, Finding{Path: slices.Concat(c.at, path), Message: fmt.Sprintf(format, args...), Suggestion: suggestion})
}

func (c *checker) experiment(e *Experiment) {
	c.at, c.astray = []string{"experiments", e.Name}, false
	c.params(e)
	c.placeholders(e)
	c.environment(e)
	c.texts(e)
	c.files(e)
	c.data(e)
	c.hosts(e)
	c.inputs(e)
	c.metrics(e)
	if e.Sweep != nil && c.sweep(e) {
		c.repeats(e)
	}
	if e.Loop != nil {
		c.loop(e)
	}
	c.verdicts(e)
	c.durations(e)
	c.sources(e)
	c.dubious(e)
	if e.Seeds != nil {
		seen := map[int64]bool{}
		for i, s := range e.Seeds {
			if seen[s] {
				c.add([]string{"seeds", strconv.Itoa(i)}, "", "seed %d stands there twice", s)
			}
			seen[s] = true
		}
	}
	if e.Needs.GPUs > 0 && !e.Set["limits.trial"] {
		c.add([]string{"needs", "gpus"}, `add limits: trial: "6h"`, "a trial that needs GPUs needs a time limit")
	}
}

// paths of every place where a parameter gets its name, by name, in the order of the source.
func (e *Experiment) declared() (names []string, where map[string][]string) {
	where = map[string][]string{}
	add := func(name string, path ...string) {
		if _, ok := where[name]; !ok {
			names = append(names, name)
			where[name] = append(path, name)
		}
	}
	if s := e.Sweep; s != nil {
		for _, a := range s.Grid {
			add(a.Name, "sweep", "grid")
		}
		for _, a := range s.Zip {
			add(a.Name, "sweep", "zip")
		}
		for i, axes := range s.Cases {
			for _, a := range axes {
				add(a.Name, "sweep", "cases", strconv.Itoa(i))
			}
		}
		if s.Random != nil {
			for _, d := range s.Random.Params {
				add(d.Name, "sweep", "random", "params")
			}
		}
		for i, p := range s.Include {
			for _, v := range p {
				add(v.Name, "sweep", "include", strconv.Itoa(i))
			}
		}
	}
	for _, name := range sortedKeys(e.Params) {
		add(name, "params")
	}
	if e.Loop != nil {
		for i, cand := range e.Loop.Candidates {
			for _, name := range sortedKeys(cand.Params) {
				add(name, "loop", "candidates", strconv.Itoa(i), "params")
			}
		}
	}
	return names, where
}

func (c *checker) params(e *Experiment) {
	names, where := e.declared()
	env := map[string]string{}
	for _, name := range names {
		switch {
		case name == "seed" || name == "params":
			c.add(where[name], "give it another name", "{%s} has a meaning of its own", name)
		case strings.HasPrefix(name, "xrun."):
			c.add(where[name], "give it another name", "names that begin with xrun. are reserved")
		}
		for _, kind := range []string{"data", "inputs"} {
			rest, ok := strings.CutPrefix(name, kind+".")
			_, isData := e.Data[rest]
			_, isInput := e.Inputs[rest]
			if ok && (kind == "data" && isData || kind == "inputs" && isInput) {
				c.add(where[name], "rename one of them", "{%s} could be the parameter or the entry of %s", name, kind)
			}
		}
		if other, ok := env[EnvName(name)]; ok {
			c.add(where[name], "rename one of them", "parameters %s and %s would both be %s", other, name, EnvName(name))
		}
		env[EnvName(name)] = name
	}
}

// sweep checks the sweep of e, and reports whether its points can be made.
func (c *checker) sweep(e *Experiment) bool {
	s := e.Sweep
	if len(s.Grid) == 0 && len(s.Zip) == 0 && len(s.Cases) == 0 && s.Random == nil && len(s.Include) == 0 {
		c.add([]string{"sweep"}, "add grid, zip, cases, random or include, or leave the sweep out", "the sweep is empty")
		return false
	}
	ok := c.axes(s)
	owner := map[string]string{}
	for _, group := range s.groups() {
		for _, name := range group.names {
			if other, taken := owner[name]; taken && other != group.name {
				c.add([]string{"sweep", group.name}, "", "parameter %s is also an axis of %s", name, other)
				ok = false
			}
			owner[name] = group.name
		}
	}
	names, _ := e.declared()
	for i, m := range s.Exclude {
		if len(m) == 0 {
			c.add([]string{"sweep", "exclude", strconv.Itoa(i)}, "name a parameter in it", "this would drop every point")
		}
		for _, a := range m {
			if !contains(names, a.Name) {
				c.unknownParam([]string{"sweep", "exclude", strconv.Itoa(i), a.Name}, a.Name, names)
			}
		}
	}
	if !ok || e.glob() != "" {
		return ok
	}
	n, err := s.count()
	if err != nil {
		c.add([]string{"sweep"}, "", "%v", err)
		return false
	}
	if n = times(n, max(1, int64(len(e.Seeds)))); n > int64(s.MaxTrials) {
		many := fmt.Sprint(n)
		if n == math.MaxInt64 { // counting stops there
			many += " or more"
		}
		c.add([]string{"sweep"}, fmt.Sprintf("the widest axes: %s; raise sweep.max_trials if they are meant", s.widest()),
			"the sweep has %s trials, the limit is %d", many, s.MaxTrials)
		return false
	}
	points, err := e.points()
	if err != nil {
		return false
	}
	for range points {
		return true
	}
	c.add([]string{"sweep", "exclude"}, "", "every point is excluded: nothing would run")
	return false
}

func (c *checker) unknownParam(path []string, name string, names []string) {
	c.add(path, meant(name, "parameters", names, "the experiment has no parameters"), "no parameter is called %q", name)
}

// meant is the suggestion for a name that is none of names: the nearest of them, or the first of what there is.
func meant(name, what string, names []string, none string) string {
	if n := Nearest(name, names); n != "" {
		return fmt.Sprintf("did you mean %q?", n)
	}
	if len(names) == 0 {
		return none
	}
	return what + ": " + some(names, 8)
}

// some are the first n of a list, and how many more there are.
func some(list []string, n int) string {
	if more := len(list) - n; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(list[:n], ", "), more)
	}
	return strings.Join(list, ", ")
}

// axes checks each axis by itself, and that those of zip have one length.
func (c *checker) axes(s *Sweep) bool {
	before := len(c.found)
	each := func(axes Axes, path ...string) (lengths []int) {
		for _, a := range axes {
			n, err := a.count()
			if err != nil && a.Glob == nil {
				c.add(append(slices.Clone(path), a.Name), a.Range.hint(), "%v", err)
			}
			if g := a.Glob; g != nil && !strings.HasPrefix(g.Glob, "/") && !strings.HasPrefix(g.Glob, "~/") {
				c.add(append(slices.Clone(path), a.Name, "glob"), "begin it with / or ~/", "the files of a glob lie on a host, whose directories have nothing to do with this one")
			}
			lengths = append(lengths, n)
		}
		return lengths
	}
	each(s.Grid, "sweep", "grid")
	zip := each(s.Zip, "sweep", "zip")
	for i, axes := range s.Cases {
		each(axes, "sweep", "cases", strconv.Itoa(i))
	}
	if len(c.found) > before {
		return false
	}
	for i, n := range zip {
		if n != zip[0] && s.Zip[i].Glob == nil && s.Zip[0].Glob == nil {
			c.add([]string{"sweep", "zip", s.Zip[i].Name}, "", "the axes of zip move together: %s has %d values, %s has %d", s.Zip[0].Name, zip[0], s.Zip[i].Name, n)
		}
	}
	return len(c.found) == before
}

// hint says how a range that cannot be would be one.
func (r *Range) hint() string {
	switch {
	case r == nil:
		return ""
	case r.Step == nil && r.Points == nil:
		return "add step, the distance of two values, or points, the number of values"
	case r.Step != nil && r.Points != nil:
		return "leave one of them out"
	case r.Step != nil && r.Log:
		return "say points, the number of values"
	case r.Step != nil && r.From.rat().Cmp(r.To.rat()) > 0:
		return "swap them, or say points instead of step: such a range may fall"
	default:
		return ""
	}
}

type axisGroup struct {
	name  string
	names []string
}

func (s *Sweep) groups() []axisGroup {
	var gs []axisGroup
	add := func(name string, axes Axes) {
		g := axisGroup{name: name}
		for _, a := range axes {
			g.names = append(g.names, a.Name)
		}
		gs = append(gs, g)
	}
	add("grid", s.Grid)
	add("zip", s.Zip)
	for _, axes := range s.Cases {
		add("cases", axes)
	}
	if s.Random != nil {
		g := axisGroup{name: "random"}
		for _, d := range s.Random.Params {
			g.names = append(g.names, d.Name)
		}
		gs = append(gs, g)
	}
	return gs
}
