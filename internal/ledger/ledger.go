package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// A Ledger is an open ledger. All its methods may be called at the same time.
type Ledger struct {
	db       *sql.DB
	name     string      // of the file
	file     os.FileInfo // of that name, when it was opened for writing
	version  uint32      // of the file
	copies   []string    // directories of private copies; removed on Close
	migrated *sql.DB     // a copy that was brought up to this version, of a file that was not (current)
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
	version, err := look(path)
	if err != nil {
		return nil, err
	}
	if version == 0 {
		version = userVersion
		if err := create(ctx, path); err != nil {
			return nil, fmt.Errorf("create ledger %s: %w", path, err)
		}
	}
	db, err := sql.Open("sqlite", "file:"+escape(path)+"?_pragma=busy_timeout(10000)&_pragma=synchronous(FULL)&_txlock=immediate")
	if err != nil {
		return nil, fmt.Errorf("open ledger %s: %w", path, err)
	}
	db.SetMaxOpenConns(4)
	if err := probe(ctx, db, path); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	if version != userVersion {
		if err := keepAndMigrate(ctx, db, path, version); err != nil {
			return nil, errors.Join(err, db.Close())
		}
	}
	// After a look at the file, because it changes one.
	if err := setJournal(ctx, db, path); err != nil {
		return nil, errors.Join(fmt.Errorf("open ledger %s: %w", path, err), db.Close())
	}
	file, err := os.Stat(path)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open ledger: %w", err), db.Close())
	}
	l := &Ledger{db: db, version: userVersion, name: path, file: file, requests: make(chan request, 256), quit: make(chan struct{}), done: make(chan struct{})}
	go l.write()
	return l, nil
}

// Listen calls f with every event from now on, in order, as soon as it is on disk. f is called by one goroutine and
// must not wait for the ledger.
func (l *Ledger) Listen(f func(Event)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.listeners = append(l.listeners, f)
}

var errReadOnly = errors.New("ledger is open for reading only")

// ErrClosed is the error of a ledger that takes no more events.
var ErrClosed = errors.New("ledger is closed")

// Append stores events in order. When it returns nil they are on disk.
func (l *Ledger) Append(ctx context.Context, events ...Event) error {
	if len(events) == 0 {
		return nil
	}
	if l.requests == nil {
		return errReadOnly
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
		if err := l.commit(batch); err == nil || len(batch) == 1 {
			l.answer(batch, err)
			continue
		}
		// One that cannot be stored must not take the others with it.
		for i := range batch {
			l.answer(batch[i:i+1], l.commit(batch[i:i+1]))
		}
	}
}

// answer tells the listeners what was stored, then those who wait.
func (l *Ledger) answer(batch []request, err error) {
	if err == nil {
		l.tell(batch)
	}
	for _, r := range batch {
		r.result <- err
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
	if err := store(ctx, tx, batch); err != nil {
		// After some errors, a full disk among them, SQLite has rolled back already: that it says so is no news.
		_ = tx.Rollback()
		return fmt.Errorf("write ledger: %w", err)
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("write ledger: %w", err)
	}
	// SQLite is content with a file that nobody will find again.
	if now, err := os.Stat(l.name); err != nil || !os.SameFile(now, l.file) {
		return &GoneError{l.name}
	}
	return nil
}

func store(ctx context.Context, tx *sql.Tx, batch []request) error {
	p := &projector{tx: tx}
	for _, r := range batch {
		for i := range r.events {
			if err := insert(ctx, p, &r.events[i]); err != nil {
				_ = p.close() // of no interest beside err
				return err
			}
		}
	}
	return p.finish(ctx)
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
	if l.migrated != nil {
		err = errors.Join(err, l.migrated.Close())
	}
	for _, dir := range l.copies {
		err = errors.Join(err, os.RemoveAll(dir))
	}
	return err
}
