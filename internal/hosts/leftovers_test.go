package hosts

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

func TestLeftoversAreWhatNobodyNeeds(t *testing.T) {
	work := t.TempDir()
	home := filepath.Join(work, hostID())
	for _, file := range []string{
		"jobs/open/log", "jobs/done/log", "jobs/alive/lock", "kept/k1/w", "kept/k2/w", "checkpoints/r1.e.t.1/w", "checkpoints/r2.e.t.1/w", "setup/k1/x", "setup/k1.lock", "setup/k2/x",
		"evaluations/x", "trash/old/log", "spare/s/exit.tmp", "controllers/c1", "supervisor.log", "../another-machine/jobs/done/log",
	} {
		name := filepath.Join(home, file)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte("12345"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	lock, err := os.OpenFile(filepath.Join(home, "jobs/alive/lock"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	needed := Needed{
		Job:        func(id string) bool { return id == "open" },
		Kept:       func(id, dir string) bool { return id == "k1" && filepath.Base(dir) == "k1" },
		Checkpoint: func(name string) bool { return name == "r1.e.t.1" },
		Setup:      func(key string) bool { return key == "k2" },
	}
	found, err := Leftovers(work, needed)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, l := range found {
		rel, err := filepath.Rel(home, l.Path)
		if err != nil || l.Bytes != 5 {
			t.Errorf("%s: %d bytes, %v", rel, l.Bytes, err)
		}
		got = append(got, rel)
	}
	want := []string{"jobs/done", "kept/k2", "checkpoints/r2.e.t.1", "setup/k1", "setup/k1.lock", "trash/old", "spare/s"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, not %q", got, want)
	}
	// A job that came to life in between stays.
	if err := (Leftover{Kind: "job", Path: filepath.Join(home, "jobs/alive")}).Remove(); err != nil || !exists(filepath.Join(home, "jobs/alive/lock")) {
		t.Error("a job that is alive was removed", err)
	}
	// With nothing alive and nothing needed, evaluations go too; what a job shut is opened.
	if err := os.Chmod(filepath.Join(home, "jobs/done"), 0o500); err != nil {
		t.Fatal(err)
	}
	lock.Close()
	needed.Job = func(string) bool { return false }
	if found, err = Leftovers(work, needed); err != nil || !slices.ContainsFunc(found, func(l Leftover) bool { return l.Kind == "evaluation" }) {
		t.Errorf("%v %v", found, err)
	}
	for _, l := range found {
		if err := l.Remove(); err != nil || exists(l.Path) {
			t.Error(l.Path, err)
		}
	}
	if found, err := Leftovers(filepath.Join(work, "none"), needed); err != nil || len(found) != 0 {
		t.Error(found, err)
	}
}
