package ledger

import (
	"context"
	"database/sql"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	_ "modernc.org/sqlite" // the driver
)

//go:embed schema.sql
var schemaSQL string

// FileName is the name of the ledger within a state directory.
const FileName = "ledger.db"

// userVersion marks a ledger file of this version (PRAGMA user_version).
const userVersion = 1

// A DamagedError is a ledger file that cannot be used. It is never replaced: the user decides.
type DamagedError struct {
	Path   string
	Reason string
}

// Error says what is wrong with the file.
func (e *DamagedError) Error() string { return fmt.Sprintf("ledger %s: %s", e.Path, e.Reason) }

// Hint says what to do.
func (e *DamagedError) Hint() string {
	return "nothing was changed; restore the file from a backup, or move it aside to start a new ledger (earlier results are then not reused)"
}

// A Ledger is an open ledger. All its methods may be called at the same time.
type Ledger struct {
	db       *sql.DB
	copied   string // directory of a private copy; removed on Close
	requests chan request
	quit     chan struct{} // closed by Close
	done     chan struct{} // closed when the writer has left

	mu        sync.Mutex
	listeners []func(Event)
	closed    bool
}

type request struct {
	events []Event
	result chan error
}

// Open opens the ledger in dir for writing, and makes it if there is none. The caller holds the lock of dir.
func Open(ctx context.Context, dir string) (*Ledger, error) {
	path := filepath.Join(dir, FileName)
	exists, err := look(path)
	if err != nil {
		return nil, err
	}
	if !exists {
		if err := create(ctx, path); err != nil {
			return nil, fmt.Errorf("create ledger %s: %w", path, err)
		}
	}
	db, err := sql.Open("sqlite", "file:"+escape(path)+"?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_txlock=immediate")
	if err != nil {
		return nil, fmt.Errorf("open ledger %s: %w", path, err)
	}
	db.SetMaxOpenConns(4)
	if err := checkVersion(ctx, db, path); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	l := &Ledger{db: db, requests: make(chan request, 256), quit: make(chan struct{}), done: make(chan struct{})}
	go l.write()
	return l, nil
}

// look reports whether there is a ledger at path that may be opened.
func look(path string) (exists bool, err error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("open ledger: %w", err)
	}
	defer f.Close()
	head := make([]byte, 16)
	if _, err := io.ReadFull(f, head); err != nil {
		// A file of no length is what a full disk or a power loss leaves, and SQLite would take it for a new ledger.
		return false, &DamagedError{path, "the file is cut short"}
	}
	if string(head) != "SQLite format 3\x00" {
		return false, &DamagedError{path, "the file is not a ledger"}
	}
	return true, nil
}

