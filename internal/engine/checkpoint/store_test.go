package checkpoint

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPutKeepsBytes(t *testing.T) {
	isolate(t)
	r := repo{t, t.TempDir()}
	r.write("a", "one")
	r.write("same", "one")
	r.write("b/c", strings.Repeat("two", 100_000))
	r.link("b/c", "l")
	m := r.mustScan(nil)
	s := Store{Dir: filepath.Join(t.TempDir(), "code")}
	if err := s.Put(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(s.Blobs())
	if err != nil || len(entries) != 3 {
		t.Fatal(entries, err)
	}
	for _, e := range entries {
		if fi, _ := e.Info(); fi.Mode() != 0o600 {
			t.Error(e.Name(), fi.Mode())
		}
	}
	if fi, _ := os.Stat(s.Blobs()); fi.Mode().Perm() != 0o700 {
		t.Error(fi.Mode())
	}
	for i, want := range map[int]string{0: "one", 2: "b/c"} {
		b, err := os.ReadFile(filepath.Join(s.Blobs(), m.Files[i].SHA256))
		if err != nil || string(b) != want {
			t.Errorf("%s: %q, %v", m.Files[i].Path, b, err)
		}
	}
	// A blob that is there is not copied again; one that is not what it was is.
	r.write("a", "changed")
	r.write("same", "changed")
	if err := s.Put(t.Context(), m); err != nil {
		t.Error(err)
	}
	damaged := filepath.Join(s.Blobs(), m.Files[1].SHA256)
	for what, damage := range map[string]func() error{
		"cut":         func() error { return os.Truncate(damaged, 0) },
		"gone":        func() error { return os.Remove(damaged) },
		"of one size": func() error { return os.WriteFile(damaged, []byte(strings.Repeat("TWO", 100_000)), 0o600) },
	} {
		if err := damage(); err != nil {
			t.Fatal(err)
		}
		if err := s.Put(t.Context(), m); err != nil {
			t.Error(what, err)
		}
		if b, _ := os.ReadFile(damaged); string(b) != strings.Repeat("two", 100_000) {
			t.Errorf("%s: the blob stayed damaged", what)
		}
	}
	// What is whole does not need the files it came from.
	if err := os.RemoveAll(r.dir); err != nil {
		t.Fatal(err)
	}
	if err := s.Put(t.Context(), m); err != nil {
		t.Error(err)
	}
}

func TestPutNamesTheFileThatChanged(t *testing.T) {
	isolate(t)
	for what, change := range map[string]func(p string) error{
		"edited":   func(p string) error { return os.WriteFile(p, []byte("ONE"), 0o644) },
		"grown":    func(p string) error { return os.WriteFile(p, []byte("one more"), 0o644) },
		"gone":     os.Remove,
		"a link":   func(p string) error { os.Remove(p); return os.Symlink("other", p) },
		"a folder": func(p string) error { os.Remove(p); return os.Mkdir(p, 0o755) },
	} {
		r := repo{t, t.TempDir()}
		r.write("train.py", "one")
		r.write("other", "one")
		r.link("other", "l")
		m := r.mustScan(func(s *Selection) { s.Exclude = []string{"other"} })
		if err := change(filepath.Join(r.dir, "train.py")); err != nil {
			t.Fatal(err)
		}
		s := Store{Dir: t.TempDir()}
		err := s.Put(t.Context(), m)
		if err == nil || !strings.Contains(err.Error(), "keep train.py: it changed while it was being copied") {
			t.Errorf("%s: %v", what, err)
		}
		left, _ := filepath.Glob(filepath.Join(s.Blobs(), ".tmp-*"))
		if len(left) > 0 {
			t.Error(what, left)
		}
	}
}

func TestDamagedManifestIsRefused(t *testing.T) {
	isolate(t)
	r := repo{t, t.TempDir()}
	r.write("train.py", "one")
	m := r.mustScan(nil)
	s := Store{Dir: t.TempDir()}
	if err := s.SaveManifest(m); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(s.Dir, "manifests", m.TreeID+".json")
	b, _ := os.ReadFile(file)
	os.WriteFile(file, []byte(strings.Replace(string(b), "train.py", "train.pz", 1)), 0o600)
	if _, err := s.LoadManifest(m.TreeID); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Error(err)
	}
	if _, err := s.LoadManifest("../../../etc"); err == nil {
		t.Error("a path is no id")
	}
}
