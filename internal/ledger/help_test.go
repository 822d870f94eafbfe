package ledger

import (
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// sameEvents compares what was written with what is read: nan is nan, and a time is a moment.
var sameEvents = cmp.Options{cmpopts.EquateNaNs(), cmpopts.EquateApproxTime(0)}

func open(t testing.TB, dir string) *Ledger {
	t.Helper()
	l, err := Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func openReader(t testing.TB, dir string) *Ledger {
	t.Helper()
	l, err := OpenReader(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func add(t testing.TB, l *Ledger, run string, bodies ...Body) {
	t.Helper()
	if err := l.Append(t.Context(), facts(run, bodies...)...); err != nil {
		t.Fatal(err)
	}
}

func facts(run string, bodies ...Body) []Event {
	var es []Event
	for _, b := range bodies {
		es = append(es, New(run, time.Date(2026, 1, 2, 3, 4, 5, 678, time.UTC), b))
	}
	return es
}

// must is the value of a query that has to work.
func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func collect[T any](t testing.TB, rows iter.Seq2[T, error]) []T {
	t.Helper()
	var out []T
	for r, err := range rows {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

func results(t testing.TB, l *Ledger) []Result {
	t.Helper()
	return collect(t, l.Results(t.Context()))
}

func all(t testing.TB, l *Ledger, run string) []Event {
	t.Helper()
	var out []Event
	for e, err := range l.Events(t.Context(), run) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
	}
	return out
}

// files are the names, sizes and bytes of a directory.
func files(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	names, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range names {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		out[e.Name()] = string(b)
	}
	return out
}

func trialKey(experiment string, n int) Key { return Key{experiment, fmt.Sprintf("t%d", n)} }

func planned(k Key, point string) TrialPlanned {
	return TrialPlanned{Key: k, Point: point, Code: "c", Parts: map[string]string{"seed": "0"}, Params: []byte(`{}`), Command: []string{"x"}, Changed: []string{}}
}

func intended(k Key, n int) AttemptIntended {
	return AttemptIntended{Attempt: Attempt{k, n}, Host: "h", Job: fmt.Sprintf("%s.%s.%d", k.Experiment, k.Trial, n), JobDir: "/j"}
}

func ended(k Key, n int, s State) AttemptFinished {
	f := AttemptFinished{Attempt: Attempt{k, n}, Host: "h", State: s, Metrics: map[string]Number{}, Artifacts: []string{}, Notes: []string{}, DurationS: float64(n)}
	if s == Succeeded {
		v := Number(0.5)
		f.Objective = &v
	}
	return f
}

// attempted is a trial from its plan to its end.
func attempted(k Key, point string, s State) []Body {
	return []Body{planned(k, point), intended(k, 1), AttemptStarted{Attempt: Attempt{k, 1}, GPUs: []GPU{}}, ended(k, 1, s), TrialFinished{Key: k, State: s, Attempt: 1}}
}
