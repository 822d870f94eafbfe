package plan

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// unused finds parameters and seeds that were forgotten in the commands: all trials that differ in them alone would do
// the same. The program may read them by itself, which a plan cannot see.
func (c *checker) unused(e *Experiment) {
	if c.astray {
		return
	}
	used := e.uses()
	names, where := e.declared()
	partial := e.sometimes()
	for _, name := range names {
		if used.param(name) {
			continue
		}
		suggestion := fmt.Sprintf("put {%s} or {params} into the command", name)
		if partial[name] {
			suggestion = "put {params} into the command: it leaves out what a point does not have"
		}
		otherwise := ""
		switch where[name][0] {
		case "sweep":
			otherwise = "; otherwise the trials do the same for each of its values"
		case "loop":
			otherwise = "; otherwise the candidate changes nothing"
		}
		c.warn(where[name], suggestion, "no placeholder uses %s: the program sees it only as %s and in XRUN_PARAMS_FILE%s", name, EnvName(name), otherwise)
		c.found[len(c.found)-1].Kind = UnusedParams
	}
	if len(e.Seeds) > 1 && e.Loop == nil && !used.seed {
		c.warn([]string{"seeds"}, "put {seed} into the command", "no placeholder uses the seed: the program sees it only as XRUN_SEED; otherwise the %d trials of a point do the same", len(e.Seeds))
		c.found[len(c.found)-1].Kind = UnusedSeed
	}
}

// uses is what the commands of an experiment and their environments name, as a placeholder or as a variable of ours.
type uses struct {
	all       bool // every parameter
	seed      bool
	holes     map[string]bool
	variables map[string]bool
}

func (u uses) param(name string) bool { return u.all || u.holes[name] || u.variables[EnvName(name)] }

// paramVariable finds XRUN_PARAM_LR, and what speaks of all such variables: XRUN_PARAM_, XRUN_PARAMS_FILE.
var paramVariable = regexp.MustCompile(`XRUN_PARAM(?:_[A-Z0-9_]*)?`)

func (e *Experiment) uses() uses {
	u := uses{holes: map[string]bool{}, variables: map[string]bool{}}
	for _, text := range e.programTexts() {
		for _, s := range parseTemplate(text) {
			if s.hole {
				u.holes[s.text] = true
				u.all = u.all || s.text == "params" || s.text == "params:--"
			}
		}
		for _, v := range paramVariable.FindAllString(text, -1) {
			u.all = u.all || v == "XRUN_PARAM" || v == "XRUN_PARAM_"
			u.variables[v] = true
		}
		u.seed = u.seed || strings.Contains(text, "XRUN_SEED")
	}
	u.seed = u.seed || u.holes["seed"]
	return u
}

// programTexts are the arguments and variables that depend on a trial.
func (e *Experiment) programTexts() []string {
	texts := slices.Clone(e.Command)
	env := func(env map[string]string) {
		for _, name := range sortedKeys(env) {
			texts = append(texts, env[name])
		}
	}
	env(e.Env)
	if e.Evaluate != nil {
		texts = append(texts, e.Evaluate.Command...)
		env(e.Evaluate.Env)
	}
	if e.Loop != nil && e.Loop.Tests != nil {
		texts = append(texts, e.Loop.Tests.Command...)
	}
	return texts
}
