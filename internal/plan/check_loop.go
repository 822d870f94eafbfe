package plan

import (
	"fmt"
	"strconv"
	"strings"
)

// loop checks who proposes the candidates of a loop, and its numbers against each other.
func (c *checker) loop(e *Experiment) {
	l := e.Loop
	c.proposer(e, l)
	c.candidates(l)
	if e.Seeds != nil {
		c.add([]string{"seeds"}, "leave seeds out; loop.reproduce and loop.confirm say how many runs there are", "the seeds of a loop are drawn by xrun")
	}
	if e.Set["loop.refute_after"] && l.RefuteAfter > l.Iterations {
		suggestion := fmt.Sprintf("at most %d, or leave it out", l.Iterations)
		if l.Iterations == 0 {
			suggestion = "leave it out"
		}
		c.add([]string{"loop", "refute_after"}, suggestion, "refute_after %d is above iterations %d: nothing could be refuted", l.RefuteAfter, l.Iterations)
	}
	if l.Confirm == 1 && l.Iterations > 0 {
		c.warn([]string{"loop", "confirm"}, "the default is 8", "one run of each cannot confirm a gain, unless the program is deterministic")
	}
}

func (c *checker) proposer(e *Experiment, l *Loop) {
	var agents []string
	for _, a := range c.spec.Agents {
		agents = append(agents, a.Name)
	}
	switch {
	case l.Agent != "":
		if !contains(agents, l.Agent) {
			c.add([]string{"loop", "agent"}, meant(l.Agent, "agents", agents, fmt.Sprintf(`declare it: agents: %s: kind: "codex"`, cueLabel(l.Agent))), "no agent is called %q", l.Agent)
		}
		return
	case len(l.Candidates) == 0 && l.Iterations > 0:
		c.add([]string{"loop"}, "name an agent, list candidates, or say iterations: 0 to measure the baseline only", "nothing proposes a candidate for the %d iterations of the loop", l.Iterations)
		return
	}
	if l.Bootstrap != nil {
		c.add([]string{"loop", "bootstrap"}, "name an agent, or leave it out", "bootstrap is work for an agent, and the loop has none")
	}
	if e.Set["loop.repair"] && l.Repair > 0 {
		c.warn([]string{"loop", "repair"}, "name an agent, or leave it out", "repair is work for an agent, and the loop has none")
	}
	if len(l.Deliver) > 0 {
		c.warn([]string{"loop", "deliver"}, "name an agent, or leave it out", "deliver says what an agent must leave behind, and the loop has none")
	}
}

// candidates checks the changes that are given.
func (c *checker) candidates(l *Loop) {
	first := map[string]int{}
	for i, cand := range l.Candidates {
		at := []string{"loop", "candidates", strconv.Itoa(i)}
		var has []string
		for _, f := range []struct {
			name string
			set  bool
		}{{"ref", cand.Ref != ""}, {"patch", cand.Patch != ""}, {"params", len(cand.Params) > 0}} {
			if f.set {
				has = append(has, f.name)
			}
		}
		switch {
		case len(has) == 0:
			c.add(at, "give it one of ref, patch and params", "candidate %q changes nothing", cand.Name)
		case len(has) > 1:
			c.add(at, "make them candidates of their own", "candidate %q has %s: it takes one of them", cand.Name, strings.Join(has, " and "))
		}
		if j, ok := first[cand.Name]; ok {
			c.add(append(at, "name"), "give it another name", "candidates %d and %d are both called %q", j+1, i+1, cand.Name)
		} else {
			first[cand.Name] = i
		}
	}
	if n := l.Iterations; n > 0 && n < len(l.Candidates) {
		c.warn([]string{"loop", "iterations"}, "leave it out to try all of them", "iterations %d is below the %d candidates: the last are never tried", n, len(l.Candidates))
	}
}
