package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/xrun-dev/xrun/internal/engine"
	"github.com/xrun-dev/xrun/internal/engine/checkpoint"
	"github.com/xrun-dev/xrun/internal/ledger"
	"github.com/xrun-dev/xrun/internal/plan"
	"github.com/xrun-dev/xrun/internal/report"
)

// A session is one process at work in a state directory, whose lock it holds.
type session struct {
	app         *app
	state       string
	lock        *stateLock
	ledger      *ledger.Ledger
	code        checkpoint.Store
	id          string // of the run
	history     plan.History
	hosts       map[string]engine.Host
	closeHosts  func(context.Context) error
	running     []ledger.OpenAttempt // of dead runs, still on hosts
	settlement  *engine.Settlement
	maxParallel int
	bounds      engine.Bounds
	secrets     map[string]engine.Secrets
	redact      *engine.Redactor // of these secrets and those of the runs that are settled
	asked       asked
	events      *os.File
	eventsErr   error
}

// open takes the state directory. overlap says what to do if another run is active.
func (a *app) open(ctx context.Context, state, overlap string) (*session, error) {
	if err := makeState(state); err != nil {
		return nil, err
	}
	var wait func(*lockedError)
	if overlap == "wait" {
		wait = func(e *lockedError) {
			if !a.Quiet {
				fmt.Fprintf(a.stderr, "xrun: waiting: %s\n", e)
			}
		}
	}
	lock, err := lockState(ctx, state, wait)
	if e, ok := errors.AsType[*lockedError](err); ok && overlap == "skip" {
		return nil, a.skip(state, e)
	} else if ok {
		hint := "wait for it (--overlap wait), or use another --state"
		if overlap == "" { // the command has no such flag
			hint = "wait until it has ended (`xrun status` shows how far it is), or end it (`xrun stop`)"
		}
		return nil, &cliError{code: exitError, kind: "overlap", msg: e.Error(), hint: hint}
	}
	if err != nil {
		return nil, err
	}
	a.writes = state
	// We are of no run yet, and who stands there is dead: nobody is to ask him for anything. On a full disk the name may be
	// missing, as that of one who has not come so far.
	if err := lock.name("", a.now()); err != nil {
		a.log.Debug("the lock has no name", "error", err)
	}
	l, err := ledger.Open(ctx, state)
	if err != nil {
		return nil, errors.Join(err, lock.release())
	}
	a.sayRecovered(l)
	s := &session{app: a, state: state, lock: lock, ledger: l, code: checkpoint.Store{Dir: filepath.Join(state, "code")}}
	l.Listen(s.others)
	if err := s.recordSkips(ctx); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *session) close() {
	if s.closeHosts != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := s.closeHosts(ctx); err != nil {
			s.app.log.Warn("close hosts", "error", err)
		}
	}
	if s.events != nil {
		s.eventsErr = errors.Join(s.eventsErr, s.events.Close())
	}
	if err := errors.Join(s.ledger.Close(), s.lock.release()); err != nil {
		s.app.log.Error("close state directory", "error", err)
	}
}

// begin opens the hosts, settles what dead runs left, and reads the history.
func (s *session) begin(ctx context.Context, j *job, only []string) error {
	for _, name := range only {
		if !slices.ContainsFunc(j.spec.Hosts, func(h plan.Host) bool { return h.Name == name }) {
			return &cliError{code: exitUsage, kind: "usage", msg: fmt.Sprintf("--host %s: no host is called that", name)}
		}
	}
	var err error
	if s.hosts, s.closeHosts, err = s.app.openHosts(j.spec, s.state); err != nil {
		return err
	}
	if s.secrets, err = secrets(ctx, j.spec.Experiments); err != nil {
		return err
	}
	if s.redact, err = s.hidden(ctx, s.secrets); err != nil {
		return err
	}
	s.settlement = &engine.Settlement{Past: s.ledger, Record: s.ledger, Host: s.host, State: s.state, Redact: s.redact, Now: s.app.now}
	if s.running, err = s.settlement.Settle(ctx); err != nil {
		return err
	}
	if err := s.sweep(ctx); err != nil {
		return err
	}
	s.history = history(ctx, s.ledger)
	return nil
}

