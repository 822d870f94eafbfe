package hosts_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xrun-dev/xrun/internal/hosts"
)

// A directory that was used before is as new for the next job: nothing of the old one can be read there, and what is
// shorter now has no rest of what was longer.
func TestASpareDirectoryHoldsNothingOfTheOldJob(t *testing.T) {
	t.Parallel()
	work := t.TempDir()
	l := newLocal(t, func(c *hosts.LocalConfig) { c.Workdir = work })
	_, wait := begin(t, l, hosts.Job{ID: "old", Argv: []string{"sh", "-c", "# " + strings.Repeat("old ", 50)}, Params: []byte(strings.Repeat("old ", 100))})
	if exit := wait(); exit.Code != 0 {
		t.Fatalf("%+v", exit)
	}
	l.Discard("old")
	var spare string
	until(t, "the spare directory", func() bool {
		found, _ := filepath.Glob(work + "/*/spare/*")
		if len(found) == 1 {
			spare = found[0]
		}
		return spare != ""
	})
	for _, name := range []string{"job", "pid", "params.json"} {
		b, err := os.ReadFile(filepath.Join(spare, name))
		if err != nil || strings.Trim(string(b), "\n") != "" {
			t.Errorf("%s of a spare directory: %q, %v", name, b, err)
		}
	}
	place, err := l.Place(t.Context(), "new")
	if err != nil {
		t.Fatal(err)
	}
	goOn := t.TempDir() + "/go"
	r, wait := begin(t, l, hosts.Job{
		ID: "new", Argv: []string{"sh", "-c", `cat "$P"; echo $$; while ! [ -e ` + goOn + ` ]; do sleep 0.02; done`},
		Env: []string{"P=" + place.Params}, Params: []byte("{}\n"),
	})
	if _, err := os.Stat(spare); !os.IsNotExist(err) {
		t.Errorf("the spare directory was not used: %v", err)
	}
	r.waitFor(t, "{}\n")
	script, err := os.ReadFile(filepath.Join(place.Dir, "job"))
	if err != nil || strings.Contains(string(script), "old old") || strings.HasSuffix(string(script), "\n\n") {
		t.Errorf("script %q, %v", script, err)
	}
	if err := os.WriteFile(goOn, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if exit := wait(); exit.Code != 0 {
		t.Errorf("%+v", exit)
	}
	log := strings.Fields(r.text())
	pid, err := os.ReadFile(filepath.Join(place.Dir, "pid"))
	if fields := strings.Fields(string(pid)); err != nil || len(log) != 2 || len(fields) != 5 || log[0] != "{}" || fields[4] != log[1] {
		t.Errorf("pid file %q, log %q, %v", pid, log, err)
	}
}
