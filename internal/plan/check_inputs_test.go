package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// waiting is an experiment with one input for each of the others that it names, "name" or "name:trial".
func waiting(name string, others ...string) Experiment {
	return experiment(func(e *Experiment) {
		e.Name, e.Inputs = name, map[string]Input{}
		for _, o := range others {
			other, trial, _ := strings.Cut(o, ":")
			e.Inputs["from-"+other] = Input{Experiment: other, Path: "m.pt", Trial: trial}
		}
	})
}

func TestInputsThatCannotBeAreNamed(t *testing.T) {
	single := experiment(func(e *Experiment) { e.Name, e.Sweep, e.Command = "one", nil, []string{"p"} })
	seeds := experiment(func(e *Experiment) {
		e.Name, e.Sweep, e.Command, e.Seeds, e.Set["seeds"] = "seeds", nil, []string{"p", "{seed}"}, Seeds{1, 2}, true
	})
	loop := experiment(func(e *Experiment) {
		e.Name, e.Sweep, e.Command, e.Loop, e.Params = "loop", nil, []string{"p", "{x}"}, &Loop{Candidates: []Candidate{{Ref: "x"}}}, map[string]Value{"x": val(1)}
	})
	narrow := experiment(func(e *Experiment) {
		e.Name, e.Sweep = "narrow", &Sweep{Grid: Axes{list("lr", 1, 2)}, Exclude: []Match{{list("lr", 2)}}}
	})
	globbed := experiment(sweep(Sweep{Grid: Axes{{Name: "lr", Glob: &Glob{Glob: "/d/*", On: "local"}}}}), func(e *Experiment) { e.Name = "globbed" })
	large := experiment(sweep(Sweep{Grid: Axes{eight("a"), eight("b")}, MaxTrials: 3}), func(e *Experiment) { e.Name, e.Set["sweep.max_trials"] = "large", true })
	broken := Experiment{Name: "broken", Set: map[string]bool{}}
	several := func(other string) string {
		return "experiments.lr.inputs.from-" + other + `.trial: ` + other + ` has more than one trial ("best" takes the one with the best objective, "same" the one with the same parameters)`
	}
	for name, c := range map[string]struct {
		es   []Experiment
		want []string
	}{
		"no slip":      {[]Experiment{waiting("lr", "zero"), single}, []string{`experiments.lr.inputs.from-zero.experiment: no experiment is called "zero" (experiments: one)`}},
		"a slip":       {[]Experiment{waiting("lr", "seds"), seeds}, []string{`experiments.lr.inputs.from-seds.experiment: no experiment is called "seds" (did you mean "seeds"?)`}},
		"itself":       {[]Experiment{waiting("lr", "lr")}, []string{"experiments.lr.inputs.from-lr.experiment: an experiment cannot wait for its own results (name the experiment that makes it)"}},
		"only, of one": {[]Experiment{waiting("lr", "one:only", "narrow:only", "globbed:only"), single, narrow, globbed}, nil},
		"only, of several": {
			[]Experiment{waiting("lr", "seeds:only", "loop:only", "two:only"), seeds, loop, waiting("two")},
			[]string{several("loop"), several("seeds"), several("two")},
		},
		"only, of too many": {[]Experiment{waiting("lr", "large:only"), large}, []string{"experiments.large.sweep: the sweep has 64 trials, the limit is 3 (the widest axes: a (8), b (8); raise sweep.max_trials if they are meant)"}},
		"same":              {[]Experiment{waiting("lr", "two:same"), waiting("two")}, nil},
		"same, of other parameters": {
			[]Experiment{waiting("lr", "one:same", "loop:same"), single, loop},
			[]string{
				`experiments.lr.inputs.from-loop.trial: lr and loop have no parameter in common ("best" takes the one with the best objective; parameters of loop: x)`,
				`experiments.lr.inputs.from-one.trial: lr and one have no parameter in common ("best" takes the one with the best objective)`,
			},
		},
		"one that is wrong in itself": {[]Experiment{waiting("lr", "broken:only")}, nil},
		"two that wait for each other": {
			[]Experiment{waiting("a", "b"), waiting("b", "a")},
			[]string{"experiments.a.inputs.from-b.experiment: these experiments wait for each other: a -> b -> a (one of them must start without the others)"},
		},
		"a longer way, entered from outside": {
			[]Experiment{waiting("out", "c"), waiting("b", "c"), waiting("c", "d"), waiting("d", "b", "e"), waiting("e")},
			[]string{"experiments.b.inputs.from-c.experiment: these experiments wait for each other: b -> c -> d -> b (one of them must start without the others)"},
		},
		"two cycles": {
			[]Experiment{waiting("a", "b", "c"), waiting("b", "a"), waiting("c", "a")},
			[]string{
				"experiments.a.inputs.from-b.experiment: these experiments wait for each other: a -> b -> a (one of them must start without the others)",
				"experiments.a.inputs.from-c.experiment: these experiments wait for each other: a -> c -> a (one of them must start without the others)",
			},
		},
		"two ways to one": {[]Experiment{waiting("a", "b", "c"), waiting("b", "d"), waiting("c", "d"), waiting("d")}, nil},
		"two inputs from one": {
			[]Experiment{
				experiment(func(e *Experiment) {
					e.Name, e.Inputs = "a", map[string]Input{"x": {Experiment: "b", Path: "p"}, "y": {Experiment: "b", Path: "q"}}
				}), waiting("b", "a"),
			},
			[]string{"experiments.a.inputs.x.experiment: these experiments wait for each other: a -> b -> a (one of them must start without the others)"},
		},
		"paths": {
			[]Experiment{experiment(func(e *Experiment) {
				e.Inputs = map[string]Input{"a": {Experiment: "one", Path: "/m"}, "b": {Experiment: "one", Path: "x/../../m"}, "c": {Experiment: "one", Path: "x/m"}}
			}), single},
			[]string{
				`experiments.lr.inputs.a.path: "/m" is not relative (it is looked for among the artifacts of the other trial)`,
				`experiments.lr.inputs.b.path: "x/../../m" leads out of where it is looked for (it is looked for among the artifacts of the other trial)`,
			},
		},
	} {
		if name == "one that is wrong in itself" {
			c.es = append(c.es, broken)
			if found := lines(Check(specOf(c.es...))); len(found) > 0 && strings.Contains(found[0], "inputs") {
				t.Errorf("%s: %q", name, found)
			}
			continue
		}
		if diff := cmp.Diff(c.want, lines(Check(specOf(c.es...)))); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

func TestManyAndLongCyclesAreShownInPart(t *testing.T) {
	var names []string
	for i := range 60 {
		names = append(names, fmt.Sprintf("e%02d", i))
	}
	var ring, every []Experiment
	for i, name := range names {
		ring = append(ring, waiting(name, names[(i+1)%len(names)]))
		every = append(every, waiting(name, slices.Delete(slices.Clone(names), i, i+1)...))
	}
	var first []string
	first = append(first, names[:maxCycle-1]...)
	want := []string{"experiments.e00.inputs.from-e01.experiment: these experiments wait for each other: " + strings.Join(first, " -> ") + " -> (41 more) -> e00 (one of them must start without the others)"}
	if diff := cmp.Diff(want, lines(Check(specOf(ring...)))); diff != "" {
		t.Error(diff)
	}
	if found := lines(Check(specOf(every...))); len(found) != maxCycles {
		t.Errorf("%d cycles, want %d", len(found), maxCycles)
	}
}
