package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/xrun-dev/xrun/internal/ledger"
	"github.com/xrun-dev/xrun/internal/report"
)

// sayRecovered says what the ledger had lost.
func (a *app) sayRecovered(l *ledger.Ledger) {
	r := l.Recovered()
	if r == nil {
		return
	}
	what := "the ledger had lost its newest part"
	if r.All {
		what = "the ledger was empty"
	}
	lines := ""
	if r.Unread > 0 {
		lines = fmt.Sprintf("; %s of them could not be read", count(r.Unread, "line"))
	}
	fmt.Fprintf(a.stderr, "xrun: warning: %s: %s of %s were taken from runs/*/events.jsonl%s\n", what, count(r.Events, "event"), count(len(r.Runs), "run"), lines)
}

// others keeps what is recorded of runs other than the one at work in their events.jsonl: how what they left running
// ended. Who only looks at the files would not find it elsewhere, and neither would a ledger that has to be made again.
func (s *session) others(e ledger.Event) {
	if s.events != nil && e.Run == s.id {
		return // listen writes it
	}
	var line bytes.Buffer
	err := report.WriteEvent(&line, e)
	if err == nil {
		err = appendLine(filepath.Join(s.state, "runs", e.Run, "events.jsonl"), line.Bytes())
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		s.app.log.Warn("events.jsonl of another run is not whole; `xrun report` does not need it", "run", e.Run, "error", err)
	}
}

// appendLine adds a line to a file that is there. Its last line may be half of one.
func appendLine(name string, line []byte) error {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	fi, err := f.Stat()
	if err != nil {
		return errors.Join(err, f.Close())
	}
	if last := []byte{'\n'}; fi.Size() > 0 {
		if _, err := f.ReadAt(last, fi.Size()-1); err != nil {
			return errors.Join(err, f.Close())
		}
		if last[0] != '\n' {
			line = append([]byte{'\n'}, line...)
		}
	}
	_, err = f.Write(line)
	return errors.Join(err, f.Close())
}

// setAside moves a ledger that turned out to be damaged out of the way, if this command was to write it: else every later
// run would fail at it, too. A new one is made of what the files beside it say; nothing is ever started over in silence.
func (a *app) setAside(err error) error {
	if _, damaged := errors.AsType[*ledger.DamagedError](err); !damaged || a.writes == "" {
		return err
	}
	ctx := context.Background() // the one of the command may be over
	lock, lerr := lockState(ctx, a.writes, nil)
	if lerr != nil {
		return err
	}
	moved, merr := ledger.SetAside(ctx, a.writes)
	if merr = errors.Join(merr, lock.release()); merr != nil {
		return errors.Join(err, merr)
	}
	if moved == "" {
		return err
	}
	return &cliError{
		code: exitError, kind: "damaged", msg: fmt.Sprintf("%v; it was moved aside, to %s", err, moved),
		hint: "put a backup in its place, or run again: a new ledger is then made from runs/*/events.jsonl, and results that are there are reused",
	}
}