// host finds a host by name; jobs of a host that the spec no longer has are on this machine, as long as that is the
// only kind there is.
func (s *session) host(name string) engine.Host {
	if h, ok := s.hosts[name]; ok {
		return h
	}
	for _, h := range s.hosts {
		return h
	}
	return nil
}

// run executes a plan as a new run, and returns its exit code.
func (s *session) run(ctx context.Context, j *job, p *plan.Plan, paths []string) (int, error) {
	runs, err := s.ledger.Runs(ctx)
	if err != nil {
		return 0, err
	}
	newest := ""
	if len(runs) > 0 {
		newest = runs[0].ID
	}
	if s.id, err = newRunID(s.app.now(), newest); err != nil {
		return 0, err
	}
	if err := os.MkdirAll(filepath.Join(s.state, "runs"), 0o700); err != nil {
		return 0, err
	}
	if err := os.Mkdir(s.dir(), 0o700); err != nil {
		return 0, fmt.Errorf("make the run's directory: %w", err)
	}
	if err := s.lock.name(s.id, s.app.now()); err != nil {
		return 0, err
	}
	s.sayChanged(p)
	if err := s.store(ctx, j, p); err != nil {
		return 0, err
	}
	if err := writePlan(filepath.Join(s.dir(), "plan.json"), p); err != nil {
		return 0, err
	}
	adopt, err := s.adopt(ctx, p)
	if err != nil {
		return 0, err
	}
	if err := s.listen(ctx); err != nil {
		return 0, err
	}
	if err := s.ledger.Append(ctx, ledger.New(s.id, s.app.now(), s.start(j, p, paths))); err != nil {
		return 0, err
	}
	return s.execute(ctx, j, p, adopt, nil)
}

// sayChanged says what makes trials run again: often it is a file that nobody meant to be code.
func (s *session) sayChanged(p *plan.Plan) {
	n, what := 0, []string{}
	for _, e := range p.Experiments {
		for _, t := range e.Trials {
			if t.Why == plan.Changed {
				n++
				what = append(what, t.Changed...)
			}
		}
	}
	if n == 0 || s.app.Quiet {
		return
	}
	what = sortedUnique(what)
	more := ""
	if k := len(what) - 3; k > 0 {
		what, more = what[:3], fmt.Sprintf(" and %d more", k)
	}
	fmt.Fprintf(s.app.stderr, "%s again, because this changed: %s%s\n", count(n, "trial"), visible(strings.Join(what, ", ")), more)
}

func (s *session) dir() string { return filepath.Join(s.state, "runs", s.id) }

// adopt keeps the running attempts of dead runs whose trial is to be run now, and stops the others.
func (s *session) adopt(ctx context.Context, p *plan.Plan) (map[string]ledger.OpenAttempt, error) {
	if len(s.running) == 0 {
		return nil, nil
	}
	wanted := map[string]bool{}
	for _, e := range p.Experiments {
		for _, t := range e.Trials {
			if t.Why != plan.Reused {
				wanted[t.ID] = true
			}
		}
	}
	out := map[string]ledger.OpenAttempt{}
	for _, o := range s.running {
		_, taken := out[o.Trial]
		_, here := s.hosts[o.Host]
		if wanted[o.Trial] && !taken && here {
			out[o.Trial] = o
			continue
		}
		if err := s.settlement.Stop(ctx, o, "nobody waits for it any more"); err != nil {
			s.app.log.Warn("stop what a dead run left", "job", o.Job, "error", err)
		}
	}
	if len(out) > 0 && !s.app.Quiet {
		fmt.Fprintf(s.app.stderr, "%s of a run that did not end: taken over\n", count(len(out), "running trial"))
	}
	return out, nil
}

