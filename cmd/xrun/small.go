package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"syscall"

	"github.com/xrun-dev/xrun/internal/ledger"
	"github.com/xrun-dev/xrun/internal/plan/specfile"
	"github.com/xrun-dev/xrun/internal/report"
	"github.com/xrun-dev/xrun/schema"
)

// buildVersion is set by the linker in a release.
var buildVersion string

// version is what `xrun version` prints.
func version() string {
	if buildVersion != "" {
		return buildVersion
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}

type versionCmd struct{ textOrJSON }

// Help is the example.
func (versionCmd) Help() string { return "Example:\n  xrun version" }

// Run prints the version.
func (c *versionCmd) Run(a *app) error {
	if c.Output == "json" {
		return a.printJSON(struct {
			Version string `json:"version"`
			Schema  string `json:"schema"`
		}{version(), schema.Module})
	}
	_, err := fmt.Fprintln(a.stdout, "xrun", version())
	return err
}

type schemaCmd struct {
	Vendor bool `help:"Write it to cue.mod/pkg, so that plain cue works on the same files, offline."`
}

// Help is the example.
func (schemaCmd) Help() string { return "Example:\n  xrun schema --vendor" }

// Run prints or vendors the schema.
func (c *schemaCmd) Run(a *app) error {
	if !c.Vendor {
		_, err := fmt.Fprint(a.stdout, schema.Source)
		return err
	}
	path, err := specfile.Vendor(a.Dir)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(a.stdout, path)
	return err
}

type initCmd struct {
	Path string `arg:"" optional:"" name:"dir" default:"." help:"The directory to make it in."`
}

// Help is the example.
func (initCmd) Help() string {
	return "Example:\n  xrun init experiments\n\nMakes cue.mod with the schema, one experiment that runs anywhere, a commented inventory and a line in .gitignore."
}

// Run makes the package.
func (c *initCmd) Run(a *app) error {
	dir := a.path(c.Path)
	files, err := specfile.Init(dir)
	if err != nil {
		e := &cliError{code: exitError, kind: "init", msg: err.Error(), hint: hintOf(err)}
		if e.hint != "" || errors.Is(err, syscall.ENOTDIR) { // the directory is the wrong one; else the disk is
			e.code = exitUsage
		}
		return e
	}
	for _, f := range files {
		fmt.Fprintln(a.stdout, filepath.Join(c.Path, f))
	}
	if !a.Quiet {
		fmt.Fprintf(a.stderr, "next: xrun plan %s\n", c.Path)
	}
	return nil
}

type runsCmd struct{ textOrJSON }

// Help is the example.
func (runsCmd) Help() string { return "Example:\n  xrun runs" }

// Run lists the runs.
func (c *runsCmd) Run(ctx context.Context, a *app) error {
	state := a.findState()
	l, err := ledger.OpenReader(ctx, state)
	if err != nil {
		return err
	}
	defer l.Close()
	runs, err := l.Runs(ctx)
	if err != nil {
		return err
	}
	for i := range runs {
		if runs[i].Outcome == "running" && !lockHeldBy(state, runs[i].ID) {
			runs[i].Outcome = "unfinished"
		}
	}
	rows := make([]report.RunRow, len(runs))
	for i, r := range runs {
		rows[i] = report.RunRow{
			ID: r.ID, Started: &r.Started, Finished: r.Finished, Outcome: r.Outcome, ExitCode: r.ExitCode, Command: r.Command,
			Experiments: append([]string{}, r.Experiments...),
			Trials: report.TrialTotals{
				Planned: r.Planned, Succeeded: r.Succeeded, Reused: r.Reused, Failed: r.Failed, StoppedEarly: r.StoppedEarly,
				Cancelled: r.Cancelled, Lost: r.Lost, NotRun: r.NotRun,
			},
		}
		end := r.Last
		if r.Finished != nil {
			end = *r.Finished
		}
		rows[i].WallS = end.Sub(r.Started).Seconds()
	}
	if c.Output == "json" {
		return a.printJSON(rows)
	}
	return report.RunsTable(a.stdout, rows)
}
