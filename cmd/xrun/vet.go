package main

import (
	"context"
	"fmt"

	"github.com/xrun-dev/xrun/internal/engine/checkpoint"
	"github.com/xrun-dev/xrun/internal/plan"
	"github.com/xrun-dev/xrun/internal/plan/specfile"
)

type vetCmd struct {
	textOrJSON
	Paths []string `arg:"" optional:"" name:"path" help:"Directories or files of CUE."`
}

// Help is the example.
func (vetCmd) Help() string {
	return "Example:\n  xrun vet ./experiments\n\nThe spec is checked, and whether its programs, data and environments will be there. Nothing is run and nothing is\nconnected to. Problems: exit 2; warnings alone: exit 0."
}

type vetResult struct {
	Experiments int            `json:"experiments"`
	Files       []string       `json:"files"`
	Problems    []plan.Problem `json:"problems"`
	Warnings    []plan.Problem `json:"warnings"`
}

// Run checks the spec and lists the code; nothing is hashed for it.
func (c *vetCmd) Run(ctx context.Context, a *app) error {
	j, err := a.loadWith(ctx, c.Paths, checkpoint.List)
	if err != nil {
		return err
	}
	if err := j.foresee(ctx); err != nil {
		return err
	}
	warnings := j.allWarnings()
	if c.Output == "json" {
		r := vetResult{Experiments: len(j.spec.Experiments), Files: []string{}, Problems: []plan.Problem{}, Warnings: append([]plan.Problem{}, warnings...)}
		for _, f := range j.spec.Files {
			r.Files = append(r.Files, f.File)
		}
		return a.printJSON(r)
	}
	if err := specfile.Render(a.stderr, folded(warnings), a.color); err != nil {
		return err
	}
	if !a.Quiet {
		found := "no problems"
		if len(warnings) > 0 {
			found += ", " + count(len(warnings), "warning")
		}
		fmt.Fprintf(a.stdout, "%s in %s: %s\n", count(len(j.spec.Experiments), "experiment"), count(len(j.spec.Files), "file"), found)
	}
	return nil
}
