package report

import (
	"slices"
	"time"

	"github.com/xrun-dev/xrun/internal/ledger"
	"github.com/xrun-dev/xrun/internal/plan"
)

// State is what the events of one run say so far. The zero State knows nothing yet. It takes any prefix of a run's
// events, and events whose beginnings are missing: a run that was killed still has a report.
type State struct {
	noSeries    bool     // of metrics by step: for one that follows a run to its end
	newest      bool     // value of each metric alone, and of what runs
	brief       bool     // of a trial only what names it and, in the end, its state and cause
	command     []string // of the newest process
	run         string
	started     *ledger.RunStarted
	startedAt   time.Time
	lastAt      time.Time
	segment     time.Time // when the process that wrote the newest events began
	past        []stretch // the processes before it
	finished    *ledger.RunFinished
	finishedAt  time.Time
	interrupted *ledger.RunInterrupted
	skipped     *ledger.RunSkipped
	imported    *ledger.RunImported
	resumed     int
	planDigest  string
	experiments []*experiment
	hosts       []*host
	warnings    []string
	turns       int
	usage       ledger.Usage
}

type experiment struct {
	name       string
	planned    *ledger.ExperimentPlanned
	trials     []*trial
	byID       map[string]*trial
	iterations []ledger.IterationFinished
	finished   *ledger.ExperimentFinished
	result     bool  // of a trial that was forgotten
	part       *part // of what trials does not have; nil where it has them all
}

// undeclared is how many trials the plan has beyond those that the record knows: a large plan is recorded while its first
// trials run.
func (x *experiment) undeclared() int {
	if x.planned == nil {
		return 0
	}
	known := len(x.trials)
	if x.part != nil {
		known = x.part.declared()
	}
	return max(0, x.planned.Trials-known)
}

type host struct {
	name    string
	state   ledger.HostState // the newest
	changes []hostChange
}

// stretch is a time in which one process of xrun worked on the run.
type stretch struct{ from, to time.Time }

type hostChange struct {
	at    time.Time
	state string
}

// WithoutSeries is a State that forgets the values of metrics by step: for who needs only how each trial ended.
func WithoutSeries() *State { return &State{noSeries: true} }

// Fold is the State that events leave.
func Fold(events []ledger.Event) *State {
	s := new(State)
	for _, e := range events {
		s.Apply(e)
	}
	return s
}

// Apply adds one event. Events come in the order of the ledger; those of other runs than the first one's are ignored.
func (s *State) Apply(e ledger.Event) {
	if s.run != "" && e.Run != s.run {
		return
	}
	s.run = e.Run
	if b, ok := e.Body.(ledger.RunImported); ok {
		s.imported = &b // of now; the run was then
		return
	}
	if s.startedAt.IsZero() {
		s.startedAt, s.segment = e.At, e.At
	}
	switch b := e.Body.(type) {
	case ledger.RunStarted:
		s.started, s.planDigest, s.command = &b, b.PlanDigest, b.Command
		s.warn(b.Warnings...)
	case ledger.RunResumed:
		s.resume(e.At, b)
	case ledger.RunInterrupted:
		s.interrupted = &b
	case ledger.RunFinished:
		s.finished, s.finishedAt, s.interrupted = &b, e.At, nil
	case ledger.RunSkipped:
		s.skipped = &b
	case ledger.ExperimentPlanned:
		s.experiment(b.Name).planned = &b
	case ledger.ExperimentFinished:
		s.experiment(b.Name).finished = &b
	case ledger.HostState:
		h := s.host(b.Host)
		h.state = b
		h.changes = append(h.changes, hostChange{e.At, b.State})
	case ledger.Warning:
		s.warn(b.Message)
	case ledger.IterationFinished:
		x := s.experiment(b.Experiment)
		x.iterations = append(x.iterations, b)
	case ledger.TurnFinished:
		s.charge(b.Usage)
	default:
		s.applyTrial(e)
	}
	if e.At.After(s.lastAt) {
		s.lastAt = e.At
	}
}

// resume begins another stretch of work. The time between it and the last event before is nobody's work.
func (s *State) resume(at time.Time, b ledger.RunResumed) {
	s.past = append(s.past, stretch{s.segment, s.lastAt})
	s.segment, s.interrupted, s.finished, s.command = at, nil, nil, b.Command
	s.resumed++
	s.planDigest = b.PlanDigest
	for _, x := range s.experiments {
		for _, t := range x.trials {
			if f := t.finished; f != nil && f.State == ledger.NotRun && (f.Cause == "deadline" || f.Cause == "budget") {
				t.finished = nil // it gets another chance
			}
		}
	}
	if len(b.Accepted) > 0 {
		for _, a := range b.Accepted {
			s.warn("resumed with a changed spec: " + a)
		}
	}
}

func (s *State) warn(messages ...string) {
	for _, m := range messages {
		if !slices.Contains(s.warnings, m) {
			s.warnings = append(s.warnings, m)
		}
	}
}

func (s *State) charge(u ledger.Usage) {
	s.turns++
	s.usage.Input += u.Input
	s.usage.Cached += u.Cached
	s.usage.Output += u.Output
	s.usage.Reasoning += u.Reasoning
	if u.USD != nil {
		sum := *u.USD
		if s.usage.USD != nil {
			sum += *s.usage.USD
		}
		s.usage.USD = &sum
	}
}

// experiment finds an experiment, or makes it: its plan may be what is missing.
func (s *State) experiment(name string) *experiment {
	for _, x := range s.experiments {
		if x.name == name {
			return x
		}
	}
	x := &experiment{name: name, byID: map[string]*trial{}}
	s.experiments = append(s.experiments, x)
	return x
}

func (s *State) host(name string) *host {
	for _, h := range s.hosts {
		if h.name == name {
			return h
		}
	}
	h := &host{name: name}
	s.hosts = append(s.hosts, h)
	return h
}

// stretches are the times in which xrun worked on the run.
func (s *State) stretches() []stretch {
	end := s.lastAt
	if s.finished != nil {
		end = s.finishedAt
	}
	return append(slices.Clip(s.past), stretch{s.segment, end})
}

// wall is how long xrun worked on the run, all its processes together.
func (s *State) wall() time.Duration {
	var sum time.Duration
	for _, x := range s.stretches() {
		sum += max(0, x.to.Sub(x.from))
	}
	return sum
}

// complete reports whether the run ended by itself.
func (s *State) complete() bool { return s.finished != nil }

// Run is the id of the run; empty before its first event.
func (s *State) Run() string { return s.run }

// Process is the command of the newest process that worked on the run, and when it began.
func (s *State) Process() (command []string, since time.Time) { return s.command, s.segment }

// direction of an experiment that may not have been planned.
func (x *experiment) objective() ledger.Objective {
	if x.planned == nil {
		return ledger.Objective{}
	}
	return x.planned.Objective
}

func (x *experiment) maximize() bool { return x.objective().Direction == "maximize" }

func (x *experiment) kind() string {
	if x.planned == nil {
		return plan.KindSweep
	}
	return x.planned.Kind
}
