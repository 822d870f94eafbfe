package plan

import (
	"fmt"
	"slices"
	"testing"
)

// val makes a Value of a string, bool, int or float64.
func val(v any) Value {
	switch v := v.(type) {
	case string:
		return StringValue(v)
	case bool:
		return BoolValue(v)
	case int:
		return IntValue(int64(v))
	case float64:
		return FloatValue(v)
	case Value:
		return v
	}
	panic(fmt.Sprintf("no value: %v", v))
}

// num is the number that a literal spells.
func num(t testing.TB, literal string) Value {
	t.Helper()
	v, err := NumberValue(literal)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func list(name string, vs ...any) Axis {
	a := Axis{Name: name}
	for _, v := range vs {
		a.Values = append(a.Values, val(v))
	}
	return a
}

// steps is {from, to, step}.
func steps(t testing.TB, name, from, to, step string) Axis {
	t.Helper()
	s := num(t, step)
	return Axis{Name: name, Range: &Range{From: num(t, from), To: num(t, to), Step: &s}}
}

// points is {from, to, points}, with log perhaps.
func points(t testing.TB, name, from, to string, n int, log bool) Axis {
	t.Helper()
	return Axis{Name: name, Range: &Range{From: num(t, from), To: num(t, to), Points: &n, Log: log}}
}

func params(kv ...any) Params {
	var ps Params
	for i := 0; i < len(kv); i += 2 {
		ps = append(ps, Param{kv[i].(string), val(kv[i+1])})
	}
	return ps
}

// experiment is a small valid one, changed by edits before its defaults are filled in. What an edit sets it must mark
// in Set as a loader would.
func experiment(edits ...func(*Experiment)) Experiment {
	e := Experiment{
		Name: "lr", Command: []string{"train", "--lr", "{lr}", "--seed={seed}"}, Set: map[string]bool{},
		Objective: Objective{Metric: "loss", Direction: "minimize"},
		Sweep:     &Sweep{Grid: Axes{list("lr", 0.1, 0.01)}},
	}
	for _, f := range edits {
		f(&e)
	}
	return e
}

// sweep gives an experiment another sweep and a command that takes every parameter.
func sweep(s Sweep) func(*Experiment) {
	return func(e *Experiment) { e.Sweep, e.Command = &s, []string{"train", "{params}"} }
}

// specOf is a filled spec with one local host.
func specOf(es ...Experiment) *Spec {
	s := &Spec{Experiments: es, Hosts: []Host{{Name: "local", Kind: "local"}}}
	s.Fill()
	return s
}

func build(t testing.TB, in Basis) *Plan {
	t.Helper()
	p, err := Build(in)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// trials builds the plan of one experiment and returns its trials.
func trials(t testing.TB, edits ...func(*Experiment)) []Trial {
	t.Helper()
	return build(t, Basis{Spec: specOf(experiment(edits...))}).Experiments[0].Trials
}

// expand lists the points of a sweep as text, repeated ones too.
func expand(t testing.TB, s Sweep, edits ...func(*Experiment)) []string {
	t.Helper()
	e := experiment(append([]func(*Experiment){sweep(s)}, edits...)...)
	ps, err := e.points()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for p := range ps {
		out = append(out, p.String())
	}
	return out
}

func ids(ts []Trial) []string {
	var out []string
	for _, t := range ts {
		out = append(out, t.ID)
	}
	return slices.Clip(out)
}

// remembered is a history of these results, each also the last one at its point if that is given.
func remembered(pasts ...PastPoint) History {
	return History{
		Results: func(yield func(Past, error) bool) {
			for _, p := range pasts {
				if !yield(p.Past, nil) {
					return
				}
			}
		},
		Points: func(yield func(PastPoint, error) bool) {
			for _, p := range pasts {
				if p.Point != "" && !yield(p, nil) {
					return
				}
			}
		},
	}
}

func partsOf(p Parts) func() (Parts, error) { return func() (Parts, error) { return p, nil } }
