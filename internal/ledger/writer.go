package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// A writer is the one connection that changes the ledger. It keeps its statements: to prepare them anew for each commit
// costs as much as to run them.
type writer struct {
	conn *sql.Conn
	projector
}

func newWriter(conn *sql.Conn) *writer {
	return &writer{conn, projector{db: conn}}
}

// commit stores all of a batch or nothing.
func (w *writer) commit(batch []request) error {
	ctx := context.Background() // a commit that has begun is not given up
	if err := w.do(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	moment("begun")
	err := w.store(ctx, batch)
	if err == nil {
		moment("stored")
		err = w.do(ctx, "COMMIT")
	}
	if err != nil {
		// After some errors, a full disk among them, SQLite has rolled back already: that it says so is no news.
		_ = w.do(ctx, "ROLLBACK")
		w.from = nil // it may be of a run whose first event is gone again
		clear(w.counts)
	}
	return err
}

func (w *writer) store(ctx context.Context, batch []request) error {
	for _, r := range batch {
		for i := range r.events {
			if err := insert(ctx, &w.projector, &r.events[i]); err != nil {
				return err
			}
		}
	}
	return w.flush(ctx)
}

func (w *writer) close() error { return errors.Join(w.projector.close(), w.conn.Close()) }

const insertSQL = `INSERT INTO events (run, at, type, version, experiment, trial, attempt, body) VALUES (?,?,?,?,?,?,?,?)`

func insert(ctx context.Context, p *projector, e *Event) error {
	body, err := json.Marshal(e.Body)
	if err != nil {
		return fmt.Errorf("event %s: %w", e.Type, err)
	}
	experiment, trial, attempt := columns(e.Body)
	res, err := p.exec(ctx, insertSQL, e.Run, e.At.UTC().Format(time.RFC3339Nano), string(e.Type), e.Version, experiment, trial, attempt, string(body))
	if err != nil {
		return err
	}
	if e.Seq, err = res.LastInsertId(); err != nil {
		return err
	}
	return p.apply(ctx, e)
}

// columns are what events are found by, null where they are about no trial or attempt.
func columns(b Body) (experiment, trial, attempt any) {
	switch k := keyOf(b); {
	case k.Attempt > 0:
		return k.Experiment, k.Trial, k.Attempt
	case k.Trial != "":
		return k.Experiment, k.Trial, nil
	}
	return nil, nil, nil
}
