package engine

import (
	"slices"
	"time"

	"github.com/xrun-dev/xrun/internal/ledger"
	"github.com/xrun-dev/xrun/internal/plan"
)

// maxBackoff bounds the wait before a retry, which doubles with each.
const maxBackoff = time.Hour

// failures are the attempts of a trial that failed by the code's fault: what `retry` counts. What a host is to blame for
// is no part of them.
type failures struct {
	n    int
	last string // signature of the newest
}

// retries reports whether an attempt that ended like out is followed by another one. Memory that the kernel took away
// twice in the same way will be taken away again.
func (f failures) retries(e *plan.Experiment, out ledger.AttemptFinished) bool {
	cause := Cause(out.Cause)
	switch {
	case e.Retry == nil || out.State != ledger.Failed || policy(cause).Blame != BlameCode:
		return false
	case f.n >= e.Retry.Max || !slices.Contains(e.Retry.On, string(cause)):
		return false
	case cause == CauseKilled && f.n > 0 && f.last == out.Signature:
		return false
	}
	return true
}

// add counts the outcome of an attempt.
func (f failures) add(out ledger.AttemptFinished) failures {
	if out.State == ledger.Failed && policy(Cause(out.Cause)).Blame == BlameCode {
		return failures{f.n + 1, out.Signature}
	}
	return f
}

// backoff is the wait before the next attempt after n failures.
func backoff(e *plan.Experiment, n int) time.Duration {
	d := durationOf(&e.Retry.Backoff)
	for range n - 1 {
		if d *= 2; d >= maxBackoff {
			return max(maxBackoff, durationOf(&e.Retry.Backoff))
		}
	}
	return d
}

// RetryAfter is how long after the last of its attempts a trial is tried again whose attempts ended like these; 0 where it
// is not, or need not wait.
func RetryAfter(e *plan.Experiment, ended []ledger.AttemptFinished) time.Duration {
	var f failures
	for i, out := range ended {
		if i == len(ended)-1 && f.retries(e, out) {
			return backoff(e, f.add(out).n)
		}
		f = f.add(out)
	}
	return 0
}

// ready reports whether t need not wait any more before it is tried again.
func (r *run) ready(t *task) bool { return t.notBefore.IsZero() || !r.Now().Before(t.notBefore) }

// postpone notes a task that waits before it is tried again.
func (r *run) postpone(t *task) {
	if !t.notBefore.IsZero() {
		r.later = append(r.later, t)
	}
}

// nextRetry is how long until the first of the tasks that wait is ready.
func (r *run) nextRetry() (time.Duration, bool) {
	r.later = slices.DeleteFunc(r.later, func(t *task) bool { return r.ready(t) || t.state != "" })
	if len(r.later) == 0 {
		return 0, false
	}
	first := slices.MinFunc(r.later, func(a, b *task) int { return a.notBefore.Compare(b.notBefore) })
	return first.notBefore.Sub(r.Now()), true
}
