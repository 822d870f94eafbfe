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
	t.recalled.Store(false)
	if ctx.Err() != nil { // xrun is leaving
		return res
	}
	a, place, placed := r.prepare(ctx, h, t)
	res.out.Attempt = a.Attempt
	if res.err = r.intend(t, a, place); res.err != nil {
		return res
	}
	f := newFollower(a, r.Record, r.redact, r.Now, func() { r.results <- result{task: t, host: h, opened: true} })
	f.failed = func(err error) { r.results <- result{task: t, host: h, opened: true, err: err} }
	f.waits = func(why string) { r.results <- result{task: t, host: h, waits: why} }
	if t.exp.ladder != nil {
		f.climb = newClimber(a.exp, func(p progress) { r.results <- result{task: t, host: h, at: &p} })
		f.rewind()
	}
	if t.adopt != nil && r.Seen != nil {
		f.told = r.Seen.Told[a.Attempt]
		f.rewind()
	}
	if t.adopt != nil {
		t.arrived() // it is there already: those behind it need not wait until it ends
	} else {
		cause, err := CauseSync, placed
		if err == nil {
			cause, err = r.start(ctx, h, t, a, place)
		}
		if err != nil && !(placed == nil && errors.Is(err, hosts.ErrUnreachable)) { // else it may have got there
			if ctx.Err() != nil {
				return res // the intent stays open: whoever comes next looks at the host
			}
			out := f.judge(hosts.Exit{End: hosts.NeverStarted, Code: -1}, make([]finding, 1), nil)
			out.Cause, out.Message = string(cause), brief(err.Error())
			out.Signature = signature(cause, nil, []string{err.Error()})
			r.redact.outcome(&out)
			f.full = cause == CauseDiskFull
			return r.conclude(res, f, out)
		}
	}
	for _, c := range r.handed.add(t, handedJob{h.host, a.job}) {
		r.takeBack(t, handedJob{h.host, a.job}, c)
	}
	defer r.handed.remove(t)
	out, err := f.follow(ctx, h.host, r.State)
	t.had = f.gpus
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

// prepare numbers the attempt and asks the host where it would lie. An adopted one has its place, and its number too if
// it is of this run.
func (r *run) prepare(ctx context.Context, h *hostState, t *task) (attempt, hosts.Place, error) {
	n := t.attempts + 1
	if t.adopt != nil && t.adopt.Run == r.Run {
		n = t.adopt.Attempt.Attempt
	}
	t.attempts = max(t.attempts, n)
	a := newAttempt(r.Run, t.exp.spec, t.trial, n, h.name)
	a.data, a.inputs = h.data, t.inputs
	a.secrets = r.Secrets[a.Experiment]
	if t.exp.spec.Setup != nil {
		a.setup = t.exp.spec.SetupKey(t.trial.Parts())
	}
	if t.exp.spec.Checkpoint != nil {
		a.checkpoint = a.job
	}
	if t.chain.name != "" && t.chain.host == h.name {
		a.checkpoint, a.goesOn = t.chain.name, true
	}
	if t.adopt != nil {
		a.job, a.checkpoint = t.adopt.Job, t.adopt.Checkpoint
		return a, hosts.Place{Dir: t.adopt.JobDir}, nil
	}
	place, err := h.host.Place(ctx, a.job)
	return a, place, err
}

// intend records the intent, and for an attempt of another run that it goes on here.
func (r *run) intend(t *task, a attempt, place hosts.Place) error {
	if t.adopt != nil && t.adopt.Run == r.Run {
		return nil
	}
	intent := ledger.AttemptIntended{Attempt: a.Attempt, Host: a.host, Job: a.job, JobDir: place.Dir, Checkpoint: a.checkpoint}
	if t.adopt == nil {
		return r.append(intent)
	}
	intent.Adopted = t.adopt.Run
	facts := append(events(r.Run, r.Now(), intent), ledger.New(t.adopt.Run, r.Now(), handedOver(t.adopt, r.Run)))
	return r.Record.Append(context.Background(), facts...)
}

// start hands the job over. The error comes with the cause it is recorded under.
func (r *run) start(ctx context.Context, h *hostState, t *task, a attempt, place hosts.Place) (Cause, error) {
	tree, ok := r.Trees[t.trial.Code]
	if !ok {
		return CauseSync, errNoTree
	}
	job, err := jobFor(a, t.exp.command, place, tree)
	if err != nil {
		return CauseSync, err
	}
	job.GPUs = t.need
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
	var full error
	switch p := policy(Cause(out.Cause)); {
	case f.back, t.recalled.Load() && out.Cause == string(CauseCancelled):
		// The trial is open again.
	case out.State == ledger.Failed && p.Blame == BlameHost && r.elsewhere(t, res.host):
		t.tried = append(t.tried, res.host.name)
		t.chain = t.chain.after(t.exp.spec, f.a.checkpoint, out)
	case f.full && out.State == ledger.Failed:
		// The trial is open again: it can do nothing for that, and neither can those behind it.
		full = fmt.Errorf("attempt %d of %s/%s on host %s: %s: %w", out.Attempt.Attempt, out.Experiment, out.Trial, out.Host, out.Message, hosts.ErrDiskFull)
	case t.failed.retries(t.exp.spec, out):
		t.failed, t.last = t.failed.add(out), &out
		t.chain = t.chain.after(t.exp.spec, f.a.checkpoint, out)
		t.notBefore = r.Now().Add(backoff(t.exp.spec, t.failed.n))
	default:
		t.state = out.State
		bodies = append(bodies, ledger.TrialFinished{Key: t.key(), State: out.State, Cause: out.Cause, Message: out.Message, Attempt: out.Attempt.Attempt})
	}
	if res.err = errors.Join(f.err, r.append(bodies...)); res.err == nil {
		f.discard(res.host.host)
		res.err = full
	}
	return res
}

// elsewhere reports whether a trial that a host failed may be tried on another. It reads only what does not change.
func (r *run) elsewhere(t *task, h *hostState) bool {
	if len(t.tried)+1 >= maxHostFaults {
		return false
	}
	return slices.ContainsFunc(r.hosts, func(o *hostState) bool {
		return o != h && slices.Contains(t.exp.eligible, o.name) && !slices.Contains(t.tried, o.name)
	})
}
