package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/xrun-dev/xrun/internal/engine/metric"
	"github.com/xrun-dev/xrun/internal/hosts"
	"github.com/xrun-dev/xrun/internal/ledger"
	"github.com/xrun-dev/xrun/internal/plan"
)

func durationOf(d *plan.Duration) time.Duration {
	if d == nil {
		return 0
	}
	return time.Duration(*d)
}

// A follower watches one attempt: it reads the metrics out of the log as it grows, records them, and keeps the end of
// the log.
type follower struct {
	a       attempt
	record  Recorder
	redact  *Redactor
	climb   *climber         // nil: nothing is stopped early
	clean   *redactingWriter // what comes out of it is read
	now     func() time.Time
	printed func()       // called once, when the objective was first printed; may be nil
	failed  func(error)  // called once, when something cannot be recorded; may be nil
	waits   func(string) // called with what the job waits for on its host; may be nil

	extract *metric.Extractor
	tail    tailKeeper
	phase   hosts.Phase
	gpus    []hosts.GPU
	back    bool               // taken back before it ran
	over    bool               // it ended before anybody saw it run
	held    []ledger.Body      // what is recorded with its outcome
	fetched bool               // its files are home
	full    bool               // its host has no room: that says nothing about the trial
	unknown bool               // the host does not answer
	told    map[string]int64   // by metric the last line whose values are recorded, by an earlier process perhaps
	pending map[string]*series // by metric
	flushed time.Time
	every   time.Duration
	err     error // the first failure to record
}

// Series are written at once at first and then less and less often, so that a fast printer does not fill the ledger.
const (
	firstFlush  = time.Second
	lastFlush   = 30 * time.Second
	maxPerFlush = 200 // values of one metric; see series
)

func newFollower(a attempt, record Recorder, redact *Redactor, now func() time.Time, printed func()) *follower {
	f := &follower{a: a, record: record, redact: redact, now: now, printed: printed, pending: map[string]*series{}, every: firstFlush}
	f.rewind()
	return f
}

// rewind is for a log that comes from its beginning: the metrics are found again, what was recorded is not recorded again.
func (f *follower) rewind() {
	recorded := maps.Clone(f.told)
	f.clean = &redactingWriter{r: f.redact, to: heard{f}}
	f.tail = tailKeeper{}
	if f.climb != nil {
		f.climb = f.climb.afresh()
	}
	f.extract = metric.New(heardWants(f.a.exp, f.climb), func(r metric.Reading) {
		if f.climb != nil {
			f.climb.reading(r)
		}
		if r.Line > recorded[r.Metric] && (f.climb == nil || f.asked(r.Metric)) {
			f.reading(r)
		}
	})
}

// heardWants are those that are read while the log grows, with the step of early stop if there is a climber.
func heardWants(e *plan.Experiment, c *climber) []metric.Want {
	ws := logWants(wants(e))
	if e.Evaluate != nil {
		ws = nil // only what the evaluation says counts
	}
	if c != nil && !slices.ContainsFunc(ws, func(w metric.Want) bool { return w.Name == c.step }) {
		ws = append(ws, metric.Want{Name: c.step, Pick: "last"})
	}
	return ws
}

// Status implements hosts.Observer.
func (f *follower) Status(s hosts.Status) {
	first := f.phase != hosts.Running && s.Phase == hosts.Running
	f.phase = s.Phase
	if f.unknown && s.Phase == hosts.Running && !first {
		f.append(ledger.AttemptState{Attempt: f.a.Attempt, State: ledger.Running, Reason: "the host answers again"})
	}
	f.unknown = false
	if s.Phase == hosts.Queued && s.Why != "" && f.waits != nil {
		f.waits(s.Why)
	}
	if !first {
		return
	}
	e := ledger.AttemptStarted{Attempt: f.a.Attempt, PID: s.PID, GPUs: []ledger.GPU{}}
	f.gpus = s.GPUs
	for _, g := range s.GPUs {
		e.GPUs = append(e.GPUs, ledger.GPU(g))
	}
	if !s.Started.IsZero() {
		at := s.Started.UTC()
		e.At = &at
	}
	if f.over = s.Over; f.over {
		f.held = append(f.held, e) // its outcome follows at once: one write to disk does for both
		return
	}
	f.append(e)
}

