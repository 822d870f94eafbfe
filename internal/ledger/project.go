package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// A projector keeps the tables that are derived from events. Its statements are prepared once.
type projector struct {
	db     preparer
	stmts  map[string]*sql.Stmt
	from   map[string]bool // runs: whether they were imported
	counts map[Tally]int   // not written yet; without N
}

// A preparer is a transaction, or a connection in the middle of one.
type preparer interface {
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// imported reports whether a run comes from another ledger: its first event says so. Its results stand behind those of
// this one.
func (p *projector) imported(ctx context.Context, run string) (bool, error) {
	if yes, known := p.from[run]; known {
		return yes, nil
	}
	var first string
	if err := p.db.QueryRowContext(ctx, `SELECT type FROM events WHERE run = ? ORDER BY seq LIMIT 1`, run).Scan(&first); err != nil {
		return false, err
	}
	if p.from == nil {
		p.from = map[string]bool{}
	}
	p.from[run] = first == string((RunImported{}).EventType())
	return p.from[run], nil
}

func (p *projector) prepare(ctx context.Context, query string) (*sql.Stmt, error) {
	st, ok := p.stmts[query]
	if !ok {
		var err error
		if st, err = p.db.PrepareContext(ctx, query); err != nil {
			return nil, err
		}
		if p.stmts == nil {
			p.stmts = map[string]*sql.Stmt{}
		}
		p.stmts[query] = st
	}
	return st, nil
}

func (p *projector) exec(ctx context.Context, query string, args ...any) (sql.Result, error) {
	st, err := p.prepare(ctx, query)
	if err != nil {
		return nil, err
	}
	return st.ExecContext(ctx, args...)
}

func (p *projector) do(ctx context.Context, query string, args ...any) error {
	_, err := p.exec(ctx, query, args...)
	return err
}

// keyOf is the trial or attempt that a body is about.
func keyOf(b Body) Attempt {
	switch b := b.(type) {
	case TrialPlanned:
		return Attempt{Key: b.Key}
	case TrialFinished:
		return Attempt{Key: b.Key}
	case AttemptIntended:
		return b.Attempt
	case AttemptStarted:
		return b.Attempt
	case AttemptState:
		return b.Attempt
	case MetricValues:
		return b.Attempt
	case AttemptFinished:
		return b.Attempt
	}
	return Attempt{}
}

// apply brings the projections up to e, which is stored.
func (p *projector) apply(ctx context.Context, e *Event) error {
	switch b := e.Body.(type) {
	case RunStarted:
		cmd, err := json.Marshal(b.Command)
		if err != nil {
			return err
		}
		return p.do(ctx, `INSERT INTO runs (run, started, outcome, plan_digest, command) VALUES (?,?,'running',?,?)`, e.Run, stamp(e.At), b.PlanDigest, string(cmd))
	case RunSkipped:
		cmd, err := json.Marshal(b.Command)
		if err != nil {
			return err
		}
		return p.do(ctx, `INSERT INTO runs (run, started, finished, outcome, exit_code, plan_digest, command) VALUES (?,?,?,'skipped',5,'',?)`, e.Run, stamp(e.At), stamp(e.At), string(cmd))
	case RunResumed:
		return p.resumed(ctx, e.Run, b)
	case RunInterrupted:
		return p.do(ctx, `UPDATE runs SET outcome='interrupted', exit_code=? WHERE run=?`, b.ExitCode, e.Run)
	case RunFinished:
		return p.do(ctx, `UPDATE runs SET outcome=?, exit_code=?, finished=? WHERE run=?`, b.Outcome, b.ExitCode, stamp(e.At), e.Run)
	case CodeStored:
		files, err := json.Marshal(b.Files)
		if err != nil {
			return err
		}
		return p.do(ctx, `INSERT OR IGNORE INTO codes VALUES (?,?)`, b.ID, string(files))
	case ExperimentPlanned:
		return p.do(ctx, `INSERT OR IGNORE INTO experiments VALUES (?,?)`, e.Run, b.Name)
	case TrialPlanned:
		return p.trialPlanned(ctx, e, b)
	case AttemptIntended:
		return p.do(ctx, `INSERT OR REPLACE INTO attempts VALUES (?,?,?,?,?,?,?,NULL,NULL)`, e.Run, b.Experiment, b.Trial, b.Attempt.Attempt, b.Host, b.Job, b.JobDir)
	case AttemptStarted:
		return p.attemptStarted(ctx, e.Run, b.Key)
	case AttemptFinished:
		return p.attemptFinished(ctx, e, b)
	case TrialFinished:
		return p.trialFinished(ctx, e, b)
	}
	return nil
}

func (p *projector) trialPlanned(ctx context.Context, e *Event, b TrialPlanned) error {
	parts, err := json.Marshal(b.Parts)
	if err != nil {
		return err
	}
	params, err := json.Marshal(b.Params) // as it is stored in the event, so that a rebuild gives the same text
	if err != nil {
		return err
	}
	p.count(Tally{Run: e.Run, Experiment: b.Experiment, State: AsPlanned}, 1)
	// What is planned again keeps how it ended.
	return p.do(ctx, `INSERT INTO trials VALUES (?,?,?,?,?,?,'queued',?,?,?,?,'',NULL) ON CONFLICT DO UPDATE SET
		point=excluded.point, code=excluded.code, parts=excluded.parts, planned=excluded.planned, place=excluded.place, seed=excluded.seed, params=excluded.params`,
		e.Run, b.Experiment, b.Trial, b.Point, b.Code, string(parts), e.Seq, b.Index, b.Seed, string(params))
}

func (p *projector) attemptStarted(ctx context.Context, run string, k Key) error {
	res, err := p.exec(ctx, `UPDATE trials SET state='running' WHERE run=? AND experiment=? AND trial=? AND state='queued'`, run, k.Experiment, k.Trial)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 1 {
		return err
	}
	return p.settle(ctx, run, k, ending{state: Running}) // it counted as something
}

func (p *projector) attemptFinished(ctx context.Context, e *Event, b AttemptFinished) error {
	if err := p.do(ctx, `UPDATE attempts SET outcome=?, objective=? WHERE run=? AND experiment=? AND trial=? AND attempt=?`,
		e.Seq, real64(b.Objective), e.Run, b.Experiment, b.Trial, b.Attempt.Attempt); err != nil {
		return err
	}
	p.count(Tally{Run: e.Run, Experiment: b.Experiment, State: Spent}, int(min(max(b.DurationS, 0), 1e9)*1e6))
	if b.Twin || b.State == Cancelled {
		return nil
	}
	theirs, err := p.imported(ctx, e.Run)
	if err != nil {
		return err
	}
	// A success stays until another success of ours; anything else gives way to what is newer.
	wins := `results.state <> 'succeeded' OR excluded.state = 'succeeded'`
	if theirs {
		wins = `results.state <> 'succeeded' AND excluded.state = 'succeeded'`
	}
	return p.do(ctx, `INSERT INTO results SELECT trial, run, experiment, ?, code, parts, ?, ? FROM trials WHERE run=? AND experiment=? AND trial=?
		ON CONFLICT (trial) DO UPDATE SET run=excluded.run, experiment=excluded.experiment, state=excluded.state, code=excluded.code,
			parts=excluded.parts, duration_s=excluded.duration_s, outcome=excluded.outcome
		WHERE `+wins, string(b.State), b.DurationS, e.Seq, e.Run, b.Experiment, b.Trial)
}

func (p *projector) trialFinished(ctx context.Context, e *Event, b TrialFinished) error {
	end := ending{state: b.State, cause: b.Cause}
	var err error
	switch {
	case b.State == Reused && b.Reused != nil:
		end.objective = real64(b.Reused.Outcome.Objective)
	case b.State == Succeeded:
		if end.objective, err = p.objective(ctx, e.Run, b); err != nil {
			return err
		}
	}
	if err := p.settle(ctx, e.Run, b.Key, end); err != nil {
		return err
	}
	switch b.State {
	case Succeeded, Reused, Failed, Lost, StoppedEarly:
		theirs, err := p.imported(ctx, e.Run)
		if err != nil {
			return err
		}
		or := "REPLACE"
		if theirs {
			or = "IGNORE"
		}
		if err := p.do(ctx, `INSERT OR `+or+` INTO points SELECT point, trial, run FROM trials WHERE run=? AND experiment=? AND trial=?`, e.Run, b.Experiment, b.Trial); err != nil {
			return err
		}
	}
	return nil
}

// Rebuild makes every projection again from the events.
func (l *Ledger) Rebuild(ctx context.Context) error {
	tx, err := l.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("rebuild ledger: %w", err)
	}
	if err := rebuild(ctx, tx); err != nil {
		return errors.Join(fmt.Errorf("rebuild ledger: %w", err), tx.Rollback())
	}
	return tx.Commit()
}

// projections are the tables that are made of the events.
var projections = []string{"runs", "experiments", "trials", "tallies", "scores", "attempts", "results", "points", "codes"}

func rebuild(ctx context.Context, tx *sql.Tx) error {
	for _, table := range projections {
		if _, err := tx.ExecContext(ctx, "DELETE FROM "+table); err != nil {
			return err
		}
	}
	p := &projector{db: tx}
	after := int64(0)
	for {
		events, err := page(ctx, tx, `WHERE seq > ? ORDER BY seq LIMIT 1000`, after)
		if err != nil {
			return errors.Join(err, p.close())
		}
		if len(events) == 0 {
			return p.finish(ctx)
		}
		for i := range events {
			if err := p.apply(ctx, &events[i]); err != nil {
				return errors.Join(err, p.close())
			}
		}
		after = events[len(events)-1].Seq
	}
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
