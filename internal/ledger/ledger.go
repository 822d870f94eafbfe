package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
)

// A Ledger is an open ledger. All its methods may be called at the same time.
type Ledger struct {
	db        *sql.DB
	writer    *writer     // nil: open for reading only
	name      string      // of the file
	file      os.FileInfo // of that name, when it was opened for writing
	version   uint32      // of the file
	copies    []string    // directories of private copies; removed on Close
	migrated  *sql.DB     // a copy that was brought up to this version, of a file that was not (current)
	recovered *Recovered
	requests  chan request
	quit      chan struct{} // closed by Close
	done      chan struct{} // closed when the writer has left

	mu        sync.Mutex
	listeners []func(Event)
	closed    bool
}

// TestOnlyMoment is called by the writer at each moment of a commit, for tests that end the process there: begun, stored,
// committed, told.
var TestOnlyMoment func(moment string)

func moment(name string) {
	if TestOnlyMoment != nil {
		TestOnlyMoment(name)
	}
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
			return nil, fmt.Errorf("create ledger %s: %w", path, blame(path, err))
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
		return nil, errors.Join(fmt.Errorf("open ledger %s: %w", path, blame(path, err)), db.Close())
	}
	file, err := os.Stat(path)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open ledger: %w", err), db.Close())
	}
	l := &Ledger{db: db, version: userVersion, name: path, file: file, requests: make(chan request, 256), quit: make(chan struct{}), done: make(chan struct{})}
	if err := l.heal(ctx, dir); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open ledger %s: %w", path, err), db.Close())
	}
	l.writer = newWriter(conn)
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
			runtime.Gosched() // whoever is about to append does it first
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
		moment("told")
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
	if err := l.writer.commit(batch); err != nil {
		return fmt.Errorf("write ledger: %w", blame(l.name, err))
	}
	moment("committed")
	// SQLite is content with a file that nobody will find again.
	if now, err := os.Stat(l.name); err != nil || !os.SameFile(now, l.file) {
		return &GoneError{l.name}
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
	if l.writer != nil {
		err = l.writer.close()
	}
	if l.db != nil {
		err = errors.Join(err, l.db.Close())
	}
	if l.migrated != nil {
		err = errors.Join(err, l.migrated.Close())
	}
	for _, dir := range l.copies {
		err = errors.Join(err, os.RemoveAll(dir))
	}
	return err
}
