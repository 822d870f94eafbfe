package plan

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAbsentFieldsGetTheirDefaults(t *testing.T) {
	s := &Spec{
		Experiments: []Experiment{{
			Name: "a", Set: map[string]bool{}, Sweep: &Sweep{}, Setup: &Setup{}, Retry: &Retry{}, Criteria: &Criteria{},
			Metrics: map[string]Metric{"m": {}, "n": {Pick: "max"}}, Inputs: map[string]Input{"w": {}},
		}},
		Hosts:  []Host{{Name: "h", Kind: "slurm"}, {Name: "i", Kind: "local", Slots: 3, GPUs: GPUs{Count: ptr(0)}}},
		Agents: []Agent{{Name: "a"}, {Name: "b", Sandbox: "none", Timeout: 1, Silence: 2}},
	}
	s.Fill()
	e := s.Experiments[0]
	got := []any{
		e.Mode, e.Code.Ignore, e.Code.MaxSize.String(), e.Setup.Timeout.String(), e.Objective.Pick, e.Seeds, e.Sweep.MaxTrials, e.Sweep.Canary.For.String(),
		e.Criteria.Confidence, e.Needs.PerGPU, e.Needs.MatchHardware, e.Limits.Trial.String(), e.Limits.Evaluate.String(), e.Limits.Grace.String(),
		e.Retry.On, e.Retry.Backoff.String(), e.Artifacts.MaxSize.String(), e.Reuse, e.Metrics["m"].Pick, e.Metrics["n"].Pick, e.Inputs["w"].Trial,
	}
	want := []any{
		"formal",
		[]string{"**/*.md", "LICENSE*", ".github/**"},
		"512MiB", "30m", "last",
		Seeds{0},
		10000, "5m",
		0.95, 1, "point", "1h", "10m", "30s",
		[]string{"oom_gpu", "killed", "preempted"},
		"10s", "1GiB", "identity", "last", "max", "best",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	h, a := s.Hosts, s.Agents
	got = []any{h[0].GPUs.Auto, h[0].Slots, h[0].MaxJobs, h[1].GPUs.Auto, h[1].Slots, h[1].MaxJobs, a[0].Sandbox, a[0].Timeout.String(), a[0].Silence.String(), a[1].Sandbox, a[1].Timeout, a[1].Silence, s.Settings.Overlap, s.Settings.LostAfter.String()}
	want = []any{true, 1, 100, false, 3, 0, "workspace", "30m", "10m", "none", Duration(1), Duration(2), "skip", "15m"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestDefaultsOfALoop(t *testing.T) {
	s := &Spec{Experiments: []Experiment{
		{Name: "a", Loop: &Loop{Tests: &Tests{}, Stop: Stop{Crashes: 9}}, Set: map[string]bool{"loop.stop.crashes": true}},
		{Name: "b", Loop: &Loop{Candidates: make([]Candidate, 2)}, Set: map[string]bool{}},
		{Name: "c", Loop: &Loop{}, Needs: Needs{GPUs: 1}, Set: map[string]bool{"loop.iterations": true}},
	}}
	s.Fill()
	l := s.Experiments[0].Loop
	got := []any{l.Iterations, l.Reproduce, l.Confirm, l.RefuteAfter, l.Keep, l.Editable, l.Tests.Where, l.Tests.Timeout.String(), l.Repair, l.Stop.Crashes, l.Stop.NoChange, s.Experiments[0].Needs.MatchHardware, len(s.Experiments[0].Seeds)}
	want := []any{20, 3, 8, 8, "noise", []string{"**"}, "host", "10m", 1, 9, 3, "experiment", 0}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if b := s.Experiments[1].Loop; b.Iterations != 2 || b.RefuteAfter != 2 {
		t.Errorf("two candidates: %d iterations, refuted after %d", b.Iterations, b.RefuteAfter)
	}
	if c := s.Experiments[2]; c.Loop.Iterations != 0 || c.Limits.Trial != 0 {
		t.Errorf("iterations that are set to 0: %d; the limit of a trial with GPUs: %s", c.Loop.Iterations, c.Limits.Trial)
	}
}

func TestDefaultedNamesOnlyWhatTheSpecLeavesOpen(t *testing.T) {
	e := experiment(func(e *Experiment) { e.Limits.Grace, e.Set["limits.grace"] = 5, true })
	s := specOf(e)
	var got []string
	for _, d := range s.Experiments[0].Defaulted() {
		got = append(got, d.Name+" = "+d.Value)
	}
	want := strings.Split(`mode = formal
code.ignore = ["**/*.md", "LICENSE*", ".github/**"]
code.max_size = 512MiB
objective.pick = last
seeds = 1
sweep.max_trials = 10000
sweep.canary = 5m
needs.per_gpu = 1
needs.match_hardware = point (sweeps)
limits.trial = 1h
limits.evaluate = 10m
artifacts.max_size = 1GiB
reuse = identity`, "\n")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if s.Experiments[0].Limits.Grace != 5 {
		t.Errorf("what the spec sets is %s", s.Experiments[0].Limits.Grace)
	}
}

func TestKindsOfExperiments(t *testing.T) {
	for want, e := range map[string]Experiment{KindSweep: {Sweep: &Sweep{}}, KindLoop: {Loop: &Loop{}}, KindSingle: {}} {
		if e.Kind() != want {
			t.Errorf("%s is called %s", want, e.Kind())
		}
	}
}
