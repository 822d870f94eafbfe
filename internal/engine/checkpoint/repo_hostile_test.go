package checkpoint

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xrun-dev/xrun/internal/citest"
)

// Safety promise, and C04: what a stranger's repository configures is not run, and nothing in it is written.
func TestNothingOfTheRepositoryRunsAndNothingIsWritten(t *testing.T) {
	bothWays(t, func(t *testing.T) {
		r := newRepo(t)
		r.write("a", "1")
		r.write("b.txt", "2\n")
		r.write(".gitattributes", "*.txt filter=evil\n*.md diff=evil\n")
		commit := r.commit()
		marker := filepath.Join(t.TempDir(), "ran")
		script := "#!/bin/sh\ntouch " + marker + "\ncat\n"
		r.write(".git/evil", script)
		for _, h := range []string{"pre-commit", "post-index-change", "post-checkout", "reference-transaction", "fsmonitor-watchman"} {
			r.write(".git/hooks/"+h, script)
			os.Chmod(filepath.Join(r.dir, ".git/hooks", h), 0o755)
		}
		evil := filepath.Join(r.dir, ".git/evil")
		os.Chmod(evil, 0o755)
		for _, k := range []string{"core.fsmonitor", "filter.evil.clean", "filter.evil.smudge", "filter.evil.process", "core.pager", "core.editor", "core.sshCommand", "diff.evil.textconv", "alias.ls-files"} {
			r.git("config", k, "!"+evil)
			if k == "core.fsmonitor" || strings.HasPrefix(k, "filter") {
				r.git("config", k, evil)
			}
		}
		r.git("config", "core.untrackedCache", "true")
		r.git("config", "core.hooksPath", filepath.Join(r.dir, ".git/hooks"))
		r.write("b.txt", "3\n")
		r.write("new.txt", "4\n")
		os.Remove(marker)
		t.Setenv("GIT_DIR", "/nonexistent") // as in a hook that calls us
		t.Setenv("GIT_INDEX_FILE", "/nonexistent/index")
		before := snapshot(t, r.dir)
		noGit()
		m := r.mustScan(func(s *Selection) { s.Include = []string{"**/*.bin"} })
		if err := (Store{Dir: t.TempDir()}).Put(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		sel := Selection{Dir: r.dir, Exclude: []string{"a"}}
		if _, err := List(t.Context(), sel); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"a", "b.txt", "new.txt", "nosuch"} {
			WhyLeft(t.Context(), sel, name)
		}
		if root := FindRoot(r.dir); root != r.dir {
			t.Error(root)
		}
		if diff := cmp.Diff(before, snapshot(t, r.dir)); diff != "" {
			t.Error(diff)
		}
		if _, err := os.Lstat(marker); err == nil {
			t.Error("a program of the repository was run")
		}
		if diff := cmp.Diff([]string{".gitattributes", "a", "b.txt", "new.txt"}, paths(m)); diff != "" {
			t.Error(diff)
		}
		if m.Commit != commit || !m.Dirty {
			t.Error(m.Commit, m.Dirty)
		}
	})
}

func TestSubmodulesAreShippedWithTheirBytes(t *testing.T) {
	bothWays(t, func(t *testing.T) {
		lib := newRepo(t)
		lib.write("lib.py", "x")
		lib.write(".gitignore", "*.o\n")
		lib.commit()
		r := newRepo(t)
		r.write("main.py", "y")
		r.git("submodule", "--quiet", "add", lib.dir, "vendor/lib")
		r.commit()
		r.write("vendor/lib/x.o", "ignored there")
		path := os.Getenv("PATH")
		noGit()
		m := r.mustScan(nil)
		if diff := cmp.Diff([]string{".gitmodules", "main.py", "vendor/lib/.gitignore", "vendor/lib/lib.py"}, paths(m)); diff != "" {
			t.Error(diff)
		}
		if m.Dirty {
			t.Error("clean, and called dirty", m.Notes)
		}
		r.write("vendor/lib/lib.py", "edited")
		if m := r.mustScan(nil); !m.Dirty {
			t.Error("an edit in the submodule is an edit")
		}
		os.Setenv("PATH", path)
		r.git("submodule", "--quiet", "deinit", "-f", "vendor/lib")
		noGit()
		if _, err := r.scan(nil); err == nil || !strings.Contains(err.Error(), "submodule vendor/lib is not checked out: run git -C ") {
			t.Error(err)
		}
		if m := r.mustScan(func(s *Selection) { s.Exclude = []string{"vendor/**"} }); len(m.Files) != 2 {
			t.Error(paths(m))
		}
	})
}

