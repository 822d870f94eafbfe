package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/xrun-dev/xrun/internal/hosts"
	"github.com/xrun-dev/xrun/internal/ledger"
)

// maxHostFaults is how often a trial is tried in all when hosts are to blame.
const maxHostFaults = 3

// execute takes a task through one attempt on h: the intent is recorded before anything happens, the outcome before
// anybody acts on it. It runs in a lane; the task is its own until it returns.
func (r *run) execute(ctx context.Context, h *hostState, t *task) result {
	res := result{task: t, host: h}
	a, err := r.begin(ctx, h, t)
	if err != nil {
		res.err = err
		return res
	}
	if a == nil { // xrun is leaving
		return res
	}
	res.out.Attempt = a.Attempt
	f := newFollower(*a, r.Record, r.Now, func() { r.results <- result{task: t, host: h, opened: true} })
	if t.adopt == nil {
		if cause, err := r.start(ctx, h, t, *a); err != nil {
			if ctx.Err() != nil {
				return res // the intent stays open: whoever comes next looks at the host
			}
			f.phase = hosts.Ended
			out := f.judge(hosts.Exit{End: hosts.NeverStarted, Code: -1})
			out.Cause, out.Message = string(cause), err.Error()
			out.Signature = signature(cause, nil, []string{err.Error()})
			return r.conclude(res, f, out)
		}
	}
	out, err := f.follow(ctx, h.host, r.State)
	if errors.Is(err, errLeft) {
		res.left = true
		return res
	}
	if err != nil {
		res.err = err
		return res
	}
	return r.conclude(res, f, out)
}

// begin numbers the attempt and records the intent; an adopted one has both if it is of this run.
func (r *run) begin(ctx context.Context, h *hostState, t *task) (*attempt, error) {
	if ctx.Err() != nil {
		return nil, nil
	}
	if t.adopt != nil && t.adopt.Run == r.Run {
		a := newAttempt(r.Run, t.exp.spec, t.trial, t.adopt.Attempt.Attempt, h.name)
		a.job = t.adopt.Job
		return &a, nil
	}
	t.attempts++
	a := newAttempt(r.Run, t.exp.spec, t.trial, t.attempts, h.name)
	intent := ledger.AttemptIntended{Attempt: a.Attempt, Host: h.name}
	if t.adopt != nil {
		a.job, intent.JobDir, intent.Adopted = t.adopt.Job, t.adopt.JobDir, t.adopt.Run
	} else {
		place, err := h.host.Place(ctx, a.job)
		if err != nil {
			return nil, fmt.Errorf("host %s: %w", h.name, err)
		}
		intent.JobDir = place.Dir
	}
	intent.Job = a.job
	facts := events(r.Run, r.Now(), intent)
	if t.adopt != nil {
		facts = append(facts, ledger.New(t.adopt.Run, r.Now(), handedOver(t.adopt, r.Run)))
	}
	return &a, r.Record.Append(context.Background(), facts...)
}

// start hands the job over. The error comes with the cause it is recorded under.
func (r *run) start(ctx context.Context, h *hostState, t *task, a attempt) (Cause, error) {
	place, err := h.host.Place(ctx, a.job)
	if err != nil {
		return CauseSync, err
	}
	tree, ok := r.Trees[t.trial.Code]
	if !ok {
		return CauseSync, errNoTree
	}
	job, err := jobFor(a, t.exp.command, place, tree)
	if err != nil {
		return CauseSync, err
	}
	if t.before != nil {
		<-t.before // whoever has it before us always comes back: from a host that hangs when its deadline ends
	}
	err = errors.Join(h.host.Start(ctx, []hosts.Job{job})...)
	t.arrived()
	if errors.Is(err, hosts.ErrDiskFull) {
		return CauseDiskFull, err
	}
	return CauseSync, err
}

// conclude records the outcome of an attempt and, if it decides, the final state of its trial.
func (r *run) conclude(res result, f *follower, out ledger.AttemptFinished) result {
	res.out = out
	t := res.task
	bodies := append(f.series(), out)
	switch p := policy(Cause(out.Cause)); {
	case f.back:
		// The trial is open again.
	case out.State == ledger.Failed && p.Blame == BlameHost && r.elsewhere(t, res.host):
		t.tried = append(t.tried, res.host.name)
	default:
		t.state = out.State
		bodies = append(bodies, ledger.TrialFinished{Key: t.key(), State: out.State, Cause: out.Cause, Message: out.Message, Attempt: out.Attempt.Attempt})
	}
	res.err = errors.Join(f.err, r.append(bodies...))
	return res
}

// elsewhere reports whether a trial that a host failed may be tried on another. It reads only what does not change.
func (r *run) elsewhere(t *task, h *hostState) bool {
	if t.attempts >= maxHostFaults {
		return false
	}
	return slices.ContainsFunc(r.hosts, func(o *hostState) bool {
		return o != h && slices.Contains(t.exp.eligible, o.name) && !slices.Contains(t.tried, o.name)
	})
}
