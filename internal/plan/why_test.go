package plan

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// whys builds a plan of two trials over a history of the first one.
func whys(t *testing.T, state string, edit func(*Experiment, *Basis, *PastPoint)) (first, second Trial) {
	t.Helper()
	e := experiment()
	code := map[string]*Manifest{"lr": {ID: "c"}}
	before := build(t, Basis{Spec: specOf(e), Code: code}).Experiments[0].Trials[0]
	past := PastPoint{Past{ID: before.ID, State: state, Code: "c", DurationS: 60}, PointKey("lr", before.Params, before.Seed), partsOf(before.Parts())}
	in := Basis{Code: code}
	if edit != nil {
		edit(&e, &in, &past)
	}
	in.Spec = specOf(e)
	h := remembered(past)
	h.Code = in.History.Code
	in.History = h
	ts := build(t, in).Experiments[0].Trials
	return ts[0], ts[1]
}

func TestWhyATrialIsInThePlan(t *testing.T) {
	for name, c := range map[string]struct {
		state string
		edit  func(*Experiment, *Basis, *PastPoint)
		want  Why
	}{
		"succeeded before":                  {"succeeded", nil, Reused},
		"succeeded, but reuse is never":     {"succeeded", func(e *Experiment, _ *Basis, _ *PastPoint) { e.Reuse, e.Set["reuse"] = "never", true }, New},
		"succeeded, but all is fresh":       {"succeeded", func(_ *Experiment, b *Basis, _ *PastPoint) { b.Fresh = true }, New},
		"succeeded, but its files are gone": {"succeeded", func(_ *Experiment, _ *Basis, p *PastPoint) { p.Gone = true }, New},
		"failed":                            {"failed", nil, Failed},
		"stopped early":                     {"stopped_early", nil, Failed},
		"lost":                              {"lost", nil, Lost},
		"never came to its end":             {"running", nil, New},
	} {
		first, second := whys(t, c.state, c.edit)
		if first.Why != c.want || second.Why != New {
			t.Errorf("%s: %s and %s, want %s and new", name, first.Why, second.Why, c.want)
		}
		if first.EstS == nil || *first.EstS != 60 || second.EstS != nil {
			t.Errorf("%s: estimates %v, %v", name, first.EstS, second.EstS)
		}
		if first.LastState != c.state || second.LastState != "" {
			t.Errorf("%s: after one that is %q, and one that is %q", name, first.LastState, second.LastState)
		}
		if len(first.Changed) != 0 || first.Changed == nil {
			t.Errorf("%s: changed %v", name, first.Changed)
		}
	}
}

func TestWhatChangedSinceTheLastTrialAtAPoint(t *testing.T) {
	old := []CodeFile{{"a.py", "100644", "1", 1, false}, {"gone.py", "100644", "1", 1, false}, {"mode.sh", "100644", "1", 1, false}, {"README.md", "100644", "1", 1, true}}
	now := []CodeFile{{"a.py", "100644", "2", 1, false}, {"mode.sh", "100755", "1", 1, false}, {"new.py", "100644", "1", 1, false}, {"README.md", "100644", "2", 1, true}}
	otherCode := func(b *Basis) {
		b.Code = map[string]*Manifest{"lr": {ID: "d", Files: now}}
	}
	for name, c := range map[string]struct {
		edit func(*Experiment, *Basis, *PastPoint)
		want []string
	}{
		"the environment": {func(e *Experiment, _ *Basis, _ *PastPoint) { e.Env = map[string]string{"A": "1"} }, []string{"env"}},
		"command and objective": {
			func(e *Experiment, _ *Basis, _ *PastPoint) {
				e.Command = append(e.Command, "-v")
				e.Objective.Metric = "acc"
			},
			[]string{"command", "objective"},
		},
		"something that is gone": {
			func(e *Experiment, _ *Basis, p *PastPoint) {
				parts := build(t, Basis{Spec: specOf(experiment()), Code: map[string]*Manifest{"lr": {ID: "c"}}}).Experiments[0].Trials[0].Parts()
				parts["container"] = "x"
				p.Parts = partsOf(parts)
				p.ID = "another"
			},
			[]string{"container"},
		},
		"files": {
			func(_ *Experiment, b *Basis, _ *PastPoint) {
				otherCode(b)
				b.History.Code = func(id string) ([]CodeFile, error) { return map[string][]CodeFile{"c": old}[id], nil }
			},
			[]string{"code: a.py", "code: gone.py", "code: mode.sh", "code: new.py"},
		},
		"code that nobody remembers": {func(_ *Experiment, b *Basis, _ *PastPoint) { otherCode(b) }, []string{"code"}},
	} {
		first, _ := whys(t, "succeeded", c.edit)
		if first.Why != Changed {
			t.Errorf("%s: %s", name, first.Why)
		}
		if diff := cmp.Diff(c.want, first.Changed); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
		if first.EstS == nil || *first.EstS != 60 {
			t.Errorf("%s: estimate %v", name, first.EstS)
		}
	}
}

