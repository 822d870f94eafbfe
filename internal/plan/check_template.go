package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// placeholders checks the templates of an experiment: every name must be one that can be filled.
func (c *checker) placeholders(e *Experiment) {
	params, _ := e.declared()
	host := []string{}
	for _, n := range hostNames {
		host = append(host, "xrun."+n)
	}
	data := []string{}
	for _, n := range sortedKeys(e.Data) {
		data = append(data, "data."+n)
	}
	known := slices.Concat(params, []string{"seed"}, host, data)
	for _, n := range sortedKeys(e.Inputs) {
		known = append(known, "inputs."+n)
	}
	trial := scope{known, e.sometimes(), true}
	c.argv(trial, e.Command, "command")
	c.env(trial, e.Env, "env")
	if e.Evaluate != nil {
		c.argv(trial, e.Evaluate.Command, "evaluate", "command")
		c.env(trial, e.Evaluate.Env, "evaluate", "env")
	}
	if e.Loop != nil && e.Loop.Tests != nil {
		c.argv(trial, e.Loop.Tests.Command, "loop", "tests", "command")
	}
	if e.Setup != nil {
		c.argv(scope{known: append(data, "xrun.setup")}, e.Setup.Command, "setup", "command")
	}
}

// A scope is the placeholders that a command may have.
type scope struct {
	known   []string
	partial map[string]bool // parameters that not every point has
	params  bool            // {params} too
}

func (c *checker) argv(in scope, argv []string, path ...string) {
	for i, arg := range argv {
		t := parseTemplate(arg)
		if _, ok := t.params(); ok && in.params {
			continue
		}
		c.template(in, t, append(slices.Clone(path), strconv.Itoa(i)))
		c.missed(in, arg, append(slices.Clone(path), strconv.Itoa(i)))
	}
}

func (c *checker) env(in scope, env map[string]string, path ...string) {
	for _, name := range sortedKeys(env) {
		c.template(in, parseTemplate(env[name]), append(slices.Clone(path), name))
		c.missed(in, env[name], append(slices.Clone(path), name))
	}
}

func (c *checker) template(in scope, t template, path []string) {
	for _, s := range t {
		if !s.hole {
			continue
		}
		switch {
		case in.partial[s.text]:
			c.add(path, "write {params}, which leaves out what a point does not have", "not every point has the parameter %s", s.text)
		case slices.Contains(in.known, s.text):
		case in.params && (s.text == "params" || s.text == "params:--"):
			c.add(path, "make it an element of its own", "{%s} stands for several arguments", s.text)
		default:
			suggestion := "placeholders here: {" + strings.Join(in.known[:min(6, len(in.known))], "}, {") + "}; a brace that is meant as one is written {{"
			n := Nearest(s.text, in.known)
			if n == "" {
				n = in.meant(s.text)
			}
			if n != "" {
				suggestion = fmt.Sprintf("did you mean {%s}? A brace that is meant as one is written {{", n)
			}
			c.add(path, suggestion, "unknown placeholder {%s}", s.text)
			c.astray = true
		}
	}
}

// hostNames are the placeholders below xrun.
var hostNames = []string{"run", "experiment", "trial", "attempt", "gpus", "out", "setup", "checkpoint", "port"}

// sometimes are the parameters that some points have and others do not.
func (e *Experiment) sometimes() map[string]bool {
	out := map[string]bool{}
	if e.Sweep == nil {
		return out
	}
	kinds, in := 0, map[string]int{} // of points: each case and each included point is one, and the product without them
	kind := func(names []string) {
		kinds++
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			in[name]++
		}
	}
	var product []string
	for _, a := range slices.Concat(e.Sweep.Grid, e.Sweep.Zip) {
		product = append(product, a.Name)
	}
	if e.Sweep.Random != nil {
		for _, d := range e.Sweep.Random.Params {
			product = append(product, d.Name)
		}
	}
	for _, axes := range e.Sweep.Cases {
		names := slices.Clone(product)
		for _, a := range axes {
			names = append(names, a.Name)
		}
		kind(names)
	}
	if len(e.Sweep.Cases) == 0 && len(product) > 0 {
		kind(product)
	}
	for _, p := range e.Sweep.Include {
		kind(namesOf(p))
	}
	for name, n := range in {
		if _, fixed := e.Params[name]; n < kinds && !fixed {
			out[name] = true
		}
	}
	return out
}
