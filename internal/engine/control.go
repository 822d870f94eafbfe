package engine

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/xrun-dev/xrun/internal/ledger"
)

// A Request is what another process wants of a run that is active: start nothing more of the run, of an experiment or of
// a trial, and, with Now, end what runs of it. A run that was stopped as a whole can be resumed.
type Request struct {
	Experiment string `json:"experiment"` // "": all of them
	Trial      string `json:"trial"`      // id; "": all of the experiment
	Now        bool   `json:"now"`
	Reason     string `json:"reason"`
}

func (q Request) matches(k ledger.Key) bool {
	return (q.Experiment == "" || q.Experiment == k.Experiment) && (q.Trial == "" || q.Trial == k.Trial)
}

func (q Request) whole() bool { return q.Experiment == "" && q.Trial == "" }

// The handed are the jobs that hosts have, by task, and of what is to be taken back. Lanes enter their jobs, the
// scheduler its recalls; whoever comes second finds the other.
type handed struct {
	mu      sync.Mutex
	jobs    map[*task]handedJob
	recalls []recall
}

type handedJob struct {
	host Host
	job  string
}

// A recall takes jobs back that wait on their hosts and, with now, ends those that run. With again their trials are open
// again.
type recall struct {
	match      func(ledger.Key) bool
	now, again bool
	reason     string
}

// add enters a job, and returns the recalls that are for it already.
func (h *handed) add(t *task, j handedJob) []recall {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.jobs == nil {
		h.jobs = map[*task]handedJob{}
	}
	h.jobs[t] = j
	var out []recall
	for _, c := range h.recalls {
		if c.match(t.key()) {
			out = append(out, c)
		}
	}
	return out
}

func (h *handed) remove(t *task) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.jobs, t)
}

// of is the job of a task, if a host has it.
func (h *handed) of(t *task) []handedJob {
	h.mu.Lock()
	defer h.mu.Unlock()
	if j, ok := h.jobs[t]; ok {
		return []handedJob{j}
	}
	return nil
}

// on are the jobs that a host has.
func (h *handed) on(host Host) map[*task]handedJob {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := map[*task]handedJob{}
	for t, j := range h.jobs {
		if j.host == host {
			out[t] = j
		}
	}
	return out
}

// recall enters a recall, and returns the jobs that it is for.
func (h *handed) recall(c recall) map[*task]handedJob {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.recalls = append(h.recalls, c)
	out := map[*task]handedJob{}
	for t, j := range h.jobs {
		if c.match(t.key()) {
			out[t] = j
		}
	}
	return out
}

// obey does what a request asks for. What is not running yet comes back to the queue, where abandon finds it.
func (r *run) obey(q Request) {
	for _, e := range r.experiments {
		if !q.whole() && (q.Experiment == "" || q.Experiment == e.spec.Name) {
			e.stopped = append(e.stopped, q)
		}
	}
	if q.whole() {
		r.stopping, r.stopReason = true, q.Reason
	}
	r.changed = true
	r.recall(recall{q.matches, q.Now, q.whole(), q.Reason})
}

func (r *run) recall(c recall) {
	for t, j := range r.handed.recall(c) {
		r.side.Go(func() { r.takeBack(t, j, c) }) // Run waits for it
	}
}

func (r *run) takeBack(t *task, j handedJob, c recall) {
	ctx, cancel := context.WithTimeout(context.Background(), recallPatience)
	defer cancel()
	t.recalled.Store(true)
	taken, err := j.host.Withdraw(ctx, j.job, c.reason)
	if err == nil && !taken {
		t.recalled.Store(c.now && c.again)
		if c.now {
			err = j.host.Stop(ctx, j.job, c.reason)
		}
	}
	if err != nil {
		r.Log.Warn("not stopped", "job", j.job, "error", err)
	}
}

// recallPatience bounds how long a host may take to answer.
const recallPatience = time.Minute

// stoppedBy says why a task is not to be started any more; "" if it may be.
func (e *experimentState) stoppedBy(t *task) string {
	for _, q := range e.stopped {
		if q.matches(t.key()) {
			return q.Reason
		}
	}
	return ""
}

// interruption says why a run that is not complete ended.
func (r *run) interruption(ctx context.Context) string {
	if r.stopReason != "" {
		return r.stopReason
	}
	return fmt.Sprint(context.Cause(ctx))
}
