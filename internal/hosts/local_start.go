package hosts

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Start makes the directory of each job and hands it to a slot, or queues it for one. The directory is made exclusively:
// whoever finds it there leaves the job as it is.
func (l *Local) Start(ctx context.Context, jobs []Job) []error {
	errs := make([]error, len(jobs))
	for i := range jobs {
		if err := ctx.Err(); err != nil {
			errs[i] = err
			continue
		}
		if err := l.start(ctx, &jobs[i]); err != nil {
			errs[i] = fmt.Errorf("start job %s: %w", jobs[i].ID, diskFull(err))
		}
	}
	return errs
}

func (l *Local) start(ctx context.Context, j *Job) error {
	if err := errors.Join(validID(j.ID), checkArgv(j.Argv), checkTree(j.Tree), checkSteps(j), l.checkCheckpoint(j)); err != nil {
		return err
	}
	if err := l.promise(ctx, j.GPUs); err != nil {
		return err
	}
	env, err := envScript(l.cfg.Env, j.Env)
	if err != nil {
		return err
	}
	e := &entry{id: j.ID, dir: l.dir(j.ID), running: make(chan struct{}), done: make(chan struct{})}
	e.need, e.order = j.GPUs, l.orderFor(e.dir, j)
	if e.order.direct() {
		env = nil // it does not have to be on disk
	}
	// Known before there is anything to see, or else a Watch could take it for one that nobody will ever start.
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return fmt.Errorf("host %s is closed", l.cfg.Name)
	}
	if l.known[j.ID] != nil {
		l.mu.Unlock()
		return nil
	}
	l.known[j.ID] = e
	l.mu.Unlock()

	if err := l.elsewhereIfShared(j.ID); err != nil {
		l.forget(e)
		return err
	}
	if err := l.claim(e.dir); err != nil {
		l.forget(e)
		if errors.Is(err, os.ErrExist) {
			return nil
		}
		return err
	}
	if err := errors.Join(l.stage(e.dir, j, env), l.stageSteps(e.dir, j, &e.order)); err != nil {
		l.discard(e.dir)
		l.forget(e)
		return err
	}
	l.mu.Lock()
	l.queue = append(l.queue, e)
	err = l.dispatch()
	if err == nil && l.closed {
		err = fmt.Errorf("host %s is closed", l.cfg.Name)
	}
	mine := err != nil && l.unqueue(e)
	l.mu.Unlock()
	if mine {
		l.settle(e, stopNever)
		return err
	}
	return nil
}

// signals are those that a job can ask for.
var signals = map[string]syscall.Signal{"USR1": syscall.SIGUSR1, "USR2": syscall.SIGUSR2, "TERM": syscall.SIGTERM}

// directMax is the most that an order carries: a pipe holds it whatever the supervisor is doing.
const directMax = 16 << 10

// orderFor is what the supervisor is told. Argv and env are part of it where no shell has to come between.
func (l *Local) orderFor(d jobDir, j *Job) order {
	o := order{Path: []byte(d), Shell: l.shell, Time: j.Limits.Time, Silence: j.Limits.Silence, Grace: j.Limits.Grace, Checkpoint: []byte(j.Checkpoint)}
	if j.Limits.Ahead > 0 {
		o.Signal, o.Ahead = signals[j.Limits.Signal], j.Limits.Ahead
	}
	if l.cfg.Shell != "" || len(l.cfg.Prelude) > 0 {
		return o
	}
	argv, env := pack(j.Argv), pack(l.cfg.Env, j.Env)
	if len(argv)+len(env) <= directMax {
		o.Argv, o.Env = argv, env
	}
	return o
}

// elsewhereIfShared is elsewhere at the price of one system call where nothing is shared.
func (l *Local) elsewhereIfShared(id string) error {
	if _, err := os.Lstat(string(l.dir(id))); err == nil {
		return nil
	}
	return l.elsewhere(id)
}

// forget takes back an entry that came to nothing.
func (l *Local) forget(e *entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.known, e.id)
	close(e.done)
}

// unqueue takes a job out of the queue, if it is there. The caller holds l.mu.
func (l *Local) unqueue(e *entry) bool {
	for i, q := range l.queue {
		if q == e {
			l.queue = append(l.queue[:i:i], l.queue[i+1:]...)
			return true
		}
	}
	return false
}

// stage fills a job directory.
func (l *Local) stage(d jobDir, j *Job, env []byte) error {
	if err := materialise(d.file(dirTree), j.Tree); err != nil {
		return err
	}
	if err := l.makeNamed(j.Env); err != nil {
		return err
	}
	if len(j.Params) > 0 {
		if err := writeOver(d.file(fileParams), j.Params); err != nil {
			return err
		}
	} else if err := os.Remove(d.file(fileParams)); err != nil && !errors.Is(err, os.ErrNotExist) { // of a spare one
		return err
	}
	if len(env) > 0 {
		if err := writeSmall(d.file(fileEnv), env); err != nil {
			return err
		}
	}
	return writeOver(d.file(fileJob), jobScript(d, l.id, l.cfg.Prelude, len(l.cfg.Env)+len(j.Env) > 0 || j.GPUs != nil, j.Argv))
}

// makeNamed makes the checkpoint directory that Place promised and that the job is told of. That of a setup is made by
// the setup: an empty one would look like what it had made.
func (l *Local) makeNamed(env []string) error {
	base := filepath.Join(l.home, dirCheckpoints)
	for _, nv := range env {
		_, value, _ := strings.Cut(nv, "=")
		if value != base && !strings.HasPrefix(value, base+"/") || strings.Contains(value, "/../") {
			continue
		}
		if err := os.MkdirAll(value, 0o700); err != nil {
			return err
		}
	}
	return nil
}
