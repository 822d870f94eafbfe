package ledger

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAppendsAreStoredInOrderAndHeardBeforeTheyReturn(t *testing.T) {
	l := open(t, t.TempDir())
	const appenders, each = 16, 60
	var mu sync.Mutex
	var heard []Event
	l.Listen(func(e Event) {
		mu.Lock()
		defer mu.Unlock()
		heard = append(heard, e)
	})
	var wg sync.WaitGroup
	for a := range appenders {
		wg.Go(func() {
			run := fmt.Sprintf("run-%02d", a)
			for i := range each {
				es := facts(run, Warning{fmt.Sprint(2 * i)}, Warning{fmt.Sprint(2*i + 1)})
				if err := l.Append(t.Context(), es...); err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				if n := int(es[1].Seq); n == 0 || n > len(heard) || heard[n-1].Run != run {
					t.Errorf("%s: event %d was not heard when Append returned", run, n)
				}
				mu.Unlock()
				if es[1].Seq != es[0].Seq+1 {
					t.Errorf("%s: events of one append have places %d and %d", run, es[0].Seq, es[1].Seq)
				}
			}
		})
	}
	wg.Wait()
	for i, e := range heard {
		if e.Seq != int64(i+1) {
			t.Fatalf("event %d is heard as number %d", e.Seq, i+1)
		}
	}
	if len(heard) != appenders*each*2 {
		t.Errorf("heard %d events", len(heard))
	}
	for a := range appenders {
		for i, e := range all(t, l, fmt.Sprintf("run-%02d", a)) {
			if e.Body.(Warning).Message != fmt.Sprint(i) {
				t.Fatalf("appender %d: event %d is %v", a, i, e.Body)
			}
		}
	}
}

func TestAnEventThatCannotBeStoredLeavesTheOthersAlone(t *testing.T) {
	l := open(t, t.TempDir())
	add(t, l, "r", RunStarted{})
	nan := math.NaN()
	bad := AttemptFinished{Attempt: Attempt{trialKey("e", 1), 1}, PeakGPUMB: &nan}
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			var err error
			switch i % 4 {
			case 0:
				err = l.Append(t.Context(), facts("r", Warning{"first half"}, bad)...)
			case 1:
				err = l.Append(t.Context(), facts("r", RunStarted{})...) // a second time
			default:
				if err := l.Append(t.Context(), facts("r", Warning{fmt.Sprint(i)})...); err != nil {
					t.Errorf("an append of another is refused: %v", err)
				}
				return
			}
			if err == nil {
				t.Error("it was stored")
			}
		})
	}
	wg.Wait()
	got := all(t, l, "r")
	if len(got) != 21 {
		t.Errorf("%d events, want 21", len(got))
	}
	for _, e := range got {
		if w, ok := e.Body.(Warning); ok && w.Message == "first half" {
			t.Error("half of an append is stored")
		}
	}
}

func TestAClosedLedgerTakesNothing(t *testing.T) {
	l := open(t, t.TempDir())
	var wg sync.WaitGroup
	stored := make([]int, 8)
	for a := range stored {
		wg.Go(func() {
			for {
				switch err := l.Append(t.Context(), facts(fmt.Sprint("r", a), Warning{})...); {
				case errors.Is(err, ErrClosed):
					return
				case err != nil:
					t.Error(err)
					return
				}
				stored[a]++
			}
		})
	}
	for l.count(t) < 50 {
	}
	path := filepath.Dir(l.path(t))
	if err := errors.Join(l.Close(), l.Close()); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	if err := l.Append(t.Context(), facts("r", Warning{})...); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	r := openReader(t, path)
	for a, n := range stored {
		if got := len(all(t, r, fmt.Sprint("r", a))); got != n {
			t.Errorf("appender %d: %d stored, %d acknowledged", a, got, n)
		}
	}
	if err := r.Append(t.Context(), facts("r", Warning{})...); err == nil || errors.Is(err, ErrClosed) {
		t.Errorf("an append to a reader: %v", err)
	}
	if err := l.Append(t.Context()); err != nil {
		t.Errorf("an append of nothing: %v", err)
	}
}

