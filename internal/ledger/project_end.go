package ledger

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
)

// A Tally counts trials of an experiment that ended alike.
type Tally struct {
	Run        string
	Experiment string
	State      State
	Cause      string
	N          int
}

// States of tallies that are none of trials: AsPlanned is that of all trials of an experiment, Spent that of the microseconds
// that attempts of it took.
const (
	AsPlanned State = "planned"
	Spent     State = "spent"
)

// ending is how a trial ended, or that it is under way again.
type ending struct {
	state     State
	cause     string
	objective *float64
}

// real64 is a number as a column holds it: what is not finite is not there.
func real64(n *Number) *float64 {
	if n == nil || math.IsNaN(float64(*n)) || math.IsInf(float64(*n), 0) {
		return nil
	}
	return (*float64)(n)
}

// settle moves a trial to another state. What it had counted as before, it counts as no more.
func (p *projector) settle(ctx context.Context, run string, k Key, now ending) error {
	st, err := p.prepare(ctx, `SELECT state, cause, objective, params FROM trials WHERE run=? AND experiment=? AND trial=?`)
	if err != nil {
		return err
	}
	var old ending
	var params string
	err = st.QueryRowContext(ctx, run, k.Experiment, k.Trial).Scan(&old.state, &old.cause, &old.objective, &params)
	if errors.Is(err, sql.ErrNoRows) { // its plan is missing
		p.count(Tally{Run: run, State: now.state}, 1)
		return nil
	}
	if err != nil {
		return err
	}
	p.count(Tally{Run: run, Experiment: k.Experiment, State: old.state, Cause: old.cause}, -1)
	p.count(Tally{Run: run, Experiment: k.Experiment, State: now.state, Cause: now.cause}, 1)
	if err := p.do(ctx, `UPDATE trials SET state=?, cause=?, objective=? WHERE run=? AND experiment=? AND trial=?`,
		string(now.state), now.cause, now.objective, run, k.Experiment, k.Trial); err != nil {
		return err
	}
	if old.objective == nil && now.objective == nil {
		return nil
	}
	return p.score(ctx, run, k.Experiment, params)
}

// objective is the number of the attempt that made a trial succeed: the one that is named, else the last.
func (p *projector) objective(ctx context.Context, run string, b TrialFinished) (*float64, error) {
	st, err := p.prepare(ctx, `SELECT objective FROM attempts WHERE run=?1 AND experiment=?2 AND trial=?3 AND attempt =
		COALESCE(NULLIF(?4, 0), (SELECT MAX(attempt) FROM attempts WHERE run=?1 AND experiment=?2 AND trial=?3))`)
	if err != nil {
		return nil, err
	}
	var v *float64
	if err := st.QueryRowContext(ctx, run, b.Experiment, b.Trial, b.Attempt).Scan(&v); err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, err
	}
	return v, nil
}

// score sums up what the trials of the same parameters found.
func (p *projector) score(ctx context.Context, run, experiment, params string) error {
	st, err := p.prepare(ctx, `SELECT place, objective FROM trials WHERE run=? AND experiment=? AND params=? ORDER BY place`)
	if err != nil {
		return err
	}
	rows, err := st.QueryContext(ctx, run, experiment, params)
	if err != nil {
		return err
	}
	defer rows.Close()
	first := -1
	var values []float64
	for rows.Next() {
		var place int
		var v *float64
		if err := rows.Scan(&place, &v); err != nil {
			return err
		}
		if first < 0 {
			first = place
		}
		if v != nil {
			values = append(values, *v)
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if len(values) == 0 {
		return p.do(ctx, `DELETE FROM scores WHERE run=? AND experiment=? AND params=?`, run, experiment, params)
	}
	mean, squares := moments(values)
	return p.do(ctx, `INSERT OR REPLACE INTO scores VALUES (?,?,?,?,?,?,?)`, run, experiment, params, first, len(values), mean, squares)
}

// moments are the mean of values and the squares of their distances from it, both finite. Of equal values it is one of them.
func moments(values []float64) (mean, squares float64) {
	n := float64(len(values))
	for _, v := range values {
		mean += (v - values[0]) / n
	}
	mean += values[0]
	if math.IsInf(mean, 0) || math.IsNaN(mean) { // the distance of large numbers is none
		mean = 0
		for _, v := range values {
			mean += v / n
		}
	}
	for _, v := range values {
		squares += (v - mean) * (v - mean)
	}
	return mean, min(squares, math.MaxFloat64)
}

// resumed takes up a run again: what a deadline or a budget left gets another chance.
func (p *projector) resumed(ctx context.Context, run string, b RunResumed) error {
	if err := p.do(ctx, `UPDATE runs SET outcome='running', finished=NULL, exit_code=NULL, plan_digest=? WHERE run=?`, b.PlanDigest, run); err != nil {
		return err
	}
	if err := p.flush(ctx); err != nil {
		return err
	}
	const left = `run=? AND state='not_run' AND cause IN ('deadline', 'budget')`
	rows, err := p.db.QueryContext(ctx, `SELECT experiment, cause, n FROM tallies WHERE n > 0 AND `+left, run)
	if err != nil {
		return err
	}
	defer rows.Close()
	some := false
	for rows.Next() {
		some = true
		t := Tally{Run: run, State: NotRun}
		if err := rows.Scan(&t.Experiment, &t.Cause, &t.N); err != nil {
			return err
		}
		n := t.N
		t.N = 0
		p.count(t, -n)
	}
	if err := rows.Err(); err != nil || !some {
		return err
	}
	return p.do(ctx, `UPDATE trials SET state='queued', cause='' WHERE `+left, run)
}

// count remembers n more trials that ended alike. It is written once for all that are stored together: a plan is long.
func (p *projector) count(t Tally, n int) {
	switch t.State {
	case AsPlanned, Spent, Succeeded, Reused, Failed, StoppedEarly, Cancelled, Lost, NotRun:
	default:
		return
	}
	if p.counts == nil {
		p.counts = map[Tally]int{}
	}
	p.counts[t] += n
}

// flush writes what was counted.
func (p *projector) flush(ctx context.Context) error {
	for _, t := range slices.SortedFunc(maps.Keys(p.counts), compareTallies) {
		n := p.counts[t]
		if n == 0 {
			continue
		}
		if t.State != Spent { // the others are names of columns too
			if err := p.do(ctx, fmt.Sprintf(`UPDATE runs SET %[1]s = %[1]s + ? WHERE run=?`, t.State), n, t.Run); err != nil {
				return err
			}
		}
		if t.Experiment == "" {
			continue
		}
		if err := p.do(ctx, `INSERT INTO tallies VALUES (?,?,?,?,?) ON CONFLICT DO UPDATE SET n = n + excluded.n`, t.Run, t.Experiment, string(t.State), t.Cause, n); err != nil {
			return err
		}
	}
	clear(p.counts)
	return nil
}

func compareTallies(a, b Tally) int {
	return cmp.Or(cmp.Compare(a.Run, b.Run), cmp.Compare(a.Experiment, b.Experiment), cmp.Compare(a.State, b.State), cmp.Compare(a.Cause, b.Cause))
}

// finish writes what is left and lets the statements go.
func (p *projector) finish(ctx context.Context) error {
	if len(p.counts) > 0 {
		if err := p.flush(ctx); err != nil {
			return errors.Join(err, p.close())
		}
	}
	return p.close()
}

func (p *projector) close() error {
	var err error
	for _, st := range p.stmts {
		err = errors.Join(err, st.Close())
	}
	p.stmts = nil
	return err
}
