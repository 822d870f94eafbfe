package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var (
	reRun     = regexp.MustCompile(`\b\d{8}-\d{6}-[2-7a-z]{4,}\b`)
	reAttempt = regexp.MustCompile(`/attempt-\d+/`)
)

// timeless takes out of a report what may differ between a run that was disturbed and one that was not: times, hosts,
// attempts, the command that was typed, and whether a result is of this run or of the one before.
func timeless(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range []string{"attempts", "started", "finished", "duration_s", "host", "hosts", "reused_from", "wall_s", "notes"} {
			delete(v, key)
		}
		if run, ok := v["run"].(map[string]any); ok {
			delete(run, "command")
		}
		if trials, ok := v["trials"].(map[string]any); ok {
			trials["succeeded"] = trials["succeeded"].(float64) + trials["reused"].(float64)
			delete(trials, "reused")
		}
		if v["state"] == "reused" {
			v["state"] = "succeeded"
		}
		for k := range v {
			v[k] = timeless(v[k])
		}
		return v
	case []any:
		for i := range v {
			v[i] = timeless(v[i])
		}
		return v
	case string:
		return reAttempt.ReplaceAllString(reRun.ReplaceAllString(v, "RUN"), "/attempt-N/")
	}
	return v
}

// report is the newest report.json, without what may differ.
func (l *lab) report() any {
	l.Helper()
	found, err := filepath.Glob(filepath.Join(l.state, "runs", "*", "report.json"))
	if err != nil || len(found) == 0 {
		l.Fatalf("no report: %v", err)
	}
	// Ids sort by time, but a run that does not know of the one before may be of the same second.
	newest := slices.MaxFunc(found, func(a, b string) int { return written(l.T, a).Compare(written(l.T, b)) })
	b, err := os.ReadFile(newest)
	if err != nil {
		l.Fatal(err)
	}
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		l.Fatal(err)
	}
	return timeless(v)
}

func written(t *testing.T, name string) time.Time {
	t.Helper()
	fi, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	return fi.ModTime()
}

// sameReport compares the report with that of a run to which nothing happened.
func (l *lab) sameReport(want any) {
	l.Helper()
	if diff := cmp.Diff(want, l.report()); diff != "" {
		l.Errorf("the report differs from that of an undisturbed run (-undisturbed +this):\n%s", diff)
	}
}

// calm is the report of a run to which nothing happens, made once.
var calm struct {
	sync.Mutex
	report any
}

// unharmed is the report of testdata/kill where nothing goes wrong.
func unharmed(t *testing.T) any {
	t.Helper()
	calm.Lock()
	defer calm.Unlock()
	if calm.report != nil {
		return calm.report
	}
	l := newLab(t, "kill")
	l.runs = 1
	l.good([]int{3}, "run", "-q")
	l.onceEach()
	l.oneResultEach(40)
	calm.report = l.report()
	return calm.report
}
