package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/xrun-dev/xrun/internal/engine"
	"github.com/xrun-dev/xrun/internal/ledger"
	"github.com/xrun-dev/xrun/internal/plan"
	"github.com/xrun-dev/xrun/internal/report"
)

type statusCmd struct {
	textOrJSON
	RunID string `arg:"" optional:"" name:"run" default:"last" help:"A run."`
	Watch bool   `short:"w" help:"Look again every second, until nothing works on the run any more. Ctrl-C ends the looking, not the run."`
}

// Help is the example.
func (statusCmd) Help() string {
	return "Example:\n  xrun status last -w\n\nWhat runs where, what waits and why, what it has found so far. It only reads: a run does not notice.\ndocs/json.md names the keys of -o json."
}

// watchEvery is how often -w looks.
const watchEvery = time.Second

// Run shows where a run stands.
func (c *statusCmd) Run(ctx context.Context, a *app) error {
	if c.Watch && c.Output == "json" {
		return usageError(errors.New("-w with -o json: that would be more than one document; events.jsonl of the run has one a line"))
	}
	l := &look{app: a, state: a.findState(), run: c.RunID}
	clear := c.Watch && isTerminal(unchecked(a.stdout))
	for last := ""; ; {
		st, err := l.again(ctx)
		if err != nil {
			return err
		}
		switch {
		case c.Output == "json":
			return a.printJSON(st)
		case !c.Watch:
			return st.Text(a.stdout)
		case clear:
			if err := redraw(a, st); err != nil {
				return err
			}
		default:
			if line := st.Line(); line != last {
				fmt.Fprintln(a.stdout, line)
				last = line
			}
		}
		if !st.Run.Active {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil // the run is none of our business
		case <-time.After(watchEvery):
		}
	}
}

// redraw shows the status on a terminal that is cleared first, in one write, so that it does not flicker.
func redraw(a *app, st *report.Status) error {
	b := bytes.NewBufferString("\x1b[H\x1b[2J")
	if err := st.Text(b); err != nil {
		return err
	}
	_, err := a.stdout.Write(b.Bytes())
	return err
}

// A look follows a run by reading what is new in the ledger. It holds the ledger open only while it reads.
type look struct {
	app   *app
	state string
	run   string // the argument, and then the id
	fold  *report.State
	seq   int64 // of the newest event
	spec  plan.Settings
}

func (l *look) again(ctx context.Context) (*report.Status, error) {
	r, err := ledger.OpenReader(ctx, l.state)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	// Before the events are read: a run that ends meanwhile is active without anything to do, and not the other way round.
	h, held := lockHolder(l.state)
	run, err := r.Find(ctx, l.run)
	if err != nil {
		return nil, usageHint(err)
	}
	if l.run != run.ID || l.fold == nil {
		l.run, l.fold = run.ID, report.Newest()
		l.spec = storedSettings(l.state, run.ID)
	}
	if err := l.read(ctx, r, run); err != nil {
		return nil, err
	}
	o := report.StatusOptions{Now: l.app.now(), Budget: l.spec.Budget, RetryAfter: engine.RetryAfter, Runs: engine.ShowsCodeRuns}
	if held && h.Run == l.run {
		o.PID = h.PID
	}
	l.asked(&o)
	return l.fold.Status(o), nil
}

// read brings fold up to what the ledger has.
func (l *look) read(ctx context.Context, r *ledger.Ledger, run ledger.Run) (err error) {
	if report.Large(run) {
		l.seq = 0 // if it gets too many failures for that, it is read from its beginning
		l.fold, err = report.Standing(ctx, r, run)
		return err
	}
	if l.seq == 0 {
		l.fold = report.Newest()
	}
	for e, err := range r.EventsAfter(ctx, l.run, l.seq) {
		if err != nil {
			return err
		}
		l.fold.Apply(e)
		l.seq = e.Seq
	}
	return nil
}

// asked takes over what the command of the run asked for, which stands before what the spec says.
func (l *look) asked(o *report.StatusOptions) {
	command, since := l.fold.Process()
	deadline := l.spec.Deadline
	flags := parseRun(command)
	if flags.deadline != "" {
		deadline = flags.deadline
	}
	o.MaxParallel = flags.maxParallel
	if deadline == "" {
		return
	}
	if at, err := plan.ParseDeadline(deadline, since.In(time.Local)); err == nil {
		o.Deadline = &at
	}
}

type runFlags struct {
	maxParallel int
	deadline    string
}

// parseRun reads the flags of the command that a process was started with, as that process did.
func parseRun(command []string) (f runFlags) {
	if len(command) < 2 {
		return f
	}
	defer func() {
		if recover() != nil {
			f = runFlags{} // it asked for help, or is one of another version
		}
	}()
	var c cli
	k, err := newParser(context.Background(), nil, &c, io.Discard, io.Discard)
	if err != nil {
		return f
	}
	if _, err := k.Parse(command[1:]); err != nil {
		return f
	}
	return runFlags{int(max(c.Run.MaxParallel, c.Resume.MaxParallel)), or(c.Run.Deadline, c.Resume.Deadline)}
}

// storedSettings are those that a run began with. Without the file, as of a run of a colleague, there are none.
func storedSettings(state, run string) plan.Settings {
	var st struct {
		Spec struct {
			Settings plan.Settings `json:"settings"`
		} `json:"spec"`
	}
	if b, err := os.ReadFile(storedPath(state, run)); err == nil {
		_ = json.Unmarshal(b, &st) // a torn file says nothing
	}
	return st.Spec.Settings
}
