package ledger

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// version1 is a state directory with a ledger that version 1 wrote: a run of 24 trials.
func version1(t *testing.T) (dir string, file []byte) {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", "version-1.db.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z := must[*gzip.Reader](t)(gzip.NewReader(f))
	file = must[[]byte](t)(io.ReadAll(z))
	dir = t.TempDir()
	write(t, dir, file)
	return dir, file
}

// anew is the ledger that the events of another give.
func anew(t *testing.T, l *Ledger) *Ledger {
	t.Helper()
	fresh := open(t, t.TempDir())
	for _, r := range must[[]Run](t)(l.Runs(t.Context())) {
		if err := fresh.Append(t.Context(), all(t, l, r.ID)...); err != nil {
			t.Fatal(err)
		}
	}
	return fresh
}

func TestALedgerOfVersion1IsBroughtUpAndKeptAsItWas(t *testing.T) {
	dir, old := version1(t)
	l := open(t, dir)
	if diff := cmp.Diff(tables(t, anew(t, l)), tables(t, l)); diff != "" {
		t.Error(diff)
	}
	if n := l.count(t); n != 150 {
		t.Errorf("%d events", n)
	}
	add(t, l, "20260102-bbbb", RunStarted{}) // it goes on
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if v := must[uint32](t)(look(filepath.Join(dir, FileName))); v != userVersion {
		t.Errorf("version %d", v)
	}

	kept := t.TempDir()
	copied := must[[]byte](t)(os.ReadFile(filepath.Join(dir, FileName+".version-1")))
	write(t, kept, copied)
	if v := must[uint32](t)(look(filepath.Join(kept, FileName))); v != 1 {
		t.Errorf("the copy has version %d", v)
	}
	was := t.TempDir()
	write(t, was, old)
	if diff := cmp.Diff(all(t, openReader(t, was), "20260101-aaaa"), all(t, openReader(t, kept), "20260101-aaaa"), sameEvents); diff != "" {
		t.Error(diff)
	}

	again := open(t, dir)
	if runs := must[[]Run](t)(again.Runs(t.Context())); len(runs) != 2 {
		t.Errorf("%d runs", len(runs))
	}
	if now := must[[]byte](t)(os.ReadFile(filepath.Join(dir, FileName+".version-1"))); !bytes.Equal(now, copied) {
		t.Error("a second opening copies again")
	}
}

func TestWhoReadsALedgerOfVersion1ChangesNothing(t *testing.T) {
	dir, _ := version1(t)
	before := files(t, dir)
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	l := openReader(t, dir)
	if n := len(all(t, l, must[[]Run](t)(l.Runs(t.Context()))[0].ID)); n != 150 {
		t.Errorf("%d events", n)
	}
	if made := must[[]os.DirEntry](t)(os.ReadDir(temp)); len(made) > 0 {
		t.Error("the list of runs and the events are read from a copy")
	}
	tallies := must[[]Tally](t)(l.Tallies(t.Context(), "20260101-aaaa"))
	want := []Tally{{"20260101-aaaa", "big", AsPlanned, "", 24}, {"20260101-aaaa", "big", Spent, "", 295_200}, {"20260101-aaaa", "big", Succeeded, "", 24}}
	if diff := cmp.Diff(want, tallies); diff != "" {
		t.Error(diff)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, files(t, dir)); diff != "" {
		t.Error(diff)
	}
	if left := must[[]os.DirEntry](t)(os.ReadDir(temp)); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// A copy that somebody was making when he was killed is in nobody's way.
func TestAMigrationThatWasKilledIsDoneAgain(t *testing.T) {
	dir, _ := version1(t)
	if err := os.WriteFile(filepath.Join(dir, FileName+".version-1"), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	l := open(t, dir)
	if n := l.count(t); n != 150 {
		t.Errorf("%d events", n)
	}
}

// Where it cannot be done, as on a full disk, the ledger is what it was.
func TestAMigrationIsDoneWholeOrNotAtAll(t *testing.T) {
	dir, old := version1(t)
	if err := os.Mkdir(filepath.Join(dir, FileName+".version-1"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, FileName+".version-1", "x"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if l, err := Open(t.Context(), dir); err == nil {
		t.Error("it is migrated without a copy")
		_ = l.Close()
	}
	if now := must[[]byte](t)(os.ReadFile(filepath.Join(dir, FileName))); !bytes.Equal(now, old) {
		t.Error("it is changed")
	}
}
