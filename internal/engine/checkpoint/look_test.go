package checkpoint

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// List finds what Scan finds, without the hashes.
func TestListIsScanWithoutHashes(t *testing.T) {
	bothWays(t, func(t *testing.T) {
		r := newRepo(t)
		r.write("a.py", "1")
		r.write("big.bin", strings.Repeat("x", 3*maxPointer))
		r.write("ignored", "1")
		r.write(".gitignore", "ignored\n")
		if err := os.Symlink("/data", r.dir+"/data"); err != nil {
			t.Fatal(err)
		}
		r.commit()
		noGit()
		m := r.mustScan(nil)
		l, err := List(t.Context(), Selection{Dir: r.dir})
		if err != nil {
			t.Fatal(err)
		}
		if l.ID != "" || l.Bytes != m.Bytes {
			t.Error(l.ID, l.Bytes, m.Bytes)
		}
		if diff := cmp.Diff(paths(m), paths(l)); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(m.Links, l.Links); diff != "" || len(l.Links) != 1 {
			t.Error(diff)
		}
		r.write("model.bin", lfsMagic+"v1\noid sha256:00\nsize 5\n")
		if _, err := List(t.Context(), Selection{Dir: r.dir}); err == nil || !strings.Contains(err.Error(), "model.bin is a git-lfs pointer") {
			t.Error(err)
		}
		if _, err := List(t.Context(), Selection{Dir: r.dir, Exclude: []string{"model.bin"}, MaxSize: 10}); err == nil || hint(err) == "" {
			t.Error(err)
		}
	})
}

func hint(err error) string {
	if e, ok := err.(*SelectionError); ok {
		return e.Hint()
	}
	return ""
}

func TestWhyAFileIsNotShipped(t *testing.T) {
	r := newRepo(t)
	for _, name := range []string{"a.py", "data/x", "keep.log", "sub/deep/y.bin", "exp.cue"} {
		r.write(name, "1")
	}
	r.write(".gitignore", "# local\ndata/\n*.log\n!keep.log\n")
	r.write("sub/.gitignore", "*.bin\n")
	r.write(".git/info/exclude", "private\n")
	r.write("private", "1")
	r.commit()
	sel := Selection{Dir: r.dir, Exclude: []string{"b", "a.*"}, Omit: []string{r.dir + "/exp.cue"}}
	for name, want := range map[string]string{
		"a.py":           `code.exclude names it ("a.*")`,
		"data/x":         "git ignores it (.gitignore:2: data/)",
		"data":           "git ignores it (.gitignore:2: data/)",
		"sub/deep/y.bin": "git ignores it (sub/.gitignore:1: *.bin)",
		"private":        "git ignores it (.git/info/exclude:1: private)",
		"keep.log":       "git does not list it",
		"exp.cue":        "it belongs to the spec or to xrun",
		".git/config":    "it is git's own",
	} {
		if got := WhyLeft(t.Context(), sel, name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	plain := t.TempDir()
	if got := WhyLeft(t.Context(), Selection{Dir: plain}, "x"); got != "it is no file of the code" {
		t.Error(got)
	}
}

func TestHeadReadsPlainFilesOnly(t *testing.T) {
	r := newRepo(t)
	r.write("a.py", "0123456789")
	if err := os.Symlink("/etc/passwd", r.dir+"/link"); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(r.dir+"/fifo", 0o600); err != nil {
		t.Fatal(err)
	}
	m := r.mustScan(nil)
	if b, err := m.Head("a.py", 4); string(b) != "0123" || err != nil {
		t.Errorf("%q %v", b, err)
	}
	for _, name := range []string{"link", "fifo", "nosuch"} {
		if b, err := m.Head(name, 4); err == nil {
			t.Errorf("%s: %q", name, b)
		}
	}
}

// A link in the repository must not make code of what lies outside: /, a home directory.
func TestCodeDoesNotLeaveTheRepositoryThroughALink(t *testing.T) {
	r := newRepo(t)
	r.write("src/a.py", "1")
	outside := t.TempDir()
	for name, to := range map[string]string{"out": outside, "in": "src", "self": "."} {
		if err := os.Symlink(to, r.dir+"/"+name); err != nil {
			t.Fatal(err)
		}
	}
	for dir, ok := range map[string]bool{"out": false, "in": true, "self": true, "src": true, ".": true} {
		_, err := List(t.Context(), Selection{Dir: r.dir + "/" + dir, Within: r.dir})
		if (err == nil) != ok {
			t.Errorf("%s: %v", dir, err)
		}
	}
	linked := t.TempDir() + "/linked"
	if err := os.Symlink(r.dir, linked); err != nil {
		t.Fatal(err)
	}
	if _, err := List(t.Context(), Selection{Dir: r.dir, Within: linked}); err != nil {
		t.Errorf("the same directory by two names: %v", err)
	}
}

// What is listed is the checkout that is looked at, wherever its configuration says that the working tree is.
func TestAnotherWorkingTreeInTheConfigurationChangesNothing(t *testing.T) {
	bothWays(t, func(t *testing.T) {
		r := newRepo(t)
		r.write("a.py", "1")
		r.write("kept.log", "tracked, and ignored")
		r.commit()
		r.write(".gitignore", "*.log\n")
		want := paths(r.mustScan(nil))
		r.git("config", "core.worktree", t.TempDir())
		noGit()
		if diff := cmp.Diff(want, paths(r.mustScan(nil))); diff != "" || len(want) != 3 {
			t.Error(diff, want)
		}
	})
}
