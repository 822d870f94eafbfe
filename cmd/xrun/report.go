package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"

	"github.com/xrun-dev/xrun/internal/ledger"
	"github.com/xrun-dev/xrun/internal/report"
)

type reportCmd struct {
	RunID  string `arg:"" optional:"" name:"run" default:"last" help:"A run."`
	Output string `short:"o" enum:",md,json,html,csv,junit" default:"" help:"Print this form and write nothing: md, json, csv or junit (html is not built yet)."`
}

// Help is the example.
func (reportCmd) Help() string {
	return "Example:\n  xrun report last -o csv >/tmp/trials.csv\n\nWithout -o the run's report files are written again, from the ledger alone.\ncsv: one trial a line, its parameters and metrics in columns. junit: for a CI system, also written as junit.xml."
}

// enough is the memory, in bytes, that the report of a run of 100,000 trials may take. What is more than is needed is given
// back earlier from there on.
const enough = 500 << 20

// Run reports.
func (c *reportCmd) Run(ctx context.Context, a *app) error {
	if c.Output == "html" {
		return notBuilt("report -o html")
	}
	if _, set := os.LookupEnv("GOMEMLIMIT"); !set {
		debug.SetMemoryLimit(enough)
	}
	state := a.findState()
	l, err := ledger.OpenReader(ctx, state)
	if err != nil {
		return err
	}
	defer l.Close()
	run, err := l.Find(ctx, c.RunID)
	if err != nil {
		return usageHint(err)
	}
	if c.Output == "" {
		r, err := writeReport(ctx, l, state, run.ID)
		if err != nil {
			return err
		}
		if !a.Quiet {
			fmt.Fprintf(a.stdout, "%s\nreport: %s\n", r.Headline(), filepath.Join(state, "runs", run.ID, "report.md"))
		}
		return nil
	}
	r, err := buildReport(ctx, l, run.ID)
	if err != nil {
		return err
	}
	if c.Output == "json" {
		return r.WriteJSON(a.stdout)
	}
	forms := map[string]func() []byte{"md": r.Markdown, "csv": r.CSV, "junit": r.JUnit}
	_, err = a.stdout.Write(forms[c.Output]())
	return err
}

// buildReport makes the report of a run from the ledger alone.
func buildReport(ctx context.Context, l *ledger.Ledger, run string) (*report.Report, error) {
	s, err := report.Whole(ctx, l, run)
	if err != nil {
		return nil, err
	}
	o := report.Options{XrunVersion: version()}
	if o.Skipped, err = l.Skipped(ctx, run); err != nil {
		return nil, err
	}
	previous, err := l.Previous(ctx, run, s.Row().Experiments)
	if err != nil {
		return nil, err
	}
	if previous != "" {
		if o.Previous, err = report.Whole(ctx, l, previous); err != nil {
			return nil, err
		}
	}
	return s.Report(o), nil
}

// writeReport writes the report files of a run.
func writeReport(ctx context.Context, l *ledger.Ledger, state, run string) (*report.Report, error) {
	r, err := buildReport(ctx, l, run)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(state, "runs", run)
	return r, errors.Join(
		writeFile(filepath.Join(dir, "report.md"), r.Markdown()), fillFile(filepath.Join(dir, "report.json"), r.WriteJSON),
		writeFile(filepath.Join(dir, "junit.xml"), r.JUnit()))
}
