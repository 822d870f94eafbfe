package plan

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// chain is base ← tuned ← final, where tuned takes from base as trial says, and an experiment apart.
func chain(trial string, edit func(base *Experiment)) Basis {
	base := experiment(func(e *Experiment) { e.Name = "base" })
	edit(&base)
	tuned := experiment(func(e *Experiment) {
		e.Name, e.Inputs = "tuned", map[string]Input{"w": {Experiment: "base", Path: "w.pt", Trial: trial}}
		e.Sweep.Grid = append(e.Sweep.Grid, list("wd", 1, 2))
	})
	final := experiment(func(e *Experiment) {
		e.Name, e.Sweep, e.Command = "final", nil, []string{"final"}
		e.Inputs = map[string]Input{"m": {Experiment: "tuned", Path: "m.pt", Trial: "best"}}
	})
	apart := experiment(func(e *Experiment) { e.Name = "apart" })
	s := specOf(final, tuned, base, apart) // those that wait stand first
	code := map[string]*Manifest{}
	for _, e := range s.Experiments {
		code[e.Name] = &Manifest{ID: "c"}
	}
	return Basis{Spec: s, Code: code}
}

// moved says of each experiment which of its trials have other ids in the second plan.
func moved(t *testing.T, a, b Basis) map[string]string {
	t.Helper()
	out := map[string]string{}
	p, q := build(t, a), build(t, b)
	for i, e := range p.Experiments {
		var s strings.Builder
		for j, id := range ids(e.Trials) {
			if j < len(q.Experiments[i].Trials) && id == q.Experiments[i].Trials[j].ID {
				s.WriteByte('.')
			} else {
				s.WriteByte('x')
			}
		}
		out[e.Name] = s.String()
	}
	return out
}

