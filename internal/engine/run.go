package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/xrun-dev/xrun/internal/hosts"
	"github.com/xrun-dev/xrun/internal/ledger"
	"github.com/xrun-dev/xrun/internal/plan"
)

// A Config is what a run needs. The run itself (RunStarted, RunResumed) is already recorded.
type Config struct {
	Run  string // id
	Plan *plan.Plan
	Spec *plan.Spec
	// Trees are the shipped bytes by code id, as hosts take them.
	Trees map[string]hosts.Tree
	// Codes are the files by code id, to be recorded.
	Codes map[string][]plan.CodeFile
	// Hosts serve, by name.
	Hosts map[string]Host
	// Reusable returns the result that a trial id can be reused with; nil if there is none.
	Reusable func(ctx context.Context, trial string) (*ledger.ReusedFrom, error)
	// Seen is what this run already recorded, when it is resumed; nil for a new run.
	Seen *Seen
	// Adopt are attempts that run on hosts already, by trial id: they are followed, not started again.
	Adopt map[string]ledger.OpenAttempt
	// State is the absolute state directory.
	State       string
	MaxParallel int // attempts at once on all hosts; 0 is no limit
	Bounds      Bounds
	// Secrets by experiment. Redact takes these out of what comes home, and those of earlier runs; nil: only these.
	Secrets map[string]Secrets
	Redact  *Redactor
	// Requests are those of other processes; nil: there are none.
	Requests <-chan Request
	Record   Recorder
	Now      func() time.Time
	Log      hclog.Logger
}

// Seen is what a resumed run already recorded.
type Seen struct {
	Experiments map[string]bool
	Planned     map[ledger.Key]bool
	Final       map[ledger.Key]ledger.State
	Attempts    map[ledger.Key]int                    // the highest attempt number
	Failed      map[ledger.Key]failures               // by the code's fault
	Chains      map[ledger.Key]chain                  // of checkpoints
	Told        map[ledger.Attempt]map[string]int64   // by metric the last line of the log whose values are recorded
	Finished    map[string]bool                       // experiments with their end recorded
	Spent       Spent                                 // by the processes before
	Results     map[ledger.Key]ledger.AttemptFinished // of trials that others start from
	Models      map[ledger.Key]string                 // of the GPU that a trial's newest attempt had
}

// Run does what the plan says until every trial has a final state, or ctx ends. It records everything, the end of the
// run included. An error means that xrun could not do its own work; what runs on hosts goes on.
func Run(ctx context.Context, cfg Config) (Outcome, error) {
	r := &run{Config: cfg, asks: make(chan *lane), results: make(chan result), asked: make(chan answer), fed: make(chan declared), changed: true, bound: newBound(cfg.Bounds, cfg.Now()), redact: cfg.redactor()}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	if err := r.declare(ctx); err != nil {
		return r.outcome(), err
	}
	if err := r.open(ctx); err != nil {
		return r.outcome(), err
	}
	var lanes sync.WaitGroup
	for _, h := range r.hosts {
		for range h.lanes {
			lanes.Go(func() { r.serve(ctx, &lane{host: h, next: make(chan *task)}) })
		}
	}
	fed, enough := context.WithCancel(ctx)
	r.side.Go(func() { r.declaration.feed(fed, r.fed) })
	err := r.schedule(ctx, stop)
	enough()
	lanes.Wait()
	stop(nil) // nobody listens to what drained hosts say
	r.side.Wait()
	out := r.outcome()
	if err != nil {
		return out, err
	}
	last := ledger.Body(out.Finish())
	if out.Interrupted {
		last = ledger.RunInterrupted{Reason: r.interruption(ctx), ExitCode: ExitInterrupted, Running: r.leftCount()}
	}
	return out, r.append(last)
}

// run is the state of a run. Everything below results belongs to the goroutine in schedule.
type run struct {
	Config
	asks    chan *lane
	results chan result
	asked   chan answer // drained hosts
	fed     chan declared

	declaration *declaration // of what is left to declare; its own goroutine's

	hosts       []*hostState
	experiments []*experimentState
	inFlight    int
	stopping    bool
	changed     bool // something happened that may have left tasks without a host
	left        map[string][]ledger.Attempt
	later       []*task // that wait before they are tried again
	bound       bound
	redact      *Redactor
	stopReason  string // of a request that stopped the whole run
	handed      handed
	side        sync.WaitGroup // calls to hosts that no lane waits for
}

// A hostState is a host as the scheduler sees it.
type hostState struct {
	name    string
	host    Host
	kind    string
	cap     hosts.Capacity
	lanes   int
	data    map[string]string // where each data set lies
	breaker breaker
	waiting []*lane
	busy    int             // attempts handed to it that need no GPU
	adopted int             // of those, the ones it ran before we came
	gpus    gpuRoom         // and those that do
	said    map[string]bool // what it had to wait for
	turn    chan struct{}   // closed when the newest attempt has reached it
}

// A lane is a goroutine that takes one attempt after another to one host. A host has one for each slot, and one for
// each job that may be queued there, so that the next attempt is prepared while the slot is busy.
type lane struct {
	host *hostState
	next chan *task
}

// A result is what a lane says when an attempt is over, or (opened) while it is not: that it has shown that its code
// works, or that something could not be recorded.
type result struct {
	task   *task
	host   *hostState
	opened bool
	waits  string    // for what, on its host
	at     *progress // news of a trial that may be stopped early
	out    ledger.AttemptFinished
	left   bool // still running
	err    error
}

