package engine

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/xrun-dev/xrun/internal/hosts"
	"github.com/xrun-dev/xrun/internal/ledger"
	"github.com/xrun-dev/xrun/internal/plan"
)

// A task is a trial that has no final state yet.
type task struct {
	exp      *experimentState
	trial    *plan.Trial
	attempts int // made so far, in this run
	tried    []string
	inputs   map[string]string
	rung     int    // of early stop, that it has to pass next
	hopeless string // why it was stopped early
	failed   failures
	need     *hosts.GPUNeed // of GPUs, when it was handed out; nil: none
	memory   int64          // that its GPUs must have, beyond what its experiment says; in bytes
	had      []hosts.GPU    // its newest attempt
	chain    chain
	last     *ledger.AttemptFinished // the outcome of the newest attempt that is to be tried again
	// notBefore is when it may be tried again; zero: at once.
	notBefore time.Time
	adopt     *ledger.OpenAttempt
	state     ledger.State // final, once it is

	// Attempts reach a host in the order in which they were given out, however long each takes to prepare: before is
	// closed when it is this one's turn, and this one closes after.
	before, after chan struct{}
	arrived       func() // closes after, once

	recalled atomic.Bool // taken back from its host: it is open again
}

// key names the trial.
func (t *task) key() ledger.Key { return ledger.Key{Experiment: t.exp.spec.Name, Trial: t.trial.ID} }

// An experimentState is an experiment as the scheduler sees it.
type experimentState struct {
	spec       *plan.Experiment
	planned    *plan.PlannedExperiment
	command    *plan.Command
	eligible   []string           // hosts
	refused    map[string]refusal // hosts that turned out to be unusable for it
	undeclared int                // trials that are no tasks yet
	pending    []*task
	inFlight   int
	counts     map[ledger.State]int
	noHost     bool
	done       int           // trials that ended well in this process
	took       time.Duration // they, together
	ended      bool
	stopped    []Request         // that ask for nothing more of it
	classes    map[string]string // GPU models, by what is bound to one
	ladder     *ladder           // nil: no early stop
	climbed    map[string]int    // by trial id the rung that it has to pass next, of a resumed run
	state      string            // the state directory
	upstream   bool              // others start from its results
	results    []produced
	picked     map[string]pick // of them, by what is asked for
	gate       gate
	fuse       fuse
}

// A refusal is why the trials of an experiment are not tried on a host any more.
type refusal struct {
	cause   Cause
	message string
}

func (e *experimentState) total() int {
	n := e.undeclared + len(e.pending) + e.inFlight
	for _, c := range e.counts {
		n += c
	}
	return n
}

// finish books the final state of a task, and reports whether it may leave others without a place to go.
func (e *experimentState) finish(t *task, res result) bool {
	e.counts[t.state]++
	if t.state == ledger.Succeeded {
		e.done++
		e.produce(t.trial, res.out)
		e.took += time.Duration(res.out.DurationS * float64(time.Second))
	}
	e.gate.finished(t, res.out)
	e.fuse.finished(res)
	cause := Cause(res.out.Cause)
	if t.state != ledger.Failed || !policy(cause).Host {
		return e.blown() != ""
	}
	e.refuse(res.host.name, refusal{cause, res.out.Message})
	return true
}

// refuse keeps the experiment off a host from now on.
func (e *experimentState) refuse(host string, why refusal) {
	if e.refused == nil {
		e.refused = map[string]refusal{}
	}
	e.refused[host] = why
}

// takes reports whether the experiment may use the host.
func (e *experimentState) takes(host string) bool {
	_, refused := e.refused[host]
	return !refused && slices.Contains(e.eligible, host)
}

// may reports whether a task may go to the host.
func (e *experimentState) may(t *task, host string) bool {
	if t.adopt != nil {
		return t.adopt.Host == host
	}
	return e.takes(host) && !slices.Contains(t.tried, host)
}

