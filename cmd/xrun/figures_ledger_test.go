package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/xrun-dev/xrun/internal/ledger"
	"github.com/xrun-dev/xrun/internal/plan"
)

// asVersion is what a command may take that only looks something up: three times as long as `xrun version`.
const asVersion = 3 * 15 * time.Millisecond

// ledgerFigures are of commands that read a ledger.
func ledgerFigures(b *testing.B, dir string) []figure {
	b.Helper()
	small, large := resultState(b, dir, 10_000), resultState(b, dir, 100_000)
	figures := []figure{
		{what: "report, a run of 10,000 trials", args: []string{"report", "-q", "--state", small}, wall: time.Second},
		{what: "report, a run of 100,000 trials", args: []string{"report", "-q", "--state", large}, wall: 12 * time.Second, extra: 600},
		{what: "show RUN/EXPERIMENT, 10,000 trials", args: []string{"show", "last/wide", "--state", small}, wall: time.Second},
	}
	for _, args := range [][]string{
		{"runs"},
		{"show", "last"},
		{"show", "last/wide/lr=0.01,batch=5000"},
		{"status"},
	} {
		f := figure{what: fmt.Sprintf("%s, a run of 100,000 trials", args[0]), args: append(args, "--state", large), wall: asVersion}
		switch {
		case args[0] == "status": // reads every trial that failed
			f.wall = 150 * time.Millisecond
		case len(args) == 2 && args[1] != "last": // looks at the parameters of every trial
			f.what, f.wall = "show RUN/EXPERIMENT/name=value, a run of 100,000 trials", 100*time.Millisecond
		}
		figures = append(figures, f)
	}
	return figures
}

// resultState is a state directory with one run of n trials of which one in 500 failed.
func resultState(b *testing.B, dir string, n int) string {
	b.Helper()
	state := filepath.Join(dir, fmt.Sprintf("results-%d", n))
	if err := makeState(state); err != nil {
		b.Fatal(err)
	}
	l, err := ledger.Open(b.Context(), state)
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var events []ledger.Event
	add := func(least int, bodies ...ledger.Body) {
		for _, body := range bodies {
			at = at.Add(time.Millisecond)
			events = append(events, ledger.New("20260101-aaaa", at, body))
		}
		if len(events) < least {
			return
		}
		if err := l.Append(b.Context(), events...); err != nil {
			b.Fatal(err)
		}
		events = events[:0]
	}
	rates := []string{"0.1", "0.01", "0.001", "0.0001"}
	x := ledger.ExperimentPlanned{
		Name: "wide", Kind: plan.KindSweep, Objective: ledger.Objective{Metric: "acc", Direction: "maximize"}, Trials: n, Hosts: []string{"local"}, Spec: json.RawMessage(`{}`),
		Axes: []ledger.Axis{{Name: "lr", Values: rates, Ordered: true}, {Name: "batch", Ordered: true}},
	}
	for i := range n / len(rates) {
		x.Axes[1].Values = append(x.Axes[1].Values, fmt.Sprint(i))
	}
	add(0, ledger.RunStarted{Command: []string{"xrun", "run"}}, x, ledger.HostState{Host: "local", Kind: "local", Slots: 8, State: "serving"})
	for i := range n {
		add(4000, wideTrial(i, rates[i%len(rates)], i/len(rates)))
	}
	for i := range n {
		add(4000, wideResult(i, n, at)...)
	}
	add(0, ledger.ExperimentFinished{Name: "wide", StopReason: "complete"}, ledger.RunFinished{Outcome: "some_failed", ExitCode: 3})
	return state
}

// wideKey names the i-th trial. Ids are hashes: they come in no order.
func wideKey(i int) ledger.Key {
	return ledger.Key{Experiment: "wide", Trial: fmt.Sprintf("%08x%05d", uint32(i)*2654435761, i)}
}

func wideTrial(i int, rate string, batch int) ledger.TrialPlanned {
	hash := func(s string) string { return fmt.Sprintf("%s-%027d", s, i) }
	return ledger.TrialPlanned{
		Key: wideKey(i), Index: i, Params: fmt.Appendf(nil, `{"lr":%s,"batch":%d,"model":"base"}`, rate, batch), Point: hash("point"), Code: "code", Why: "new",
		Command: []string{"python", "train.py", "--lr=" + rate, fmt.Sprintf("--batch=%d", batch)},
		Parts:   map[string]string{"code": hash("code"), "command": hash("cmnd"), "params": hash("prms"), "seed": hash("seed"), "env": hash("envs")},
	}
}

// wideResult is how the i-th of n trials went.
func wideResult(i, n int, at time.Time) []ledger.Body {
	k := wideKey(i)
	a := ledger.Attempt{Key: k, Attempt: 1}
	v := ledger.Number(float64(i*7919%n) / float64(n))
	f := ledger.AttemptFinished{
		Attempt: a, Host: "local", State: ledger.Succeeded, ExitCode: new(int), Started: &at, DurationS: 0.0123, Objective: &v, Metrics: map[string]ledger.Number{"acc": v, "loss": v},
		Log: "runs/20260101-aaaa/wide/" + k.Trial + "/attempt-1/log",
	}
	end := ledger.TrialFinished{Key: k, State: ledger.Succeeded, Attempt: 1}
	if i%500 == 77 {
		f.State, f.Cause, f.Message, f.Objective, f.Metrics = ledger.Failed, "exit", "exit status 1", nil, nil
		f.Signature, f.Excerpt = fmt.Sprintf("exit 1: boom %d", i%3), "boom\n"
		end.State, end.Cause, end.Message = ledger.Failed, "exit", "exit status 1"
	}
	return []ledger.Body{
		ledger.AttemptIntended{Attempt: a, Host: "local", Job: fmt.Sprint("job", i), JobDir: fmt.Sprint("/home/ann/model/.xrun/jobs/job", i)},
		ledger.AttemptStarted{Attempt: a, PID: i, At: &at},
		ledger.MetricValues{Attempt: a, Metric: "acc", Values: []ledger.MetricValue{{Value: v, Line: 1}}},
		f, end,
	}
}