// C31: git would record a nested repository as a bare link, and its code would be missing.
func TestNestedRepositoryIsAnError(t *testing.T) {
	bothWays(t, func(t *testing.T) {
		r := newRepo(t)
		r.write("main.py", "y")
		r.commit()
		nested := repo{t, filepath.Join(r.dir, "tools/x")}
		nested.write("code.py", "z")
		nested.git("init", "-q")
		nested.commit()
		noGit()
		if _, err := r.scan(nil); err == nil || !strings.Contains(err.Error(), "nested repository tools/x: make it a submodule") {
			t.Error(err)
		}
		for _, exclude := range []string{"tools", "tools/x", "tools/**", "**/x/**"} {
			m := r.mustScan(func(s *Selection) { s.Exclude = []string{exclude} })
			if diff := cmp.Diff([]string{"main.py"}, paths(m)); diff != "" {
				t.Error(exclude, diff)
			}
		}
		m := r.mustScan(func(s *Selection) { s.Include = []string{"tools/x/**"} })
		if diff := cmp.Diff([]string{"main.py", "tools/x/code.py"}, paths(m)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestLFS(t *testing.T) {
	r := newRepo(t)
	pointer := lfsMagic + "v1\noid sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824\nsize 5\n"
	r.write("model.bin", pointer)
	r.commit()
	if _, err := r.scan(nil); err == nil || !strings.Contains(err.Error(), "model.bin is a git-lfs pointer") || !strings.Contains(err.Error(), "git lfs pull") {
		t.Error(err)
	}
	r.write("model.bin", "hello") // what the pointer stands for
	if m := r.mustScan(nil); m.Dirty {
		t.Error("the bytes of the pointer are called dirty")
	}
	r.write("model.bin", "hellO")
	if m := r.mustScan(nil); !m.Dirty {
		t.Error("other bytes are called clean")
	}
}

func TestLinkedWorktreeSparseAndAlternates(t *testing.T) {
	bothWays(t, func(t *testing.T) {
		r := newRepo(t)
		r.write("a", "1")
		r.write("deep/b", "2")
		r.write(".git/info/exclude", "private\n")
		commit := r.commit()
		linked := repo{t, filepath.Join(t.TempDir(), "linked")}
		r.git("worktree", "add", "-q", "--detach", linked.dir)
		linked.write("private", "x")
		shared := repo{t, filepath.Join(t.TempDir(), "shared")}
		r.git("clone", "-q", "--shared", r.dir, shared.dir)
		sparse := repo{t, filepath.Join(t.TempDir(), "sparse")}
		r.git("clone", "-q", r.dir, sparse.dir)
		sparse.git("sparse-checkout", "set", "--no-cone", "/a")
		noGit()
		for _, c := range []repo{linked, shared, sparse} {
			m := c.mustScan(nil)
			if m.Commit != commit || m.Dirty || len(m.Notes) > 0 {
				t.Errorf("%s: %q %v %v %v", c.dir, m.Commit, m.Dirty, paths(m), m.Notes)
			}
		}
		if got := FindRoot(filepath.Join(linked.dir, "deep")); got != linked.dir {
			t.Error(got)
		}
	})
}

func TestSHA256RepositoryAndReftable(t *testing.T) {
	r := newRepo(t)
	os.RemoveAll(filepath.Join(r.dir, ".git"))
	r.git("init", "-q", "--object-format=sha256")
	r.write("a", "1")
	commit := r.commit()
	m := r.mustScan(nil)
	if m.Commit != commit || m.Dirty || len(m.Notes) > 0 {
		t.Errorf("%q, want %q; %v %v", m.Commit, commit, m.Dirty, m.Notes)
	}
}

func TestRepositoryOfAnotherUser(t *testing.T) {
	if os.Getuid() != 0 {
		citest.Skip(t, "only root may give files away")
	}
	r := newRepo(t)
	r.write("a", "1")
	r.write(".gitignore", "b\n")
	commit := r.commit()
	r.write("b", "1")
	if out, err := exec.Command("chown", "-R", "12345", r.dir).CombinedOutput(); err != nil {
		citest.Skip(t, string(out))
	}
	m := r.mustScan(nil)
	if m.Commit != commit || m.Dirty || strings.Join(paths(m), " ") != ".gitignore a" {
		t.Errorf("%+v", m)
	}
	if len(m.Notes) != 1 || !strings.Contains(m.Notes[0], "safe.directory") || strings.Contains(m.Notes[0], filepath.Base(r.dir)) || strings.Contains(m.Notes[0], "\n") {
		t.Error(m.Notes)
	}
}

func TestFindRoot(t *testing.T) {
	r := newRepo(t)
	r.write("x/y/z", "")
	link := filepath.Join(t.TempDir(), "l")
	if err := os.Symlink(r.dir, link); err != nil {
		t.Fatal(err)
	}
	empty := t.TempDir()
	os.Mkdir(filepath.Join(empty, ".git"), 0o755)
	for dir, want := range map[string]string{
		r.dir:                          r.dir,
		filepath.Join(r.dir, "x/y"):    r.dir,
		link:                           link,
		filepath.Join(link, "x"):       link,
		empty:                          "",
		filepath.Join(empty, "nosuch"): "",
		"/":                            "",
	} {
		if got := FindRoot(dir); got != want {
			t.Errorf("FindRoot(%s) = %q, want %q", dir, got, want)
		}
	}
}
