package specfile_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xrun-dev/xrun/internal/plan/specfile"
)

// Whatever is cut from a file, Load returns a spec, or problems with places in that file; never a panic or an error that
// says nothing of the file.
func TestDamagedFiles(t *testing.T) {
	for _, name := range []string{"2-loop.cue", "6-conditional.cue", "8-random.cue"} {
		text, err := os.ReadFile(filepath.Join("testdata/jobs", name))
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.SplitAfter(string(text), "\n")
		for i := 0; i < len(lines); i += 3 {
			damaged(t, strings.Join(lines[:i], "")+strings.Join(lines[i+1:], ""))
		}
		for i := 0; i < len(text); i += 211 {
			damaged(t, string(text[:i]))
			damaged(t, string(text[:i])+string(text[i+1:]))
			damaged(t, string(text[:i])+"\xff\x00"+string(text[i:]))
		}
	}
}

func damaged(t *testing.T, text string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "exp.cue"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := specfile.Load(t.Context(), specfile.Options{Dir: dir})
	problems, ok := errors.AsType[specfile.Problems](err)
	if !ok {
		if err != nil {
			t.Errorf("not Problems: %v\n%s", err, text)
		}
		return
	}
	lines := strings.Split(text, "\n")
	for _, p := range problems {
		switch {
		case p.Message == "", strings.Contains(p.Message, dir), strings.Contains(p.Message, "cannot be evaluated"):
			t.Errorf("message %q\n%s", p.Message, text)
		case p.File != "exp.cue":
			t.Errorf("a problem elsewhere: %+v\n%s", p, text)
		case p.Line > len(lines), p.Line > 0 && p.Col < 1:
			t.Errorf("no such place: %+v\n%s", p, text)
		}
	}
	if err := specfile.Render(io.Discard, problems, true); err != nil {
		t.Error(err)
	}
}
