package plan

import (
	"testing"
	"time"
)

func TestTheWorstIsEveryTrialAsLongAsItsLimit(t *testing.T) {
	hour := Limits{Trial: Duration(time.Hour)}
	yes := []HostChoice{{Name: "a", Eligible: true}, {Name: "b", Eligible: false}}
	for name, c := range map[string]struct {
		e      Experiment
		trials *int
		hosts  []Host
		want   Worst
		known  bool
	}{
		"rounds":         {Experiment{Limits: hour}, new(5), []Host{{Slots: 2}, {Slots: 9}}, Worst{5, 2, Duration(3 * time.Hour)}, true},
		"max_parallel":   {Experiment{Limits: Limits{Trial: hour.Trial, MaxParallel: new(1)}}, new(5), []Host{{Slots: 2}, {}}, Worst{5, 1, Duration(5 * time.Hour)}, true},
		"gpus":           {Experiment{Limits: hour, Needs: Needs{GPUs: 2}}, new(4), []Host{{GPUs: GPUs{Count: new(5)}}, {}}, Worst{4, 2, Duration(2 * time.Hour)}, true},
		"shared gpus":    {Experiment{Limits: hour, Needs: Needs{GPUs: 1, PerGPU: 3}}, new(6), []Host{{GPUs: GPUs{Count: new(1)}}, {}}, Worst{6, 3, Duration(2 * time.Hour)}, true},
		"gpus by asking": {Experiment{Limits: hour, Needs: Needs{GPUs: 1}}, new(4), []Host{{GPUs: GPUs{Auto: true}}, {}}, Worst{Trials: 4}, false},
		"a glob":         {Experiment{Limits: hour}, nil, []Host{{}, {}}, Worst{}, false},
		"no end":         {Experiment{Limits: Limits{Trial: Duration(1 << 62)}}, new(1 << 40), []Host{{}, {}}, Worst{1 << 40, 1, 0}, false},
		"a loop":         {Experiment{Limits: hour, Loop: &Loop{Agent: "ai", Iterations: 2, Repair: 1}}, new(3), []Host{{Slots: 8}, {}}, Worst{3, 1, Duration(5 * time.Hour)}, true},
	} {
		c.e.Name = "e"
		s := &Spec{Experiments: []Experiment{c.e}, Hosts: c.hosts, Agents: []Agent{{Name: "ai", Timeout: Duration(30 * time.Minute)}}}
		got, known := s.Worst(&PlannedExperiment{Name: "e", Hosts: yes, Estimate: Estimate{Trials: c.trials}})
		if got != c.want || known != c.known {
			t.Errorf("%s: %+v %v, want %+v", name, got, known, c.want)
		}
	}
}

// A limit that earlier trials came near will end the next ones.
func TestLimitsThatAreClose(t *testing.T) {
	for name, c := range map[string]struct {
		past []Past
		set  bool
		want []string
	}{
		"far":      {[]Past{{State: "succeeded", DurationS: 600}}, false, nil},
		"close":    {[]Past{{State: "succeeded", DurationS: 3000}}, false, []string{`limits.trial: a trial took 50m before: close to the default limit of 1h (limits: trial: "2h" would leave room)?`}},
		"set":      {[]Past{{State: "succeeded", DurationS: 3000}}, true, []string{`limits.trial: a trial took 50m before: close to limits.trial 1h (limits: trial: "2h" would leave room)?`}},
		"over":     {[]Past{{State: "succeeded", DurationS: 7000}}, true, []string{`limits.trial: a trial took 1h56m40s before, and limits.trial 1h would end it (limits: trial: "4h" would leave room)?`}},
		"ended":    {[]Past{{State: "failed", DurationS: 3601}}, false, []string{`limits.trial: 1 trial failed before after about as long as the default limit of 1h (limits: trial: "2h" would leave room)?`}},
		"failed":   {[]Past{{State: "failed", DurationS: 20}}, false, nil},
		"no past":  {nil, false, nil},
		"a moment": {[]Past{{State: "succeeded"}}, false, nil},
	} {
		s := withCommand("true")
		s.Experiments[0].Limits.Trial, s.Experiments[0].Set["limits.trial"] = Duration(time.Hour), c.set
		p := &Plan{Experiments: []PlannedExperiment{{Name: "e", Estimate: Estimate{Trials: new(1)}}}}
		for i, past := range c.past {
			tr := Trial{ID: string(rune('a' + i)), LastState: past.State}
			if past.DurationS > 0 {
				tr.EstS = &past.DurationS
			}
			p.Experiments[0].Trials = append(p.Experiments[0].Trials, tr)
		}
		same(t, name, told(CheckLimits(s, p)), c.want...)
		p.Experiments[0].Estimate.Trials = new(0)
		same(t, name+", nothing to run", told(CheckLimits(s, p)))
	}
}
