package specfile

import (
	"os"
	"path/filepath"
	"testing"
)

// A disk that is full or a file in the way: what has been written so far goes again, and what was there stays.
func TestInitThatFailsLeavesNothingBehind(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "notes"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, ignoreFile), 0o755); err != nil { // the last thing that is written
		t.Fatal(err)
	}
	wrote, err := Init(dir)
	if err == nil || len(wrote) > 0 {
		t.Fatalf("wrote %v, %v", wrote, err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("%v is left, %v", entries, err)
	}
	if err := os.Remove(filepath.Join(dir, ignoreFile)); err != nil {
		t.Fatal(err)
	}
	if wrote, err = Init(dir); err != nil || len(wrote) != 5 {
		t.Errorf("the next one wrote %v, %v", wrote, err)
	}
}