func (l *Ledger) count(t testing.TB) (n int) {
	t.Helper()
	if err := l.db.QueryRowContext(t.Context(), "SELECT count(*) FROM events").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func (l *Ledger) path(t testing.TB) (path string) {
	t.Helper()
	if err := l.db.QueryRowContext(t.Context(), "SELECT file FROM pragma_database_list WHERE name = 'main'").Scan(&path); err != nil {
		t.Fatal(err)
	}
	return path
}

// fullDisk makes the ledger's disk full until the function that fill returns is called.
type fullDisk struct {
	name string
	fill func(t *testing.T, l *Ledger) (empty func())
}

var fullDisks = []fullDisk{
	{"no page is left", func(t *testing.T, l *Ledger) func() {
		limit := func(pages int) {
			if _, err := l.writer.conn.ExecContext(t.Context(), fmt.Sprintf("PRAGMA max_page_count = %d", pages)); err != nil {
				t.Fatal(err)
			}
		}
		limit(1) // that is: not more than there are
		return func() { limit(1 << 30) }
	}},
	{"writes fail", func(t *testing.T, l *Ledger) func() {
		// A limit on the size of files is the nearest that a test without a disk of its own gets to a full one: the
		// commit itself fails.
		signal.Ignore(syscall.SIGXFSZ)
		var before syscall.Rlimit
		if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
			t.Fatal(err)
		}
		wal, err := os.Stat(l.path(t) + "-wal")
		if err != nil {
			t.Fatal(err)
		}
		set := func(n uint64) {
			if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: n, Max: before.Max}); err != nil {
				t.Fatal(err)
			}
		}
		set(uint64(wal.Size()) + 3000)
		return func() { set(before.Cur) }
	}},
}

func TestAFullDiskLosesNothingThatWasStored(t *testing.T) {
	for _, disk := range fullDisks {
		t.Run(disk.name, func(t *testing.T) {
			dir := t.TempDir()
			l := open(t, dir)
			add(t, l, "r", RunStarted{})
			add(t, l, "r", attempted(trialKey("e", 1), "p", Succeeded)...)
			before := all(t, l, "r")
			heard := 0
			l.Listen(func(Event) { heard++ })
			empty := disk.fill(t, l)
			large := Warning{strings.Repeat("x", 200_000)}
			for range 5 {
				if err := l.Append(t.Context(), facts("r", large)...); err == nil || strings.Contains(err.Error(), "\n") || !strings.HasPrefix(err.Error(), "write ledger: ") {
					empty()
					t.Fatalf("an append on a full disk: %v", err)
				}
			}
			if heard != 0 {
				t.Errorf("%d events were heard that are not on disk", heard)
			}
			if diff := cmp.Diff(before, all(t, l, "r"), sameEvents); diff != "" {
				t.Error(diff)
			}
			empty()
			add(t, l, "r", large, RunFinished{Outcome: "done"})
			if got := all(t, l, "r"); len(got) != len(before)+2 || heard != 2 {
				t.Errorf("%d events later, %d heard", len(got), heard)
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			if got := all(t, openReader(t, dir), "r"); len(got) != len(before)+2 {
				t.Errorf("%d events in the file", len(got))
			}
		})
	}
}

func BenchmarkAppend(b *testing.B) {
	l := open(b, b.TempDir())
	for i := 0; b.Loop(); i++ {
		add(b, l, "r", Warning{"x"})
	}
}

func BenchmarkTrials(b *testing.B) {
	l := open(b, b.TempDir())
	add(b, l, "r", RunStarted{})
	n := 0
	for b.Loop() {
		var bodies []Body
		for range 100 {
			n++
			bodies = append(bodies, attempted(trialKey("e", n), fmt.Sprint(n), Succeeded)...)
		}
		add(b, l, "r", bodies...)
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(n), "µs/trial")
}

// SQLite goes on writing to a file that has no name any more; nobody would find what it acknowledged.
func TestAppendToALedgerThatWasDeletedFails(t *testing.T) {
	for name, harm := range map[string]func(string) error{
		"deleted":  os.Remove,
		"replaced": func(path string) error { return errors.Join(os.Remove(path), os.WriteFile(path, nil, 0o600)) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			l := open(t, dir)
			if err := l.Append(t.Context(), facts("run", Warning{"before"})...); err != nil {
				t.Fatal(err)
			}
			if err := harm(filepath.Join(dir, FileName)); err != nil {
				t.Fatal(err)
			}
			err := l.Append(t.Context(), facts("run", Warning{"after"})...)
			if _, ok := errors.AsType[*GoneError](err); !ok {
				t.Errorf("got %v", err)
			}
		})
	}
}
