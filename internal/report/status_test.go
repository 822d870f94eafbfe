package report_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/xrun-dev/xrun/internal/ledger"
	"github.com/xrun-dev/xrun/internal/plan"
	"github.com/xrun-dev/xrun/internal/report"
)

func statusOf(b *builder, pid int) *report.Status {
	s := report.Newest()
	for _, e := range b.events {
		s.Apply(e)
	}
	return s.Status(report.StatusOptions{
		Now: b.at.Add(90 * time.Second), PID: pid,
		RetryAfter: func(*plan.Experiment, []ledger.AttemptFinished) time.Duration { return 2 * time.Minute },
		Runs:       func(cause string) bool { return cause == "" || cause == "diverged" },
	})
}

func TestStatusOfEveryWorld(t *testing.T) {
	for name, b := range worlds() {
		var out bytes.Buffer
		st := statusOf(b, 0)
		if err := st.Text(&out); err != nil {
			t.Fatal(err)
		}
		golden(t, name+".status", out.Bytes())
		n := st.Trials
		if sum := n.Succeeded + n.Reused + n.Failed + n.StoppedEarly + n.Cancelled + n.Lost + n.NotRun + n.Queued + n.Running; sum != n.Planned {
			t.Errorf("%s: %d trials, and their states are of %d", name, n.Planned, sum)
		}
	}
}

// resolved gives an experiment of the run a spec of its own.
func (b *builder) resolved(name, spec string) *builder {
	for i := range b.events {
		if e, ok := b.events[i].Body.(ledger.ExperimentPlanned); ok && e.Name == name {
			e.Spec = json.RawMessage(spec)
			b.events[i].Body = e
		}
	}
	return b
}

func TestWhyTrialsWait(t *testing.T) {
	sweep := func(spec string) *builder {
		return newRun("now").sweep("lr", 1, "minimize val_loss", "lr=1,2,3,4").resolved("lr", spec)
	}
	const canary = `{"sweep": {"max_trials": 9, "canary": {"for": "5m"}}}`
	gone := sweep(`{}`).add(ledger.HostState{Host: "gpu-a", State: "unreachable", Reason: "no route"})
	printed := sweep(canary)
	printed.add(ledger.MetricValues{Attempt: printed.start("lr", "lr=1 seed=0"), Metric: "val_loss", Values: []ledger.MetricValue{{Value: 1}}})
	full := sweep(`{}`)
	full.start("lr", "lr=1 seed=0")
	full.start("lr", "lr=2 seed=0")
	next := sweep(`{}`)
	next.start("lr", "lr=1 seed=0")
	next.start("lr", "lr=2 seed=0")
	next.add(ledger.AttemptIntended{Attempt: ledger.Attempt{Key: next.specs["lr"].trials["lr=3 seed=0"].Key, Attempt: 1}, Host: "gpu-a"})
	gpus := sweep(`{"needs": {"gpus": 1, "per_gpu": 1, "match_hardware": "off"}}`)
	gpus.start("lr", "lr=1 seed=0")
	gpus.start("lr", "lr=2 seed=0")
	shared := sweep(`{"needs": {"gpus": 1, "per_gpu": 2, "match_hardware": "off"}}`)
	shared.start("lr", "lr=1 seed=0")
	shared.start("lr", "lr=2 seed=0")
	bird := sweep(canary)
	bird.start("lr", "lr=1 seed=0")
	old := sweep(canary)
	old.start("lr", "lr=1 seed=0")
	old.wait(4 * 60)
	bound := sweep(`{"limits": {"trial": "1h", "evaluate": "1h", "grace": "1s", "max_parallel": 1}}`)
	bound.start("lr", "lr=1 seed=0")
	retried := sweep(`{}`).fail("lr", "lr=1 seed=0", "exit", "exit 1", "")
	retried.events = retried.events[:len(retried.events)-1] // not given up
	second := sweep(canary).fail("lr", "lr=1 seed=0", "exit", "exit 1", "")
	second.start("lr", "lr=2 seed=0")
	second.wait(1)
	ran := sweep(canary).fail("lr", "lr=1 seed=0", "diverged", "nan", "")
	ran.start("lr", "lr=2 seed=0")

	for name, c := range map[string]struct {
		b    *builder
		want string
	}{
		"nothing is known":                     {sweep(`{}`), "unknown 4"},
		"a spec of another version":            {sweep(`[1]`), "unknown 4"},
		"all slots are taken":                  {full, "slot 2"},
		"one is prepared":                      {next, "slot 1, slot 1"},
		"all GPUs are taken":                   {gpus, "slot 2"},
		"two share a GPU":                      {shared, "unknown 2"},
		"the host is gone":                     {gone, "host 4"},
		"the canary goes ahead":                {bird, "canary 3"},
		"the canary has printed its objective": {printed, "unknown 3"},
		"the canary has lived long enough":     {old, "unknown 3"},
		"a second canary after a failure":      {second, "canary 2"},
		"the code runs, it diverged":           {ran, "unknown 2"},
		"as many as may":                       {bound, "max_parallel 3"},
		"one is tried again":                   {retried, "retry 1, unknown 3"},
	} {
		var got []string
		for _, w := range statusOf(c.b, 4711).Waiting {
			got = append(got, fmt.Sprintf("%s %d", w.Why, w.Count))
		}
		if text := strings.Join(got, ", "); text != c.want {
			t.Errorf("%s: %s, not %s", name, text, c.want)
		}
	}
	if w := statusOf(retried, 4711).Waiting[0]; w.Reason != "tried again in 30 s" || len(w.Next) != 1 {
		t.Errorf("%+v", w)
	}
	for _, w := range statusOf(full, 0).Waiting {
		if w.Why != report.WaitsInactive {
			t.Errorf("nobody works on it, and it waits because %s", w.Reason)
		}
	}
}

