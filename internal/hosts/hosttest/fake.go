package hosttest

import (
	"context"
	"fmt"
	"path"
	"sync"
	"time"

	"github.com/xrun-dev/xrun/internal/hosts"
)

// A Script says what one job does on a Fake.
type Script struct {
	Refuse    error             // Start's error; nothing else happens
	Log       string            // there at once
	Later     []Line            // and this at its time, in order
	Took      time.Duration     // from start to end; 0 ends at once
	Forever   bool              // it ends only by its want.Limits or Stop
	Code      int               // exit status
	End       hosts.End         // "" is hosts.Exited
	Reason    string            // Exit.Reason
	Artifacts map[string]string // content by slash-separated path
	DiskFull  bool              // Exit.DiskFull
	Step      string            // the step that failed or was ended
	Path      string            // Exit.Path
	StepLogs  map[string]string // the logs of setup and evaluate, by name
}

// A Line is a piece of a log, that long after the start.
type Line struct {
	After time.Duration
	Text  string
}

// A Fake is a host in memory. It starts no processes and no goroutines, only timers, so it lives in a synctest bubble.
// It keeps to Limits.Time, to slots and the order of its queue, and to what a Script says.
type Fake struct {
	name   string
	behave func(hosts.Job) Script

	mu    sync.Mutex
	slots int
	free  int
	gpus  []hosts.GPUInfo
	held  map[string]int // by UUID: jobs that have it
	port  int
	down  error
	busy  bool // dispatching
	jobs  map[string]*fakeJob
	order []hosts.Job // all that were accepted
	queue []*fakeJob
	news  chan struct{} // closed and made anew with each change
}

type fakeJob struct {
	hosts.Job
	script  Script
	gpus    []hosts.GPU
	phase   hosts.Phase
	log     []byte
	exit    hosts.Exit
	started time.Time
	timers  []*time.Timer
}

// NewFake makes a host with that many slots. behave is asked once for each job that is started.
func NewFake(name string, slots int, behave func(hosts.Job) Script) *Fake {
	return &Fake{
		name: name, slots: slots, free: slots, behave: behave, port: 20000,
		jobs: make(map[string]*fakeJob), news: make(chan struct{}),
	}
}

// Name is the name it was made with.
func (f *Fake) Name() string { return f.name }

// GPUs gives it GPUs. A job that needs some takes the first that will do, and no slot.
func (f *Fake) GPUs(gpus ...hosts.GPUInfo) *Fake {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.gpus, f.held = gpus, map[string]int{}
	return f
}

// Unreachable makes every call, also those that wait now, fail with hosts.ErrUnreachable until it is called with false.
// What runs goes on.
func (f *Fake) Unreachable(down bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.down = nil
	if down {
		f.down = fmt.Errorf("%s: %w", f.name, hosts.ErrUnreachable)
	}
	f.changed()
}

// Jobs are the jobs that were accepted, in order.
func (f *Fake) Jobs() []hosts.Job {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]hosts.Job(nil), f.order...)
}

// Finish ends a running job now, as an Exit that the test made up.
func (f *Fake) Finish(id string, exit hosts.Exit) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if j := f.jobs[id]; j != nil {
		f.end(j, exit)
	}
}

// Capacity is all slots, and one job ahead for each.
func (f *Fake) Capacity(context.Context) (hosts.Capacity, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return hosts.Capacity{Slots: f.slots, Ahead: f.slots, GPUs: f.gpus}, f.down
}

// Start accepts jobs and starts as many as there are slots free.
func (f *Fake) Start(_ context.Context, jobs []hosts.Job) []error {
	f.mu.Lock()
	defer f.mu.Unlock()
	errs := make([]error, len(jobs))
	for i, job := range jobs {
		if f.down != nil {
			errs[i] = f.down
			continue
		}
		if f.jobs[job.ID] != nil {
			continue
		}
		script := f.behave(job)
		if script.Refuse != nil {
			errs[i] = script.Refuse
			continue
		}
		j := &fakeJob{Job: job, script: script, phase: hosts.Queued}
		f.jobs[job.ID] = j
		f.order = append(f.order, job)
		f.queue = append(f.queue, j)
	}
	f.dispatch()
	return errs
}

// next takes the first queued job that can start, with what it needs; nil if there is none. The caller holds f.mu.
func (f *Fake) next() *fakeJob {
	for i, j := range f.queue {
		n := j.Job.GPUs
		if n == nil {
			if f.free == 0 {
				continue
			}
			f.free--
		} else {
			var got []hosts.GPU
			for _, g := range f.gpus {
				if len(got) < n.Count && n.Meets(g) && f.held[g.UUID] < max(1, n.PerGPU) {
					got = append(got, g.GPU)
				}
			}
			if len(got) < n.Count {
				continue
			}
			for _, g := range got {
				f.held[g.UUID]++
			}
			j.gpus = got
		}
		f.queue = append(f.queue[:i:i], f.queue[i+1:]...)
		return j
	}
	return nil
}

