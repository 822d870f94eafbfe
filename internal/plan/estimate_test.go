package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// estimated is the estimate of a sweep of four trials with one-hour limits on a host with two slots, the first trials of
// which took so long before.
func estimated(t *testing.T, took []float64, states []string, edits ...func(*Experiment)) Estimate {
	t.Helper()
	e := experiment(append([]func(*Experiment){sweep(Sweep{Grid: Axes{list("lr", 1, 2, 3, 4)}})}, edits...)...)
	s := specOf(e)
	s.Hosts[0].Slots = 2
	var h []PastPoint
	for i, tr := range build(t, Basis{Spec: s}).Experiments[0].Trials[:len(took)] {
		h = append(h, PastPoint{Past: Past{ID: tr.ID, State: states[i], DurationS: took[i]}})
	}
	p := build(t, Basis{Spec: s, History: remembered(h...)})
	if diff := cmp.Diff(p.Experiments[0].Estimate, p.Estimate); diff != "" {
		t.Errorf("the sum over one experiment: %s", diff)
	}
	return p.Estimate
}

func TestEstimatesOfASweep(t *testing.T) {
	zero, one := 0, 1
	gpus := func(e *Experiment) {
		e.Needs.GPUs, e.Limits.Trial, e.Set["limits.trial"] = 2, Duration(3600e9), true
	}
	for name, c := range map[string]struct {
		got   Estimate
		wants Estimate
	}{
		"no history":     {estimated(t, nil, nil), Estimate{Trials: ptr(4), GPUHoursMax: ptr(0.0), AgentTurns: &zero}},
		"GPUs":           {estimated(t, nil, nil, gpus), Estimate{Trials: ptr(4), GPUHoursMax: ptr(8.0), AgentTurns: &zero}},
		"two share one":  {estimated(t, nil, nil, gpus, func(e *Experiment) { e.Needs.PerGPU, e.Set["needs.per_gpu"] = 2, true }), Estimate{Trials: ptr(4), GPUHoursMax: ptr(4.0), AgentTurns: &zero}},
		"all known":      {estimated(t, []float64{10, 20, 30, 40}, []string{"failed", "failed", "failed", "failed"}), Estimate{Trials: ptr(4), GPUHoursMax: ptr(0.0), WallS: ptr(50.0), AgentTurns: &zero}},
		"half known":     {estimated(t, []float64{10, 20}, []string{"failed", "failed"}), Estimate{Trials: ptr(4), GPUHoursMax: ptr(0.0), WallS: ptr(30.0), AgentTurns: &zero}},
		"one at a time":  {estimated(t, []float64{10, 20}, []string{"failed", "failed"}, func(e *Experiment) { e.Limits.MaxParallel = &one }), Estimate{Trials: ptr(4), GPUHoursMax: ptr(0.0), WallS: ptr(60.0), AgentTurns: &zero}},
		"nothing to run": {estimated(t, []float64{1, 1, 1, 1}, []string{"succeeded", "succeeded", "succeeded", "succeeded"}), Estimate{Trials: &zero, GPUHoursMax: ptr(0.0), WallS: ptr(0.0), AgentTurns: &zero}},
	} {
		if diff := cmp.Diff(c.wants, c.got); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

func TestOnlyWhatRunsIsCounted(t *testing.T) {
	e := estimated(t, []float64{100, 10}, []string{"succeeded", "failed"})
	if *e.Trials != 3 || e.WallS == nil {
		t.Errorf("%d trials, %v", *e.Trials, e.WallS)
	}
	s := specOf(experiment(), experiment(func(e *Experiment) { e.Name = "other"; e.Sweep = nil; e.Command = []string{"true"} }))
	p := build(t, Basis{Spec: s})
	if p.ToRun() != 3 {
		t.Errorf("%d to run", p.ToRun())
	}
	if diff := cmp.Diff(map[Why]int{New: 3}, p.Counts()); diff != "" {
		t.Error(diff)
	}
}

func TestPhasesOfALoop(t *testing.T) {
	loop := func(edits ...func(*Experiment)) *PlannedExperiment {
		e := experiment(append([]func(*Experiment){func(e *Experiment) {
			e.Sweep, e.Command = nil, []string{"train"}
			e.Loop = &Loop{Agent: "codex", Hypothesis: Hypothesis{Name: "h"}}
			e.Needs.GPUs, e.Limits.Trial, e.Set["limits.trial"] = 1, Duration(3600e9), true
		}}, edits...)...)
		return &build(t, Basis{Spec: specOf(e)}).Experiments[0]
	}
	e := loop()
	want := []Phase{{"scout", 0}, {"reproduction", 3}, {"hypothesis_testing", 40}, {"second_look", 7}, {"confirmation", 16}}
	if diff := cmp.Diff(want, e.Phases); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(Estimate{Trials: ptr(66), GPUHoursMax: ptr(66.0), AgentTurns: ptr(40)}, e.Estimate); diff != "" {
		t.Error(diff)
	}
	none := loop(func(e *Experiment) { e.Loop.Iterations, e.Set["loop.iterations"], e.Loop.Agent = 0, true, "" })
	if diff := cmp.Diff([]Phase{{"scout", 0}, {"reproduction", 3}}, none.Phases); diff != "" {
		t.Error(diff)
	}
	boot := loop(func(e *Experiment) {
		e.Loop.Bootstrap = &Bootstrap{}
		e.Loop.Candidates = []Candidate{{Name: "a"}, {Name: "b"}}
	})
	if diff := cmp.Diff([]Phase{{"scout", 0}, {"bootstrap", 1}, {"reproduction", 3}, {"hypothesis_testing", 4}, {"second_look", 4}, {"confirmation", 16}}, boot.Phases); diff != "" {
		t.Error(diff)
	}
}

func TestAHostTakesAsManyTrialsAsItHasGPUsForThem(t *testing.T) {
	for name, c := range map[string]struct {
		gpus  GPUs
		needs Needs
		want  int
	}{
		"slots":         {GPUs{Auto: true}, Needs{}, 3},
		"two each":      {GPUs{Count: ptr(5)}, Needs{GPUs: 2, PerGPU: 1}, 2},
		"four a GPU":    {GPUs{List: []Value{IntValue(0), IntValue(3)}}, Needs{GPUs: 1, PerGPU: 4}, 8},
		"only it knows": {GPUs{Auto: true}, Needs{GPUs: 1, PerGPU: 1}, 1},
	} {
		s := &Spec{Hosts: []Host{{Name: "a", Slots: 3, GPUs: c.gpus}, {Name: "b", Slots: 9}}}
		if got := slots(s, &Experiment{Needs: c.needs}, []HostChoice{{Name: "a", Eligible: true}, {Name: "b"}}); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}
