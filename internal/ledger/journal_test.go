package ledger

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// onNetwork makes every directory one on NFS.
func onNetwork(t *testing.T) {
	testOnlyNetworkFS = func(string) string { return "nfs" }
	t.Cleanup(func() { testOnlyNetworkFS = nil })
}

func TestOnANetworkFileSystemThereIsNoWriteAheadLog(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, FileName)
	l := open(t, dir)
	add(t, l, "1", RunStarted{})
	if rollback(path) || size(path+"-wal") < 0 {
		t.Error("no write-ahead log where there should be one")
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	onNetwork(t)
	l = open(t, dir)
	for range 20 {
		add(t, l, "2", Warning{Message: strings.Repeat("x", 1000)})
		// Who reads meanwhile sees what is written, and makes nothing.
		r := openReader(t, dir)
		if n := len(all(t, r, "1")); n != 1 {
			t.Fatalf("%d events", n)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if !rollback(path) || size(path+"-wal") >= 0 || size(path+"-shm") >= 0 {
		t.Error("there is a write-ahead log")
	}
	if n := len(all(t, openReader(t, dir), "2")); n != 20 {
		t.Errorf("%d events", n)
	}
	testOnlyNetworkFS = nil
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	add(t, open(t, dir), "3", RunStarted{})
	if rollback(path) {
		t.Error("back on a disk, no write-ahead log")
	}
}

func TestAReaderSeesPastTheHalfOfAChange(t *testing.T) {
	onNetwork(t)
	dir, killed := t.TempDir(), t.TempDir()
	l := open(t, dir)
	for range 50 {
		add(t, l, "1", Warning{Message: strings.Repeat("x", 5000)})
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	// A writer in the middle of a change that does not fit in its memory; what lies there then is what a kill leaves.
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, FileName)+"?_pragma=cache_size(2)&_pragma=journal_mode(DELETE)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.ExecContext(t.Context(), `UPDATE events SET body = replace(body, 'x', 'y')`); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{FileName, FileName + "-journal"} {
		if err := copyFile(filepath.Join(killed, name), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	before := listing(t, killed)
	for _, e := range all(t, openReader(t, killed), "1") {
		if strings.Contains(e.Body.(Warning).Message, "y") {
			t.Fatal("half of a change is seen")
		}
	}
	if after := listing(t, killed); after != before {
		t.Errorf("there is now\n%s", after)
	}
	if b, err := os.ReadFile(filepath.Join(killed, FileName)); err != nil || !strings.Contains(string(b), "yyyy") {
		t.Error("the writer had not come so far: the test shows nothing", err)
	}
	if n := len(all(t, open(t, killed), "1")); n != 50 {
		t.Errorf("%d events", n)
	}
}
