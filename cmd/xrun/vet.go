package main

import (
	"context"
	"fmt"

	"github.com/xrun-dev/xrun/internal/plan"
	"github.com/xrun-dev/xrun/internal/plan/specfile"
)

type vetCmd struct {
	textOrJSON
	Paths []string `arg:"" optional:"" name:"path" help:"Directories or files of CUE."`
}

// Help is the example.
func (vetCmd) Help() string {
	return "Example:\n  xrun vet ./experiments\n\nNothing is run and nothing is connected to. Problems: exit 2; warnings alone: exit 0."
}

type vetResult struct {
	Experiments int            `json:"experiments"`
	Files       []string       `json:"files"`
	Problems    []plan.Problem `json:"problems"`
	Warnings    []plan.Problem `json:"warnings"`
}

// Run checks the spec.
func (c *vetCmd) Run(ctx context.Context, a *app) error {
	spec, err := a.loadSpec(ctx, c.Paths)
	if err != nil {
		return err
	}
	if c.Output == "json" {
		r := vetResult{Experiments: len(spec.Experiments), Files: []string{}, Problems: []plan.Problem{}, Warnings: append([]plan.Problem{}, spec.Warnings...)}
		for _, f := range spec.Files {
			r.Files = append(r.Files, f.File)
		}
		return a.printJSON(r)
	}
	if len(spec.Warnings) > 0 {
		if err := specfile.Render(a.stderr, spec.Warnings, a.color); err != nil {
			return err
		}
	}
	if !a.Quiet {
		fmt.Fprintf(a.stdout, "%s in %s: no problems\n", count(len(spec.Experiments), "experiment"), count(len(spec.Files), "file"))
	}
	return nil
}
