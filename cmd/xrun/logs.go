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

	"github.com/xrun-dev/xrun/internal/engine"
	"github.com/xrun-dev/xrun/internal/ledger"
)

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
	p := printer{to: a.stdout}
	for moved := 0; ; {
		at, err := c.find(ctx, a)
		if err != nil {
			return err
		}
		if at.attempt != p.at.attempt { // a retry has a log of its own
			p = printer{to: a.stdout}
		}
		n, err := p.print(ctx, a, at)
		if _, ok := errors.AsType[*goneLogError](err); ok && at.home == "" && moved < logPatience {
			moved, err = moved+1, nil // it is on its way home, and the ledger will tell where it is
		} else {
			moved = 0
		}
		if err != nil {
			return err
		}
		if moved == 0 && (!c.Follow || at.ended && n == 0) {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(logPause):
		}
	}
}

const (
	// logPause is between two looks at a log.
	logPause = 200 * time.Millisecond
	// logPatience is how often a log is looked for that is not where the ledger says.
	logPatience = 10
)

// A goneLogError is that of a log that is not where the ledger said a moment ago.
type goneLogError struct{ path string }

func (e *goneLogError) Error() string { return fmt.Sprintf("the log is not at %s any more", e.path) }

// A logPlace is where the log of a trial's newest attempt lies: at home once the attempt has ended, without secrets, and
// before that in the directory of its job, with them.
type logPlace struct {
	attempt int
	run     string // that the job began in
	home    string
	job     string
	ended   bool // the trial has its final state
}

// A printer prints a log as it grows. How much of it is printed is counted without secrets: the log changes its place, and
// loses them, meanwhile.
type printer struct {
	to      io.Writer
	at      logPlace
	read    int64 // of the log on the host
	printed int64
	clean   io.Writer // where what is read on the host goes
}

// Write counts.
func (p *printer) Write(b []byte) (int, error) {
	n, err := p.to.Write(b)
	p.printed += int64(n)
	return n, err
}

// print prints what there is beyond what it has printed.
func (p *printer) print(ctx context.Context, a *app, at logPlace) (n int64, err error) {
	p.at = at
	if at.home != "" {
		return copyFrom(p, at.home, p.printed)
	}
	if at.job == "" {
		return 0, nil
	}
	if p.clean == nil {
		hide, err := a.secretsOf(ctx, at.run)
		if err != nil {
			return 0, err
		}
		p.clean = hide.Writer(p)
	}
	n, err = copyFrom(p.clean, filepath.Join(at.job, "log"), p.read)
	p.read += n
	return n, err
}

// secretsOf is what takes the secrets of a run out of a log that is still being written.
func (a *app) secretsOf(ctx context.Context, run string) (*engine.Redactor, error) {
	experiments, err := beganWith(a.findState(), run)
	if err != nil {
		return nil, fmt.Errorf("the secrets of run %s, which its log may hold: %w", run, err)
	}
	values, err := secrets(ctx, experiments)
	if e, ok := errors.AsType[*cliError](err); ok {
		e.hint = "the log of a trial that runs may hold it, and it could not be taken out; once the trial has ended its log can be read without"
	}
	if err != nil {
		return nil, err
	}
	return engine.NewRedactor(values), nil
}

// find is where the log is now.
func (c *logsCmd) find(ctx context.Context, a *app) (logPlace, error) {
	l, err := ledger.OpenReader(ctx, a.findState())
	if err != nil {
		return logPlace{}, err
	}
	defer l.Close()
	t, err := a.resolve(ctx, l, c.Target)
	if err != nil {
		return logPlace{}, err
	}
	at, err := logOf(ctx, l, t)
	if err == nil && at.home == "" && at.job == "" && (at.ended || !c.Follow) {
		err = &cliError{code: exitError, kind: "error", msg: fmt.Sprintf("trial %s has no log: it was never started", t.trial)}
	}
	return at, err
}

// logOf finds the newest attempt of a trial in the ledger.
func logOf(ctx context.Context, l *ledger.Ledger, t *target) (at logPlace, err error) {
	home := func(log string) string { return filepath.Join(t.state, filepath.FromSlash(log)) }
	events, err := l.EventsOfTrials(ctx, t.run.ID, false, t.key())
	if err != nil {
		return logPlace{}, err
	}
	for _, e := range events {
		switch b := e.Body.(type) {
		case ledger.AttemptIntended:
			at = logPlace{attempt: b.Attempt.Attempt, run: or(b.Adopted, t.run.ID), job: b.JobDir}
		case ledger.AttemptFinished:
			if b.Log != "" {
				at.home = home(b.Log)
			}
		case ledger.TrialFinished:
			at.ended = true
			if b.Reused != nil {
				at.home = home(b.Reused.Outcome.Log)
			}
		}
	}
	return at, nil
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
		return 0, &goneLogError{path}
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
