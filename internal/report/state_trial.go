package report

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/xrun-dev/xrun/internal/ledger"
	"github.com/xrun-dev/xrun/internal/plan"
)

// trial is one trial of the run, with its attempts in order.
type trial struct {
	key      ledger.Key
	planned  *ledger.TrialPlanned
	params   plan.Params
	attempts []*attempt
	finished *ledger.TrialFinished
}

type attempt struct {
	n        int
	host     string
	begun    time.Time // when it was intended or, better, started; by our clock
	ended    time.Time // zero while it runs
	gpus     []ledger.GPU
	passing  ledger.State // what the newest passing event says
	reason   string
	series   []ledger.MetricValues // one per metric, in order of first appearance
	finished *ledger.AttemptFinished
	adopted  string // the run that started it, if this one took it over
}

func (s *State) applyTrial(e ledger.Event) {
	switch b := e.Body.(type) {
	case ledger.TrialPlanned:
		t := s.trial(b.Key)
		b.Parts, b.Point = nil, "" // nobody asks for them, and there may be many trials
		t.planned = &b
		if s.brief {
			t.planned = &ledger.TrialPlanned{Key: b.Key, Index: b.Index, Seed: b.Seed}
		}
		// What cannot be read as parameters is shown as one.
		if err := json.Unmarshal(b.Params, &t.params); err != nil && len(b.Params) > 0 {
			t.params = plan.Params{{Name: "params", Value: plan.StringValue(string(b.Params))}}
		}
		b.Params = nil
	case ledger.AttemptIntended:
		a := s.attempt(b.Attempt)
		a.host, a.begun, a.passing, a.adopted = b.Host, e.At, ledger.Staging, b.Adopted
		s.host(b.Host)
	case ledger.AttemptStarted:
		a := s.attempt(b.Attempt)
		a.begun, a.gpus, a.passing = e.At, b.GPUs, ledger.Running
	case ledger.AttemptState:
		a := s.attempt(b.Attempt)
		a.passing, a.reason = b.State, b.Reason
	case ledger.MetricValues:
		switch a := s.attempt(b.Attempt); {
		case s.newest:
			a.renew(b)
		case !s.noSeries:
			a.record(b)
		}
	case ledger.AttemptFinished:
		a := s.attempt(b.Attempt)
		b.Picks = nil // nobody asks for them
		a.finished, a.ended = &b, e.At
		if s.newest {
			a.series = nil
		}
		if b.Host != "" {
			a.host = b.Host
			s.host(b.Host)
		}
	case ledger.TrialFinished:
		s.trial(b.Key).finished = &b
	}
}

// forget leaves of a trial that has ended how it ended.
func (s *State) forget(t *trial) {
	cause, _ := t.cause()
	if _, ok := t.value(); ok {
		s.experiment(t.key.Experiment).result = true
	}
	t.finished = &ledger.TrialFinished{Key: t.key, State: t.finished.State, Cause: cause}
	t.planned, t.params, t.attempts = nil, nil, nil
}

func (s *State) trial(k ledger.Key) *trial {
	x := s.experiment(k.Experiment)
	t := x.byID[k.Trial]
	if t == nil {
		t = &trial{key: k}
		x.byID[k.Trial] = t
		x.trials = append(x.trials, t)
	}
	return t
}

func (s *State) attempt(k ledger.Attempt) *attempt {
	t := s.trial(k.Key)
	for _, a := range t.attempts {
		if a.n == k.Attempt {
			return a
		}
	}
	a := &attempt{n: k.Attempt, passing: ledger.Queued}
	t.attempts = append(t.attempts, a)
	return a
}

func (a *attempt) record(v ledger.MetricValues) {
	for i := range a.series {
		if a.series[i].Metric == v.Metric {
			a.series[i].Values = append(a.series[i].Values, v.Values...)
			return
		}
	}
	v.Values = append([]ledger.MetricValue(nil), v.Values...)
	a.series = append(a.series, v)
}

// renew keeps the newest value alone.
func (a *attempt) renew(v ledger.MetricValues) {
	if len(v.Values) == 0 {
		return
	}
	v.Values = []ledger.MetricValue{v.Values[len(v.Values)-1]}
	if i := slices.IndexFunc(a.series, func(s ledger.MetricValues) bool { return s.Metric == v.Metric }); i >= 0 {
		a.series[i] = v
		return
	}
	a.series = append(a.series, v)
}

