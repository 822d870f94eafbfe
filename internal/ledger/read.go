package ledger

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// shmMin is the least that the index of a log has. A smaller one was given up on a full disk, where SQLite would try in
// vain to make it larger.
const shmMin = 32 << 10

// OpenReader opens the ledger in dir to read it, without making or changing a file there. Where there is no ledger, the
// result is an empty one.
func OpenReader(ctx context.Context, dir string) (*Ledger, error) {
	path := filepath.Join(dir, FileName)
	newest, file := newestRecorded(dir) // first: who writes now is ahead of his files
	version, err := look(path)
	if err == nil && version == 0 && newest > 0 {
		err = &BehindError{path, file}
	}
	if err != nil || version == 0 {
		return &Ledger{}, err
	}
	l := &Ledger{version: version}
	uri := "file:" + escape(path)
	switch wal, shm := size(path+"-wal"), size(path+"-shm"); {
	case rollback(path):
		// Somebody may write: its locks tell, and no file is made.
		uri += "?mode=ro&_pragma=busy_timeout(10000)"
	case wal >= 0 && shm >= shmMin && writable(path+"-shm"):
		// Somebody writes, or was killed while he wrote.
		uri += "?mode=ro&_pragma=busy_timeout(10000)"
	case wal <= 0:
		// Nothing is in the log beside the file: it can be read as it lies.
		uri += "?mode=ro&immutable=1"
	default:
		// To read the log SQLite would make a file beside it: read a copy.
		dir, err := copyAside(path, "-wal")
		if err != nil {
			return nil, err
		}
		l.copies = append(l.copies, dir)
		uri = "file:" + escape(filepath.Join(dir, FileName))
	}
	if l.db, err = sql.Open("sqlite", uri); err != nil {
		return nil, errors.Join(fmt.Errorf("open ledger %s: %w", path, err), l.Close())
	}
	err = probe(ctx, l.db, path)
	if torn(err) && rollback(path) {
		err = l.mend(ctx, path)
	}
	if err == nil {
		err = behind(ctx, l.db, path, newest, file)
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// mend opens a copy instead, in which SQLite undoes the half of a change that a killed writer left.
func (l *Ledger) mend(ctx context.Context, path string) error {
	err := l.db.Close()
	l.db = nil
	if err != nil {
		return err
	}
	dir, err := copyAside(path, "-journal")
	if err != nil {
		return err
	}
	l.copies = append(l.copies, dir)
	if l.db, err = sql.Open("sqlite", "file:"+escape(filepath.Join(dir, FileName))); err != nil {
		return fmt.Errorf("open ledger %s: %w", path, err)
	}
	return probe(ctx, l.db, path)
}

func size(path string) int64 {
	fi, err := os.Stat(path)
	if err != nil {
		return -1
	}
	return fi.Size()
}

func writable(path string) bool {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return false
	}
	return f.Close() == nil
}

// copyAside copies a ledger with the file beside it.
func copyAside(path, beside string) (dir string, err error) {
	if dir, err = os.MkdirTemp("", "xrun-ledger-"); err != nil {
		return "", fmt.Errorf("copy ledger: %w", err)
	}
	for _, suffix := range []string{beside, ""} {
		if err := copyFile(filepath.Join(dir, FileName+suffix), path+suffix); err != nil {
			return "", errors.Join(fmt.Errorf("copy ledger: %w", err), os.RemoveAll(dir))
		}
	}
	return dir, nil
}

func copyFile(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// allOf are the columns of an event; bodies are left out of those of a type that nobody wants.
const (
	allOf     = `SELECT seq, run, at, type, version, body FROM events `
	withoutOf = `SELECT seq, run, at, type, version, CASE type WHEN ? THEN '' ELSE body END FROM events `
)

// page reads the events that where selects.
func page(ctx context.Context, q querier, where string, args ...any) ([]Event, error) {
	return pageOf(ctx, q, allOf+where, args...)
}

func pageOf(ctx context.Context, q querier, query string, args ...any) ([]Event, error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, readError(err)
	}
	defer rows.Close()
	var out []Event
	var texts []string
	for rows.Next() {
		var e Event
		var at, body string
		if err := rows.Scan(&e.Seq, &e.Run, &at, &e.Type, &e.Version, &body); err != nil {
			return nil, readError(err)
		}
		if e.At, err = time.Parse(time.RFC3339Nano, at); err != nil {
			return nil, &DamagedError{FileName, fmt.Sprintf("event %d: %v", e.Seq, err)}
		}
		out, texts = append(out, e), append(texts, body)
	}
	if err := rows.Err(); err != nil {
		return nil, readError(err)
	}
	return out, decode(out, texts)
}

// decode reads the bodies of events, the first half and the second at the same time where there are many: that takes
// longer than to read them from the file.
func decode(events []Event, texts []string) error {
	half := len(events) / 2
	if len(events) < 100 {
		half = 0
	}
	first := make(chan error, 1)
	go func() { first <- decodeAll(events[:half], texts) }()
	err := decodeAll(events[half:], texts[half:])
	return cmp.Or(<-first, err)
}

func decodeAll(events []Event, texts []string) error {
	for i := range events {
		if texts[i] == "" { // it was left out
			continue
		}
		var err error
		if events[i].Body, err = DecodeBody(events[i].Type, []byte(texts[i])); err != nil {
			if _, known := errors.AsType[*json.SyntaxError](err); known {
				err = &DamagedError{FileName, fmt.Sprintf("event %d: %v", events[i].Seq, err)}
			}
			return fmt.Errorf("read ledger: event %d: %w", events[i].Seq, err)
		}
	}
	return nil
}

// Events yields the events of a run, in order.
func (l *Ledger) Events(ctx context.Context, run string) iter.Seq2[Event, error] {
	return l.EventsAfter(ctx, run, 0)
}

// EventsWithout yields the events of a run, in order. Those of one type come without their bodies: for who only needs to
// know that they were.
func (l *Ledger) EventsWithout(ctx context.Context, run string, t Type) iter.Seq2[Event, error] {
	return l.events(ctx, run, 0, withoutOf, string(t))
}

// EventsAfter yields the events of a run behind the one whose Seq is after, in order.
func (l *Ledger) EventsAfter(ctx context.Context, run string, after int64) iter.Seq2[Event, error] {
	return l.events(ctx, run, after, allOf)
}

func (l *Ledger) events(ctx context.Context, run string, after int64, columns string, args ...any) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		if l.db == nil {
			return
		}
		after := after
		for {
			events, err := pageOf(ctx, l.db, columns+`WHERE run = ? AND seq > ? ORDER BY seq LIMIT 2000`, append(slices.Clip(args), run, after)...)
			if err != nil {
				yield(Event{}, err)
				return
			}
			for _, e := range events {
				if !yield(e, nil) {
					return
				}
				after = e.Seq
			}
			if len(events) < 2000 {
				return
			}
		}
	}
}