func TestWhatComesFromAnotherExperimentDependsOnItsTrials(t *testing.T) {
	same := map[string]string{"base": "..", "tuned": "....", "final": ".", "apart": ".."}
	all := map[string]string{"base": "xx", "tuned": "xxxx", "final": "x", "apart": ".."}
	wider := func(e *Experiment) { e.Sweep.Grid = Axes{list("lr", 0.1, 0.01, 0.001)} }
	for name, c := range map[string]struct {
		trial string
		edit  func(*Experiment)
		want  map[string]string
	}{
		"nothing":                             {"best", func(*Experiment) {}, same},
		"what cannot change a result":         {"best", func(e *Experiment) { e.Description, e.Limits.Grace = "x", 7 }, same},
		"the values in another order":         {"best", func(e *Experiment) { e.Sweep.Grid = Axes{list("lr", 0.01, 0.1)} }, map[string]string{"base": "xx", "tuned": "....", "final": ".", "apart": ".."}},
		"the environment":                     {"best", func(e *Experiment) { e.Env = map[string]string{"A": "1"} }, all},
		"the environment, of the same values": {"same", func(e *Experiment) { e.Env = map[string]string{"A": "1"} }, all},
		"one more point, the best":            {"best", wider, map[string]string{"base": "..", "tuned": "xxxx", "final": "x", "apart": ".."}},
		"one more point, the same values":     {"same", wider, same},
		"what the best is":                    {"best", func(e *Experiment) { e.Objective.Direction = "maximize" }, map[string]string{"base": "..", "tuned": "xxxx", "final": "x", "apart": ".."}},
		"one of two points, the same values": {
			"same", func(e *Experiment) { e.Sweep.Grid = Axes{list("lr", 0.1, 0.5)} },
			map[string]string{"base": ".x", "tuned": "..xx", "final": "x", "apart": ".."},
		},
	} {
		got := moved(t, chain(c.trial, func(*Experiment) {}), chain(c.trial, c.edit))
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

func TestAnotherNameOfTheExperimentBehindAnInputChangesNothing(t *testing.T) {
	before := build(t, chain("best", func(*Experiment) {})).Experiments[1].Trials
	in := chain("best", func(e *Experiment) { e.Name = "renamed" })
	in.Spec.Experiments[1].Inputs = map[string]Input{"w": {Experiment: "renamed", Path: "w.pt", Trial: "best"}}
	if diff := cmp.Diff(ids(before), ids(build(t, in).Experiments[1].Trials)); diff != "" {
		t.Error(diff)
	}
}

func TestALoopBehindAnInputStandsForItsSpecAndCode(t *testing.T) {
	with := func(code string, edit func(*Experiment)) Basis {
		in := chain("best", func(e *Experiment) {
			e.Sweep, e.Command = nil, []string{"train"}
			e.Loop = &Loop{Hypothesis: Hypothesis{Name: "h"}, Iterations: 3}
			edit(e)
		})
		in.Code["base"].ID = code
		return in
	}
	before := with("c", func(*Experiment) {})
	for name, c := range map[string]struct {
		now  Basis
		want string
	}{
		"nothing":       {with("c", func(*Experiment) {}), "...."},
		"a label":       {with("c", func(e *Experiment) { e.Labels = map[string]string{"a": "b"} }), "...."},
		"its code":      {with("d", func(*Experiment) {}), "xxxx"},
		"its length":    {with("c", func(e *Experiment) { e.Loop.Iterations, e.Set["loop.iterations"] = 4, true }), "xxxx"},
		"its threshold": {with("c", func(e *Experiment) { e.Criteria = &Criteria{Solid: ptr(0.5)} }), "xxxx"},
	} {
		if got := moved(t, before, c.now); got["tuned"] != c.want || got["apart"] != ".." {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// The parameters that both have: those of a case may be missing in others.
func TestTheSameValuesAreThoseOfTheParametersThatBothHave(t *testing.T) {
	with := func(momentum float64) Basis {
		return chain("same", func(e *Experiment) {
			e.Command = []string{"train", "{params}"}
			e.Sweep = &Sweep{Cases: []Axes{{list("lr", 0.1), list("momentum", momentum)}, {list("lr", 0.01)}}}
		})
	}
	got := moved(t, with(0.5), with(0.9))
	if diff := cmp.Diff(map[string]string{"base": "x.", "tuned": "xx..", "final": "x", "apart": ".."}, got); diff != "" {
		t.Error(diff)
	}
}

func TestInputsInACircleAreRefused(t *testing.T) {
	in := chain("best", func(e *Experiment) {
		e.Inputs = map[string]Input{"x": {Experiment: "final", Path: "p", Trial: "best"}}
	})
	if _, err := Build(in); err == nil || !strings.Contains(err.Error(), "inputs") {
		t.Errorf("%v", err)
	}
}

func TestWhatChangedNamesTheInputTheDataAndTheFile(t *testing.T) {
	e := experiment(func(e *Experiment) {
		e.Name = "tuned"
		e.Setup, e.Data = &Setup{Command: []string{"pip"}}, map[string]string{"corpus": "v1", "test": "v1"}
		e.Inputs = map[string]Input{"w": {Experiment: "base", Path: "w.pt", Trial: "only"}}
	})
	base := experiment(func(e *Experiment) { e.Name = "base" })
	in := Basis{Spec: specOf(e, base), SetupFiles: map[string][]CodeFile{"tuned": {{Path: "uv.lock", SHA256: "1"}, {Path: "x", SHA256: "1"}}}}
	old := build(t, in).Experiments[0].Trials[0]
	in.History = remembered(PastPoint{Past{ID: old.ID, State: "succeeded"}, PointKey("tuned", old.Params, 0), partsOf(old.Parts())})
	in.SetupFiles["tuned"][0].SHA256 = "2"
	in.Spec.Experiments[0].Data["corpus"] = "v2"
	in.Spec.Experiments[1].Env = map[string]string{"A": "1"}
	got := build(t, in).Experiments[0].Trials[0]
	if diff := cmp.Diff([]string{"data: corpus", "inputs: w", "setup: uv.lock"}, got.Changed); diff != "" {
		t.Error(diff)
	}
}
