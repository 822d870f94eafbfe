package ledger

import (
	"context"
	"database/sql"
	"errors"
	"os"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// testOnlyNetworkFS stands for NetworkFS in tests.
var testOnlyNetworkFS func(path string) string

// NetworkFS names the network file system that path lies on; "" if it is none that is known. What several machines
// share, or a program serves, has no memory in common: SQLite's write-ahead log needs that.
func NetworkFS(path string) string {
	if testOnlyNetworkFS != nil {
		return testOnlyNetworkFS(path)
	}
	return networkFS(path)
}

// setJournal chooses how the file is kept whole: by a write-ahead log, or on a network file system by a rollback journal.
// The file remembers the choice.
func setJournal(ctx context.Context, db *sql.DB, path string) error {
	mode := "WAL"
	if NetworkFS(path) != "" {
		mode = "DELETE"
	}
	var now string
	// The answer is the mode that holds now: another one where somebody has the file open, until the next time.
	return db.QueryRowContext(ctx, "PRAGMA journal_mode = "+mode).Scan(&now)
}

// rollback reports whether the file is kept whole by a rollback journal: its header says so.
func rollback(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	var version [1]byte
	_, err = f.ReadAt(version[:], 18)
	return err == nil && version[0] == 1
}

// torn reports whether err is that of a reader of a file whose writer was killed between the two halves of a change: only
// who may write can undo it.
func torn(err error) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	return ok && (e.Code()&0xff == sqlite3.SQLITE_READONLY || e.Code()&0xff == sqlite3.SQLITE_CANTOPEN)
}
