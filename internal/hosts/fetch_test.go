package hosts_test

import (
	"os"
	"path/filepath"
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
		taken, left, err := l.Fetch(t.Context(), "job", dir, hosts.Want{Limit: 5000})
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
	if taken, left, err := l.Fetch(t.Context(), "unheard-of", dir, hosts.Want{}); err != nil || len(taken)+len(left) > 0 {
		t.Errorf("%q, %q, %v", taken, left, err)
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
