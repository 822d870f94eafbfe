package ledger

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func write(t testing.TB, dir string, b []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, FileName), b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// database makes an SQLite file with these statements.
func database(t testing.TB, statements string) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), statements); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// good is the bytes of a ledger of some length.
func good(t testing.TB) []byte {
	t.Helper()
	dir := t.TempDir()
	l := open(t, dir)
	for i := range 20 {
		add(t, l, fmt.Sprint("r", i), RunStarted{}, Warning{strings.Repeat("x", 3000)})
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return []byte(files(t, dir)[FileName])
}

func TestAFileThatIsNoLedgerIsRefusedAndLeftAsItIs(t *testing.T) {
	ledger := good(t)
	for name, c := range map[string]struct {
		bytes []byte
		want  string
	}{
		"no bytes":                 {nil, "cut short"},
		"a few bytes":              {ledger[:50], "cut short"},
		"only NUL":                 {make([]byte, len(ledger)), "not a ledger"},
		"text":                     {bytes.Repeat([]byte("not a database\n"), 100), "not a ledger"},
		"half":                     {ledger[:len(ledger)/2], "malformed"},
		"only its first page":      {ledger[:4096], "malformed"},
		"another program's":        {database(t, "CREATE TABLE cookies (x)"), "not a ledger"},
		"another's in version 1":   {database(t, "PRAGMA user_version = 1; CREATE TABLE events (x)"), "not a ledger"},
		"marked, but without data": {database(t, fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = 1", applicationID)), "no such table"},
		"version 3":                {database(t, fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = 3; CREATE TABLE events (x)", applicationID)), "has version 3, this xrun has version 2"},
		"version 3 with a log":     {database(t, fmt.Sprintf("PRAGMA journal_mode = WAL; PRAGMA application_id = %d; PRAGMA user_version = 3", applicationID)), "has version 3"},
	} {
		dir := t.TempDir()
		write(t, dir, c.bytes)
		before := files(t, dir)
		for how, open := range map[string]func() (*Ledger, error){
			"OpenReader": func() (*Ledger, error) { return OpenReader(t.Context(), dir) },
			"Open":       func() (*Ledger, error) { return Open(t.Context(), dir) },
		} {
			l, err := open()
			if err == nil {
				t.Errorf("%s: %s takes it", name, how)
				_ = l.Close()
				continue
			}
			if !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), dir) {
				t.Errorf("%s: %s says: %v", name, how, err)
			}
			var h interface{ Hint() string }
			if !errors.As(err, &h) || !strings.Contains(h.Hint(), "nothing was changed") {
				t.Errorf("%s: %s gives no hint: %v", name, how, err)
			}
			if diff := cmp.Diff(before[FileName], files(t, dir)[FileName]); diff != "" {
				t.Errorf("%s: %s changes the file", name, how)
			}
			if n := len(files(t, dir)); n != 1 && how == "OpenReader" {
				t.Errorf("%s: %s makes files: %d", name, how, n)
			}
		}
	}
}

func TestALogWithoutItsLedgerIsRefused(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, FileName+"-wal"), []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "is gone") {
		t.Errorf("%v", err)
	}
	if _, err := OpenReader(t.Context(), dir); err == nil {
		t.Error("a reader takes it for no ledger")
	}
}

func TestWhatACreationLeftBehindIsNoLedger(t *testing.T) {
	dir := t.TempDir()
	for _, suffix := range []string{".new", ".new-journal"} {
		if err := os.WriteFile(filepath.Join(dir, FileName+suffix), []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if l := openReader(t, dir); l.db != nil {
		t.Error("a reader finds a ledger")
	}
	l := open(t, dir)
	add(t, l, "r", RunStarted{})
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if names := files(t, dir); len(names) != 1 {
		t.Errorf("%d files are left", len(names))
	}
}

func TestALedgerCanLieAnywhere(t *testing.T) {
	for _, name := range []string{"a b", "50%", "what?", "#1", "ä", "100%25?mode=ro#x", "-rf"} {
		dir := filepath.Join(t.TempDir(), name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		l := open(t, dir)
		add(t, l, "r", RunStarted{})
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if n := len(files(t, dir)); n != 1 || len(all(t, openReader(t, dir), "r")) != 1 {
			t.Errorf("%s: %d files", name, n)
		}
	}
	if _, err := Open(t.Context(), filepath.Join(t.TempDir(), "nowhere")); err == nil || !strings.Contains(err.Error(), "create ledger") {
		t.Errorf("in no directory: %v", err)
	}
}

func TestReadingMakesAndChangesNoFile(t *testing.T) {
	t.Run("no ledger", func(t *testing.T) {
		dir := t.TempDir()
		read(t, dir, 0)
	})
	t.Run("a ledger that was closed", func(t *testing.T) {
		dir := t.TempDir()
		l := open(t, dir)
		add(t, l, "r", RunStarted{}, Warning{})
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		read(t, dir, 2)
	})
	t.Run("a ledger that somebody writes", func(t *testing.T) {
		dir := t.TempDir()
		p := start(t, "hold", dir)
		read(t, dir, 3)
		p.kill(t)
	})
	t.Run("a ledger of one who was killed", func(t *testing.T) {
		dir := t.TempDir()
		start(t, "hold", dir).kill(t)
		read(t, dir, 3)
		if err := os.Remove(filepath.Join(dir, FileName+"-shm")); err != nil {
			t.Fatal(err)
		}
		read(t, dir, 3)
		if n := len(all(t, open(t, dir), "r")); n != 3 {
			t.Errorf("who opens it to write finds %d events", n)
		}
	})
	t.Run("a directory that cannot be written", func(t *testing.T) {
		for _, shm := range []bool{true, false} {
			dir := t.TempDir()
			start(t, "hold", dir).kill(t)
			if !shm {
				if err := os.Remove(filepath.Join(dir, FileName+"-shm")); err != nil {
					t.Fatal(err)
				}
			}
			before := files(t, dir)
			readOnly(t, dir)
			start(t, "read", dir).wait(t)
			if diff := cmp.Diff(before, files(t, dir)); diff != "" {
				t.Error("files are changed")
			}
		}
	})
}

// read reads a ledger of n events of run r, and compares the directory before and after.
func read(t *testing.T, dir string, n int) {
	t.Helper()
	before := files(t, dir)
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	l, err := OpenReader(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := len(all(t, l, "r")); got != n {
		t.Errorf("%d events, want %d", got, n)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	after := files(t, dir)
	for _, m := range []map[string]string{before, after} {
		delete(m, FileName+"-shm") // the index of the log, which readers share
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Error("files are made or changed")
	}
	if n := len(files(t, temporary)); n != 0 {
		t.Errorf("%d temporary files are left", n)
	}
}

func TestALedgerIsReadableByItsOwnerAlone(t *testing.T) {
	dir := t.TempDir()
	add(t, open(t, dir), "r", RunStarted{})
	for name := range files(t, dir) {
		if fi, err := os.Stat(filepath.Join(dir, name)); err != nil || fi.Mode().Perm() != 0o600 {
			t.Errorf("%s is %v, %v", name, fi.Mode(), err)
		}
	}
}

func TestDamageInsideTheFileIsToldWithWhatToDo(t *testing.T) {
	dir := t.TempDir()
	l := must[*Ledger](t)(Open(t.Context(), dir))
	for i := range 500 {
		add(t, l, fmt.Sprintf("r%03d", i), RunStarted{Command: []string{strings.Repeat("x", 200)}})
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, FileName)
	b := must[[]byte](t)(os.ReadFile(path))
	for i := 8192; i < len(b); i++ {
		b[i] ^= 0x5a
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := OpenReader(t.Context(), dir)
	if err == nil {
		defer r.Close()
		_, err = r.Runs(t.Context())
	}
	if d, ok := errors.AsType[*DamagedError](err); !ok || d.Hint() == "" {
		t.Errorf("got %v", err)
	}
}
