package checkpoint

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A rule behind a line longer than a scanner's buffer still holds: what it names would else be shipped.
func TestIgnoreFileWithALongLineIsReadWhole(t *testing.T) {
	file := filepath.Join(t.TempDir(), ".gitignore")
	if err := os.WriteFile(file, []byte("# "+strings.Repeat("x", 100<<10)+"\r\nsecrets.env\n\nlast"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := len(ignoreFile(file, nil)); got != 2 {
		t.Errorf("%d rules, want 2", got)
	}
}
