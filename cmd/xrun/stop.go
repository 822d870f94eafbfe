package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/xrun-dev/xrun/internal/engine"
	"github.com/xrun-dev/xrun/internal/ledger"
)

type stopCmd struct {
	Target string `arg:"" optional:"" name:"run[/experiment[/trial]]" default:"last" help:"What to stop."`
	Now    bool   `help:"End what still runs on the hosts."`
}

// Help is the example.
func (stopCmd) Help() string {
	return "Example:\n  xrun stop last --now\n\nEnds what an interrupted run left running. (To stop a run that is active, interrupt it: other ways are not built yet.)"
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
		return &cliError{code: exitUsage, kind: "unbuilt", msg: "to stop an active run from outside is not built yet: " + e.msg, hint: "interrupt that process (Ctrl-C), then `xrun stop --now`"}
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
	s.settlement = &engine.Settlement{Past: s.ledger, Record: s.ledger, Host: s.host, State: s.state, Now: s.app.now}
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
