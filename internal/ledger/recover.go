package ledger

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Recovered is what a ledger had lost and was given back when it was opened: the events that the files beside it have and
// it had not. They are lost with the file itself, or with its newest part that lies in a log of SQLite's.
type Recovered struct {
	All    bool     // it had no event at all
	Events int      // that were given back
	Runs   []string // to which they belong, oldest first
	// Unread are lines of the files that no event could be read from.
	Unread int
}

// Recovered is what was given back when the ledger was opened; nil: it lacked nothing.
func (l *Ledger) Recovered() *Recovered { return l.recovered }

// eventFiles are the files of events of the runs in dir.
func eventFiles(dir string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "runs", "*", "events.jsonl")) // sorted
	if err != nil {
		return nil, fmt.Errorf("look for events: %w", err)
	}
	return files, nil
}

// heal gives the ledger back what the files of events have beyond its end. An event is in its file only after it was in
// the ledger, under the same number: who has more is right.
func (l *Ledger) heal(ctx context.Context, dir string) error {
	files, err := eventFiles(dir)
	if err != nil || len(files) == 0 {
		return err
	}
	var end int64
	if err := l.db.QueryRowContext(ctx, `SELECT COALESCE(MAX(seq), 0) FROM events`).Scan(&end); err != nil {
		return readError(err)
	}
	files = slices.DeleteFunc(files, func(f string) bool {
		last, known := lastSeq(f)
		return known && last <= end
	})
	if len(files) == 0 {
		return nil
	}
	tx, err := l.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("recover ledger: %w", blame(l.name, err))
	}
	r := &Recovered{All: end == 0}
	if err := r.take(ctx, tx, files, end); err != nil {
		return errors.Join(fmt.Errorf("recover ledger: %w", blame(l.name, err)), tx.Rollback())
	}
	if r.Events == 0 {
		return tx.Rollback()
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("recover ledger: %w", blame(l.name, err))
	}
	l.recovered = r
	return nil
}

// tailSize is how much of the end of a file is read to find its last event.
const tailSize = 64 << 10

// lastSeq is the number of the last event of a file; known is false where its end does not tell.
func lastSeq(file string) (seq int64, known bool) {
	f, err := os.Open(file)
	if err != nil {
		return 0, false
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return 0, false
	}
	b := make([]byte, min(fi.Size(), tailSize))
	if _, err := f.ReadAt(b, fi.Size()-int64(len(b))); err != nil {
		return 0, false
	}
	whole := int64(len(b)) == fi.Size()
	for len(b) > 0 {
		i := bytes.LastIndexByte(bytes.TrimSuffix(b, []byte{'\n'}), '\n') + 1
		var e struct{ Seq int64 }
		if (i > 0 || whole) && json.Unmarshal(b[i:], &e) == nil && e.Seq > 0 {
			return e.Seq, true
		}
		b = b[:i]
	}
	return 0, false
}

// newestRecorded is the greatest number that a file of events in dir ends with, and that file.
func newestRecorded(dir string) (newest int64, file string) {
	files, _ := eventFiles(dir) // an odd pattern is the only error, and whoever writes tells it
	for _, f := range files {
		if seq, known := lastSeq(f); known && seq > newest {
			newest, file = seq, f
		}
	}
	return newest, file
}

// behind is the error of a ledger that lacks events that were recorded; nil: it lacks none that is known.
func behind(ctx context.Context, db *sql.DB, path string, newest int64, file string) error {
	var end int64
	if err := db.QueryRowContext(ctx, `SELECT COALESCE(MAX(seq), 0) FROM events`).Scan(&end); err != nil {
		return readError(err)
	}
	if end >= newest {
		return nil
	}
	return &BehindError{path, file}
}

// A BehindError is a ledger without its newest part: the log beside it is gone, or the file is an older copy.
type BehindError struct{ Path, File string }

// Error says what has more.
func (e *BehindError) Error() string {
	return fmt.Sprintf("ledger %s has lost its newest part: %s knows more", e.Path, e.File)
}

// Hint says what to do.
func (e *BehindError) Hint() string {
	return "nothing was changed; `xrun run` and `xrun resume` take what is missing from that file"
}

// take stores the events of files behind number end, and makes the projections anew.
func (r *Recovered) take(ctx context.Context, tx *sql.Tx, files []string, end int64) error {
	for _, file := range files {
		run, before := filepath.Base(filepath.Dir(file)), r.Events
		if err := r.read(file, func(e *Event) error {
			if e.Seq <= end || e.Run != run || e.Version != SchemaVersion {
				return nil
			}
			res, err := insertAt(ctx, tx, e)
			if err != nil {
				return err
			}
			n, err := res.RowsAffected()
			r.Events += int(n)
			return err
		}); err != nil {
			return err
		}
		if r.Events > before {
			r.Runs = append(r.Runs, run)
		}
	}
	if r.Events == 0 {
		return nil
	}
	return rebuild(ctx, tx)
}

// read calls each with the events of a file. A line that is none is left out: the last one may be half of one, and a
// machine that lost its power leaves zeros.
func (r *Recovered) read(file string, each func(*Event) error) error {
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewReaderSize(f, 1<<16)
	for {
		line, err := lines.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			var e Event
			if json.Unmarshal(line, &e) != nil || e.Seq <= 0 {
				r.Unread++
			} else if err := each(&e); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// insertAt stores an event under its own number, without its projections. A number that is taken stays with who has it.
func insertAt(ctx context.Context, tx *sql.Tx, e *Event) (sql.Result, error) {
	body, err := json.Marshal(e.Body)
	if err != nil {
		return nil, err
	}
	experiment, trial, attempt := columns(e.Body)
	return tx.ExecContext(ctx, `INSERT OR IGNORE INTO events (seq, run, at, type, version, experiment, trial, attempt, body) VALUES (?,?,?,?,?,?,?,?,?)`,
		e.Seq, e.Run, stamp(e.At), string(e.Type), e.Version, experiment, trial, attempt, string(body))
}

// SetAside renames the ledger in dir, with what SQLite put beside it, if it is damaged, and returns its new path; "" if it
// is not, as far as a look at all of it tells. The caller holds the lock of dir.
func SetAside(ctx context.Context, dir string) (string, error) {
	path := filepath.Join(dir, FileName)
	if _, damaged := errors.AsType[*DamagedError](verify(ctx, path)); !damaged {
		return "", nil
	}
	aside := ""
	for n := 1; aside == "" || exists(aside) || exists(aside+"-wal"); n++ {
		aside = fmt.Sprintf("%s.damaged-%d", path, n)
	}
	for _, suffix := range []string{"-wal", "-shm", "-journal", ""} {
		if err := os.Rename(path+suffix, aside+suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("move the damaged ledger aside: %w", err)
		}
	}
	return aside, nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// verify looks at the whole of a ledger.
func verify(ctx context.Context, path string) error {
	version, err := look(path)
	if err != nil || version == 0 {
		return err
	}
	db, err := sql.Open("sqlite", "file:"+escape(path)+"?_pragma=busy_timeout(10000)")
	if err != nil {
		return err
	}
	defer db.Close()
	if err := probe(ctx, db, path); err != nil {
		return err
	}
	var says string
	if err := db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&says); err != nil {
		return readError(err)
	}
	if says != "ok" {
		return &DamagedError{path, says}
	}
	for after := int64(0); ; {
		events, err := page(ctx, db, `WHERE seq > ? ORDER BY seq LIMIT 2000`, after)
		if err != nil || len(events) == 0 {
			return err
		}
		after = events[len(events)-1].Seq
	}
}
