package report_test

import (
	"encoding/json"
	"fmt"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/xrun-dev/xrun/internal/ledger"
	"github.com/xrun-dev/xrun/internal/plan"
)

// builder writes the ledger of a run in a few lines. Time passes only where a test says so.
type builder struct {
	run    string
	at     time.Time
	events []ledger.Event
	specs  map[string]*spec
}

// spec is one experiment with its trials by "lr=0.1 batch=32 seed=1".
type spec struct {
	name   string
	trials map[string]ledger.TrialPlanned
	order  []string
}

func ptr[T any](v T) *T { return &v }

func newRun(id string) *builder {
	b := &builder{run: id, at: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), specs: map[string]*spec{}}
	return b.add(ledger.RunStarted{
		Command: []string{"xrun", "run", "exp/"}, Dir: "/home/ann/model", Paths: []string{"exp/"}, XrunVersion: "0.1.0",
		PlanDigest: "p-" + id, Spec: []ledger.SourceFile{{File: "exp/lr.cue", SHA256: strings.Repeat("ab", 32)}},
		Commit: ptr("0123456789abcdef0123456789abcdef01234567"), Dirty: ptr(false), HostUser: "ann@laptop",
	}).add(ledger.HostState{
		Host: "gpu-a", Kind: "ssh", Slots: 2, State: "serving",
		GPUs: []ledger.GPU{{UUID: "GPU-1", Model: "NVIDIA A100"}, {UUID: "GPU-2", Model: "NVIDIA A100"}},
	})
}

func (b *builder) add(body ledger.Body) *builder {
	e := ledger.New(b.run, b.at, body)
	e.Seq = int64(len(b.events) + 1)
	b.events = append(b.events, e)
	return b
}

func (b *builder) wait(seconds float64) *builder {
	b.at = b.at.Add(time.Duration(seconds * float64(time.Second)))
	return b
}

// axis is "lr=0.1,0.01".
func axis(s string) ledger.Axis {
	name, values, _ := strings.Cut(s, "=")
	a := ledger.Axis{Name: name, Values: strings.Split(values, ","), Ordered: true}
	for _, v := range a.Values {
		if _, err := plan.NumberValue(v); err != nil {
			a.Ordered = false
		}
	}
	return a
}

func value(text string) plan.Value {
	if v, err := plan.NumberValue(text); err == nil {
		return v
	}
	return plan.StringValue(text)
}

// sweep plans the product of axes with seeds 0 to seeds-1, or, without axes, one point.
func (b *builder) sweep(name string, seeds int, objective string, axes ...string) *builder {
	points := []plan.Params{{}}
	var as []ledger.Axis
	for _, s := range axes {
		a := axis(s)
		as = append(as, a)
		var longer []plan.Params
		for _, p := range points {
			for _, v := range a.Values {
				longer = append(longer, append(p[:len(p):len(p)], plan.Param{Name: a.Name, Value: value(v)}))
			}
		}
		points = longer
	}
	return b.plan(name, seeds, objective, as, points)
}

func (b *builder) plan(name string, seeds int, objective string, axes []ledger.Axis, points []plan.Params) *builder {
	direction, metric, _ := strings.Cut(objective, " ")
	kind := "sweep"
	if len(axes) == 0 {
		kind = "single"
	}
	s := &spec{name: name, trials: map[string]ledger.TrialPlanned{}}
	b.specs[name] = s
	b.add(ledger.ExperimentPlanned{
		Name: name, Kind: kind, Axes: axes, Code: "c0de", Trials: seeds * len(points), Metrics: []string{"acc"},
		Objective: ledger.Objective{Metric: metric, Direction: direction, Pick: "last"},
		Limits:    ledger.Limits{TrialS: 6 * 3600, TrialDefault: true}, Hosts: []string{"gpu-a"}, Spec: json.RawMessage("{}"),
	})
	for _, p := range points {
		for seed := range seeds {
			key := strings.TrimSpace(fmt.Sprintf("%s seed=%d", p, seed))
			raw, _ := json.Marshal(p)
			argv := []string{"python", "train.py"}
			for _, x := range p {
				argv = append(argv, "--"+x.Name+"="+x.Value.Text())
			}
			t := ledger.TrialPlanned{
				Key:   ledger.Key{Experiment: name, Trial: fmt.Sprintf("t%s%02d", name[:1], len(s.order))},
				Index: len(s.order), Params: raw, Seed: int64(seed), Code: "c0de", Why: "new",
				Command: append(argv, fmt.Sprintf("--seed=%d", seed)),
			}
			s.trials[key] = t
			s.order = append(s.order, key)
		}
	}
	for _, key := range s.order {
		b.add(s.trials[key])
	}
	return b
}