// create makes an empty ledger beside path and moves it there: a ledger is there whole or not at all.
func create(ctx context.Context, path string) error {
	f, err := os.CreateTemp(filepath.Dir(path), FileName+".new-*") // readable by its owner alone, and so is what SQLite puts beside it
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if err := f.Close(); err != nil {
		return err
	}
	db, err := sql.Open("sqlite", "file:"+escape(f.Name())+"?_pragma=synchronous(FULL)")
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, "BEGIN;"+schemaSQL+fmt.Sprintf("; PRAGMA user_version = %d; COMMIT", userVersion))
	if err := errors.Join(err, db.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

func checkVersion(ctx context.Context, db *sql.DB, path string) error {
	var v int
	if err := db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&v); err != nil {
		return &DamagedError{path, err.Error()}
	}
	if v != userVersion {
		return fmt.Errorf("ledger %s has version %d, this xrun writes version %d", path, v, userVersion)
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

// Listen calls f with every event from now on, in order, as soon as it is on disk. f is called by one goroutine and
// must not wait for the ledger.
func (l *Ledger) Listen(f func(Event)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.listeners = append(l.listeners, f)
}

// ErrClosed is the error of a ledger that takes no more events.
var ErrClosed = errors.New("ledger is closed")

// Append stores events in order. When it returns nil they are on disk.
func (l *Ledger) Append(ctx context.Context, events ...Event) error {
	if len(events) == 0 {
		return nil
	}
	r := request{events, make(chan error, 1)}
	select {
	case l.requests <- r:
	case <-l.done:
		return ErrClosed
	}
	// A request that was taken is answered, whatever becomes of ctx: to leave here would leave its fate unknown.
	select {
	case err := <-r.result:
		return err
	case <-l.done:
	}
	select {
	case err := <-r.result:
		return err
	default:
		return ErrClosed
	}
}

// maxBatch bounds the events of one commit, so that the first of many appends does not wait for all of them.
const maxBatch = 4096

// write is the one writer. It takes all requests that wait and commits them together, so that many appends share one
// sync of the disk.
func (l *Ledger) write() {
	defer close(l.done)
	for {
		var batch []request
		select {
		case r := <-l.requests:
			batch = l.gather(r)
		case <-l.quit:
			if batch = l.gather(); len(batch) == 0 {
				return
			}
		}
		err := l.commit(batch)
		if err == nil {
			l.tell(batch)
		}
		for _, r := range batch {
			r.result <- err
		}
	}
}

// gather adds to batch what waits.
func (l *Ledger) gather(batch ...request) []request {
	for n := 0; n < maxBatch; {
		select {
		case r := <-l.requests:
			batch = append(batch, r)
			n += len(r.events)
		default:
			return batch
		}
	}
	return batch
}

func (l *Ledger) commit(batch []request) error {
	ctx := context.Background() // a commit that has begun is not given up
	tx, err := l.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("write ledger: %w", err)
	}
	p := &projector{tx: tx}
	for _, r := range batch {
		for i := range r.events {
			if err := insert(ctx, p, &r.events[i]); err != nil {
				return errors.Join(fmt.Errorf("write ledger: %w", err), p.close(), tx.Rollback())
			}
		}
	}
	if err := p.close(); err != nil {
		return errors.Join(fmt.Errorf("write ledger: %w", err), tx.Rollback())
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("write ledger: %w", err)
	}
	return nil
}

func (l *Ledger) tell(batch []request) {
	l.mu.Lock()
	listeners := l.listeners
	l.mu.Unlock()
	for _, r := range batch {
		for _, e := range r.events {
			for _, f := range listeners {
				f(e)
			}
		}
	}
}

const insertSQL = `INSERT INTO events (run, at, type, version, experiment, trial, attempt, body) VALUES (?,?,?,?,?,?,?,?)`

func insert(ctx context.Context, p *projector, e *Event) error {
	body, err := json.Marshal(e.Body)
	if err != nil {
		return fmt.Errorf("event %s: %w", e.Type, err)
	}
	var experiment, trial, attempt any
	switch k := keyOf(e.Body); {
	case k.Attempt > 0:
		experiment, trial, attempt = k.Experiment, k.Trial, k.Attempt
	case k.Trial != "":
		experiment, trial = k.Experiment, k.Trial
	}
	res, err := p.exec(ctx, insertSQL, e.Run, e.At.UTC().Format(time.RFC3339Nano), string(e.Type), e.Version, experiment, trial, attempt, string(body))
	if err != nil {
		return err
	}
	if e.Seq, err = res.LastInsertId(); err != nil {
		return err
	}
	return p.apply(ctx, e)
}

// Close writes what was appended and closes the file.
func (l *Ledger) Close() error {
	l.mu.Lock()
	closed := l.closed
	l.closed = true
	l.mu.Unlock()
	if closed {
		return nil
	}
	if l.requests != nil {
		close(l.quit)
		<-l.done
	}
	var err error
	if l.db != nil {
		err = l.db.Close()
	}
	if l.copied != "" {
		err = errors.Join(err, os.RemoveAll(l.copied))
	}
	return err
}
