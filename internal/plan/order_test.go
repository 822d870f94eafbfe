package plan

import (
	"fmt"
	"strings"
	"testing"
)

func TestLongTrialsAreTriedFirst(t *testing.T) {
	for _, c := range []struct{ name, trials, want string }{
		{"nothing is known", "a b c", "a b c"},
		{"the long ones first", "a=100 b=7200 c=3600", "b c a"},
		{"one of which nothing is known takes as long as the others", "a=100 b c=7200", "c b a"},
		{"those that differ by little stay in order", "a=3600 b=3700 c=3650", "a b c"},
		{"seconds are no reason", "a=1 b=59 c=5", "a b c"},
		{"what is reused keeps its place", "a=100! b=100 c=7200 d=9000!", "a c b d"},
	} {
		var trials []Trial
		for _, f := range strings.Fields(c.trials) {
			tr := Trial{Why: New}
			f, reused := strings.CutSuffix(f, "!")
			if reused {
				tr.Why = Reused
			}
			id, took, ok := strings.Cut(f, "=")
			tr.ID = id
			if ok {
				tr.EstS = new(float64)
				if _, err := fmt.Sscan(took, tr.EstS); err != nil {
					t.Fatal(err)
				}
			}
			trials = append(trials, tr)
		}
		longFirst(trials)
		var got []string
		for _, tr := range trials {
			got = append(got, tr.ID)
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s: %s, want %s", c.name, s, c.want)
		}
	}
}

// What a trial took is of the history: it changes the order of a plan, not what is planned.
func TestTheDigestDoesNotDependOnTheOrder(t *testing.T) {
	s := specOf(experiment())
	before := build(t, Basis{Spec: s})
	trials := before.Experiments[0].Trials
	last := trials[len(trials)-1]
	after := build(t, Basis{Spec: s, History: remembered(PastPoint{Past: Past{ID: last.ID, State: "failed", DurationS: 3600}}, PastPoint{Past: Past{ID: trials[0].ID, State: "failed", DurationS: 60}})})
	if got := after.Experiments[0].Trials[0]; got.ID != last.ID || got.Place != len(trials)-1 {
		t.Errorf("the first is %s, of place %d", got.ID, got.Place)
	}
	if before.Digest != after.Digest {
		t.Error("the digest depends on the order")
	}
}
