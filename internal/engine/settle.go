package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"github.com/xrun-dev/xrun/internal/hosts"
	"github.com/xrun-dev/xrun/internal/ledger"
	"github.com/xrun-dev/xrun/internal/plan"
)

// A Past is what earlier runs recorded.
type Past interface {
	OpenAttempts(context.Context) ([]ledger.OpenAttempt, error)
	Events(ctx context.Context, run string) iter.Seq2[ledger.Event, error]
}

// A Settlement looks after the attempts that dead runs left open. The caller holds the lock, so every run without an end
// is dead.
type Settlement struct {
	Past   Past
	Record Recorder
	// Host returns the host of that name as it can be reached now; nil if it cannot.
	Host  func(name string) Host
	State string
	// Redact takes secrets out of what is brought home; nil: there are none.
	Redact *Redactor
	Now    func() time.Time

	runs map[string]*recorded
}

// recorded is what is needed of a run to judge its attempts.
type recorded struct {
	experiments map[string]*plan.Experiment
	trials      map[ledger.Key]plan.Trial
	failed      map[ledger.Key]failures
	told        map[ledger.Attempt]map[string]int64
}

// tell notes which lines of a log are recorded.
func tell(told map[ledger.Attempt]map[string]int64, b ledger.MetricValues) {
	if told[b.Attempt] == nil {
		told[b.Attempt] = map[string]int64{}
	}
	if n := len(b.Values); n > 0 {
		told[b.Attempt][b.Metric] = b.Values[n-1].Line
	}
}

// Settle records the outcome of every open attempt that has ended meanwhile, and returns those that still run, or that
// nobody can tell about.
func (s *Settlement) Settle(ctx context.Context) (running []ledger.OpenAttempt, err error) {
	open, err := s.Past.OpenAttempts(ctx)
	if err != nil {
		return nil, err
	}
	for _, o := range open {
		h := s.Host(o.Host)
		if h == nil || alive(ctx, h, o.Job) {
			running = append(running, o)
			continue
		}
		if err := s.conclude(ctx, h, o); err != nil {
			return nil, fmt.Errorf("settle attempt %d of %s/%s of run %s: %w", o.Attempt.Attempt, o.Experiment, o.Trial, o.Run, err)
		}
	}
	return running, nil
}

// Stop ends an attempt that nobody wants any more.
func (s *Settlement) Stop(ctx context.Context, o ledger.OpenAttempt, reason string) error {
	h := s.Host(o.Host)
	if h == nil {
		return fmt.Errorf("host %s cannot be reached", o.Host)
	}
	if err := h.Stop(ctx, o.Job, reason); err != nil {
		return fmt.Errorf("stop %s on %s: %w", o.Job, o.Host, err)
	}
	return s.conclude(ctx, h, o)
}

// conclude waits for the end of an attempt and records it. Where the host is to blame, somebody stopped it, or the
// experiment asks for a retry, the trial stays open: a resume tries it again.
func (s *Settlement) conclude(ctx context.Context, h Host, o ledger.OpenAttempt) error {
	run, err := s.recorded(ctx, o.Run)
	if err != nil {
		return err
	}
	e, t := run.experiments[o.Experiment], run.trials[o.Key]
	if e == nil {
		return fmt.Errorf("the ledger does not tell what experiment %s is", o.Experiment)
	}
	a := newAttempt(o.Run, e, &t, o.Attempt.Attempt, o.Host)
	a.job = o.Job
	f := newFollower(a, s.Record, s.Redact, s.Now, nil)
	f.told = run.told[a.Attempt]
	f.rewind()
	out, err := f.follow(ctx, h, s.State)
	if err != nil {
		return err
	}
	bodies := append(f.series(), out)
	final := policy(Cause(out.Cause)).Blame == BlameCode || out.Cause == ""
	if final && !run.failed[o.Key].retries(e, out) {
		bodies = append(bodies, ledger.TrialFinished{Key: o.Key, State: out.State, Cause: out.Cause, Message: out.Message, Attempt: o.Attempt.Attempt})
	}
	if err := s.Record.Append(ctx, events(o.Run, s.Now(), bodies...)...); err != nil {
		return err
	}
	f.discard(h)
	return nil
}

func (s *Settlement) recorded(ctx context.Context, run string) (*recorded, error) {
	if r, ok := s.runs[run]; ok {
		return r, nil
	}
	r := &recorded{experiments: map[string]*plan.Experiment{}, trials: map[ledger.Key]plan.Trial{}, failed: map[ledger.Key]failures{}, told: map[ledger.Attempt]map[string]int64{}}
	for ev, err := range s.Past.Events(ctx, run) {
		if err != nil {
			return nil, err
		}
		switch b := ev.Body.(type) {
		case ledger.ExperimentPlanned:
			e, err := decodeExperiment(b)
			if err != nil {
				return nil, err
			}
			r.experiments[b.Name] = e
		case ledger.TrialPlanned:
			t := plan.Trial{ID: b.Trial, Seed: b.Seed, Code: b.Code}
			if err := json.Unmarshal(b.Params, &t.Params); err != nil {
				return nil, fmt.Errorf("event %d: %w", ev.Seq, err)
			}
			r.trials[b.Key] = t
		case ledger.MetricValues:
			tell(r.told, b)
		case ledger.AttemptFinished:
			r.failed[b.Key] = r.failed[b.Key].add(b)
		}
	}
	if s.runs == nil {
		s.runs = map[string]*recorded{}
	}
	s.runs[run] = r
	return r, nil
}

// decodeExperiment reads the experiment that an event recorded.
func decodeExperiment(b ledger.ExperimentPlanned) (*plan.Experiment, error) {
	e := &plan.Experiment{Set: map[string]bool{"limits.trial": !b.Limits.TrialDefault}}
	if err := json.Unmarshal(b.Spec, e); err != nil {
		return nil, fmt.Errorf("experiment %s: %w", b.Name, err)
	}
	return e, nil
}

// alive reports whether a job still runs or waits on its host.
func alive(ctx context.Context, h Host, job string) bool {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := &pulse{cancel: cancel}
	_, err := h.Watch(ctx, job, p)
	if p.timer != nil {
		p.timer.Stop()
	}
	return err != nil
}

// soon is within how long the end follows of a job that has ended.
const soon = 300 * time.Millisecond

// A pulse is an observer that has seen enough as soon as the job is not over. Of a job that is over a host tells first
// that it ran, without its process.
type pulse struct {
	cancel func()
	timer  *time.Timer
}

// Status implements hosts.Observer.
func (p *pulse) Status(s hosts.Status) {
	switch {
	case s.Phase == hosts.Ended:
	case s.Phase == hosts.Running && s.PID == 0 && p.timer == nil:
		p.timer = time.AfterFunc(soon, p.cancel)
	default:
		p.cancel()
	}
}

// Log implements hosts.Observer.
func (p *pulse) Log([]byte) {}

// handedOver is the outcome, for its old run, of an attempt that another run took over.
func handedOver(o *ledger.OpenAttempt, by string) ledger.AttemptFinished {
	return ledger.AttemptFinished{
		Attempt: o.Attempt, Host: o.Host, State: ledger.Superseded, Twin: true, Message: "goes on in run " + by,
		Metrics: map[string]ledger.Number{}, Picks: map[string]string{}, Artifacts: []string{}, Notes: []string{},
	}
}

// bounded reports whether a trial was not run because of a deadline or a budget.
func bounded(cause string) bool {
	return cause == string(CauseDeadline) || cause == string(CauseBudget)
}
