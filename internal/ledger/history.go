package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
)

// A Result is the newest result under a trial id.
type Result struct {
	Trial      string
	Run        string
	Experiment string
	State      State
	Code       string
	DurationS  float64
}

// Results yields the newest result of every trial id.
func (l *Ledger) Results(ctx context.Context) iter.Seq2[Result, error] {
	const query = `SELECT trial, run, experiment, state, code, duration_s FROM results`
	return stream(ctx, l.db, query, func(rows *sql.Rows, r *Result) error {
		return rows.Scan(&r.Trial, &r.Run, &r.Experiment, &r.State, &r.Code, &r.DurationS)
	})
}

// A PointResult is the result of the newest trial at a point of an experiment (TrialPlanned.Point).
type PointResult struct {
	Point string
	Result
	parts string
}

// Parts are those that the trial was planned with.
func (r PointResult) Parts() (map[string]string, error) {
	var parts map[string]string
	if err := json.Unmarshal([]byte(r.parts), &parts); err != nil {
		return nil, fmt.Errorf("read ledger: trial %s: %w", r.Trial, err)
	}
	return parts, nil
}

// Points yields the newest trial at every point of every experiment, where it has a result.
func (l *Ledger) Points(ctx context.Context) iter.Seq2[PointResult, error] {
	const query = `SELECT p.point, r.trial, r.run, r.experiment, r.state, r.code, r.duration_s, r.parts FROM points p JOIN results r ON r.trial = p.trial`
	return stream(ctx, l.db, query, func(rows *sql.Rows, r *PointResult) error {
		return rows.Scan(&r.Point, &r.Trial, &r.Run, &r.Experiment, &r.State, &r.Code, &r.DurationS, &r.parts)
	})
}

// stream yields the rows of a query one by one: a ledger holds more than memory should.
func stream[T any](ctx context.Context, db *sql.DB, query string, scan func(*sql.Rows, *T) error, args ...any) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		if db == nil {
			return
		}
		rows, err := db.QueryContext(ctx, query, args...)
		if err != nil {
			yield(none, readError(err))
			return
		}
		defer rows.Close()
		for rows.Next() {
			var row T
			if err := scan(rows, &row); err != nil {
				yield(none, readError(err))
				return
			}
			if !yield(row, nil) {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(none, readError(err))
		}
	}
}

// Code lists the files of an earlier code; nil if the ledger does not know it.
func (l *Ledger) Code(ctx context.Context, id string) ([]CodeFile, error) {
	if l.db == nil {
		return nil, nil
	}
	var text string
	err := l.db.QueryRowContext(ctx, `SELECT files FROM codes WHERE code = ?`, id).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, readError(err)
	}
	var files []CodeFile
	if err := json.Unmarshal([]byte(text), &files); err != nil {
		return nil, fmt.Errorf("read ledger: code %s: %w", id, err)
	}
	return append([]CodeFile{}, files...), nil
}

// Reusable returns the outcome that a trial id can be reused with, and the series that go with it; nil if it has no
// success.
func (l *Ledger) Reusable(ctx context.Context, trial string) (*ReusedFrom, error) {
	run, outcome, err := l.outcome(ctx, trial)
	if err != nil || outcome == nil {
		return nil, err
	}
	r := &ReusedFrom{Run: run, Outcome: *outcome}
	series, err := page(ctx, l.db, `WHERE run = ? AND trial = ? AND type = 'metric_values' AND experiment = ? AND attempt = ? ORDER BY seq`,
		r.Run, trial, outcome.Experiment, outcome.Attempt.Attempt)
	if err != nil {
		return nil, err
	}
	for _, e := range series {
		if v, ok := e.Body.(MetricValues); ok {
			r.Series = append(r.Series, v)
		}
	}
	return r, nil
}

// Outcome is Reusable without the series.
func (l *Ledger) Outcome(ctx context.Context, trial string) (*AttemptFinished, error) {
	_, o, err := l.outcome(ctx, trial)
	return o, err
}

// outcome is the success that a trial id can be reused with, and its run; nil if there is none.
func (l *Ledger) outcome(ctx context.Context, trial string) (run string, o *AttemptFinished, err error) {
	if l.db == nil {
		return "", nil, nil
	}
	events, err := page(ctx, l.db, `WHERE seq = (SELECT outcome FROM results WHERE trial = ? AND state = 'succeeded')`, trial)
	if err != nil || len(events) == 0 {
		return "", nil, err
	}
	b, ok := events[0].Body.(AttemptFinished)
	if !ok {
		return "", nil, fmt.Errorf("read ledger: event %d is not an outcome", events[0].Seq)
	}
	return events[0].Run, &b, nil
}

// An OpenAttempt is an attempt whose outcome is not known: an intent without an outcome.
type OpenAttempt struct {
	Run string
	AttemptIntended
}

// CROSS JOIN: first the attempts, which an index lists, then their events.
const openAttempts = `WHERE seq IN (SELECT e.seq FROM attempts a CROSS JOIN events e
	ON e.run = a.run AND e.trial = a.trial AND e.experiment = a.experiment AND e.attempt = a.attempt AND e.type = 'attempt_intended'
	WHERE a.outcome IS NULL) ORDER BY seq`

// OpenAttempts lists the attempts without an outcome, of all runs, oldest first.
func (l *Ledger) OpenAttempts(ctx context.Context) ([]OpenAttempt, error) {
	if l.db == nil {
		return nil, nil
	}
	events, err := page(ctx, l.db, openAttempts)
	if err != nil {
		return nil, err
	}
	out := make([]OpenAttempt, 0, len(events))
	for _, e := range events {
		if b, ok := e.Body.(AttemptIntended); ok {
			out = append(out, OpenAttempt{e.Run, b})
		}
	}
	return out, nil
}

// Previous is the newest run before the given one, not skipped, that has all of these experiments; "" if there is none.
func (l *Ledger) Previous(ctx context.Context, run string, experiments []string) (string, error) {
	if l.db == nil || len(experiments) == 0 {
		return "", nil
	}
	rows, err := l.db.QueryContext(ctx, `SELECT r.run, e.experiment FROM runs r JOIN experiments e ON e.run = r.run WHERE r.run < ? ORDER BY r.run DESC`, run)
	if err != nil {
		return "", readError(err)
	}
	defer rows.Close()
	has, last := map[string]bool{}, ""
	for rows.Next() {
		var id, experiment string
		if err := rows.Scan(&id, &experiment); err != nil {
			return "", readError(err)
		}
		if id != last {
			has, last = map[string]bool{}, id
		}
		has[experiment] = true
		all := true
		for _, e := range experiments {
			all = all && has[e]
		}
		if all {
			return id, nil
		}
	}
	return "", rowsError(rows)
}

// Skipped lists the starts that were skipped because of the given run, oldest first: those between it and the next run
// that was not skipped.
func (l *Ledger) Skipped(ctx context.Context, run string) ([]Event, error) {
	if l.db == nil {
		return nil, nil
	}
	return page(ctx, l.db, `WHERE type = 'run_skipped' AND run > ?
		AND run < COALESCE((SELECT MIN(run) FROM runs WHERE run > ? AND outcome <> 'skipped'), '~') ORDER BY seq`, run, run)
}
