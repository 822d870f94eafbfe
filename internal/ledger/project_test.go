package ledger

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tables is everything in the projections, as text.
func tables(t testing.TB, l *Ledger) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for _, table := range projections {
		rows, err := l.db.QueryContext(t.Context(), "SELECT * FROM "+table)
		if err != nil {
			t.Fatal(err)
		}
		names := must[[]string](t)(rows.Columns())
		for rows.Next() {
			row := make([]any, len(names))
			to := make([]any, len(names))
			for i := range row {
				to[i] = &row[i]
			}
			if err := rows.Scan(to...); err != nil {
				t.Fatal(err)
			}
			out[table] = append(out[table], fmt.Sprint(row...))
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		slices.Sort(out[table])
	}
	return out
}

// A night makes up a valid stream of events: runs that start, are skipped, die, are resumed, end.
type night struct {
	r    *rand.Rand
	runs int
	l    *Ledger
	t    *testing.T
}

func (n *night) run() {
	n.runs++
	id := fmt.Sprintf("2026-%05d", n.runs)
	var said []Body
	say := func(bodies ...Body) { said = append(said, bodies...) }
	defer func() { add(n.t, n.l, id, said...) }()
	if n.r.IntN(8) == 0 {
		say(RunSkipped{Command: []string{"xrun"}, Holder: "other"})
		return
	}
	say(RunStarted{Command: []string{"xrun", "run"}, PlanDigest: fmt.Sprint(n.r.IntN(3))})
	type open struct {
		key Key
		n   int
	}
	var todo []open
	for e := range 1 + n.r.IntN(3) {
		name := fmt.Sprintf("e%d", e)
		say(CodeStored{ID: fmt.Sprintf("code%d", n.r.IntN(4)), Files: []CodeFile{{Path: "a", SHA256: "x"}}}, ExperimentPlanned{Name: name})
		for i := range n.r.IntN(5) {
			k := trialKey(name, 10*e+i)
			p := planned(k, fmt.Sprintf("%s-p%d", name, i%3))
			p.Code = fmt.Sprintf("code%d", n.r.IntN(4))
			say(p)
			todo = append(todo, open{k, 0})
		}
	}
	for len(todo) > 0 {
		if n.r.IntN(12) == 0 {
			say(RunInterrupted{ExitCode: 130})
			if n.r.IntN(2) == 0 {
				return // never taken up again
			}
			say(RunResumed{PlanDigest: "9"})
		}
		i := n.r.IntN(len(todo))
		o := &todo[i]
		o.n++
		say(intended(o.key, o.n))
		if n.r.IntN(10) == 0 {
			return // died
		}
		say(AttemptStarted{Attempt: Attempt{o.key, o.n}})
		if n.r.IntN(4) == 0 {
			say(AttemptState{Attempt: Attempt{o.key, o.n}, State: Unknown}, MetricValues{Attempt: Attempt{o.key, o.n}, Metric: "loss"})
		}
		state := []State{Succeeded, Succeeded, Failed, Lost, StoppedEarly, Cancelled, Superseded, NotRun, Reused}[n.r.IntN(9)]
		switch state {
		case NotRun, Reused:
			say(TrialFinished{Key: o.key, State: state})
		default:
			f := ended(o.key, o.n, state)
			f.Twin = state == Superseded
			say(f)
			if state == Superseded || n.r.IntN(5) == 0 {
				continue // once more
			}
			say(TrialFinished{Key: o.key, State: state, Attempt: o.n})
		}
		todo = slices.Delete(todo, i, i+1)
	}
	say(ExperimentFinished{Name: "e0"}, HostState{Host: "h"}, Warning{"w"}, RunFinished{Outcome: "done"})
}

func TestAProjectionIsWhatARebuildMakes(t *testing.T) {
	for seed := range uint64(4) {
		l := open(t, t.TempDir())
		n := &night{r: rand.New(rand.NewPCG(seed, 1)), l: l, t: t}
		for range 30 {
			n.run()
		}
		before := tables(t, l)
		events := l.count(t)
		for range 2 {
			if err := l.Rebuild(t.Context()); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(before, tables(t, l)); diff != "" {
				t.Fatalf("seed %d: %s", seed, diff)
			}
		}
		if l.count(t) != events {
			t.Errorf("seed %d: a rebuild changes the events", seed)
		}
		n.run() // and it goes on
		for _, r := range must[[]Run](t)(l.Runs(t.Context())) {
			checkRun(t, l, r)
		}
	}
}

// checkRun compares a row of the list of runs with the events.
func checkRun(t *testing.T, l *Ledger, r Run) {
	t.Helper()
	planned, final := 0, map[State]int{}
	for _, e := range all(t, l, r.ID) {
		switch b := e.Body.(type) {
		case TrialPlanned:
			planned++
		case TrialFinished:
			final[b.State]++
		}
	}
	got := []int{r.Planned, r.Succeeded, r.Reused, r.Failed, r.StoppedEarly, r.Cancelled, r.Lost, r.NotRun}
	want := []int{planned, final[Succeeded], final[Reused], final[Failed], final[StoppedEarly], final[Cancelled], final[Lost], final[NotRun]}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("run %s: %s", r.ID, diff)
	}
}

func TestARunOfMoreThanOnePageIsReadWhole(t *testing.T) {
	l := open(t, t.TempDir())
	var bodies []Body
	for i := range 4100 {
		bodies = append(bodies, Warning{fmt.Sprint(i)})
	}
	add(t, l, "r", bodies...)
	add(t, l, "s", Warning{"another's"})
	got := all(t, l, "r")
	if len(got) != 4100 || got[4099].Body.(Warning).Message != "4099" {
		t.Errorf("%d events", len(got))
	}
	n := 0
	for range l.Events(t.Context(), "r") {
		if n++; n == 3 {
			break
		}
	}
	if err := l.Rebuild(t.Context()); err != nil {
		t.Error(err)
	}
}

// The lists are asked for at every start: they must not read all events that ever were.
func TestQueriesUseTheirIndexes(t *testing.T) {
	l := open(t, t.TempDir())
	for _, query := range []string{
		"SELECT * FROM events " + openAttempts,
		"SELECT * FROM events WHERE run = 'r' AND seq > 0 ORDER BY seq LIMIT 2000",
		"SELECT * FROM events WHERE run = 'r' AND trial = 't' AND type = 'metric_values' AND experiment = 'e' AND attempt = 1 ORDER BY seq",
		"SELECT * FROM events WHERE seq = (SELECT outcome FROM results WHERE trial = 't' AND state = 'succeeded')",
		"SELECT * FROM events WHERE run = 'r' AND trial IS NULL AND type <> 'code_stored' ORDER BY seq",
		"SELECT * FROM events WHERE run = 'r' AND trial = 't' AND experiment = 'e' AND (1 OR type <> 'metric_values') ORDER BY seq",
	} {
		rows := must[*sql.Rows](t)(l.db.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+query))
		for rows.Next() {
			var id, parent, x int
			var detail string
			if err := rows.Scan(&id, &parent, &x, &detail); err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(detail, "SCAN e") {
				t.Errorf("%s\n%s", query, detail)
			}
		}
		if err := rows.Close(); err != nil {
			t.Error(err)
		}
	}
}
