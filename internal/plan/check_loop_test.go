package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// looped makes a loop of an experiment.
func looped(l Loop) func(*Experiment) {
	return func(e *Experiment) { e.Sweep, e.Command, e.Loop = nil, []string{"p", "{params}"}, &l }
}

func TestALoopHasSomethingThatProposes(t *testing.T) {
	findings{
		"nothing": {
			looped(Loop{}),
			[]string{"experiments.lr.loop: nothing proposes a candidate for the 20 iterations of the loop (name an agent, list candidates, or say iterations: 0 to measure the baseline only)"},
		},
		"nothing, without iterations": {given(looped(Loop{}), "loop.iterations"), nil},
		"candidates":                  {looped(Loop{Candidates: []Candidate{{Ref: "x"}}}), nil},
		"no such agent, and none": {
			looped(Loop{Agent: "coder"}),
			[]string{`experiments.lr.loop.agent: no agent is called "coder" (declare it: agents: coder: kind: "codex")`},
		},
		"work for an agent": {
			given(looped(Loop{Bootstrap: &Bootstrap{Path: "m.py"}, Deliver: []string{"d"}}), "loop.iterations"),
			[]string{
				"experiments.lr.loop.bootstrap: bootstrap is work for an agent, and the loop has none (name an agent, or leave it out)",
				"experiments.lr.loop.deliver: deliver says what an agent must leave behind, and the loop has none (name an agent, or leave it out)?",
			},
		},
		"repair that is asked for": {
			given(looped(Loop{Candidates: []Candidate{{Ref: "x"}}, Repair: 2}), "loop.repair"),
			[]string{"experiments.lr.loop.repair: repair is work for an agent, and the loop has none (name an agent, or leave it out)?"},
		},
		"no repair": {given(looped(Loop{Candidates: []Candidate{{Ref: "x"}}}), "loop.repair"), nil},
	}.check(t)
	s := specOf(experiment(looped(Loop{Agent: "codr", Bootstrap: &Bootstrap{Path: "m.py"}, Deliver: []string{"d"}})))
	s.Agents = []Agent{{Name: "coder"}, {Name: "other"}}
	if diff := cmp.Diff([]string{`experiments.lr.loop.agent: no agent is called "codr" (did you mean "coder"?)`}, lines(Check(s))); diff != "" {
		t.Error(diff)
	}
	s.Experiments[0].Loop.Agent = "zz"
	if diff := cmp.Diff([]string{`experiments.lr.loop.agent: no agent is called "zz" (agents: coder, other)`}, lines(Check(s))); diff != "" {
		t.Error(diff)
	}
	s.Experiments[0].Loop.Agent, s.Experiments[0].Loop.Iterations = "coder", 0
	if found := lines(Check(s)); len(found) > 0 {
		t.Errorf("an agent and no iterations: %q", found)
	}
}

func TestNumbersOfALoopFitEachOther(t *testing.T) {
	one := []Candidate{{Name: "a", Ref: "x"}}
	three := []Candidate{{Name: "a", Ref: "x"}, {Name: "b", Ref: "y"}, {Name: "c", Ref: "z"}}
	findings{
		"refute_after": {
			given(looped(Loop{Candidates: one, Iterations: 5, RefuteAfter: 6}), "loop.iterations", "loop.refute_after"),
			[]string{"experiments.lr.loop.refute_after: refute_after 6 is above iterations 5: nothing could be refuted (at most 5, or leave it out)"},
		},
		"refute_after of no iterations": {
			given(looped(Loop{RefuteAfter: 1}), "loop.iterations", "loop.refute_after"),
			[]string{"experiments.lr.loop.refute_after: refute_after 1 is above iterations 0: nothing could be refuted (leave it out)"},
		},
		"refute_after at its limit":         {given(looped(Loop{Candidates: one, Iterations: 5, RefuteAfter: 5}), "loop.iterations", "loop.refute_after"), nil},
		"refute_after, left to its default": {given(looped(Loop{Candidates: one, Iterations: 2}), "loop.iterations"), nil},
		"one confirming run": {
			given(looped(Loop{Candidates: one, Confirm: 1}), "loop.confirm"),
			[]string{"experiments.lr.loop.confirm: one run of each cannot confirm a gain, unless the program is deterministic (the default is 8)?"},
		},
		"no confirming run":        {given(looped(Loop{Candidates: one}), "loop.confirm"), nil},
		"one that is never needed": {given(looped(Loop{Confirm: 1}), "loop.confirm", "loop.iterations"), nil},
		"fewer turns than candidates": {
			given(looped(Loop{Candidates: three, Iterations: 2}), "loop.iterations"),
			[]string{"experiments.lr.loop.iterations: iterations 2 is below the 3 candidates: the last are never tried (leave it out to try all of them)?"},
		},
		"no turns": {given(looped(Loop{Candidates: three}), "loop.iterations"), nil},
		"seeds": {
			given(func(e *Experiment) { looped(Loop{Candidates: one})(e); e.Seeds = Seeds{1, 2} }, "seeds"),
			[]string{"experiments.lr.seeds: the seeds of a loop are drawn by xrun (leave seeds out; loop.reproduce and loop.confirm say how many runs there are)"},
		},
	}.check(t)
}

func TestACandidateIsOneChange(t *testing.T) {
	p := map[string]Value{"x": val(1)}
	findings{
		"none, and several": {
			looped(Loop{Candidates: []Candidate{{Name: "a"}, {Name: "b", Ref: "r", Patch: "p"}, {Name: "c", Ref: "r", Patch: "p", Params: p}, {Name: "d", Params: p}, {Name: "e", Patch: "p"}, {Name: "f", Params: map[string]Value{}}}}),
			[]string{
				`experiments.lr.loop.candidates.0: candidate "a" changes nothing (give it one of ref, patch and params)`,
				`experiments.lr.loop.candidates.1: candidate "b" has ref and patch: it takes one of them (make them candidates of their own)`,
				`experiments.lr.loop.candidates.2: candidate "c" has ref and patch and params: it takes one of them (make them candidates of their own)`,
				`experiments.lr.loop.candidates.5: candidate "f" changes nothing (give it one of ref, patch and params)`,
			},
		},
		"two of one name": {
			looped(Loop{Candidates: []Candidate{{Name: "a", Ref: "r"}, {Name: "b", Ref: "r"}, {Name: "a", Ref: "s"}}}),
			[]string{`experiments.lr.loop.candidates.2.name: candidates 1 and 3 are both called "a" (give it another name)`},
		},
	}.check(t)
}
