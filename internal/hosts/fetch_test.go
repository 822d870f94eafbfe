package hosts_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xrun-dev/xrun/internal/hosts"
)

const leaves = `
cd ../out; echo model >model; mkdir -p 'a b/c' empty; echo x >'a b/c/-rf'; echo y >"$(printf '\377\376')"
ln -s 'a b/c' inside; ln -s ../model 'a b/up'; ln -s /etc/passwd abs; ln -s ../../.. out; ln -s inside/../../.. sly; ln -s . loop
mkfifo pipe; head -c 100000 /dev/zero >big; echo z >zz; chmod 000 zz; echo log
`

func TestArtifactsComeBackWhole(t *testing.T) {
	l := newLocal(t, nil)
	other := t.TempDir() + "/precious"
	if err := os.WriteFile(other, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if exit, log := run(t, l, sh("job", leaves+"ln "+other+" linked")); exit.Code != 0 {
		t.Fatalf("%+v, %q", exit, log)
	}
	dir := t.TempDir() + "/results"
	wantTaken := []string{"a b/c/-rf", "a b/up", "inside", "linked", "loop", "model", "zz", "\xff\xfe"}
	wantLeft := []string{"abs", "big", "out", "pipe", "sly"}
	for _, crash := range []string{"none", "in the middle", "after the rename"} {
		if crash == "in the middle" {
			if err := os.Rename(dir+"/artifacts", dir+"/artifacts.tmp"); err != nil {
				t.Fatal(err)
			}
			_ = os.Remove(dir + "/log")
		}
		b, err := l.Fetch(t.Context(), "job", dir, hosts.Want{Limit: 5000})
		taken, left := b.Artifacts, b.Left
		if err != nil {
			t.Fatalf("crash %s: %v", crash, err)
		}
		if diff := cmp.Diff([][]string{wantTaken, wantLeft}, [][]string{taken, left}); diff != "" {
			t.Errorf("crash %s: %s", crash, diff)
		}
	}
	l.Discard("job")
	for name, want := range map[string]string{"model": "model\n", "a b/c/-rf": "x\n", "inside/-rf": "x\n", "a b/up": "model\n", "zz": "z\n"} {
		if b, err := os.ReadFile(filepath.Join(dir, "artifacts", name)); string(b) != want {
			t.Errorf("%q: %q, %v", name, b, err)
		}
	}
	if b, _ := os.ReadFile(dir + "/log"); string(b) != "log\n" {
		t.Errorf("log %q", b)
	}
	if err := os.WriteFile(other, []byte("changed!"), 0o600); err != nil {
		t.Fatal(err)
	}
	if b, _ := os.ReadFile(dir + "/artifacts/linked"); string(b) != "precious" {
		t.Errorf("an artifact changed with a file outside: %q", b)
	}
	names, _ := os.ReadDir(dir)
	if len(names) != 2 {
		t.Errorf("left over: %v", names)
	}
}

func TestFetchOfJobThatNeverRan(t *testing.T) {
	l := newLocal(t, nil)
	dir := t.TempDir()
	if b, err := l.Fetch(t.Context(), "unheard-of", dir, hosts.Want{}); err != nil || len(b.Artifacts)+len(b.Left)+len(b.Kept) > 0 {
		t.Errorf("%+v, %v", b, err)
	}
}

func TestDiscardedJobIsDeleted(t *testing.T) {
	work := t.TempDir()
	l, err := hosts.NewLocal(hosts.LocalConfig{Name: "here", Workdir: work, Slots: 1, Supervisor: supervisor})
	if err != nil {
		t.Fatal(err)
	}
	if exit, log := run(t, l, sh("job", "mkdir -p d/e; touch d/e/f; chmod 000 d/e d ../out")); exit.Code != 0 {
		t.Fatalf("%+v, %q", exit, log)
	}
	r, wait := begin(t, l, sh("runs", "echo up; sleep 300"))
	r.waitFor(t, "up")
	l.Discard("job")
	l.Discard("runs") // not ended: refused
	l.Discard("../..")
	_ = l.Stop(t.Context(), "runs", "done")
	if exit := wait(); exit.End != hosts.Stopped {
		t.Errorf("got %+v", exit)
	}
	if err := l.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	var found []string
	_ = filepath.WalkDir(work, func(path string, d os.DirEntry, err error) error {
		if strings.Contains(path, "/job") && !strings.HasSuffix(path, "/jobs") && !strings.Contains(path, "/runs") {
			found = append(found, path)
		}
		return nil
	})
	if len(found) > 0 {
		t.Errorf("still there: %q", found)
	}
}

// What a job does to its own directory costs nobody but itself, and never holds up the run.
func TestJobShutsAndReplacesItsFiles(t *testing.T) {
	for name, c := range map[string]struct {
		does, log   string
		taken, left []string
	}{
		"shut artifacts":     {`cd ../out; mkdir -p d/e; echo x >d/f; chmod 000 d/f d; echo log`, "log\n", []string{"d/f"}, nil},
		"shut directory":     {`echo log; chmod 000 ../log ..`, "log\n", nil, nil},
		"a pipe as log":      {`sleep 0.1; rm ../log; mkfifo ../log; echo log`, "log\n", nil, nil},
		"a link as log":      {`rm ../log; ln -s /etc/passwd ../log`, "", nil, nil},
		"a pipe as exit":     {`rm ../exit.tmp; mkfifo ../exit.tmp`, "", nil, nil},
		"a pipe as stop":     {`mkfifo ../stop ../ask`, "", nil, nil},
		"everything is gone": {`rm -rf ../out ../tree ../log`, "", nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLocal(t, nil)
			exit, _ := run(t, l, sh("job", c.does))
			if exit.End == hosts.NeverStarted {
				t.Errorf("it ran, got %+v", exit)
			}
			dir := t.TempDir()
			b, err := l.Fetch(t.Context(), "job", dir, hosts.Want{})
			taken, left := b.Artifacts, b.Left
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([][]string{c.taken, c.left}, [][]string{taken, left}); diff != "" {
				t.Error(diff)
			}
			if fi, err := os.Lstat(dir + "/log"); err == nil && !fi.Mode().IsRegular() {
				t.Errorf("the log is %v", fi.Mode())
			}
			if b, _ := os.ReadFile(dir + "/log"); string(b) != c.log {
				t.Errorf("log %q", b)
			}
			l.Discard("job")
		})
	}
}

