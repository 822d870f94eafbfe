package ledger

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sweep plans trials of one parameter, two seeds each, with their ids by place.
func sweep(t *testing.T, l *Ledger, run string, points int) []Key {
	t.Helper()
	var keys []Key
	var said []Body
	for i := range 2 * points {
		k := trialKey("e", i)
		p := planned(k, fmt.Sprint("p", i))
		p.Index, p.Seed, p.Params = i, int64(i%2), fmt.Appendf(nil, `{"i": %d}`, i/2)
		keys, said = append(keys, k), append(said, p)
	}
	add(t, l, run, append([]Body{RunStarted{}, ExperimentPlanned{Name: "e"}}, said...)...)
	return keys
}

// succeed is an attempt with a number, and the end of its trial.
func succeed(k Key, n int, v float64) []Body {
	f := ended(k, n, Succeeded)
	o := Number(v)
	f.Objective = &o
	return []Body{intended(k, n), AttemptStarted{Attempt: Attempt{k, n}}, f, TrialFinished{Key: k, State: Succeeded, Attempt: n}}
}

func TestTheBestPointsAreThoseOfTheBestMeans(t *testing.T) {
	l := open(t, t.TempDir())
	k := sweep(t, l, "r", 4)
	for i, v := range []float64{1, 3, 5, 0, 2, 2, 4} { // means 2, 2.5, 2, and 4 of one
		add(t, l, "r", succeed(k[i], 1, v)...)
	}
	for name, c := range map[string]struct {
		maximize bool
		points   int
		want     []Key
	}{
		"highest": {true, 2, []Key{k[6], k[7], k[2], k[3]}},
		"lowest":  {false, 2, []Key{k[0], k[1], k[4], k[5]}}, // equal ones in the order of the plan
	} {
		if diff := cmp.Diff(c.want, must[[]Key](t)(l.Best(t.Context(), "r", "e", c.maximize, c.points))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if s := must[Score](t)(l.Score(t.Context(), "r", "e")); s != (Score{4, 3, 2 + 12.5}) {
		t.Error(s)
	}
	// A result that is taken back is nobody's best.
	add(t, l, "r", intended(k[6], 2), AttemptStarted{Attempt: Attempt{k[6], 2}})
	if best := must[[]Key](t)(l.Best(t.Context(), "r", "e", true, 1)); best[0] != k[2] {
		t.Error(best)
	}
}

func TestTalliesFollowATrialThatChangesItsMind(t *testing.T) {
	l := open(t, t.TempDir())
	k := sweep(t, l, "r", 2)
	spent := 1_000_000
	check := func(want ...Tally) {
		t.Helper()
		if diff := cmp.Diff(append([]Tally{{"r", "e", AsPlanned, "", 4}, {"r", "e", Spent, "", spent}}, want...), must[[]Tally](t)(l.Tallies(t.Context(), "r")), cmp.Transformer("sort", func(ts []Tally) map[Tally]bool {
			set := map[Tally]bool{}
			for _, t := range ts {
				set[t] = true
			}
			return set
		})); diff != "" {
			t.Error(diff)
		}
	}
	add(t, l, "r", succeed(k[0], 1, 1)...)
	add(t, l, "r", TrialFinished{Key: k[1], State: NotRun, Cause: "deadline"}, TrialFinished{Key: k[2], State: NotRun, Cause: "fuse"})
	check(Tally{"r", "e", Succeeded, "", 1}, Tally{"r", "e", NotRun, "deadline", 1}, Tally{"r", "e", NotRun, "fuse", 1})
	add(t, l, "r", RunFinished{Outcome: "deadline"}, RunResumed{}) // gives what the deadline left another chance
	check(Tally{"r", "e", Succeeded, "", 1}, Tally{"r", "e", NotRun, "fuse", 1})
	if diff := cmp.Diff([]Key{k[1], k[3]}, must[[]Key](t)(l.InState(t.Context(), "r", "e", Queued, -1))); diff != "" {
		t.Error(diff)
	}
	f := ended(k[1], 1, Failed)
	spent = 2_000_000
	add(t, l, "r", intended(k[1], 1), AttemptStarted{Attempt: Attempt{k[1], 1}}, f, TrialFinished{Key: k[1], State: Failed, Cause: "exit", Attempt: 1})
	check(Tally{"r", "e", Succeeded, "", 1}, Tally{"r", "e", NotRun, "fuse", 1}, Tally{"r", "e", Failed, "exit", 1})
	before := tables(t, l)
	if err := l.Rebuild(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, tables(t, l)); diff != "" {
		t.Error(diff)
	}
}

// The largest numbers there are have a mean and a spread that the ledger can hold.
func TestScoresOfTheLargestNumbersAreNumbers(t *testing.T) {
	l := open(t, t.TempDir())
	k := sweep(t, l, "r", 1)
	add(t, l, "r", succeed(k[0], 1, 1.7e308)...)
	add(t, l, "r", succeed(k[1], 1, -1.7e308)...)
	if best := must[[]Key](t)(l.Best(t.Context(), "r", "e", true, 1)); len(best) != 2 {
		t.Error(best)
	}
	if mean, squares := moments([]float64{0.1, 0.1, 0.1}); mean != 0.1 || squares != 0 {
		t.Error(mean, squares)
	}
}

func TestTheOverviewOfALargeRunUsesIndexes(t *testing.T) {
	l := open(t, t.TempDir())
	for query, index := range map[string]string{
		"SELECT experiment, trial FROM attempts INDEXED BY attempts_open WHERE run = 'r' AND outcome IS NULL":                              "attempts_open",
		"SELECT experiment, trial FROM trials WHERE run = 'r' AND experiment = 'e' AND state = 'failed' ORDER BY place LIMIT 1":            "trials_by_state",
		"SELECT params FROM scores WHERE run = 'r' AND experiment = 'e' ORDER BY mean DESC, place LIMIT 1":                                 "COVERING INDEX scores_by_mean",
		"SELECT trial, place, seed, params FROM trials WHERE run = 'r' AND experiment = 'e' AND params LIKE '%1%'":                         "COVERING INDEX trials_by_params",
		"SELECT place, objective FROM trials WHERE run = 'r' AND experiment = 'e' AND params = 'p' ORDER BY place":                         "trials_by_params (run=? AND experiment=? AND params=?)",
		"SELECT experiment, trial FROM trials WHERE run = 'r' AND experiment = 'e' AND trial >= 'a' AND trial < 'a' || 'z' ORDER BY place": "(run=? AND experiment=? AND trial>? AND trial<?)",
	} {
		plans := collect(t, stream(t.Context(), l.db, "EXPLAIN QUERY PLAN "+query, func(rows *sql.Rows, detail *string) error {
			var id, parent, x int
			return rows.Scan(&id, &parent, &x, detail)
		}))
		if !strings.Contains(plans[0], index) {
			t.Errorf("%s\n%s", query, plans)
		}
	}
}