func (r *run) append(bodies ...ledger.Body) error {
	return r.Record.Append(context.Background(), events(r.Run, r.Now(), bodies...)...)
}

// schedule is the one owner of queue and slots. It returns when every trial is final, or when ctx has ended and the
// lanes have come back.
func (r *run) schedule(ctx context.Context, stop context.CancelCauseFunc) (err error) {
	fail := func(e error) {
		if e != nil && err == nil {
			err = e
			stop(e)
		}
	}
	done := ctx.Done()
	open := 0
	for _, h := range r.hosts {
		open += h.lanes
	}
	dismiss := func(h *hostState) {
		for _, l := range h.waiting {
			close(l.next)
			open--
		}
		h.waiting = nil
	}
	for {
		if err == nil && !r.stopping {
			r.close()
			r.tooLate()
			r.reopen(ctx)
			fail(r.abandon())
		}
		over := err != nil || r.stopping || r.exhausted()
		for _, h := range r.hosts {
			if over {
				dismiss(h)
				continue
			}
			r.give(h)
		}
		if over && open == 0 {
			return err
		}
		var wake <-chan time.Time
		var timer *time.Timer
		if wait, ok := r.nextWake(); ok && !over {
			timer = time.NewTimer(wait)
			wake = timer.C
		}
		select {
		case l := <-r.asks:
			l.host.waiting = append(l.host.waiting, l)
		case res := <-r.results:
			fail(r.take(res))
		case q := <-r.Requests:
			r.obey(q)
		case a := <-r.asked:
			fail(r.answered(a))
		case news := <-r.fed:
			fail(r.accept(news))
		case <-wake:
		case <-done:
			done = nil
			r.stopping = true
		}
		if timer != nil {
			timer.Stop()
		}
	}
}

// give hands tasks to the waiting lanes of h, as long as there are any it may have.
func (r *run) give(h *hostState) {
	for len(h.waiting) > 0 && h.breaker.closed(h.handed()) && !r.suspect(h) {
		if r.MaxParallel > 0 && r.inFlight >= r.MaxParallel {
			return
		}
		t := r.next(h)
		if t == nil {
			return
		}
		l := h.waiting[0]
		h.waiting = h.waiting[1:]
		r.later = slices.DeleteFunc(r.later, func(x *task) bool { return x == t }) // it is its lane's until it comes back
		h.chooseClass(t)
		h.enter(t)
		r.inFlight++
		if t.adopt == nil || t.adopt.Run != r.Run { // else it was counted when it was started
			r.bound.spent.Runs++
		}
		r.bound.check(r.Now())
		t.exp.inFlight++
		t.before, t.after = h.turn, make(chan struct{})
		h.turn = t.after
		l.next <- t
	}
}

// take digests what a lane said.
func (r *run) take(res result) error {
	t, e := res.task, res.task.exp
	if res.waits != "" {
		return r.tellWait(res.host, res.waits)
	}
	if res.at != nil {
		r.climb(t, *res.at)
		return nil
	}
	if res.opened {
		if res.err == nil {
			e.gate.open()
		}
		return res.err
	}
	res.host.leave(t)
	r.inFlight--
	e.inFlight--
	t.adopt = nil
	r.bound.finished(t, res.out)
	if res.err == nil && !res.left {
		if err := r.judge(res.host, res.out); err != nil {
			return err
		}
	}
	switch {
	case res.err != nil:
		return res.err
	case res.left:
		r.left[res.host.name] = append(r.left[res.host.name], res.out.Attempt)
		return nil
	case t.state == "":
		// Not final: taken back because xrun is leaving, or to be tried again, here or elsewhere.
		if Cause(res.out.Cause) == CauseOOMGPU {
			r.moreMemory(t, res.host)
		}
		r.postpone(t)
		e.pending = append([]*task{t}, e.pending...)
		r.changed = true
		if t.last != nil && t.last.Attempt == res.out.Attempt {
			e.gate.again(t, res.out)
		} else {
			e.gate.leave(t)
		}
		return nil
	}
	r.changed = e.finish(t, res) || e.upstream && e.over() || r.changed
	return r.settleExperiment(e)
}

// serve is one lane.
func (r *run) serve(ctx context.Context, l *lane) {
	for {
		r.asks <- l
		t, ok := <-l.next
		if !ok {
			return
		}
		r.results <- r.guarded(ctx, l.host, t)
	}
}

// guarded is execute, with a panic of ours made an error: what runs elsewhere is not torn down with us.
func (r *run) guarded(ctx context.Context, h *hostState, t *task) (res result) {
	after := sync.OnceFunc(func() { close(t.after) })
	t.arrived = after
	defer func() {
		after()
		if v := recover(); v != nil {
			res = result{task: t, host: h, err: &BugError{Value: v, Stack: debug.Stack()}}
		}
	}()
	return r.execute(ctx, h, t)
}

// A BugError is a panic of ours.
type BugError struct {
	Value any
	Stack []byte
}

// Error says what the panic said.
func (e *BugError) Error() string { return fmt.Sprintf("a bug in xrun: %v", e.Value) }

// exhausted reports whether every trial is final.
func (r *run) exhausted() bool {
	return !slices.ContainsFunc(r.experiments, func(e *experimentState) bool { return !e.over() })
}

func (r *run) leftCount() int {
	n := 0
	for _, as := range r.left {
		n += len(as)
	}
	return n
}

var errNoTree = errors.New("its code is not in the store")