// next takes the next task for h out of the queue: by priority of the experiment, then in plan order. What already runs
// there comes first.
func (r *run) next(h *hostState) *task {
	for _, e := range r.experiments {
		for i, t := range e.pending {
			if t.adopt != nil && e.may(t, h.name) {
				if t.need = t.needOf(); t.need == nil && !h.room(nil) {
					break
				}
				return e.take(i)
			}
			if t.adopt == nil {
				break // adopted ones stand at the head
			}
		}
	}
	for _, e := range r.experiments {
		if m := e.spec.Limits.MaxParallel; m != nil && e.inFlight >= *m || !e.takes(h.name) || !e.gate.admitsAny(r.Now()) || r.waits(e) {
			continue
		}
		need := gpuNeed(e.spec.Needs)
		if !h.room(need) || !h.free(need) && r.idle(e, h) {
			continue
		}
		may := func(t *task) bool {
			return e.may(t, h.name) && r.ready(t) && (need == nil || h.room(t.needOf())) && r.fits(t, h)
		}
		i := slices.IndexFunc(e.pending, func(t *task) bool { return e.gate.admits(t) && may(t) })
		if i < 0 && e.gate.lets(e.pending) {
			i = slices.IndexFunc(e.pending, may)
		}
		if i < 0 {
			continue
		}
		t := e.take(i)
		t.need = t.needOf()
		e.gate.started(t, r.Now())
		return t
	}
	return nil
}

// idle reports whether another host has a slot free that e may use: nothing waits on one host while another is idle.
func (r *run) idle(e *experimentState, h *hostState) bool {
	need := gpuNeed(e.spec.Needs)
	return slices.ContainsFunc(r.hosts, func(o *hostState) bool { return o != h && o.free(need) && e.takes(o.name) })
}

// take removes a task from the queue. It is nearly always the first, which must not cost the length of the queue.
func (e *experimentState) take(i int) *task {
	t := e.pending[i]
	if i == 0 {
		e.pending = e.pending[1:]
	} else {
		e.pending = slices.Delete(e.pending, i, i+1)
	}
	return t
}

// abandon gives up the tasks that can never start: those whose experiment has blown its fuse, and those that no host
// may have.
func (r *run) abandon() error {
	if !r.changed && (r.bound.cause == "" || r.bound.hit) {
		return nil
	}
	r.changed = false
	for _, e := range r.experiments {
		var err error
		if e.pending, err = r.sift(e, e.pending); err != nil {
			return err
		}
		if err := r.settleExperiment(e); err != nil {
			return err
		}
	}
	return nil
}

// accept takes over what was declared while trials ran.
func (r *run) accept(news declared) error {
	if news.err != nil {
		return news.err
	}
	e := news.exp
	tasks, err := r.sift(e, e.book(news))
	e.pending = append(e.pending, tasks...)
	if err != nil {
		return err
	}
	r.changed = r.changed || e.upstream && e.over()
	return r.settleExperiment(e)
}

// sift gives up those of an experiment's tasks that can never start, and returns the others.
func (r *run) sift(e *experimentState, tasks []*task) ([]*task, error) {
	var bodies []ledger.Body
	blown := e.blown()
	left := slices.DeleteFunc(tasks, func(t *task) bool {
		cause, why := CauseFuse, blown
		if why == "" {
			cause, why = r.hopeless(t)
		}
		if cause == "" {
			return false
		}
		fin := ledger.TrialFinished{Key: t.key(), State: ledger.NotRun, Cause: string(cause), Message: why}
		if t.last != nil { // it did run, and what it found out counts
			fin.State, fin.Cause, fin.Attempt = ledger.Failed, t.last.Cause, t.last.Attempt.Attempt
			fin.Message = t.last.Message + "; not tried again: " + why
		}
		t.state = fin.State
		e.counts[t.state]++
		bodies = append(bodies, fin)
		return true
	})
	for part := range slices.Chunk(bodies, chunk) {
		if err := r.append(part...); err != nil {
			return left, err
		}
	}
	return left, nil
}

