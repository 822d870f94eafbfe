package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/xrun-dev/xrun/internal/hosts"
	"github.com/xrun-dev/xrun/internal/hosts/hosttest"
	"github.com/xrun-dev/xrun/internal/ledger"
	"github.com/xrun-dev/xrun/internal/plan"
)

// A lab is a state directory with a ledger, hosts that are scripted, and a spec, in a bubble of time.
type lab struct {
	t      *testing.T
	dir    string
	ledger *ledger.Ledger
	fakes  map[string]*hosttest.Fake
	hosts  map[string]Host
	spec   *plan.Spec
	fresh  bool
}

// inLab runs f in a bubble. The spec has one experiment, e, a sweep over x = 1 to n without a canary, changed by edits.
func inLab(t *testing.T, n int, edit func(*plan.Experiment), f func(*lab)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l := &lab{t: t, dir: t.TempDir(), fakes: map[string]*hosttest.Fake{}, hosts: map[string]Host{}, spec: &plan.Spec{}}
		var err error
		if l.ledger, err = ledger.Open(t.Context(), l.dir); err != nil {
			t.Fatal(err)
		}
		defer func() { // within the bubble: its goroutines must end there
			if err := l.ledger.Close(); err != nil {
				t.Error(err)
			}
		}()
		l.add(sweepOf("e", n, edit))
		f(l)
	})
}

func sweepOf(name string, n int, edit func(*plan.Experiment)) plan.Experiment {
	x := plan.Axis{Name: "x"}
	for i := range n {
		x.Values = append(x.Values, plan.IntValue(int64(i+1)))
	}
	e := plan.Experiment{
		Name: name, Command: []string{"train", "{params}"}, Set: map[string]bool{"sweep.canary": true},
		Objective: plan.Objective{Metric: "loss", Direction: "minimize"},
		Sweep:     &plan.Sweep{Grid: plan.Axes{x}, Canary: &plan.Canary{Off: true}},
	}
	if edit != nil {
		edit(&e)
	}
	return e
}

func (l *lab) add(e plan.Experiment) {
	l.spec.Experiments = append(l.spec.Experiments, e)
	l.spec.Fill()
}

// host adds a host whose jobs do what behave says.
func (l *lab) host(name string, slots int, behave func(job) hosttest.Script) *hosttest.Fake {
	f := hosttest.NewFake(name, slots, func(j hosts.Job) hosttest.Script { return behave(job{j}) })
	l.fakes[name], l.hosts[name] = f, f
	l.spec.Hosts = append(l.spec.Hosts, plan.Host{Name: name, Kind: "local", Slots: slots})
	l.spec.Fill()
	return f
}

type job struct{ hosts.Job }

// x is the parameter of the sweep.
func (j job) x() string {
	for _, a := range j.Argv {
		if v, ok := strings.CutPrefix(a, "x="); ok {
			return v
		}
	}
	return ""
}

// ok is a script that takes a minute and prints the objective at its end.
func ok(job) hosttest.Script {
	return hosttest.Script{Took: time.Minute, Later: []hosttest.Line{{After: 59 * time.Second, Text: "loss: 0.5\n"}}}
}

// fails is a script that ends with that exit status after a second.
func fails(code int, log string) func(job) hosttest.Script {
	return func(job) hosttest.Script { return hosttest.Script{Took: time.Second, Code: code, Log: log} }
}

func (l *lab) plan() *plan.Plan {
	l.t.Helper()
	h := plan.History{Results: func(yield func(plan.Past, error) bool) {
		for r, err := range l.ledger.Results(l.t.Context()) {
			if !yield(plan.Past{ID: r.Trial, State: string(r.State), Code: r.Code, DurationS: r.DurationS}, err) {
				return
			}
		}
	}}
	code := map[string]*plan.Manifest{}
	for _, e := range l.spec.Experiments {
		code[e.Name] = &plan.Manifest{ID: "code"}
	}
	p, err := plan.Build(plan.Basis{Spec: l.spec, History: h, Code: code, Fresh: l.fresh})
	if err != nil {
		l.t.Fatal(err)
	}
	return p
}

func (l *lab) config(id string) Config {
	l.t.Helper()
	return Config{
		Run: id, Plan: l.plan(), Spec: l.spec, Trees: map[string]hosts.Tree{"code": {ID: "code"}}, Hosts: l.hosts, Reusable: l.ledger.Reusable,
		State: l.dir, Record: l.ledger, Now: time.Now, Log: hclog.NewNullLogger(),
	}
}

func (l *lab) say(run string, bodies ...ledger.Body) {
	l.t.Helper()
	if err := l.ledger.Append(l.t.Context(), events(run, time.Now(), bodies...)...); err != nil {
		l.t.Fatal(err)
	}
}

// run does a whole new run.
func (l *lab) run(id string) Outcome {
	l.t.Helper()
	l.say(id, ledger.RunStarted{})
	return l.start(l.t.Context(), l.config(id))
}

func (l *lab) start(ctx context.Context, cfg Config) Outcome {
	l.t.Helper()
	out, err := Run(ctx, cfg)
	if err != nil {
		l.t.Fatal(err)
	}
	return out
}

// interrupted does a run that is interrupted after a while.
func (l *lab) interrupted(id string, after time.Duration) Outcome {
	l.t.Helper()
	l.say(id, ledger.RunStarted{})
	ctx, cancel := context.WithTimeout(l.t.Context(), after)
	defer cancel()
	return l.start(ctx, l.config(id))
}

