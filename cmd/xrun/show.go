package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

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

type logsCmd struct {
	Target string `arg:"" name:"run/experiment/trial" help:"The trial: by id, unique prefix or name=value,…"`
	Follow bool   `short:"f" help:"Go on printing while it runs."`
}

// Help is the example.
func (logsCmd) Help() string { return "Example:\n  xrun logs last/lr-sweep/lr=0.1,seed=0" }

// Run prints the log.
func (c *logsCmd) Run(ctx context.Context, a *app) error {
	if strings.Count(c.Target, "/") < 2 {
		return needsTrial("logs", c.Target)
	}
	offset := int64(0)
	for {
		path, ended, err := c.find(ctx, a)
		if err != nil {
			return err
		}
		n, err := copyFrom(a.stdout, path, offset)
		if err != nil {
			return err
		}
		offset += n
		if !c.Follow || ended && n == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// find is the file of the log now: at home once the attempt has ended, before that on the host.
func (c *logsCmd) find(ctx context.Context, a *app) (path string, ended bool, err error) {
	l, err := ledger.OpenReader(ctx, a.findState())
	if err != nil {
		return "", false, err
	}
	defer l.Close()
	t, err := a.resolve(ctx, l, c.Target)
	if err != nil {
		return "", false, err
	}
	log, jobDir, ended, err := logOf(ctx, l, t)
	if err != nil {
		return "", false, err
	}
	switch {
	case log != "":
		return filepath.Join(t.state, filepath.FromSlash(log)), ended, nil
	case jobDir != "":
		return filepath.Join(jobDir, "log"), ended, nil
	case !ended && c.Follow:
		return "", false, nil
	}
	return "", true, &cliError{code: exitError, kind: "error", msg: fmt.Sprintf("trial %s has no log: it was never started", t.trial)}
}

// logOf is where the log of a trial's newest attempt lies: relative to the state directory once it has come home, and
// in the job's directory before. ended: the trial has its final state.
func logOf(ctx context.Context, l *ledger.Ledger, t *target) (log, jobDir string, ended bool, err error) {
	key := ledger.Key{Experiment: t.experiment, Trial: t.trial}
	for e, err := range l.Events(ctx, t.run.ID) {
		if err != nil {
			return "", "", false, err
		}
		switch b := e.Body.(type) {
		case ledger.AttemptIntended:
			if b.Key == key {
				log, jobDir = "", b.JobDir
			}
		case ledger.AttemptFinished:
			if b.Key == key && b.Log != "" {
				log = b.Log
			}
		case ledger.TrialFinished:
			if b.Key == key {
				ended = true
				if b.Reused != nil {
					log = b.Reused.Outcome.Log
				}
			}
		}
	}
	return log, jobDir, ended, nil
}

func copyFrom(w io.Writer, path string, offset int64) (int64, error) {
	if path == "" {
		return 0, nil
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // the job may have put a pipe there
	if errors.Is(err, os.ErrNotExist) {
		if offset > 0 {
			return 0, nil // on its way home
		}
		return 0, &cliError{code: exitError, kind: "error", msg: fmt.Sprintf("the log is not at %s any more", path)}
	}
	if err != nil {
		return 0, err
	}
	defer f.Close()
	if _, err := f.Seek(offset, io.SeekStart); err != nil {
		return 0, err
	}
	return io.Copy(w, f)
}
