package engine

import (
	"fmt"
	"slices"
	"time"

	"github.com/xrun-dev/xrun/internal/ledger"
	"github.com/xrun-dev/xrun/internal/plan"
)

// Bounds end a run before it is complete: nothing new is started once one is reached, what runs is left to end.
type Bounds struct {
	// Deadline is when nothing new is started any more, and up to when what is started is expected to end; zero: none.
	Deadline time.Time
	// Budget is of the whole run; nil: none. Its tokens and dollars are those of agents.
	Budget *plan.Budget
	// Before is what earlier processes of the run spent.
	Before Spent
}

// Spent is what a run has cost.
type Spent struct {
	Wall     time.Duration // in which xrun worked on it
	GPUHours float64
	Runs     int // attempts that were handed over and not taken back
}

// A bound is the state of the bounds of a run, in the hands of its scheduler.
type bound struct {
	Bounds
	began    time.Time
	spent    Spent
	cause    Cause // why nothing is started any more; "" while it is
	reason   string
	hit      bool // a trial was not run for it
	recalled bool // what waited on hosts was taken back
}

func newBound(b Bounds, now time.Time) bound { return bound{Bounds: b, began: now, spent: b.Before} }

// finished charges an attempt that has ended.
func (b *bound) finished(t *task, out ledger.AttemptFinished) {
	b.spent.ended(t.exp.spec, out)
}

// ended charges an attempt that was counted when it was handed over. What was taken back before it ran has cost nothing.
func (s *Spent) ended(e *plan.Experiment, out ledger.AttemptFinished) {
	s.GPUHours += gpuHours(e, out)
	if out.TakenBack() {
		s.Runs--
	}
}

// gpuHours is what an attempt cost.
func gpuHours(e *plan.Experiment, out ledger.AttemptFinished) float64 {
	return out.DurationS / 3600 * float64(e.Needs.GPUs) / float64(max(1, e.Needs.PerGPU))
}

// check closes the run when a bound is reached. The spending of what still runs is not known yet: a budget is exceeded
// by what is in flight when it is reached, and by no more.
func (b *bound) check(now time.Time) {
	if b.cause != "" {
		return
	}
	if !b.Deadline.IsZero() && !now.Before(b.Deadline) {
		b.cause, b.reason = CauseDeadline, "the deadline was "+b.Deadline.Format("15:04 on 2006-01-02")
		return
	}
	if b.Budget == nil {
		return
	}
	switch l := b.Budget; {
	case l.Wall != nil && b.spent.Wall+now.Sub(b.began) >= durationOf(l.Wall):
		b.cause, b.reason = CauseBudget, fmt.Sprintf("budget.wall is %s", l.Wall)
	case l.GPUHours != nil && b.spent.GPUHours >= *l.GPUHours:
		b.cause, b.reason = CauseBudget, fmt.Sprintf("budget.gpu_hours is %v, %.2f are spent", *l.GPUHours, b.spent.GPUHours)
	case l.Runs != nil && b.spent.Runs >= *l.Runs:
		b.cause, b.reason = CauseBudget, fmt.Sprintf("budget.runs is %d", *l.Runs)
		b.recalled = true // those that wait on hosts are among them
	}
}

// next is how long until a bound is reached by time alone.
func (b *bound) next(now time.Time) (time.Duration, bool) {
	if b.cause != "" {
		return 0, false
	}
	at := b.Deadline
	if b.Budget != nil && b.Budget.Wall != nil {
		if wall := b.began.Add(durationOf(b.Budget.Wall) - b.spent.Wall); at.IsZero() || wall.Before(at) {
			at = wall
		}
	}
	return at.Sub(now), !at.IsZero()
}

// fits reports whether a trial may be handed to a host now: it is expected to end before the deadline, as far as is
// known. Where no slot is free it has to wait for one, for as long as a trial takes.
func (r *run) fits(t *task, h *hostState) bool {
	if r.bound.cause != "" {
		return false
	}
	if r.bound.Deadline.IsZero() || t.adopt != nil {
		return true
	}
	took := t.expected()
	if !h.free(t.needOf()) {
		took *= 2
	}
	return !r.Now().Add(took).After(r.bound.Deadline)
}

// expected is how long a trial takes: what it took before, else the mean of those of its experiment that ended well in
// this run; 0 if nothing is known.
func (t *task) expected() time.Duration {
	switch {
	case t.trial.EstS != nil:
		return time.Duration(*t.trial.EstS * float64(time.Second))
	case t.exp.done > 0:
		return t.exp.took / time.Duration(t.exp.done)
	}
	return 0
}

// close gives up what has not been started once a bound is reached, or when all that is left would take too long.
func (r *run) close() {
	r.bound.check(r.Now())
	if r.bound.cause != "" || r.bound.Deadline.IsZero() || r.inFlight > 0 {
		return
	}
	waiting := false
	for _, e := range r.experiments {
		if e.undeclared > 0 {
			return
		}
		for _, t := range e.pending {
			if slices.ContainsFunc(r.hosts, func(h *hostState) bool { return r.fits(t, h) }) {
				return
			}
			waiting = true
		}
	}
	if waiting {
		r.bound.cause, r.bound.reason = CauseDeadline, "what is left would not end before the deadline, "+r.bound.Deadline.Format("15:04 on 2006-01-02")
		r.changed = true
	}
}

// tooLate takes back, once, what waits on hosts when the run is closed.
func (r *run) tooLate() {
	if r.bound.cause == "" || r.bound.recalled {
		return
	}
	r.bound.recalled = true
	r.recall(recall{func(ledger.Key) bool { return true }, false, true, r.bound.reason})
}