// seconds is how long the attempt held its slot, as far as the record goes.
func (a *attempt) seconds(until time.Time) float64 {
	switch {
	case a.finished != nil:
		return a.finished.DurationS
	case a.begun.IsZero() || until.Before(a.begun) || a.passing == ledger.Staging:
		return 0
	}
	return until.Sub(a.begun).Seconds()
}

// state is where the trial stands, passing states included.
func (t *trial) state() ledger.State {
	if t.finished != nil {
		return t.finished.State
	}
	a := t.last()
	switch {
	case a == nil:
		return ledger.Queued
	case a.finished == nil:
		return a.passing
	case a.finished.State == ledger.Superseded:
		return ledger.Unknown
	case a.finished.State == ledger.Cancelled:
		return ledger.Queued // taken back before it ran, because xrun was leaving
	}
	return a.finished.State
}

// final is the state that report.json gives: a trial that the record leaves under way counts as lost, one that was
// never attempted as not run.
func (t *trial) final() ledger.State {
	switch st := t.state(); {
	case st == ledger.Queued:
		return ledger.NotRun
	case !st.Final():
		return ledger.Lost
	default:
		return st
	}
}

// underway reports whether the record ends before the trial does, after it was begun.
func (t *trial) underway() bool { return t.finished == nil && t.final() == ledger.Lost }

func (t *trial) last() *attempt {
	if len(t.attempts) == 0 {
		return nil
	}
	return t.attempts[len(t.attempts)-1]
}

// counted is the attempt whose result counts: the one that TrialFinished names, else the last.
func (t *trial) counted() *attempt {
	if t.finished != nil && t.finished.Attempt > 0 {
		for _, a := range t.attempts {
			if a.n == t.finished.Attempt {
				return a
			}
		}
	}
	if t.finished == nil && t.state() == ledger.Queued {
		return nil // what was begun was taken back
	}
	return t.last()
}

// outcome is the result that counts, of this run or the one it is reused from; nil if there is none.
func (t *trial) outcome() *ledger.AttemptFinished {
	if t.finished != nil && t.finished.Reused != nil {
		return &t.finished.Reused.Outcome
	}
	if a := t.counted(); a != nil {
		return a.finished
	}
	return nil
}

// series are the values by step that belong to outcome.
func (t *trial) series() []ledger.MetricValues {
	if t.finished != nil && t.finished.Reused != nil {
		return t.finished.Reused.Series
	}
	if a := t.counted(); a != nil {
		return a.series
	}
	return nil
}

// value is the objective of a trial that succeeded; ok is false if it has none that counts.
func (t *trial) value() (v float64, ok bool) {
	if st := t.final(); st != ledger.Succeeded && st != ledger.Reused {
		return 0, false
	}
	o := t.outcome()
	if o == nil || o.Objective == nil {
		return 0, false
	}
	v = float64(*o.Objective)
	return v, !math.IsNaN(v) && !math.IsInf(v, 0)
}

// cause and message say why a trial has no result, in the glossary's word and in a sentence.
func (t *trial) cause() (cause, message string) {
	if f := t.finished; f != nil {
		cause, message = f.Cause, f.Message
	}
	if o := t.outcome(); o != nil && t.final() != ledger.Succeeded && t.final() != ledger.Reused {
		if cause == "" {
			cause = o.Cause
		}
		if message == "" {
			message = o.Message
		}
	}
	if t.finished == nil && message == "" {
		switch a := t.last(); {
		case a == nil:
			message = "not started when the record ends"
		case a.finished == nil && a.passing == ledger.Unknown:
			message = fmt.Sprintf("%s did not answer when the record ends: %s", a.host, a.reason)
		case a.finished == nil:
			message = fmt.Sprintf("%s on %s when the record ends", a.passing, a.host)
		}
	}
	return cause, message
}

func (t *trial) seed() int64 {
	if t.planned == nil {
		return 0
	}
	return t.planned.Seed
}

// name is what a person calls the trial: its parameters, cut in the middle where they are long, and its seed.
func (t *trial) name() string {
	if t.planned == nil {
		return t.key.Trial
	}
	if len(t.params) == 0 {
		return fmt.Sprintf("seed=%d", t.planned.Seed)
	}
	return fmt.Sprintf("%s seed=%d", squeeze(t.params.String(), nameLimit), t.planned.Seed)
}
