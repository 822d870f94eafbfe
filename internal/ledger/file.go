package ledger

import (
	"context"
	"database/sql"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

var (
	//go:embed schema.sql
	schemaSQL string
	//go:embed projections.sql
	projectionsSQL string
)

// FileName is the name of the ledger within a state directory.
const FileName = "ledger.db"

// What marks a file as a ledger, and as one of this version. Both stand in the header of the file from its first moment
// on, so that a look at the header is enough.
const (
	applicationID = 0x7872756e // PRAGMA application_id: "xrun"
	userVersion   = 2          // PRAGMA user_version
	oldestVersion = 1          // that can be brought up to it (migrate.go)
)

// A DamagedError is a ledger file that cannot be used.
type DamagedError struct {
	Path   string
	Reason string
}

// Error says what is wrong with the file.
func (e *DamagedError) Error() string { return fmt.Sprintf("ledger %s: %s", e.Path, e.Reason) }

// Hint says what to do.
func (e *DamagedError) Hint() string {
	return "nothing was changed; put a backup in its place, or `xrun run`, which moves it aside: a new ledger is made from runs/*/events.jsonl"
}

// A GoneError is a ledger that was deleted or replaced while we wrote it.
type GoneError struct{ Path string }

// Error says so.
func (e *GoneError) Error() string {
	return fmt.Sprintf("ledger %s was deleted or replaced while it was in use", e.Path)
}

// Hint says what is left to do.
func (e *GoneError) Hint() string {
	return "put it back (what it had recorded is in it), or run again; nothing more is started now"
}

// A FullError is a ledger that cannot be written, or read by who writes, because its disk has no room. Path is empty where
// it is not at hand.
type FullError struct {
	Path string
	Err  error
}

// Error says so.
func (e *FullError) Error() string {
	if e.Path == "" {
		return fmt.Sprintf("ledger: no space left on its disk (%v)", e.Err)
	}
	return fmt.Sprintf("ledger %s: no space left on its disk (%v)", e.Path, e.Err)
}

// Unwrap is the error of the disk.
func (e *FullError) Unwrap() []error { return []error{e.Err, syscall.ENOSPC} }

// blame is err as the error of what is wrong with the file or its disk, where that is it. SQLite tells by name that a page
// does not fit; that the index of its log or a journal cannot be made is an error like many, and the disk has to be asked.
func blame(path string, err error) error {
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return err
	}
	if noRoom(e) {
		return &FullError{path, err}
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return &DamagedError{path, err.Error()}
	case sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN:
		var fs syscall.Statfs_t
		if syscall.Statfs(filepath.Dir(path), &fs) == nil && fs.Blocks > 0 && uint64(fs.Bavail)*uint64(fs.Bsize) < 1<<20 {
			return &FullError{path, err}
		}
	}
	return err
}

// noRoom reports whether an error says by its name that the disk is full: for a page, or for the index of the log, which
// also who reads makes.
func noRoom(e *sqlite.Error) bool {
	return e.Code()&0xff == sqlite3.SQLITE_FULL || e.Code() == sqlite3.SQLITE_IOERR_SHMSIZE
}

// A VersionError is a ledger that another version of xrun wrote.
type VersionError struct {
	Path    string
	Version uint32
}

// Error names both versions.
func (e *VersionError) Error() string {
	return fmt.Sprintf("ledger %s has version %d, this xrun has version %d", e.Path, e.Version, userVersion)
}

// Hint says what to do.
func (e *VersionError) Hint() string {
	return "nothing was changed; use the xrun that wrote it, or another state directory (--state)"
}

// look is the version of the ledger at path, 0 where there is none; one that cannot be opened is an error. It reads the header itself: SQLite would take a
// file of no length, which is what a full disk or a power loss leaves, for a new database, and would change the file of
// another version or program by opening it.
func look(path string) (version uint32, err error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		if size(path+"-wal") > 0 {
			// SQLite would read it into a new ledger.
			return 0, &DamagedError{path, "the file is gone, and its newest part (" + FileName + "-wal) is there"}
		}
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("open ledger: %w", err)
	}
	defer f.Close()
	head := make([]byte, 100)
	if _, err := io.ReadFull(f, head); err != nil {
		return 0, &DamagedError{path, "the file is cut short"}
	}
	if string(head[:16]) != "SQLite format 3\x00" || binary.BigEndian.Uint32(head[68:]) != applicationID {
		return 0, &DamagedError{path, "the file is not a ledger"}
	}
	if version = binary.BigEndian.Uint32(head[60:]); version < oldestVersion || version > userVersion {
		return 0, &VersionError{path, version}
	}
	return version, nil
}

// create makes an empty ledger under another name and then renames it: a ledger that is there is whole.
func create(ctx context.Context, path string) error {
	fresh := path + ".new"
	for _, name := range []string{fresh, fresh + "-journal"} { // of one who did not come so far
		if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	// Readable by its owner alone, and so is what SQLite puts beside it.
	f, err := os.OpenFile(fresh, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	db, err := sql.Open("sqlite", "file:"+escape(fresh)+"?_pragma=synchronous(FULL)")
	if err != nil {
		return err
	}
	marks := fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d;", applicationID, userVersion)
	_, err = db.ExecContext(ctx, "BEGIN;"+marks+schemaSQL+projectionsSQL+";COMMIT")
	if err := errors.Join(err, db.Close()); err != nil {
		return errors.Join(err, os.Remove(fresh))
	}
	if err := os.Rename(fresh, path); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// readError is the error of a read, with what to do if it is the file that is damaged.
func readError(err error) error {
	if e, ok := errors.AsType[*sqlite.Error](err); ok && e.Code()&0xff == sqlite3.SQLITE_CORRUPT {
		return &DamagedError{FileName, err.Error()}
	} else if ok && noRoom(e) {
		return &FullError{"", err}
	}
	return fmt.Errorf("read ledger: %w", err)
}

// rowsError is what ended the reading of rows before their end; nil: nothing.
func rowsError(rows *sql.Rows) error {
	if err := rows.Err(); err != nil {
		return readError(err)
	}
	return nil
}

// probe reads a little, so that damage shows now and not in the middle of a run.
func probe(ctx context.Context, db *sql.DB, path string) error {
	var n int
	err := db.QueryRowContext(ctx, "SELECT count(*) FROM (SELECT 1 FROM events LIMIT 1)").Scan(&n)
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		switch e.Code() & 0xff {
		case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR:
			return &DamagedError{path, err.Error()}
		}
	}
	if err != nil {
		return fmt.Errorf("open ledger %s: %w", path, blame(path, err))
	}
	return nil
}

// escape makes a path safe within a file: URI.
func escape(path string) string {
	var b []byte
	for i := range len(path) {
		switch c := path[i]; c {
		case '%', '?', '#':
			b = fmt.Appendf(b, "%%%02x", c)
		default:
			b = append(b, c)
		}
	}
	return string(b)
}