// hopeless says why a task can never start; no cause if it can.
func (r *run) hopeless(t *task) (Cause, string) {
	e := t.exp
	if r.bound.cause != "" && t.adopt == nil { // an adopted one runs
		r.bound.hit = true
		return r.bound.cause, r.bound.reason
	}
	if why := r.choose(t); why != "" {
		return CauseUpstream, why
	}
	if why := e.stoppedBy(t); why != "" && t.adopt == nil {
		return CauseCancelled, why
	}
	if slices.ContainsFunc(r.hosts, func(h *hostState) bool { return e.may(t, h.name) }) {
		return "", ""
	}
	return e.whyNowhere(t)
}

// lacks says what an experiment needs and a host has not; "" if nothing. What is not known is taken to be there. Memory
// is met within 5 %: a 32 GB machine reports less.
func lacks(n plan.Needs, c hosts.Capacity) string {
	switch {
	case c.CPUs > 0 && n.CPUs > c.CPUs:
		return fmt.Sprintf("has %d CPUs, %d are needed", c.CPUs, n.CPUs)
	case c.Memory > 0 && float64(n.Memory)*0.95 > float64(c.Memory):
		return fmt.Sprintf("has %s of memory, %s are needed", plan.Bytes(c.Memory), n.Memory)
	case c.Disk > 0 && int64(n.Disk) > c.Disk:
		return fmt.Sprintf("has %s of free disk, %s are needed", plan.Bytes(c.Disk), n.Disk)
	}
	return lacksGPUs(n, c)
}

// whyNowhere says why no host may have the task.
func (e *experimentState) whyNowhere(t *task) (Cause, string) {
	for _, h := range e.eligible {
		if why, ok := e.refused[h]; ok && why.cause != "" {
			return why.cause, why.message
		}
	}
	e.noHost = e.noHost || len(t.tried) == 0
	var whys []string
	for _, c := range e.planned.Hosts {
		if c.WhyNot != nil {
			whys = append(whys, c.Name+": "+*c.WhyNot)
		}
	}
	for _, h := range e.eligible {
		if why, ok := e.refused[h]; ok {
			whys = append(whys, h+": "+why.message)
		}
	}
	if len(whys) == 0 {
		return CauseHostDown, "no host could be used"
	}
	return CauseHostDown, "no host could be used (" + strings.Join(whys, "; ") + ")"
}

// StopComplete is the stop reason of an experiment whose every trial has had its turn.
const StopComplete = "complete"

// settleExperiment records the end of an experiment, once.
func (r *run) settleExperiment(e *experimentState) error {
	if e.ended || !e.over() {
		return nil
	}
	e.ended = true
	if r.Seen != nil && r.Seen.Finished[e.spec.Name] {
		return nil
	}
	if w, ok := e.neverTogether(); ok {
		if err := r.append(w); err != nil {
			return err
		}
	}
	reason := StopComplete
	if why := e.blown(); why != "" {
		reason = why
	}
	return r.append(ledger.ExperimentFinished{Name: e.spec.Name, StopReason: reason})
}

// blown says why the experiment is given up; "" if it is not.
func (e *experimentState) blown() string {
	if e.gate.blown != "" {
		return e.gate.blown
	}
	return e.fuse.blown
}

// A fuse stops an experiment that fails everywhere in the same way: three trials with one signature on two hosts, or
// five where there is one host, and no success since.
type fuse struct {
	hosts  int // that the experiment may use
	counts map[string]int
	where  map[string]map[string]bool
	blown  string
}

func (f *fuse) finished(res result) {
	if res.task.state == ledger.Succeeded {
		f.counts, f.where = nil, nil
		return
	}
	sig := res.out.Signature
	// Diverged says something about the point, a learning rate that is too high: the code ran.
	if sig == "" || Cause(res.out.Cause) == CauseDiverged {
		return
	}
	if f.counts == nil {
		f.counts, f.where = map[string]int{}, map[string]map[string]bool{}
	}
	if f.where[sig] == nil {
		f.where[sig] = map[string]bool{}
	}
	f.counts[sig]++
	f.where[sig][res.host.name] = true
	if n := f.counts[sig]; len(f.where[sig]) >= 2 && n >= 3 || f.hosts <= 1 && n >= 5 {
		f.blown = fmt.Sprintf("%d trials failed in the same way and none succeeded since; the last: %s", n, res.out.Message)
	}
}
