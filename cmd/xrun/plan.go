package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/xrun-dev/xrun/internal/ledger"
	"github.com/xrun-dev/xrun/internal/plan"
	"github.com/xrun-dev/xrun/internal/report"
)

type planCmd struct {
	textOrJSON
	Paths            []string `arg:"" optional:"" name:"path" help:"Directories or files of CUE."`
	Out              string   `placeholder:"FILE" help:"Also write the plan to FILE, for \"xrun run FILE\"."`
	Against          string   `placeholder:"RUN|FILE" help:"Show what was added, removed and changed since a run or a plan file."`
	DetailedExitcode bool     `help:"Exit 10 if there is something to run."`
	Probe            bool     `help:"Also look at the hosts: which files the axes of files have now."`
}

// Help is the example.
func (planCmd) Help() string {
	return "Example:\n  xrun plan ./experiments --detailed-exitcode\n\nA dry run: nothing is run, nothing is connected to, no file is made but --out."
}

// Run shows the plan.
func (c *planCmd) Run(ctx context.Context, a *app) error {
	if c.Out != "" {
		if err := a.checkOut(c.Out); err != nil {
			return err
		}
	}
	j, err := a.loadForeseen(ctx, c.Paths)
	if err != nil {
		return err
	}
	if c.Probe {
		if err := errors.Join(probeable(j.spec), j.askGlobs(ctx)); err != nil {
			return err
		}
	}
	l, err := ledger.OpenReader(ctx, j.state)
	if err != nil {
		return err
	}
	defer l.Close()
	p, err := a.build(ctx, j, l)
	if err != nil {
		return err
	}
	if c.Out != "" {
		if err := writeOut(a.path(c.Out), p); err != nil {
			return err
		}
	}
	var diff *plan.Diff
	if c.Against != "" {
		old, err := a.oldPlan(ctx, l, j.state, c.Against)
		if err != nil {
			return err
		}
		d := plan.Compare(old, p)
		diff = &d
	}
	if err := c.print(a, j, p, diff); err != nil {
		return err
	}
	if c.DetailedExitcode && p.ToRun() > 0 {
		return status(exitSomething)
	}
	return nil
}

func (c *planCmd) print(a *app, j *job, p *plan.Plan, diff *plan.Diff) error {
	if c.Output == "json" {
		return plan.Writer{}.Write(safeJSON{a.stdout}, p, func(p *plan.Plan) any {
			if diff == nil {
				return p
			}
			return struct {
				*plan.Plan
				Diff *plan.Diff `json:"diff"`
			}{p, diff}
		})
	}
	if a.Quiet {
		return nil
	}
	v := planView{w: a.stdout, plan: p, job: j}
	v.print()
	if diff != nil {
		v.diff(c.Against, *diff)
	}
	return nil
}

// build plans the job with what the ledger knows.
func (a *app) build(ctx context.Context, j *job, l *ledger.Ledger) (*plan.Plan, error) {
	return j.build(ctx, l, j.basis(history(ctx, l)))
}

// build is buildPlan with what the history says about the limits.
func (j *job) build(ctx context.Context, l *ledger.Ledger, b plan.Basis) (*plan.Plan, error) {
	p, err := j.planOn(ctx, l, b)
	if err != nil {
		return nil, err
	}
	for _, f := range plan.CheckLimits(j.spec, p) {
		w := j.spec.Problem(f)
		j.limitWarnings = append(j.limitWarnings, w)
		p.Warnings = append(p.Warnings, warning(w))
	}
	return p, nil
}

func buildPlan(b plan.Basis) (*plan.Plan, error) {
	p, err := plan.Build(b)
	if e, ok := errors.AsType[*plan.HistoryError](err); ok {
		return nil, e.Err
	}
	if err != nil {
		return nil, &cliError{code: exitUsage, kind: "spec", msg: err.Error()}
	}
	return p, nil
}

// safeJSON passes JSON on without what a terminal would obey. What is written to it at once splits no character.
type safeJSON struct{ w io.Writer }

func (s safeJSON) Write(b []byte) (int, error) {
	if _, err := s.w.Write(report.SafeJSON(b)); err != nil {
		return 0, err
	}
	return len(b), nil
}

// planJSON writes the text of plan.json.
func planJSON(w io.Writer, p *plan.Plan) error {
	return plan.Writer{}.Write(safeJSON{w}, p, func(p *plan.Plan) any { return p })
}

// writePlan writes plan.json.
func writePlan(path string, p *plan.Plan) error {
	return fillFile(path, func(w io.Writer) error { return planJSON(w, p) })
}

// oldPlan reads the plan of a run, or a plan file.
func (a *app) oldPlan(ctx context.Context, l *ledger.Ledger, state, arg string) (*plan.Plan, error) {
	path := a.path(arg)
	if _, err := os.Stat(path); err != nil {
		r, err := l.Find(ctx, arg)
		if err != nil {
			return nil, usageHint(err)
		}
		path = filepath.Join(state, "runs", r.ID, "plan.json")
	}
	return readPlan(path)
}

func readPlan(path string) (*plan.Plan, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, &cliError{code: exitUsage, kind: "usage", msg: fmt.Sprintf("%s: no such plan", path), hint: "`xrun plan --out FILE` writes one"}
	}
	if err != nil {
		return nil, fmt.Errorf("read plan: %w", err)
	}
	p := &plan.Plan{}
	if err := json.Unmarshal(b, p); err != nil {
		return nil, &cliError{code: exitUsage, kind: "usage", msg: fmt.Sprintf("%s is not a plan: %v", path, err)}
	}
	if p.SchemaVersion != plan.SchemaVersion {
		return nil, &cliError{code: exitUsage, kind: "usage", msg: fmt.Sprintf("%s is a plan of version %d, this xrun reads version %d", path, p.SchemaVersion, plan.SchemaVersion)}
	}
	return p, nil
}

// path makes an argument absolute, relative to -C.
func (a *app) path(p string) string {
	if filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(a.Dir, p)
}

// usageHint makes the error of a RUN argument one of wrong usage.
func usageHint(err error) error {
	if e, ok := errors.AsType[*ledger.NoRunError](err); ok {
		return &cliError{code: exitUsage, kind: "usage", msg: e.Error(), hint: e.Hint()}
	}
	return err
}

func notBuilt(what string) error {
	return &cliError{code: exitUsage, kind: "unbuilt", msg: what + " is not built yet", hint: "docs/roadmap.md says what comes next"}
}