func TestComparingPlans(t *testing.T) {
	old := build(t, Basis{Spec: specOf(experiment(sweep(Sweep{Grid: Axes{list("lr", 1, 2, 3)}})))})
	wider := build(t, Basis{Spec: specOf(experiment(sweep(Sweep{Grid: Axes{list("lr", 2, 3, 4)}})))})
	edited := build(t, Basis{Spec: specOf(experiment(sweep(Sweep{Grid: Axes{list("lr", 2, 3, 4)}}), func(e *Experiment) { e.Env = map[string]string{"A": "1"} }))})
	count := func(d Diff) [4]int { return [4]int{len(d.Added), len(d.Removed), len(d.Changed), d.Same} }
	for name, c := range map[string]struct {
		now  *Plan
		want [4]int
	}{"itself": {old, [4]int{0, 0, 0, 3}}, "an axis": {wider, [4]int{1, 1, 0, 2}}, "an axis and the environment": {edited, [4]int{1, 1, 2, 0}}} {
		d := Compare(old, c.now)
		if got := count(d); got != c.want || d.Empty() != (name == "itself") {
			t.Errorf("%s: added, removed, changed, same: %v, want %v", name, got, c.want)
		}
	}
	d := Compare(old, edited)
	if d.Added[0].Params.String() != "lr=4" || d.Removed[0].Params.String() != "lr=1" || d.Changed[0].Params.String() != "lr=2" {
		t.Errorf("%+v", d)
	}
	if d := Compare(&Plan{}, old); len(d.Added) != 3 || d.Removed == nil {
		t.Errorf("against nothing: %+v", d)
	}
}

// Two experiments may have a trial in common: both know what was found.
func TestTrialsOfOneIDAreJudgedAlike(t *testing.T) {
	s := specOf(experiment(), experiment(func(e *Experiment) { e.Name = "copy" }), experiment(func(e *Experiment) { e.Name, e.Reuse, e.Set["reuse"] = "never", "never", true }))
	id := build(t, Basis{Spec: s}).Experiments[0].Trials[0].ID
	p := build(t, Basis{Spec: s, History: remembered(PastPoint{Past: Past{ID: id, State: "succeeded"}})})
	for i, want := range []Why{Reused, Reused, New} {
		if got := p.Experiments[i].Trials[0]; got.ID != id || got.Why != want || p.Experiments[i].Trials[1].Why != New {
			t.Errorf("%s: %s %s, want %s", p.Experiments[i].Name, got.ID, got.Why, want)
		}
	}
}

func TestAHistoryThatCannotBeReadIsToldApartFromAWrongSpec(t *testing.T) {
	s := specOf(experiment())
	broken := errors.New("disk error")
	old := build(t, Basis{Spec: s, Code: map[string]*Manifest{"lr": {ID: "c"}}}).Experiments[0].Trials[0]
	past := PastPoint{Past{ID: "another", State: "failed", Code: "b"}, PointKey("lr", old.Params, 0), partsOf(nil)}
	for name, edit := range map[string]func(*History){
		"results": func(h *History) { h.Results = func(yield func(Past, error) bool) { yield(Past{}, broken) } },
		"points":  func(h *History) { h.Points = func(yield func(PastPoint, error) bool) { yield(PastPoint{}, broken) } },
		"code":    func(h *History) { h.Code = func(string) ([]CodeFile, error) { return nil, broken } },
		"parts": func(h *History) {
			past := past
			past.Parts = func() (Parts, error) { return nil, broken }
			*h = remembered(past)
		},
	} {
		h := remembered(past)
		edit(&h)
		_, err := Build(Basis{Spec: s, Code: map[string]*Manifest{"lr": {ID: "c"}}, History: h})
		if e, ok := errors.AsType[*HistoryError](err); !ok || !errors.Is(e, broken) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
