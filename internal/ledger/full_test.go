package ledger

import (
	"os"
	"path/filepath"
	"testing"
)

// A writer on a full disk may leave an index of its log that is too small. Who reads then has no room to make it larger
// either, and needs none.
func TestAReaderNeedsNoRoomForTheIndexOfTheLog(t *testing.T) {
	t.Parallel()
	from, dir := t.TempDir(), t.TempDir()
	l := open(t, from)
	add(t, l, "r", RunStarted{})
	for _, name := range []string{FileName, FileName + "-wal"} {
		b, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	index := filepath.Join(dir, FileName+"-shm")
	if err := os.WriteFile(index, make([]byte, 4096), 0o600); err != nil {
		t.Fatal(err)
	}
	if n := len(all(t, openReader(t, dir), "r")); n != 1 {
		t.Errorf("%d events", n)
	}
	if n := size(index); n != 4096 {
		t.Errorf("the index has %d bytes", n)
	}
}