// Log implements hosts.Observer.
func (f *follower) Log(p []byte) {
	_, _ = f.clean.Write(p) // heard does not fail
}

// heard takes what the log says, without secrets.
type heard struct{ f *follower }

func (h heard) Write(p []byte) (int, error) {
	h.f.tail.write(p)
	return h.f.extract.Write(p)
}

func (f *follower) reading(r metric.Reading) {
	if r.Metric == f.a.exp.Objective.Metric && f.printed != nil {
		f.printed()
		f.printed = nil
	}
	f.keep(r)
	if f.over { // as with its start
		return
	}
	if now := f.now(); now.Sub(f.flushed) >= f.every {
		f.append(f.series()...)
		if !f.flushed.IsZero() {
			f.every = min(2*f.every, lastFlush)
		}
		f.flushed = now
	}
}

// asked reports whether the experiment asks for the metric, and not only early stop.
func (f *follower) asked(name string) bool {
	_, further := f.a.exp.Metrics[name]
	return further || name == f.a.exp.Objective.Metric
}

// keep makes a reading wait for the next flush.
func (f *follower) keep(r metric.Reading) {
	v := ledger.MetricValue{Value: ledger.Number(r.Value), Line: r.Line}
	if !finite(r.Value) {
		v.Text = r.Text
	}
	if r.Step != nil {
		step := ledger.Number(*r.Step)
		v.Step = &step
	}
	if f.pending[r.Metric] == nil {
		f.pending[r.Metric] = &series{}
	}
	f.pending[r.Metric].add(v)
	if f.told == nil {
		f.told = map[string]int64{}
	}
	f.told[r.Metric] = r.Line
}

// series takes what is pending, after what was held.
func (f *follower) series() []ledger.Body {
	out := f.held
	f.held = nil
	for _, name := range slices.Sorted(maps.Keys(f.pending)) {
		out = append(out, ledger.MetricValues{Attempt: f.a.Attempt, Metric: name, Values: f.pending[name].take()})
	}
	clear(f.pending)
	return out
}

func (f *follower) append(bodies ...ledger.Body) {
	if f.err != nil || len(bodies) == 0 {
		return
	}
	bodies, f.held = append(f.held, bodies...), nil
	f.err = f.record.Append(context.Background(), events(f.a.run, f.now(), bodies...)...)
	if f.err != nil && f.failed != nil {
		f.failed(f.err)
	}
}

func events(run string, at time.Time, bodies ...ledger.Body) []ledger.Event {
	es := make([]ledger.Event, len(bodies))
	for i, b := range bodies {
		es[i] = ledger.New(run, at, b)
	}
	return es
}

// errLeft is the error of an attempt that was left running on its host because xrun is leaving.
var errLeft = errors.New("left running")

// retryUnreachable is how long after a host did not answer it is asked again.
const retryUnreachable = 5 * time.Second

// follow watches a until it ended and brings its files home. If ctx ends first, the error is errLeft and the job goes
// on; one that was only queued is taken back, and its outcome is cancelled.
func (f *follower) follow(ctx context.Context, h Host, state string) (ledger.AttemptFinished, error) {
	exit, err := f.watch(ctx, h)
	if err != nil {
		return ledger.AttemptFinished{}, err
	}
	_ = f.clean.Close()                                                            // heard does not fail
	f.extract.Close(exit.End != hosts.Exited || exit.Code >= 128 || exit.DiskFull) // its last line may be half of one
	f.climb.close()
	brought, ferr := f.fetch(ctx, h, state)
	switch {
	case errors.Is(ferr, errLeft):
		return ledger.AttemptFinished{}, errLeft
	case errors.Is(ferr, hosts.ErrDiskFull): // here: who comes when there is room brings them home
		return ledger.AttemptFinished{}, fmt.Errorf("bring the files of attempt %d of %s/%s home: %w", f.a.Attempt.Attempt, f.a.Experiment, f.a.Trial, ferr)
	}
	for _, log := range []string{"log", "setup.log", "evaluate.log"} {
		if err := f.redact.file(filepath.Join(f.a.dir(state), log)); err != nil {
			return ledger.AttemptFinished{}, err
		}
	}
	if exit.Step != "" {
		if err := f.tail.read(filepath.Join(f.a.dir(state), exit.Step+".log")); err != nil {
			return ledger.AttemptFinished{}, err
		}
	}
	said, err := f.said(state, exit.DiskFull)
	if err != nil {
		return ledger.AttemptFinished{}, err
	}
	results, err := findings(wants(f.a.exp), said, filepath.Join(f.a.dir(state), "artifacts"), brought.Artifacts, f.redact, f.keep)
	if err != nil {
		return ledger.AttemptFinished{}, err
	}
	out := f.judge(exit, results, ferr)
	out.Notes = append(out.Notes, f.unmatched(slices.Concat(brought.Artifacts, brought.Kept))...)
	out.Artifacts = append([]string{}, brought.Artifacts...)
	if out.Kept = brought.Kept; len(out.Kept) > 0 {
		out.KeptDir = brought.KeptDir
	}
	out.Log = f.a.home + "/log"
	out.Notes = append(out.Notes, left(brought)...)
	if ferr != nil {
		if out.Cause == string(CauseSync) {
			out.Signature = signature(CauseSync, nil, []string{ferr.Error()})
		} else {
			out.Notes = append(out.Notes, "its files did not come home: "+brief(ferr.Error()))
		}
		f.redact.outcome(&out)
		return out, f.err
	}
	f.redact.outcome(&out)
	if err := writeResult(filepath.Join(f.a.dir(state), "result.json"), out); err != nil {
		return out, errors.Join(f.err, err)
	}
	f.fetched = true
	return out, f.err
}