// listen shows the events of the run and keeps them in events.jsonl. What the run recorded earlier is written again, so
// that the file is whole whatever happened to it.
func (s *session) listen(ctx context.Context) error {
	f, err := os.OpenFile(filepath.Join(s.dir(), "events.jsonl"), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	s.events = f
	live := report.NewLive(s.app.stderr, s.app.Quiet).In(s.state)
	for e, err := range s.ledger.Events(ctx, s.id) {
		if err != nil {
			return err
		}
		if err := report.WriteEvent(f, e); err != nil {
			return err
		}
		live.State().Apply(e)
	}
	s.ledger.Listen(func(e ledger.Event) {
		if e.Run != s.id {
			return
		}
		if err := report.WriteEvent(f, e); err != nil && s.eventsErr == nil {
			s.eventsErr = err
		}
		live.Handle(e)
	})
	return nil
}

// execute hands the plan to the engine.
func (s *session) execute(ctx context.Context, j *job, p *plan.Plan, adopt map[string]ledger.OpenAttempt, seen *engine.Seen) (int, error) {
	codes := map[string][]plan.CodeFile{}
	for _, m := range j.manifests {
		codes[m.ID] = planFiles(m)
	}
	heard, deaf := context.WithCancel(ctx)
	defer deaf()
	out, err := engine.Run(ctx, engine.Config{
		Bounds: s.bounds, Secrets: s.secrets, Redact: s.redact, Requests: engine.Requests(heard, s.dir(), s.app.log.Named("control")),
		Run: s.id, Plan: p, Spec: j.spec, Trees: j.trees(s.code), Codes: codes, Hosts: s.hosts, Reusable: s.ledger.Reusable, Seen: seen,
		Adopt: adopt, State: s.state, MaxParallel: s.maxParallel, Record: s.ledger, Now: s.app.now, Log: s.app.log.Named("engine"),
	})
	if err != nil {
		return 0, err
	}
	if out.Interrupted {
		s.interrupted(out)
		return engine.ExitInterrupted, nil
	}
	return out.Finish().ExitCode, nil
}

// interrupted says what still runs. How to go on has been said when the interruption was recorded.
func (s *session) interrupted(out engine.Outcome) {
	for _, host := range sortedKeys(out.Left) {
		for _, a := range out.Left[host] {
			fmt.Fprintf(s.app.stderr, "still running on %s (`xrun resume` takes it up, `xrun stop --now` ends it): %s/%s\n", host, a.Experiment, a.Trial)
		}
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// finish writes the report files, prints the result and returns the exit code as an error.
func (s *session) finish(ctx context.Context, output string, code int) error {
	ctx = context.WithoutCancel(ctx) // a report is written of an interrupted run too
	if err := s.recordSkips(ctx); err != nil {
		return err
	}
	r, err := writeReport(ctx, s.ledger, s.state, s.id)
	if err != nil {
		return err
	}
	if s.eventsErr != nil {
		s.app.log.Warn("events.jsonl is not whole; `xrun report` does not need it", "error", s.eventsErr)
	}
	switch {
	case output == "json":
		if _, err := s.app.stdout.Write(r.JSON()); err != nil {
			return err
		}
	case !s.app.Quiet || code != 0:
		fmt.Fprintf(s.app.stdout, "%s\nreport: %s\n", r.Headline(), filepath.Join(s.dir(), "report.md"))
	}
	return status(code)
}

func hostUser() string {
	name := os.Getenv("USER")
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	return name + "@" + host
}

// bounds are those of the spec; a flag goes before its deadline.
func (a *app) bounds(spec *plan.Spec, deadline string) (engine.Bounds, error) {
	b := engine.Bounds{Budget: spec.Settings.Budget}
	if text := or(deadline, spec.Settings.Deadline); text != "" {
		at, err := plan.ParseDeadline(text, a.now())
		if err != nil {
			return b, &cliError{code: exitUsage, kind: "usage", msg: err.Error()}
		}
		b.Deadline = at
	}
	return b, nil
}