// A Run is one row of the list of runs.
type Run struct {
	ID         string     `json:"id"`
	Started    time.Time  `json:"started"`
	Finished   *time.Time `json:"finished"`
	Last       time.Time  `json:"last"`    // when its newest event was recorded
	Outcome    string     `json:"outcome"` // running (or unfinished, if no process works on it), interrupted, skipped, or that of run_finished
	ExitCode   *int       `json:"exit_code"`
	PlanDigest string     `json:"plan_digest"`
	Command    []string   `json:"command"`
	// Experiments are named in the order in which they were planned.
	Experiments []string `json:"experiments"`
	// Trials by state.
	Planned, Succeeded, Reused, Failed, StoppedEarly, Cancelled, Lost, NotRun int
}

// Unfinished reports whether r can be resumed.
func (r Run) Unfinished() bool {
	return r.Finished == nil || r.Outcome == "budget" || r.Outcome == "deadline"
}

// Runs lists the runs, newest first.
func (l *Ledger) Runs(ctx context.Context) ([]Run, error) {
	if l.db == nil {
		return nil, nil
	}
	rows, err := l.db.QueryContext(ctx, `SELECT run, started, finished, outcome, exit_code, plan_digest, command,
		planned, succeeded, reused, failed, stopped_early, cancelled, lost, not_run,
		(SELECT json_group_array(experiment) FROM (SELECT experiment FROM experiments e WHERE e.run = runs.run ORDER BY e.rowid)),
		(SELECT at FROM events e WHERE e.run = runs.run ORDER BY e.seq DESC LIMIT 1)
		FROM runs ORDER BY run DESC`)
	if err != nil {
		return nil, readError(err)
	}
	defer rows.Close()
	var out []Run
	for rows.Next() {
		var r Run
		var started, command, experiments, last string
		var finished *string
		if err := rows.Scan(&r.ID, &started, &finished, &r.Outcome, &r.ExitCode, &r.PlanDigest, &command,
			&r.Planned, &r.Succeeded, &r.Reused, &r.Failed, &r.StoppedEarly, &r.Cancelled, &r.Lost, &r.NotRun, &experiments, &last); err != nil {
			return nil, readError(err)
		}
		if r.Started, err = time.Parse(time.RFC3339Nano, started); err != nil {
			return nil, fmt.Errorf("read ledger: run %s: %w", r.ID, err)
		}
		if r.Last, err = time.Parse(time.RFC3339Nano, last); err != nil {
			return nil, fmt.Errorf("read ledger: run %s: %w", r.ID, err)
		}
		if finished != nil {
			t, err := time.Parse(time.RFC3339Nano, *finished)
			if err != nil {
				return nil, fmt.Errorf("read ledger: run %s: %w", r.ID, err)
			}
			r.Finished = &t
		}
		if err := errors.Join(json.Unmarshal([]byte(command), &r.Command), json.Unmarshal([]byte(experiments), &r.Experiments)); err != nil {
			return nil, fmt.Errorf("read ledger: run %s: %w", r.ID, err)
		}
		out = append(out, r)
	}
	return out, rowsError(rows)
}

// A NoRunError says that a RUN argument names no run, or several.
type NoRunError struct {
	Arg  string
	Many []string
}

// Error says which.
func (e *NoRunError) Error() string {
	if len(e.Many) > 0 {
		return fmt.Sprintf("%q is the beginning of several runs: %s", e.Arg, strings.Join(e.Many[:min(4, len(e.Many))], ", "))
	}
	if e.Arg == "last" {
		return "there is no run yet"
	}
	return fmt.Sprintf("there is no run %q", e.Arg)
}

// Hint says what to do.
func (e *NoRunError) Hint() string {
	if e.Arg == "last" {
		return "`xrun run` makes one; --state names another state directory"
	}
	return "`xrun runs` lists them"
}

// Find resolves a RUN argument: an id, a unique prefix of one, or "last", the newest that was not skipped.
func (l *Ledger) Find(ctx context.Context, arg string) (Run, error) {
	runs, err := l.Runs(ctx)
	if err != nil {
		return Run{}, err
	}
	var found []Run
	for _, r := range runs {
		switch {
		case r.ID == arg, arg == "last" && r.Outcome != "skipped":
			return r, nil
		case arg != "" && strings.HasPrefix(r.ID, arg):
			found = append(found, r)
		}
	}
	if len(found) == 1 {
		return found[0], nil
	}
	e := &NoRunError{Arg: arg}
	for _, r := range found {
		e.Many = append(e.Many, r.ID)
	}
	return Run{}, e
}
