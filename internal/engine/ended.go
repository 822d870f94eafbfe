package engine

import (
	"fmt"

	"github.com/xrun-dev/xrun/internal/ledger"
)

// An Outcome is how a run, or this process's part of it, ended.
type Outcome struct {
	Interrupted bool
	// Left are the attempts that were left running, by host.
	Left map[string][]ledger.Attempt
	// Counts are the trials by final state.
	Counts map[ledger.State]int
	// Results is the number of experiments with at least one result.
	Results int
	// NoHost: no trial could be started because no host could be used.
	NoHost bool
	// Ended is the bound that ended the run before it was complete, budget or deadline, and Why the words for it.
	Ended Cause
	Why   string
}

// Total is the number of trials.
func (o Outcome) Total() int {
	n := 0
	for _, c := range o.Counts {
		n += c
	}
	return n
}

// Exit codes of a run that came to its end, as documented.
const (
	ExitDone        = 0
	ExitSomeFailed  = 3
	ExitNothing     = 4
	ExitNoHost      = 6
	ExitBound       = 7
	ExitInterrupted = 130
)

// Finish is the event that ends the run, with its exit code.
func (o Outcome) Finish() ledger.RunFinished {
	ok := o.Counts[ledger.Succeeded] + o.Counts[ledger.Reused] + o.Counts[ledger.StoppedEarly]
	switch {
	case o.NoHost:
		return ledger.RunFinished{Outcome: "no_host", ExitCode: ExitNoHost, Reason: "no host could be used"}
	case o.Ended != "":
		return ledger.RunFinished{Outcome: string(o.Ended), ExitCode: ExitBound, Reason: o.Why}
	case o.Total() > 0 && o.Results == 0:
		return ledger.RunFinished{Outcome: "nothing_usable", ExitCode: ExitNothing, Reason: "no experiment has a result"}
	case ok < o.Total():
		return ledger.RunFinished{Outcome: "some_failed", ExitCode: ExitSomeFailed, Reason: fmt.Sprintf("%d of %d trials have no result", o.Total()-ok, o.Total())}
	}
	return ledger.RunFinished{Outcome: "done", ExitCode: ExitDone}
}

func (r *run) outcome() Outcome {
	o := Outcome{Left: r.left, Counts: map[ledger.State]int{}, Interrupted: r.stopping && (len(r.left) > 0 || !r.exhausted())}
	refused := true
	for _, e := range r.experiments {
		for s, n := range e.counts {
			o.Counts[s] += n
		}
		if e.counts[ledger.Succeeded]+e.counts[ledger.Reused] > 0 {
			o.Results++
		}
		refused = refused && (e.noHost || e.total() == 0)
	}
	o.NoHost = refused && o.Total() > 0
	if r.bound.hit {
		o.Ended, o.Why = r.bound.cause, r.bound.reason
	}
	return o
}
