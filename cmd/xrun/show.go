package main

import (
	"context"
	"strings"

	"github.com/xrun-dev/xrun/internal/ledger"
	"github.com/xrun-dev/xrun/internal/report"
)

// A target is RUN[/EXPERIMENT[/TRIAL]], resolved.
type target struct {
	state      string
	run        ledger.Run
	fold       *report.State
	experiment string // "" for the whole run
	trial      string // "" for the whole experiment
}

// resolve finds what an argument names. A trial is given by its id, the beginning of one, or name=value,….
func (a *app) resolve(ctx context.Context, l *ledger.Ledger, arg string) (*target, error) {
	t := &target{state: a.findState()}
	runArg, rest, _ := strings.Cut(arg, "/")
	var err error
	if t.run, err = l.Find(ctx, runArg); err != nil {
		return nil, usageHint(err)
	}
	if t.fold, err = fold(ctx, l, t.run.ID); err != nil {
		return nil, err
	}
	t.experiment, t.trial, _ = strings.Cut(rest, "/")
	if t.trial != "" {
		k, err := t.fold.Find(t.experiment, t.trial)
		if err != nil {
			return nil, t.wrong(err)
		}
		t.trial = k.Trial
	}
	return t, nil
}

func (t *target) wrong(err error) error {
	return &cliError{code: exitUsage, kind: "usage", msg: err.Error(), hint: "`xrun show " + t.run.ID + "` lists what the run has"}
}

type showCmd struct {
	textOrJSON
	Target string `arg:"" name:"run[/experiment[/trial]]" help:"What to show: a trial by id, unique prefix or name=value,…"`
}

// Help is the example.
func (showCmd) Help() string { return "Example:\n  xrun show last/lr-sweep/lr=0.1,seed=0" }

// Run shows it.
func (c *showCmd) Run(ctx context.Context, a *app) error {
	l, err := ledger.OpenReader(ctx, a.findState())
	if err != nil {
		return err
	}
	defer l.Close()
	t, err := a.resolve(ctx, l, c.Target)
	if err != nil {
		return err
	}
	if t.experiment == "" && c.Output == "json" {
		r, err := buildReport(ctx, l, t.run.ID)
		if err != nil {
			return err
		}
		_, err = a.stdout.Write(r.JSON())
		return err
	}
	v, err := t.fold.ShowJSON(t.experiment, t.trial)
	if err != nil {
		return t.wrong(err)
	}
	if c.Output == "json" {
		return a.printJSON(v)
	}
	return t.fold.Show(a.stdout, t.experiment, t.trial)
}
