package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/xrun-dev/xrun/internal/engine"
	"github.com/xrun-dev/xrun/internal/ledger"
)

type stopCmd struct {
	Target string `arg:"" optional:"" name:"run[/experiment[/trial]]" default:"last" help:"What to stop."`
	Now    bool   `help:"End what still runs on the hosts."`
}

// Help is the example.
func (stopCmd) Help() string {
	return "Example:\n  xrun stop last --now\n\nOf a run that is active nothing more is started, what runs is left to end; with --now it is ended. Of an interrupted\nrun --now ends what it left running. A run that was stopped as a whole can be resumed."
}

// Run stops it.
func (c *stopCmd) Run(ctx context.Context, a *app) error {
	state := a.findState()
	runArg, rest, _ := strings.Cut(c.Target, "/")
	if _, err := os.Stat(filepath.Join(state, ledger.FileName)); err != nil {
		return usageHint(&ledger.NoRunError{Arg: runArg})
	}
	s, err := a.open(ctx, state, "fail")
	if e, ok := errors.AsType[*cliError](err); ok && e.kind == "overlap" {
		return c.ask(ctx, a, state, runArg, e)
	}
	if err != nil {
		return err
	}
	defer s.close()
	run, err := s.ledger.Find(ctx, runArg)
	if err != nil {
		return usageHint(err)
	}
	s.id = run.ID
	return c.stop(ctx, s, rest)
}

func (c *stopCmd) stop(ctx context.Context, s *session, rest string) error {
	experiment, trial, _ := strings.Cut(rest, "/")
	if rest != "" {
		t, err := s.app.resolve(ctx, s.ledger, s.id+"/"+rest)
		if err != nil {
			return err
		}
		trial = t.trial
	}
	j, _, err := s.recall()
	if err != nil {
		return err
	}
	if s.hosts, s.closeHosts, err = s.app.openHosts(j.spec, s.state); err != nil {
		return err
	}
	hidden, err := s.hidden(ctx, nil)
	if err != nil {
		return err // the log would come home with them in it
	}
	s.settlement = &engine.Settlement{Past: s.ledger, Record: s.ledger, Host: s.host, State: s.state, Redact: hidden, Now: s.app.now}
	running, err := s.settlement.Settle(ctx)
	if err != nil {
		return err
	}
	n := 0
	for _, o := range running {
		if o.Run != s.id || experiment != "" && o.Experiment != experiment || trial != "" && o.Trial != trial {
			continue
		}
		n++
		if !c.Now {
			fmt.Fprintf(s.app.stdout, "still running on %s: %s/%s\n", o.Host, o.Experiment, o.Trial)
			continue
		}
		if err := s.settlement.Stop(ctx, o, "xrun stop --now"); err != nil {
			return err
		}
		fmt.Fprintf(s.app.stdout, "ended on %s: %s/%s\n", o.Host, o.Experiment, o.Trial)
	}
	switch {
	case n == 0:
		fmt.Fprintf(s.app.stderr, "xrun: nothing of it runs\n")
	case !c.Now:
		fmt.Fprintf(s.app.stderr, "xrun: hint: nothing more of it is started; --now ends what runs\n")
	}
	return nil
}

// heardWithin is how long a run may take to hear a request: it looks four times a second, between two records.
const heardWithin = 10 * time.Second

// ask leaves a request for the run that is active.
func (c *stopCmd) ask(ctx context.Context, a *app, state, runArg string, locked *cliError) error {
	l, err := ledger.OpenReader(ctx, state)
	if err != nil {
		return err
	}
	defer l.Close()
	run, err := l.Find(ctx, runArg)
	if err != nil {
		return usageHint(err)
	}
	if !lockHeldBy(state, run.ID) {
		return &cliError{code: exitUsage, kind: "usage", msg: fmt.Sprintf("run %s is not active: %s", run.ID, locked.msg), hint: "name that run, or wait until it has ended"}
	}
	q := engine.Request{Now: c.Now, Reason: "xrun stop"}
	if c.Now {
		q.Reason = "xrun stop --now"
	}
	if _, rest, ok := strings.Cut(c.Target, "/"); ok {
		q.Experiment, _, ok = strings.Cut(rest, "/")
		if ok {
			t, err := a.resolve(ctx, l, run.ID+"/"+rest)
			if err != nil {
				return err
			}
			q.Trial = t.trial
		} else if !slices.Contains(run.Experiments, q.Experiment) {
			return &cliError{
				code: exitUsage, kind: "usage", msg: fmt.Sprintf("run %s has no experiment %q", run.ID, q.Experiment),
				hint: "experiments: " + strings.Join(run.Experiments, ", "),
			}
		}
	}
	file, err := engine.Ask(filepath.Join(state, "runs", run.ID), q)
	if err != nil {
		return err
	}
	if err := heard(ctx, file); err != nil {
		return err
	}
	what := "nothing more of it is started, what runs is left to end"
	if c.Now {
		what = "what runs of it is ended"
	}
	_, err = fmt.Fprintf(a.stdout, "%s: %s\n", run.ID+strings.TrimPrefix(c.Target, runArg), what)
	return err
}

// heard waits until the run has taken the request.
func heard(ctx context.Context, file string) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	late := time.After(heardWithin)
	for {
		if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-late:
			return &cliError{code: exitError, kind: "error", msg: fmt.Sprintf("the run does not hear: %s is still there", file), hint: "is its process stopped, or its disk? the request stands"}
		case <-tick.C:
		}
	}
}
