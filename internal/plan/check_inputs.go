package plan

import (
	"fmt"
	"slices"
	"strings"
)

// inputs checks which trials of other experiments an experiment starts from.
func (c *checker) inputs(e *Experiment) {
	for _, name := range sortedKeys(e.Inputs) {
		in := e.Inputs[name]
		path := []string{"inputs", name, "experiment"}
		other := c.byName[in.Experiment]
		switch {
		case in.Experiment == e.Name:
			c.add(path, "name the experiment that makes it", "an experiment cannot wait for its own results")
		case other == nil:
			var names []string
			for _, o := range c.spec.Experiments {
				if o.Name != e.Name {
					names = append(names, o.Name)
				}
			}
			c.add(path, meant(in.Experiment, "experiments", names, "there is no other experiment; give its file too"), "no experiment is called %q", in.Experiment)
		case len(other.Command) > 0: // else it is wrong in itself, so that only its name is known
			c.which(e, other, name, in.Trial)
		}
	}
}

// which checks how an input chooses among the trials of the other experiment.
func (c *checker) which(e, other *Experiment, name, trial string) {
	path := []string{"inputs", name, "trial"}
	switch {
	case trial == "only" && c.many(other):
		c.add(path, `"best" takes the one with the best objective, "same" the one with the same parameters`, "%s has more than one trial", other.Name)
	case trial == "same":
		mine, _ := e.declared()
		theirs, _ := other.declared()
		if !slices.ContainsFunc(mine, func(p string) bool { return contains(theirs, p) }) {
			suggestion := `"best" takes the one with the best objective`
			if len(theirs) > 0 {
				suggestion += "; parameters of " + other.Name + ": " + some(theirs, 8)
			}
			c.add(path, suggestion, "%s and %s have no parameter in common", e.Name, other.Name)
		}
	}
}

// many is several, asked once.
func (c *checker) many(e *Experiment) bool {
	if many, ok := c.several[e.Name]; ok {
		return many
	}
	c.several[e.Name] = e.several()
	return c.several[e.Name]
}

// several reports whether an experiment has more than one trial, as far as the spec alone tells.
func (e *Experiment) several() bool {
	switch {
	case e.Loop != nil || len(e.Seeds) > 1:
		return true
	case e.Sweep == nil || e.glob() != "":
		return false
	}
	if n, err := e.Sweep.count(); err != nil || n > int64(e.Sweep.MaxTrials) {
		return false // that is said of the other experiment
	}
	points, err := e.points()
	if err != nil {
		return false
	}
	first := ""
	for p := range points {
		if key := pointText(p); first == "" {
			first = key
		} else if key != first {
			return true
		}
	}
	return false
}

// cycles finds experiments that wait for each other, each cycle once, at the input that begins it.
func (c *checker) cycles() {
	w := &cycleWalk{checker: c, state: map[string]int{}}
	for i := range c.spec.Experiments {
		w.visit(&c.spec.Experiments[i])
	}
}

// maxCycles is how many cycles are shown, and maxCycle how many experiments of one.
const maxCycles, maxCycle = 10, 20

// A cycleWalk goes through the inputs depth first.
type cycleWalk struct {
	*checker
	state map[string]int // 1: on the way, 2: done
	way   []string
	shown int
}

func (w *cycleWalk) visit(e *Experiment) {
	if w.state[e.Name] != 0 {
		return
	}
	w.state[e.Name] = 1
	w.way = append(w.way, e.Name)
	seen := map[string]bool{e.Name: true} // waiting for itself has been said
	for _, name := range sortedKeys(e.Inputs) {
		next := w.byName[e.Inputs[name].Experiment]
		if next == nil || seen[next.Name] {
			continue
		}
		seen[next.Name] = true
		if w.state[next.Name] == 1 {
			w.report(w.way[slices.Index(w.way, next.Name):])
		}
		w.visit(next)
	}
	w.way = w.way[:len(w.way)-1]
	w.state[e.Name] = 2
}

// report reports a cycle, at the experiment of it that stands first in the spec.
func (w *cycleWalk) report(cycle []string) {
	if w.shown++; w.shown > maxCycles {
		return
	}
	at := func(name string) int {
		return slices.IndexFunc(w.spec.Experiments, func(e Experiment) bool { return e.Name == name })
	}
	start := 0
	for i, name := range cycle {
		if at(name) < at(cycle[start]) {
			start = i
		}
	}
	names := slices.Concat(cycle[start:], cycle[:start], cycle[start:start+1])
	first := &w.spec.Experiments[at(names[0])]
	for _, input := range sortedKeys(first.Inputs) {
		if first.Inputs[input].Experiment == names[1] {
			if n := len(names); n > maxCycle {
				names = slices.Concat(names[:maxCycle-1], []string{fmt.Sprintf("(%d more)", n-maxCycle)}, names[n-1:])
			}
			w.add([]string{"experiments", first.Name, "inputs", input, "experiment"}, "one of them must start without the others",
				"these experiments wait for each other: %s", strings.Join(names, " -> "))
			return
		}
	}
}
