package checkpoint

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestWhatNoTreeNeedsIsUnneeded(t *testing.T) {
	isolate(t)
	r := repo{t, t.TempDir()}
	s := Store{Dir: t.TempDir()}
	r.write("same", "same")
	r.write("f", "old")
	keep := func() *Manifest {
		m := r.mustScan(nil)
		if err := s.Put(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		if err := s.SaveManifest(m); err != nil {
			t.Fatal(err)
		}
		return m
	}
	old := keep()
	r.write("f", "new")
	now := keep()
	blob := ""
	for _, f := range old.Files {
		if f.Path == "f" {
			blob = filepath.Join(s.Blobs(), f.SHA256)
		}
	}
	got, err := s.Unneeded([]string{now.TreeID, now.TreeID})
	if want := []string{s.manifestFile(old.TreeID), blob}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q %v, not %q", got, err, want)
	}
	if got, err := s.Unneeded([]string{now.TreeID, old.TreeID}); err != nil || len(got) != 0 {
		t.Errorf("both are needed: %q %v", got, err)
	}
	// What a tree needs that cannot be read is not known.
	if err := os.Remove(s.manifestFile(now.TreeID)); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Unneeded([]string{now.TreeID}); err == nil {
		t.Errorf("%q", got)
	}
	if got, err := (Store{Dir: filepath.Join(s.Dir, "none")}).Unneeded(nil); err != nil || len(got) != 0 {
		t.Errorf("no store: %q %v", got, err)
	}
}