func TestManyArtifactsComeHome(t *testing.T) {
	l := newLocal(t, nil)
	if exit, log := run(t, l, sh("job", `cd ../out; i=0; while [ $i -lt 5000 ]; do echo $i >$i; i=$((i+1)); done`)); exit.Code != 0 {
		t.Fatalf("%+v, %q", exit, log)
	}
	b, err := l.Fetch(t.Context(), "job", t.TempDir(), hosts.Want{})
	if len(b.Artifacts) != 5000 || b.Left != nil || err != nil {
		t.Errorf("%d, %q, %v", len(b.Artifacts), b.Left, err)
	}
}

// A program may put a link to a place of its own where XRUN_OUT was, or the code: what is there is not ours to move.
func TestWhatIsBehindALinkInThePlaceOfADirectoryIsLeftAlone(t *testing.T) {
	for dir, left := range map[string][]string{"out": {"."}, "tree": nil} {
		t.Run(dir, func(t *testing.T) {
			l := newLocal(t, nil)
			scratch := t.TempDir()
			if err := errors.Join(os.WriteFile(scratch+"/p.pt", []byte("precious"), 0o400), os.Mkdir(scratch+"/shut", 0o500)); err != nil {
				t.Fatal(err)
			}
			run(t, l, sh("job", `cd ..; mv `+dir+` was; ln -s `+scratch+` `+dir))
			all := func(string) bool { return true }
			b, err := l.Fetch(t.Context(), "job", t.TempDir(), hosts.Want{Tree: all, Keep: func(name string) bool { return name == "p.pt" }})
			if err != nil || len(b.Artifacts)+len(b.Kept) > 0 || !slices.Equal(b.Left, left) {
				t.Errorf("%+v, %v", b, err)
			}
			l.Discard("job")
			file, err1 := os.Stat(scratch + "/p.pt")
			shut, err2 := os.Stat(scratch + "/shut")
			if err := errors.Join(err1, err2); err != nil || file.Mode().Perm() != 0o400 || shut.Mode().Perm() != 0o500 {
				t.Errorf("%v, %v, %v", file, shut, err)
			}
		})
	}
}

// Names that no path can hold stay behind, and nothing else does.
func TestArtifactsTooDeepForAPathStayBehind(t *testing.T) {
	t.Parallel()
	l := newLocal(t, nil)
	deep := `cd ../out; echo x >a; d=$(printf %0200d 0); d=$d/$d/$d/$d/$d; d=$d/$d; mkdir -p $d b/$d; echo y >$d/f
		i=0; while [ $i -lt 12 ]; do echo y >b/$d/$i; i=$((i+1)); done; mv b $d/b`
	if exit, log := run(t, l, sh("job", deep)); exit.Code != 0 {
		t.Fatalf("%+v, %q", exit, log)
	}
	all := func(string) bool { return true }
	for _, want := range []hosts.Want{{}, {Keep: all}, {Tree: all, Limit: 100}} {
		b, err := l.Fetch(t.Context(), "job", t.TempDir(), want)
		if err != nil {
			t.Fatalf("%.200s", err)
		}
		got := append(b.Artifacts, b.Kept...)
		if !slices.Contains(got, "a") || len(got) < 2 || len(b.Left) == 0 {
			t.Errorf("%d came home or stayed, %d are left", len(got), len(b.Left))
		}
	}
	l.Discard("job")
	if err := l.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(place(t, l, "job").Dir); !os.IsNotExist(err) {
		t.Errorf("%v", err)
	}
}