// discard lets the host forget the attempt. It comes after the outcome is recorded: until then the job on the host is
// the only witness, and whoever comes after a crash asks it.
func (f *follower) discard(h Host) {
	if f.fetched {
		h.Discard(f.a.job)
	}
}

// fetch brings the files of an ended attempt home, even if xrun is leaving: it takes a moment, and saves a run.
func (f *follower) fetch(ctx context.Context, h Host, state string) (hosts.Brought, error) {
	for {
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Minute)
		b, err := h.Fetch(grace, f.a.job, f.a.dir(state), f.want())
		cancel()
		if !errors.Is(err, hosts.ErrUnreachable) {
			return b, err
		}
		if !f.wait(ctx, err) {
			return hosts.Brought{}, errLeft
		}
	}
}

func (f *follower) watch(ctx context.Context, h Host) (hosts.Exit, error) {
	for {
		exit, err := h.Watch(ctx, f.a.job, f)
		switch {
		case err == nil:
			return exit, nil
		case ctx.Err() != nil:
			return f.takeBack(ctx, h)
		case !errors.Is(err, hosts.ErrUnreachable):
			return exit, fmt.Errorf("watch %s on %s: %w", f.a.job, f.a.host, err)
		}
		f.wait(ctx, err)
		f.rewind()
	}
}

// wait records that the host does not answer, and reports after a while whether to go on.
func (f *follower) wait(ctx context.Context, why error) bool {
	if !f.unknown {
		f.unknown = true
		f.append(ledger.AttemptState{Attempt: f.a.Attempt, State: ledger.Unknown, Reason: why.Error()})
	}
	select {
	case <-ctx.Done():
		return false
	case <-time.After(retryUnreachable):
		return true
	}
}

// takeBack is for when xrun leaves: a job that waits is taken back, one that runs goes on.
func (f *follower) takeBack(ctx context.Context, h Host) (hosts.Exit, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	taken, err := h.Withdraw(ctx, f.a.job, "xrun was interrupted")
	if err != nil || !taken {
		return hosts.Exit{}, errLeft
	}
	f.back = true
	f.rewind()
	exit, err := h.Watch(ctx, f.a.job, f)
	if err != nil {
		return exit, errLeft
	}
	return exit, nil
}

// said is what the log says of the metrics, or, of an experiment that evaluates, the log of the evaluation.
func (f *follower) said(state string, cut bool) ([]metric.Result, error) {
	if f.a.exp.Evaluate == nil {
		return f.extract.Results(), nil
	}
	x := metric.New(logWants(wants(f.a.exp)), f.keep)
	log, err := os.Open(filepath.Join(f.a.dir(state), "evaluate.log"))
	if err == nil {
		defer log.Close()
		_, err = io.Copy(x, log)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // there is none where the command failed
		return nil, fmt.Errorf("read what the evaluation says: %w", err)
	}
	x.Close(cut)
	return x.Results(), nil
}

func writeResult(path string, out ledger.AttemptFinished) error {
	b, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, append(b, '\n'), 0o600)
}