// dispatch starts queued jobs while there is room. The caller holds f.mu.
func (f *Fake) dispatch() {
	if f.busy { // a job that ended at once: the loop below goes on anyway
		return
	}
	f.busy = true
	defer func() { f.busy = false }()
	for j := f.next(); j != nil; j = f.next() {
		j.phase, j.started = hosts.Running, time.Now()
		j.log = append(j.log, j.script.Log...)
		for _, line := range j.script.Later {
			j.timers = append(j.timers, time.AfterFunc(line.After, func() { f.print(j, line.Text) }))
		}
		end := hosts.Exit{End: j.script.End, Code: j.script.Code, Reason: j.script.Reason, Step: j.script.Step, Path: j.script.Path, DiskFull: j.script.DiskFull}
		if end.End == "" {
			end.End = hosts.Exited
		}
		took := j.script.Took
		if limit := j.Limits.Time; limit > 0 && (j.script.Forever || took > limit) {
			took, end = limit, hosts.Exit{End: hosts.TimedOut, Code: 143}
		} else if j.script.Forever {
			continue
		}
		if took == 0 {
			f.end(j, end)
			continue
		}
		j.timers = append(j.timers, time.AfterFunc(took, func() {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.end(j, end)
		}))
	}
	f.changed()
}

func (f *Fake) print(j *fakeJob, text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if j.phase == hosts.Running {
		j.log = append(j.log, text...)
		f.changed()
	}
}

// end ends a job that did not yet. The caller holds f.mu.
func (f *Fake) end(j *fakeJob, exit hosts.Exit) {
	if j.phase == hosts.Ended {
		return
	}
	for _, t := range j.timers {
		t.Stop()
	}
	if j.phase == hosts.Running {
		exit.Duration, exit.Started, exit.GPUs = time.Since(j.started), j.started, j.gpus
		if j.Job.GPUs == nil {
			f.free++
		}
		for _, g := range j.gpus {
			f.held[g.UUID]--
		}
	}
	exit.LogBytes = int64(len(j.log))
	j.phase, j.exit = hosts.Ended, exit
	f.changed()
	f.dispatch()
}

// changed wakes those who watch. The caller holds f.mu.
func (f *Fake) changed() {
	close(f.news)
	f.news = make(chan struct{})
}

// Watch follows a job. One that it does not know never started.
func (f *Fake) Watch(ctx context.Context, id string, o hosts.Observer) (hosts.Exit, error) {
	var seen hosts.Phase
	told := 0
	for {
		f.mu.Lock()
		news, down, j := f.news, f.down, f.jobs[id]
		if down != nil {
			f.mu.Unlock()
			return hosts.Exit{}, down
		}
		if j == nil {
			f.mu.Unlock()
			return hosts.Exit{End: hosts.NeverStarted, Code: -1}, nil
		}
		phase, text, exit := j.phase, j.log[told:len(j.log):len(j.log)], j.exit
		status := hosts.Status{Phase: phase, Started: j.started, GPUs: j.gpus}
		f.mu.Unlock()
		if phase != seen {
			if phase == hosts.Ended && seen != hosts.Running && !status.Started.IsZero() {
				o.Status(hosts.Status{Phase: hosts.Running, Started: status.Started, GPUs: status.GPUs, Over: true})
			}
			if phase != hosts.Ended {
				o.Status(status)
			}
			seen = phase
		}
		if len(text) > 0 {
			told += len(text)
			o.Log(text)
		}
		if phase == hosts.Ended {
			o.Status(status)
			return exit, nil
		}
		select {
		case <-ctx.Done():
			return hosts.Exit{}, ctx.Err()
		case <-news:
		}
	}
}

// Stop ends a job at once, whatever its script says.
func (f *Fake) Stop(_ context.Context, id, reason string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.down != nil {
		return f.down
	}
	j := f.jobs[id]
	if j == nil {
		return nil
	}
	exit := hosts.Exit{End: hosts.Stopped, Code: 143, Reason: reason}
	if j.phase == hosts.Queued {
		exit.Code = -1
		for i, q := range f.queue {
			if q == j {
				f.queue = append(f.queue[:i:i], f.queue[i+1:]...)
				break
			}
		}
	}
	f.end(j, exit)
	return nil
}

// Withdraw ends a job that waits.
func (f *Fake) Withdraw(ctx context.Context, id, reason string) (taken bool, err error) {
	f.mu.Lock()
	j := f.jobs[id]
	waits := f.down == nil && j != nil && j.phase == hosts.Queued
	down := f.down
	f.mu.Unlock()
	if !waits {
		return false, down
	}
	return true, f.Stop(ctx, id, reason)
}

// Place makes up paths and ports.
func (f *Fake) Place(_ context.Context, id string) (hosts.Place, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.port++
	dir := path.Join("/fake", f.name, id)
	return hosts.Place{
		Dir: dir, Tree: dir + "/tree", Out: dir + "/out", Log: dir + "/log", Params: dir + "/params.json",
		Checkpoint: path.Join("/fake", f.name, "checkpoints"), Setup: path.Join("/fake", f.name, "setup"), Port: f.port,
	}, f.down
}
