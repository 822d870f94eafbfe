package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/xrun-dev/xrun/internal/engine"
	"github.com/xrun-dev/xrun/internal/engine/checkpoint"
	"github.com/xrun-dev/xrun/internal/hosts"
	"github.com/xrun-dev/xrun/internal/ledger"
)

type fetchCmd struct {
	textOrJSON
	Target string `arg:"" name:"run/experiment/trial" help:"The trial: by id, unique prefix or name=value,…"`
	Glob   string `arg:"" optional:"" help:"Only the files that match."`
}

// Help is the example.
func (fetchCmd) Help() string {
	return "Example:\n  xrun fetch last/pretrain/seed=0 '*.pt'\n\nBrings what artifacts.keep, or artifacts.max_size, left on the host, beside the artifacts that came home."
}

// Run brings them.
func (c *fetchCmd) Run(ctx context.Context, a *app) error {
	if strings.Count(c.Target, "/") < 2 {
		return needsTrial("fetch", c.Target)
	}
	if _, err := checkpoint.Match(or(c.Glob, "*"), "x"); err != nil {
		return usageError(err)
	}
	l, err := ledger.OpenReader(ctx, a.findState())
	if err != nil {
		return err
	}
	defer l.Close()
	t, err := a.resolve(ctx, l, c.Target)
	if err != nil {
		return err
	}
	out, err := outcomeOf(ctx, l, t)
	if err != nil {
		return err
	}
	if len(out.Kept) == 0 {
		return &cliError{code: exitUsage, kind: "usage", msg: fmt.Sprintf("trial %s left nothing on a host", t.trial), hint: "artifacts.keep names what is to stay there; what came home is listed by `xrun show`"}
	}
	home := filepath.Join(t.state, filepath.FromSlash(filepath.Dir(out.Log)), "artifacts")
	names, err := hosts.BringKept(ctx, out.KeptDir, home, func(name string) bool {
		return c.Glob == "" || engine.Named(c.Glob, name) // as artifacts.keep names them: a directory is all that is in it
	})
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return &cliError{code: exitUsage, kind: "usage", msg: fmt.Sprintf("nothing that trial %s left on %s matches, or it is gone", t.trial, out.Host), hint: "it left: " + strings.Join(out.Kept, ", ")}
	}
	paths := make([]string, len(names))
	for i, n := range names {
		paths[i] = filepath.Join(home, filepath.FromSlash(n))
	}
	if c.Output == "json" {
		return a.printJSON(paths)
	}
	for _, p := range paths {
		fmt.Fprintln(a.stdout, visible(p))
	}
	return nil
}

// outcomeOf is the outcome that counts of a trial: its own, or the one that was reused.
func outcomeOf(ctx context.Context, l *ledger.Ledger, t *target) (ledger.AttemptFinished, error) {
	var out ledger.AttemptFinished
	events, err := l.EventsOfTrials(ctx, t.run.ID, false, t.key())
	if err != nil {
		return out, err
	}
	for _, e := range events {
		switch b := e.Body.(type) {
		case ledger.AttemptFinished:
			if !b.Twin {
				out = b
			}
		case ledger.TrialFinished:
			if b.Reused != nil {
				out = b.Reused.Outcome
			}
		}
	}
	return out, nil
}
