package checkpoint

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// with and without the git program, the same files are shipped.
func bothWays(t *testing.T, f func(t *testing.T)) {
	t.Run("git", f)
	t.Run("library", func(t *testing.T) {
		path := os.Getenv("PATH")
		noGit = func() { t.Setenv("PATH", t.TempDir()) }
		t.Cleanup(func() { noGit = func() {}; os.Setenv("PATH", path) })
		f(t)
	})
}

// noGit is called when a test has made its repository.
var noGit = func() {}

func TestScanShipsTrackedAndUnignored(t *testing.T) {
	bothWays(t, func(t *testing.T) {
		r := newRepo(t)
		r.write(".gitignore", "*.log\n/build/\nkept.bin\n!important.log\n")
		r.write("train.py", "x")
		r.write("sub/a b.py", "y")
		r.write("kept.bin", "tracked though ignored")
		r.write("gone.py", "z")
		r.write("sub/.gitignore", "*.tmp\n")
		r.git("add", "-f", "kept.bin")
		commit := r.commit()
		r.write("new.py", "untracked")
		r.write("run.log", "ignored")
		r.write("important.log", "not ignored")
		r.write("build/out.o", "ignored")
		r.write("sub/x.tmp", "ignored")
		r.write("x.tmp", "not ignored here")
		if err := os.Chmod(filepath.Join(r.dir, "new.py"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(filepath.Join(r.dir, "gone.py")); err != nil {
			t.Fatal(err)
		}
		noGit()
		m := r.mustScan(nil)
		want := []string{".gitignore", "important.log", "kept.bin", "new.py", "sub/.gitignore", "sub/a b.py", "train.py", "x.tmp"}
		if diff := cmp.Diff(want, paths(m)); diff != "" {
			t.Error(diff)
		}
		if m.Commit != commit || !m.Dirty {
			t.Errorf("commit %q dirty %v, want %q true", m.Commit, m.Dirty, commit)
		}
		if len(m.Notes) > 0 {
			t.Error(m.Notes)
		}
		if f := m.Files[3]; f.Mode != "100755" || f.Size != 9 {
			t.Errorf("%+v", f)
		}
		if len(m.ID) != 12 || m.ID != m.TreeID {
			t.Error(m.ID, m.TreeID)
		}
		sub := r.mustScan(func(s *Selection) { s.Dir = filepath.Join(r.dir, "sub") })
		if diff := cmp.Diff([]string{".gitignore", "a b.py"}, paths(sub)); diff != "" {
			t.Error(diff)
		}
		if sub.Dirty || sub.Commit != commit {
			t.Errorf("sub: dirty %v, commit %q: its files are those of HEAD", sub.Dirty, sub.Commit)
		}
	})
}

func TestScanOutsideGitShipsEverything(t *testing.T) {
	isolate(t)
	r := repo{t, t.TempDir()}
	r.write("a.py", "x")
	r.write("deep/b.log", "y")
	m := r.mustScan(nil)
	if diff := cmp.Diff([]string{"a.py", "deep/b.log"}, paths(m)); diff != "" {
		t.Error(diff)
	}
	if m.Commit != "" || m.Dirty {
		t.Errorf("%q %v", m.Commit, m.Dirty)
	}
}

func TestDirtyIsToldFromBytes(t *testing.T) {
	bothWays(t, func(t *testing.T) {
		r := newRepo(t)
		r.write("a", "1")
		r.write("b", "2")
		r.link("a", "l")
		r.commit()
		r.git("pack-refs", "--all")
		r.git("gc", "-q")
		noGit()
		check := func(what string, want bool) {
			t.Helper()
			if m := r.mustScan(nil); m.Dirty != want {
				t.Errorf("%s: dirty %v", what, m.Dirty)
			}
		}
		check("fresh", false)
		now := filepath.Join(r.dir, "a")
		if err := os.Chtimes(now, time.Unix(1e9, 0), time.Unix(1e9, 0)); err != nil {
			t.Fatal(err)
		}
		check("touched", false)
		r.write("a", "9")
		check("edited", true)
		r.write("a", "1")
		check("restored", false)
		os.Chmod(now, 0o755)
		check("mode", true)
		os.Chmod(now, 0o644)
		r.write("new", "")
		check("untracked", true)
		os.Remove(filepath.Join(r.dir, "new"))
		os.Remove(filepath.Join(r.dir, "b"))
		check("deleted", true)
	})
}

func TestScanBeforeTheFirstCommit(t *testing.T) {
	bothWays(t, func(t *testing.T) {
		r := newRepo(t)
		r.write("a", "1")
		noGit()
		m := r.mustScan(nil)
		if m.Commit != "" || !m.Dirty || len(m.Notes) > 0 || len(m.Files) != 1 {
			t.Errorf("%+v", m)
		}
	})
}

func TestIncludeExcludeOmitIgnore(t *testing.T) {
	r := newRepo(t)
	r.write(".gitignore", "data/\n*.ckpt\n/.xrun\n")
	r.write("train.py", "x")
	r.write("README.md", "x")
	r.write("docs/a.md", "x")
	r.write("xrun/night.cue", "x")
	r.write("cue.mod/module.cue", "x")
	r.commit()
	r.write("data/train/1.bin", "x")
	r.write("data/val/2.bin", "x")
	r.write("m.ckpt", "x")
	r.write(".xrun/ledger.json", "x")
	all := func(s *Selection) {
		s.Omit = []string{filepath.Join(r.dir, "xrun/night.cue"), filepath.Join(r.dir, "cue.mod"), filepath.Join(r.dir, ".xrun"), "/elsewhere"}
		s.Ignore = []string{"**/*.md"}
	}
	for _, c := range []struct {
		name             string
		include, exclude []string
		want             string
	}{
		{"none", nil, nil, ".gitignore README.md docs/a.md train.py"},
		{"a directory by name", []string{"data"}, nil, ".gitignore README.md data/train/1.bin data/val/2.bin docs/a.md train.py"},
		{"globs", []string{"data/**/1.bin", "*.ckpt"}, []string{"docs/**"}, ".gitignore README.md data/train/1.bin m.ckpt train.py"},
		{"exclude wins", []string{"data/**"}, []string{"data/val", "README.md"}, ".gitignore data/train/1.bin docs/a.md train.py"},
		{"everything is not the omitted", []string{"**", "**/*.json"}, nil, ".gitignore README.md data/train/1.bin data/val/2.bin docs/a.md m.ckpt train.py"},
		{"the omitted by name", []string{"cue.mod/**", "xrun/*.cue", ".xrun/ledger.json"}, nil, ".gitignore .xrun/ledger.json README.md cue.mod/module.cue docs/a.md train.py xrun/night.cue"},
		{"the omitted by suffix", []string{"**/*.cue"}, nil, ".gitignore README.md docs/a.md train.py xrun/night.cue"},
	} {
		m := r.mustScan(func(s *Selection) { all(s); s.Include, s.Exclude = c.include, c.exclude })
		if diff := cmp.Diff(c.want, strings.Join(paths(m), " ")); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
	before := r.mustScan(all)
	r.write("README.md", "another text")
	after := r.mustScan(all)
	if before.ID != after.ID || before.TreeID == after.TreeID {
		t.Error("an ignored file must change the tree's id only")
	}
	if !after.Files[1].Ignored || after.Files[3].Ignored {
		t.Errorf("%+v", after.Files)
	}
	for _, bad := range []string{"", "[a", "{a", "a}", "../x", "/etc/passwd", `a\`, "a//b"} {
		_, err := r.scan(func(s *Selection) { s.Exclude = []string{bad} })
		if err == nil || !strings.Contains(err.Error(), "code.exclude: glob") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// C46: names, links and special files.
func TestOddFilesAreKeptByteForByte(t *testing.T) {
	bothWays(t, func(t *testing.T) {
		r := newRepo(t)
		names := []string{"a b", "c\nd", "-rf", "$(touch pwn)", "\xff\xfe", "\u00e9", "e\u0301", "q\"uote", "tab\tx", "back\\slash"}
		for _, n := range names[:5] {
			r.write(n, n)
		}
		r.commit()
		for _, n := range names {
			r.write(n, n)
		}
		r.link(".", "loop")
		r.link("nowhere", "dangling")
		r.link("/data", "outside")
		r.link("../../up", "up")
		if err := syscall.Mkfifo(filepath.Join(r.dir, "fifo"), 0o600); err != nil {
			t.Fatal(err)
		}
		noGit()
		m := r.mustScan(func(s *Selection) { s.Include = []string{"fifo"} })
		got := map[string]string{}
		for _, f := range m.Files {
			got[f.Path] = f.Mode
		}
		for _, n := range names {
			if got[n] != "100644" {
				t.Errorf("%q: %q", n, got[n])
			}
		}
		for _, n := range []string{"loop", "dangling", "outside", "up"} {
			if got[n] != "120000" {
				t.Errorf("%q: %q", n, got[n])
			}
		}
		if diff := cmp.Diff([]string{"fifo is left out: it is a fifo"}, m.Notes); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]Link{{"outside", "/data"}, {"up", "../../up"}}, m.Links); diff != "" {
			t.Error(diff)
		}
		m.Links = nil // of the tree as it lies here: not kept
		s := Store{Dir: t.TempDir()}
		if err := s.Put(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		if err := s.SaveManifest(m); err != nil {
			t.Fatal(err)
		}
		back, err := s.LoadManifest(m.TreeID)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(m, back); diff != "" {
			t.Error(diff)
		}
	})
}

func TestWhereGitIgnoresAllNothingIsShipped(t *testing.T) {
	bothWays(t, func(t *testing.T) {
		r := newRepo(t)
		r.write(".gitignore", "/out/\n")
		r.write("out/sub/a", "1")
		r.commit()
		noGit()
		m := r.mustScan(func(s *Selection) { s.Dir = filepath.Join(r.dir, "out/sub") })
		if len(m.Files) != 0 || len(m.Notes) != 0 {
			t.Errorf("%+v", m)
		}
	})
}

func TestTrackedFileBehindALinkIsDeleted(t *testing.T) {
	r := newRepo(t)
	r.write("dir/a", "1")
	r.write("file", "1")
	r.commit()
	os.Rename(filepath.Join(r.dir, "dir"), filepath.Join(r.dir, "real"))
	r.link("real", "dir")
	os.Remove(filepath.Join(r.dir, "file"))
	r.write("file/inner", "2")
	m := r.mustScan(nil)
	if diff := cmp.Diff([]string{"dir", "file/inner", "real/a"}, paths(m)); diff != "" {
		t.Error(diff)
	}
}

func TestTooLargeNamesTheLargest(t *testing.T) {
	r := newRepo(t)
	for i, n := range []string{"a", "b", "c", "d", "e", "f"} {
		r.write(n, strings.Repeat("x", 100*(i+1)))
	}
	_, err := r.scan(func(s *Selection) { s.MaxSize = 2000 })
	if !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), "2.1 KiB in 6 files") || !strings.Contains(err.Error(), "the largest are f (600 B), e (500 B), d (400 B), c (300 B), b (200 B)") {
		t.Error(err)
	}
	if _, err := r.scan(func(s *Selection) { s.MaxSize = 2100 }); err != nil {
		t.Error(err)
	}
}