// resume settles what is open and goes on with a run, as a process that takes it over.
func (l *lab) resume(id string) Outcome {
	l.t.Helper()
	cfg := l.config(id)
	cfg.Adopt = l.adopt()
	seen, err := Review(l.t.Context(), l.ledger, id)
	if err != nil {
		l.t.Fatal(err)
	}
	cfg.Seen = seen
	l.say(id, ledger.RunResumed{})
	return l.start(l.t.Context(), cfg)
}

func (l *lab) settlement() *Settlement {
	return &Settlement{Past: l.ledger, Record: l.ledger, State: l.dir, Now: time.Now, Host: func(name string) Host {
		if h, ok := l.hosts[name]; ok {
			return h
		}
		return nil
	}}
}

func (l *lab) settle() []ledger.OpenAttempt {
	l.t.Helper()
	running, err := l.settlement().Settle(l.t.Context())
	if err != nil {
		l.t.Fatal(err)
	}
	return running
}

// adopt settles what is open, and keeps of what still runs one attempt of each trial.
func (l *lab) adopt() map[string]ledger.OpenAttempt {
	l.t.Helper()
	out := map[string]ledger.OpenAttempt{}
	for _, o := range l.settle() {
		if _, taken := out[o.Trial]; !taken {
			out[o.Trial] = o
		} else if err := l.settlement().Stop(l.t.Context(), o, "one is enough"); err != nil {
			l.t.Fatal(err)
		}
	}
	return out
}

func (l *lab) events(run string) []ledger.Event {
	l.t.Helper()
	var out []ledger.Event
	for e, err := range l.ledger.Events(l.t.Context(), run) {
		if err != nil {
			l.t.Fatal(err)
		}
		out = append(out, e)
	}
	return out
}

// bodies are the bodies of one type of a run's events.
func bodies[B ledger.Body](l *lab, run string) []B {
	l.t.Helper()
	var out []B
	for _, e := range l.events(run) {
		if b, ok := e.Body.(B); ok {
			out = append(out, b)
		}
	}
	return out
}

// story is what became of each trial, in plan order: "1: failed exit on a" has a trial of x=1 that failed with cause
// exit after attempts on a alone; an attempt without an outcome is "?".
func (l *lab) story(run string) []string {
	l.t.Helper()
	type trial struct {
		name, end string
		hosts     []string
	}
	var order []*trial
	by := map[ledger.Key]*trial{}
	open := map[ledger.Attempt]bool{}
	for _, e := range l.events(run) {
		switch b := e.Body.(type) {
		case ledger.TrialPlanned:
			name := strings.Trim(string(b.Params), `{}"`)
			by[b.Key] = &trial{name: strings.TrimPrefix(name, `x":`)}
			order = append(order, by[b.Key])
		case ledger.AttemptIntended:
			by[b.Key].hosts = append(by[b.Key].hosts, b.Host)
			open[b.Attempt] = true
		case ledger.AttemptFinished:
			if !open[b.Attempt] {
				l.t.Errorf("attempt %d of %s ends twice, or before it begins", b.Attempt.Attempt, b.Trial)
			}
			delete(open, b.Attempt)
		case ledger.TrialFinished:
			if by[b.Key].end != "" {
				l.t.Errorf("trial %s has two ends", by[b.Key].name)
			}
			by[b.Key].end = strings.TrimSpace(string(b.State) + " " + b.Cause)
		}
	}
	for a := range open {
		by[a.Key].hosts = append(by[a.Key].hosts, "?")
	}
	var out []string
	for _, t := range order {
		s := t.name + ": " + t.end
		if len(t.hosts) > 0 {
			s += " on " + strings.Join(t.hosts, " ")
		}
		out = append(out, s)
	}
	return out
}

func (l *lab) want(run string, story ...string) {
	l.t.Helper()
	if diff := cmp.Diff(story, l.story(run)); diff != "" {
		l.t.Errorf("run %s:\n%s", run, diff)
	}
}

// started are the values of x in the order in which jobs came to a host.
func started(f *hosttest.Fake) string {
	var out []string
	for _, j := range f.Jobs() {
		out = append(out, job{j}.x())
	}
	return strings.Join(out, " ")
}

// most is the greatest number of attempts that were in flight at once, by the events of a run.
func (l *lab) most(run string, count func(ledger.Attempt) bool) int {
	l.t.Helper()
	n, most := 0, 0
	for _, e := range l.events(run) {
		switch b := e.Body.(type) {
		case ledger.AttemptIntended:
			if count(b.Attempt) {
				n++
			}
		case ledger.AttemptFinished:
			if count(b.Attempt) {
				n--
			}
		}
		most = max(most, n)
	}
	return most
}

func wantOutcome(t *testing.T, out Outcome, outcome string, code int) {
	t.Helper()
	if f := out.Finish(); f.Outcome != outcome || f.ExitCode != code {
		t.Errorf("outcome %s, exit %d; want %s, %d", f.Outcome, f.ExitCode, outcome, code)
	}
}

func sortedWords(s string) string {
	w := strings.Fields(s)
	slices.Sort(w)
	return strings.Join(w, " ")
}

func times(n int, format string) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf(format, i+1))
	}
	return out
}
