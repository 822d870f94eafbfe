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
	t.experiment, t.trial, _ = strings.Cut(rest, "/")
	switch {
	case t.trial != "":
		k, err := report.Find(ctx, l, t.run, t.experiment, t.trial)
		if err != nil {
			return nil, t.wrong(err)
		}
		t.trial = k.Trial
	case t.experiment != "":
		if err := report.HasExperiment(t.run, t.experiment); err != nil {
			return nil, t.wrong(err)
		}
	}
	return t, nil
}

func (t *target) key() ledger.Key { return ledger.Key{Experiment: t.experiment, Trial: t.trial} }

func (t *target) wrong(err error) error {
	return &cliError{code: exitUsage, kind: "usage", msg: err.Error(), hint: "`xrun show " + t.run.ID + "` lists what the run has"}
}

type showCmd struct {
	textOrJSON
	Target string `arg:"" name:"run[/experiment[/trial]]" help:"What to show: a trial by id, unique prefix or name=value,…"`
}

// Help is the example.
func (showCmd) Help() string {
	return "Example:\n  xrun show last/lr-sweep/lr=0.1,seed=0\n\nOf an experiment of more than 100 trials, RUN lists the best and the first that failed; RUN/EXPERIMENT lists them all, and\nso does -o json, which is report.json for a RUN."
}

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
		return r.WriteJSON(a.stdout)
	}
	s, err := t.read(ctx, l)
	if err != nil {
		return err
	}
	if c.Output != "json" {
		return s.Show(a.stdout, t.experiment, t.trial)
	}
	v, err := s.ShowJSON(t.experiment, t.trial)
	if err != nil {
		return t.wrong(err)
	}
	return a.printJSON(v)
}

// read reads of a run what is to be shown.
func (t *target) read(ctx context.Context, l *ledger.Ledger) (*report.State, error) {
	switch {
	case t.trial != "":
		return report.One(ctx, l, t.run, t.key())
	case t.experiment != "":
		return report.Whole(ctx, l, t.run.ID)
	default:
		return report.Brief(ctx, l, t.run)
	}
}
