package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// A ledger of an earlier version differs in its projections alone: they are dropped, and made again from the events. Who
// holds the lock migrates the file, and keeps a copy of it as it was; who only reads migrates a copy of his own.

// keepAndMigrate brings the ledger at path up to this version. A copy stays beside it.
func keepAndMigrate(ctx context.Context, db *sql.DB, path string, version uint32) error {
	fail := func(err error) error {
		return fmt.Errorf("bring ledger %s from version %d to version %d: %w", path, version, userVersion, err)
	}
	kept := fmt.Sprintf("%s.version-%d", path, version)
	if err := os.Remove(kept); err != nil && !errors.Is(err, os.ErrNotExist) { // of one who did not come so far
		return fail(err)
	}
	if err := snapshot(ctx, db, kept); err != nil {
		return fail(err)
	}
	// The version stands in the header of the file, and there it has to change together with the tables: a write-ahead log
	// would leave the old one in the header for a while.
	var mode string
	if err := db.QueryRowContext(ctx, "PRAGMA journal_mode = DELETE").Scan(&mode); err != nil {
		return fail(err)
	}
	if mode != "delete" {
		return fail(errors.New("another program has it open"))
	}
	if err := migrate(ctx, db); err != nil {
		return fail(err)
	}
	return nil
}

// current is the database with the projections of this version: of a ledger of an earlier one that is only read, those of a
// copy, which is made when it is first asked for. Who reads changes nothing.
func (l *Ledger) current(ctx context.Context) (*sql.DB, error) {
	if l.version == userVersion || l.db == nil {
		return l.db, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.migrated != nil {
		return l.migrated, nil
	}
	dir, err := os.MkdirTemp("", "xrun-ledger-")
	if err != nil {
		return nil, fmt.Errorf("copy ledger: %w", err)
	}
	l.copies = append(l.copies, dir)
	file := filepath.Join(dir, FileName)
	if err := snapshot(ctx, l.db, file); err != nil {
		return nil, fmt.Errorf("copy ledger: %w", err)
	}
	// Nobody misses the copy if the machine stops meanwhile.
	db, err := sql.Open("sqlite", "file:"+escape(file)+"?_pragma=synchronous(OFF)&_pragma=journal_mode(OFF)")
	if err != nil {
		return nil, fmt.Errorf("open ledger: %w", err)
	}
	if err := migrate(ctx, db); err != nil {
		return nil, errors.Join(fmt.Errorf("read ledger of version %d: %w", l.version, err), db.Close())
	}
	l.migrated = db
	return db, nil
}

// snapshot copies a ledger as it is at one moment, whoever writes it.
func snapshot(ctx context.Context, db *sql.DB, to string) error {
	f, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600) // readable by its owner alone
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, "VACUUM INTO ?", to) // a file without bytes may be there
	return err
}

// migrate makes the projections of this version from the events, all of it or nothing.
func migrate(ctx context.Context, db *sql.DB) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	err = func() error {
		for _, table := range projections {
			if _, err := tx.ExecContext(ctx, "DROP TABLE IF EXISTS "+table); err != nil {
				return err
			}
		}
		if _, err := tx.ExecContext(ctx, projectionsSQL); err != nil {
			return err
		}
		if err := rebuild(ctx, tx); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", userVersion))
		return err
	}()
	if err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}