// id is that of a trial.
func (b *builder) id(name, key string) string { return b.specs[name].trials[key].Trial }

// ledger stores the run.
func (b *builder) ledger(t testing.TB) (*ledger.Ledger, ledger.Run) {
	t.Helper()
	l, err := ledger.Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := l.Append(t.Context(), b.events...); err != nil {
		t.Fatal(err)
	}
	run, err := l.Find(t.Context(), b.run)
	if err != nil {
		t.Fatal(err)
	}
	return l, run
}

// start begins the first attempt of a trial; its key is "lr=0.1 batch=32 seed=1".
func (b *builder) start(name, key string) ledger.Attempt {
	t, ok := b.specs[name].trials[key]
	if !ok {
		panic("no trial " + key)
	}
	n := 1
	for _, e := range b.events {
		if i, ok := e.Body.(ledger.AttemptIntended); ok && i.Key == t.Key {
			n++
		}
	}
	a := ledger.Attempt{Key: t.Key, Attempt: n}
	b.add(ledger.AttemptIntended{Attempt: a, Host: "gpu-a", Job: fmt.Sprint(t.Trial, n)})
	b.wait(1).add(ledger.AttemptStarted{Attempt: a, PID: 4711, GPUs: []ledger.GPU{{UUID: "GPU-1", Model: "NVIDIA A100"}}})
	return a
}

// outcome is how an attempt ended, with the parts that every one has.
func (b *builder) outcome(a ledger.Attempt, seconds float64) ledger.AttemptFinished {
	dir := path.Join("runs", b.run, a.Experiment, "dir-"+a.Trial, fmt.Sprintf("attempt-%d", a.Attempt))
	return ledger.AttemptFinished{
		Attempt: a, Host: "gpu-a", State: ledger.Succeeded, ExitCode: ptr(0), DurationS: seconds, Log: path.Join(dir, "log"),
		Started: ptr(b.at),
	}
}

// ok runs a trial to a value.
func (b *builder) ok(name, key string, v float64) *builder {
	a := b.start(name, key)
	for step := range 3 {
		b.add(ledger.MetricValues{Attempt: a, Metric: "val_loss", Values: []ledger.MetricValue{
			{Value: ledger.Number(v + float64(2-step)), Step: ptr(ledger.Number(step)), Line: int64(10 * step)},
		}})
	}
	f := b.wait(600).outcome(a, 600)
	f.Objective = ptr(ledger.Number(v))
	f.Metrics = map[string]ledger.Number{"val_loss": ledger.Number(v), "acc": ledger.Number(1 - v/2)}
	f.Artifacts = []string{"model.pt"}
	b.add(f)
	return b.add(ledger.TrialFinished{Key: a.Key, State: ledger.Succeeded, Attempt: a.Attempt})
}

// fail runs a trial to a failure; change may say more of it.
func (b *builder) fail(name, key, cause, message, excerpt string, change ...func(*ledger.AttemptFinished)) *builder {
	a := b.start(name, key)
	f := b.wait(12).outcome(a, 12)
	f.State, f.Cause, f.Message, f.Excerpt, f.ExitCode = ledger.Failed, cause, message, excerpt, ptr(1)
	f.Signature = cause + "/" + message
	for _, c := range change {
		c(&f)
	}
	b.add(f)
	return b.add(ledger.TrialFinished{Key: a.Key, State: ledger.Failed, Cause: cause, Message: message, Attempt: a.Attempt})
}

// reuse takes a value from an earlier run.
func (b *builder) reuse(name, key, run string, v float64) *builder {
	k := b.specs[name].trials[key].Key
	f := (&builder{run: run}).outcome(ledger.Attempt{Key: k, Attempt: 1}, 600)
	f.Started = nil
	f.Objective = ptr(ledger.Number(v))
	f.Metrics = map[string]ledger.Number{"val_loss": ledger.Number(v)}
	return b.add(ledger.TrialFinished{Key: k, State: ledger.Reused, Reused: &ledger.ReusedFrom{Run: run, Outcome: f}})
}

// skip ends a trial that never ran.
func (b *builder) skip(name, key, cause, message string) *builder {
	return b.add(ledger.TrialFinished{Key: b.specs[name].trials[key].Key, State: ledger.NotRun, Cause: cause, Message: message})
}

// done ends the run.
func (b *builder) done(outcome string, code int) *builder {
	for _, name := range []string{"lr", "names", "train"} {
		if b.specs[name] != nil {
			b.add(ledger.ExperimentFinished{Name: name})
		}
	}
	return b.wait(2).add(ledger.RunFinished{Outcome: outcome, ExitCode: code})
}
