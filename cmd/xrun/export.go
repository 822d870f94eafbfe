package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/xrun-dev/xrun/internal/ledger"
	"github.com/xrun-dev/xrun/internal/plan"
	"github.com/xrun-dev/xrun/internal/report"
)

type exportCmd struct {
	RunID   string `arg:"" name:"run" help:"A run."`
	Out     string `short:"o" name:"out" placeholder:"FILE" help:"Where to write it; - is stdout (default: RUN.xrun.tar.gz)."`
	MaxFile string `placeholder:"SIZE" default:"100MB" help:"Leave larger files out: 0B is no limit."`
}

// Help is the example.
func (exportCmd) Help() string {
	return "Example:\n  xrun export last -o /tmp/night.tar.gz\n\nA run as one file, for a colleague's ledger: its events, plan, logs, results and artifacts. Links and files above --max-file\nstay behind, and are named. Name a file outside the code: one inside is shipped with it, and what it belongs to runs again."
}

// Run writes the archive.
func (c *exportCmd) Run(ctx context.Context, a *app) error {
	limit, err := plan.ParseBytes(c.MaxFile)
	if err != nil {
		return usageError(fmt.Errorf("--max-file: %w", err))
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
	if lockHeldBy(state, run.ID) {
		return &cliError{code: exitUsage, kind: "usage", msg: fmt.Sprintf("run %s is active", run.ID), hint: "wait until it has ended; `xrun status -w` shows when"}
	}
	o := ledger.ExportOptions{Run: run.ID, State: state, XrunVersion: version(), MaxFile: int64(limit)}
	if c.Out == "-" {
		info, err := l.Export(ctx, a.stdout, o)
		return c.tell(a, info, "", err)
	}
	out := a.path(or(c.Out, run.ID+".xrun.tar.gz"))
	info, err := exportTo(ctx, l, out, o)
	return c.tell(a, info, out, err)
}

// exportTo writes the archive so that it is there whole or not at all, and replaces nothing.
func exportTo(ctx context.Context, l *ledger.Ledger, out string, o ledger.ExportOptions) (*ledger.ArchiveInfo, error) {
	if _, err := os.Lstat(out); err == nil {
		return nil, &cliError{code: exitUsage, kind: "usage", msg: out + " is there already", hint: "name another file with -o, or remove it"}
	}
	f, err := os.CreateTemp(filepath.Dir(out), ".xrun-export-*")
	if err != nil {
		return nil, err
	}
	defer os.Remove(f.Name())
	info, err := l.Export(ctx, f, o)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return nil, err
	}
	return info, os.Rename(f.Name(), out)
}

// tell says where the archive is and what it lacks.
func (c *exportCmd) tell(a *app, info *ledger.ArchiveInfo, out string, err error) error {
	if e, ok := errors.AsType[*ledger.OpenError](err); ok {
		return &cliError{code: exitUsage, kind: "usage", msg: err.Error(), hint: e.Hint()}
	}
	if err != nil || a.Quiet {
		return err
	}
	const listed = 10
	for i, f := range info.Omitted {
		if i == listed {
			fmt.Fprintf(a.stderr, "xrun: warning: and %s left out\n", count(len(info.Omitted)-i, "more file"))
			break
		}
		fmt.Fprintf(a.stderr, "xrun: warning: left out: %s (%s, %s)\n", visible(f.Path), f.Reason, plan.Bytes(f.Size))
	}
	if out != "" {
		_, err = fmt.Fprintf(a.stdout, "%s: run %s, %s\n", visible(out), info.Run, count(len(info.Files), "file"))
	}
	return err
}

type importCmd struct {
	textOrJSON
	File    string `arg:"" name:"file" help:"What xrun export wrote."`
	MaxSize string `placeholder:"SIZE" default:"20GB" help:"Refuse what takes more than this once it is unpacked."`
}

// Help is the example.
func (importCmd) Help() string {
	return "Example:\n  xrun import /tmp/night.tar.gz\n\nTakes a run into this ledger, all of it or nothing, and never twice. Its results count as results: a trial that is the same\n(code, command, parameters, data) is not run again, unless a file that is needed was left out; what this ledger has itself\ngoes first. Import only what you trust."
}

// imported is the result of an import.
type imported struct {
	Run      string   `json:"run"`
	Imported bool     `json:"imported"` // false: it was there already
	Events   int      `json:"events"`
	Files    int      `json:"files"`
	Omitted  []string `json:"omitted"` // what the archive does not have
}

// Run takes the archive in.
func (c *importCmd) Run(ctx context.Context, a *app) error {
	limit, err := plan.ParseBytes(c.MaxSize)
	if err != nil {
		return usageError(fmt.Errorf("--max-size: %w", err))
	}
	arch, err := ledger.ReadArchive(ctx, a.path(c.File), int64(limit))
	if err != nil {
		return refusedArchive(err)
	}
	s, err := a.open(ctx, a.findState(), "")
	if err != nil {
		return err
	}
	defer s.close()
	done, err := s.take(ctx, arch)
	if err != nil {
		return refusedArchive(err)
	}
	res := imported{s.id, done, len(arch.Events), len(arch.Info.Files), append([]string{}, arch.Missing()...)}
	if c.Output == "json" {
		return a.printJSON(res)
	}
	what := "imported"
	if !done {
		what = "it was there already, and nothing is changed"
	}
	fmt.Fprintf(a.stdout, "run %s: %s\n", s.id, what)
	if n := len(res.Omitted); n > 0 && done {
		fmt.Fprintf(a.stderr, "xrun: warning: %s of it were left out when it was exported: a result that needs one is not reused\n", count(n, "file"))
	}
	return nil
}

// take records the run of an archive and writes what follows from it.
func (s *session) take(ctx context.Context, arch *ledger.Archive) (bool, error) {
	s.id = arch.Info.Run
	if err := s.ledger.MayImport(ctx, arch); err != nil {
		return false, err
	}
	if err := arch.Unpack(ctx, s.state); err != nil {
		return false, err
	}
	done, err := s.ledger.Import(ctx, arch, s.app.now())
	if err != nil || !done {
		return false, err
	}
	var lines bytes.Buffer
	for e, err := range s.ledger.Events(ctx, s.id) {
		if err != nil {
			return false, err
		}
		if err := report.WriteEvent(&lines, e); err != nil {
			return false, err
		}
	}
	if err := writeFile(filepath.Join(s.dir(), "events.jsonl"), lines.Bytes()); err != nil {
		return false, err
	}
	_, err = writeReport(ctx, s.ledger, s.state, s.id)
	return done, err
}

// refusedArchive is the error of an archive that is not as it should be: that is the user's file, and not our work.
func refusedArchive(err error) error {
	if e, ok := errors.AsType[*ledger.ArchiveError](err); ok {
		return &cliError{code: exitUsage, kind: "archive", msg: err.Error(), hint: e.Hint()}
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return &cliError{code: exitUsage, kind: "archive", msg: err.Error()}
	}
	return err
}
