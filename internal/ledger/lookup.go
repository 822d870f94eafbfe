package ledger

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"iter"
	"slices"
	"strings"
)

// What a command asks for that shows a part of a run: by index, so that it does not matter how large the rest is.

// Tallies counts the trials of a run, by experiment, by how they ended: those with the state AsPlanned count them all,
// and those with the state Spent are the microseconds of its attempts.
func (l *Ledger) Tallies(ctx context.Context, run string) ([]Tally, error) {
	const query = `SELECT run, experiment, state, cause, n FROM tallies WHERE run = ? AND n > 0 ORDER BY experiment, state, cause`
	return rowsOf(currentRows(ctx, l, query, func(rows *sql.Rows, t *Tally) error {
		return rows.Scan(&t.Run, &t.Experiment, &t.State, &t.Cause, &t.N)
	}, run))
}

// EventsOfRun are the events of a run that are of no trial, in order, without the files of the code.
func (l *Ledger) EventsOfRun(ctx context.Context, run string) ([]Event, error) {
	if l.db == nil {
		return nil, nil
	}
	return page(ctx, l.db, `WHERE run = ? AND trial IS NULL AND type <> 'code_stored' ORDER BY seq`, run)
}

// EventsOfTrials are those of some trials of a run, in order. The values of metrics by step are left out unless they are
// asked for.
func (l *Ledger) EventsOfTrials(ctx context.Context, run string, series bool, trials ...Key) ([]Event, error) {
	if l.db == nil {
		return nil, nil
	}
	var out []Event
	for _, k := range trials {
		events, err := page(ctx, l.db, `WHERE run = ? AND trial = ? AND experiment = ? AND (? OR type <> 'metric_values') ORDER BY seq`, run, k.Trial, k.Experiment, series)
		if err != nil {
			return nil, err
		}
		out = append(out, events...)
	}
	slices.SortFunc(out, func(a, b Event) int { return cmp.Compare(a.Seq, b.Seq) })
	return slices.CompactFunc(out, func(a, b Event) bool { return a.Seq == b.Seq }), nil // a trial may be named twice
}

// InState lists the first trials of an experiment that are in a state, in the order of the plan; all of them if most is
// negative. Of those that are not finished it tells queued from running, which includes what waits for a retry.
func (l *Ledger) InState(ctx context.Context, run, experiment string, state State, most int) ([]Key, error) {
	const query = `SELECT experiment, trial FROM trials WHERE run = ? AND experiment = ? AND state = ? ORDER BY place LIMIT ?`
	return l.keys(ctx, query, run, experiment, string(state), most)
}

// Open lists the trials of a run with an attempt that has no outcome.
func (l *Ledger) Open(ctx context.Context, run string) ([]Key, error) {
	return l.keys(ctx, `SELECT experiment, trial FROM attempts INDEXED BY attempts_open WHERE run = ? AND outcome IS NULL`, run)
}

// Trials lists the first trials of an experiment, in the order of the plan.
func (l *Ledger) Trials(ctx context.Context, run, experiment string, most int) ([]Key, error) {
	return l.keys(ctx, `SELECT experiment, trial FROM trials WHERE run = ? AND experiment = ? ORDER BY place LIMIT ?`, run, experiment, most)
}

// WithPrefix lists the trials of an experiment whose ids begin with prefix, in the order of the plan.
func (l *Ledger) WithPrefix(ctx context.Context, run, experiment, prefix string) ([]Key, error) {
	const query = `SELECT experiment, trial FROM trials WHERE run = ? AND experiment = ? AND trial >= ? AND trial < ? || char(1114111) ORDER BY place`
	return l.keys(ctx, query, run, experiment, prefix, prefix)
}

func (l *Ledger) keys(ctx context.Context, query string, args ...any) ([]Key, error) {
	return rowsOf(currentRows(ctx, l, query, func(rows *sql.Rows, k *Key) error { return rows.Scan(&k.Experiment, &k.Trial) }, args...))
}

// A Place is a trial with what tells it from the others of its experiment.
type Place struct {
	Trial  string
	Place  int // in the order of the plan
	Seed   int64
	Params string // JSON
}