func TestStatusShowsTheNewestValueOfWhatRuns(t *testing.T) {
	b := newRun("now").sweep("lr", 1, "minimize val_loss", "lr=1,2")
	a := b.start("lr", "lr=1 seed=0")
	for step := range 5 {
		b.add(ledger.MetricValues{Attempt: a, Metric: "val_loss", Values: []ledger.MetricValue{{Value: 9, Step: ptr(ledger.Number(0))}, {Value: ledger.Number(step), Step: ptr(ledger.Number(10 * step))}}})
	}
	b.add(ledger.MetricValues{Attempt: a, Metric: "acc", Values: []ledger.MetricValue{{Value: 7}}})
	r := statusOf(b, 4711).Running
	if len(r) != 1 || *r[0].Objective != 4 || *r[0].Step != 40 || r[0].ForS != 90 || r[0].Host != "gpu-a" {
		t.Errorf("%+v", r)
	}
}

// A budget counts what ran, and status shows it as the budget counts it: in a small run and, by the ledger, in a large one.
func TestWhatWasTakenBackIsNotSpent(t *testing.T) {
	b := newRun("now").sweep("lr", 1, "minimize val_loss", "lr=1,2,3,4").ok("lr", "lr=1 seed=0", 1)
	b.fail("lr", "lr=2 seed=0", "exit", "no", "")
	taken := b.outcome(b.start("lr", "lr=3 seed=0"), 0)
	taken.State, taken.Started = ledger.Cancelled, nil
	b.add(taken).start("lr", "lr=4 seed=0")
	if st := statusOf(b, 1); st.Spent.Runs != 3 {
		t.Errorf("%d are spent, want 3", st.Spent.Runs)
	}
	l, run := b.ledger(t)
	if n, err := l.Attempts(t.Context(), run.ID); err != nil || n["lr"] != 3 {
		t.Errorf("%v, %v", n, err)
	}
}

func BenchmarkStatus(b *testing.B) {
	values := make([]string, 100_000)
	for i := range values {
		values[i] = fmt.Sprint(i)
	}
	w := newRun("many").sweep("lr", 1, "minimize val_loss", "lr="+strings.Join(values, ","))
	for i := range 50_000 {
		key := ledger.Key{Experiment: "lr", Trial: fmt.Sprintf("tl%02d", i)}
		f := w.outcome(ledger.Attempt{Key: key, Attempt: 1}, 1)
		f.Objective = ptr(ledger.Number(i % 977))
		w.add(f).add(ledger.TrialFinished{Key: key, State: ledger.Succeeded, Attempt: 1})
	}
	s := report.Newest()
	for _, e := range w.events {
		s.Apply(e)
	}
	b.ResetTimer()
	for b.Loop() {
		s.Status(report.StatusOptions{Now: w.at, PID: 1, RetryAfter: func(*plan.Experiment, []ledger.AttemptFinished) time.Duration { return 0 }})
	}
}