// Places yields the trials of an experiment whose parameters, as JSON, are LIKE one pattern of each of these sets.
func (l *Ledger) Places(ctx context.Context, run, experiment string, patterns ...[]string) iter.Seq2[Place, error] {
	query := `SELECT trial, place, seed, params FROM trials WHERE run = ? AND experiment = ?`
	args := []any{run, experiment}
	for _, set := range patterns {
		query += " AND (FALSE" + strings.Repeat(" OR params LIKE ?", len(set)) + ")"
		for _, pattern := range set {
			args = append(args, pattern)
		}
	}
	return currentRows(ctx, l, query, func(rows *sql.Rows, p *Place) error {
		return rows.Scan(&p.Trial, &p.Place, &p.Seed, &p.Params)
	}, args...)
}

// A Score says how much an experiment found, of all its points together.
type Score struct {
	Points  int     // with a number; where DF is 0, 2 stands for more
	DF      int     // degrees of freedom of the spread within points: 0 where none has several numbers
	Squares float64 // of the distances from the points' means
}

// Score says how much an experiment found.
func (l *Ledger) Score(ctx context.Context, run, experiment string) (s Score, err error) {
	db, err := l.current(ctx)
	if err != nil || db == nil {
		return s, err
	}
	const spread = `SELECT COALESCE(sum(n - 1), 0), COALESCE(sum(squares), 0) FROM scores INDEXED BY scores_repeated WHERE run = ? AND experiment = ? AND n > 1`
	if err := db.QueryRowContext(ctx, spread, run, experiment).Scan(&s.DF, &s.Squares); err != nil {
		return s, readError(err)
	}
	most := 2
	if s.DF > 0 {
		most = -1
	}
	const points = `SELECT count(*) FROM (SELECT 1 FROM scores WHERE run = ? AND experiment = ? LIMIT ?)`
	if err := db.QueryRowContext(ctx, points, run, experiment, most).Scan(&s.Points); err != nil {
		return s, readError(err)
	}
	return s, nil
}

// A Mean is that of the values of one point.
type Mean struct {
	Mean float64
	N    int
}

// Means yields the means of the points of an experiment, the best first.
func (l *Ledger) Means(ctx context.Context, run, experiment string, maximize bool) iter.Seq2[Mean, error] {
	query := `SELECT mean, n FROM scores WHERE run = ? AND experiment = ? ORDER BY mean`
	if maximize {
		query += " DESC"
	}
	return currentRows(ctx, l, query, func(rows *sql.Rows, m *Mean) error { return rows.Scan(&m.Mean, &m.N) }, run, experiment)
}

// Attempts counts the attempts of a run, by experiment, without those that were taken back before they ran. Only of one
// without a number, which are few, the outcome is read.
func (l *Ledger) Attempts(ctx context.Context, run string) (map[string]int, error) {
	out := map[string]int{}
	const query = `SELECT experiment, count(*) FROM attempts a WHERE run = ? AND NOT (objective IS NULL AND EXISTS (SELECT 1 FROM events e
		WHERE e.seq = a.outcome AND json_extract(e.body, '$.state') = 'cancelled' AND json_extract(e.body, '$.started') IS NULL)) GROUP BY experiment`
	for n, err := range currentRows(ctx, l, query, func(rows *sql.Rows, t *Tally) error { return rows.Scan(&t.Experiment, &t.N) }, run) {
		if err != nil {
			return nil, err
		}
		out[n.Experiment] = n.N
	}
	return out, nil
}

// Best lists the trials of the points with the best means, best first.
func (l *Ledger) Best(ctx context.Context, run, experiment string, maximize bool, points int) ([]Key, error) {
	order := "ASC"
	if maximize {
		order = "DESC"
	}
	// CROSS JOIN: first the points, then their trials.
	return l.keys(ctx, fmt.Sprintf(`SELECT t.experiment, t.trial FROM
		(SELECT run, experiment, params, mean, place FROM scores WHERE run = ? AND experiment = ? ORDER BY mean %[1]s, place LIMIT ?) s
		CROSS JOIN trials t ON t.run = s.run AND t.experiment = s.experiment AND t.params = s.params
		ORDER BY s.mean %[1]s, s.place, t.place`, order), run, experiment, points)
}

// currentRows yields the rows of a query of the projections of this version.
func currentRows[T any](ctx context.Context, l *Ledger, query string, scan func(*sql.Rows, *T) error, args ...any) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		db, err := l.current(ctx)
		if err != nil {
			var none T
			yield(none, err)
			return
		}
		stream(ctx, db, query, scan, args...)(yield)
	}
}

// rowsOf is what a sequence yields, or its first error.
func rowsOf[T any](rows iter.Seq2[T, error]) ([]T, error) {
	var out []T
	for r, err := range rows {
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}
