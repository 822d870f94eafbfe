package report_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/xrun-dev/xrun/internal/ledger"
	"github.com/xrun-dev/xrun/internal/plan"
	"github.com/xrun-dev/xrun/internal/report"
)

func TestFind(t *testing.T) {
	l, run := good("r").ledger(t)
	for ref, want := range map[string]string{
		"tl07": "tl07", "lr=0.01,batch=32,seed=1": "tl07", "batch=32,lr=1e-2,seed=1": "tl07", "tl1": "", "lr=7": "", "": "", "seed=x": "", "lr=1": "",
	} {
		k, err := report.Find(t.Context(), l, run, "lr", ref)
		if k.Trial != want || (err == nil) != (want != "") {
			t.Errorf("%q: %v %v", ref, k, err)
		}
	}
	if _, err := report.Find(t.Context(), l, run, "rl", "tl07"); err == nil || !strings.Contains(err.Error(), "it has lr") {
		t.Error(err)
	}
	if _, err := report.Find(t.Context(), l, run, "lr", "seed=2"); err == nil || !strings.Contains(err.Error(), `"seed=2" means 6 trials of r/lr: tl02 (lr=0.001 batch=32 seed=2), tl05`) {
		t.Error(err)
	}
}

// What a shell can say as name=value finds its trial, whatever it means to JSON or to a pattern of the ledger.
func TestFindTakesValuesAsTheyAre(t *testing.T) {
	values := []plan.Value{
		plan.StringValue("a%b_c"), plan.StringValue("axbyc"), plan.StringValue(`back\slash`), plan.StringValue(`quote"`), plan.StringValue("<&>"), plan.StringValue("é"),
		plan.StringValue("1e3"), plan.BoolValue(true), plan.StringValue("TRUE"), plan.IntValue(1), plan.IntValue(11), plan.StringValue(strings.Repeat("long ", 400)),
	}
	var points []plan.Params
	for _, v := range values {
		points = append(points, plan.Params{{Name: "na%me", Value: v}})
	}
	l, run := newRun("r").plan("values", 1, "maximize acc", nil, points).ledger(t)
	for i, v := range values {
		k, err := report.Find(t.Context(), l, run, "values", "na%me="+v.Text())
		if want := fmt.Sprintf("tv%02d", i); err != nil || k.Trial != want {
			t.Errorf("%s: %v, not %s: %v", v.Text(), k.Trial, want, err)
		}
	}
}

// fields are the lines of `xrun show RUN` that do not list trials.
func fields(t *testing.T, s *report.State) string {
	t.Helper()
	var out bytes.Buffer
	if err := s.Show(&out, "", ""); err != nil {
		t.Fatal(err)
	}
	var keep []string
	for line := range strings.Lines(out.String()) {
		if field.MatchString(line) {
			keep = append(keep, line)
		}
	}
	return strings.Join(keep, "")
}

var field = regexp.MustCompile(`^(run|experiment|  (command|started|took|outcome|imported|commit|plan|spec|warning|verdict|stopped|trials|axis|best|note)) `)

// An overview of a large run reads a few of its trials, and says the same.
func TestAnOverviewSaysTheSameAsTheWhole(t *testing.T) {
	loop := newRun("20260110-aaaa").sweep("fast", 1, "maximize acc", "lr=0.1").add(ledger.ExperimentFinished{Name: "fast", Verdict: "refuted"}).done("done", 0)
	for _, b := range []*builder{single(), good("20260102-aaaa"), reused(), failures(), interrupted(), killed(), nasty(), loop} {
		l, run := b.ledger(t)
		s, err := report.BriefOf(t.Context(), l, run, report.WithoutSeries(), 3, 3)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(fields(t, report.Fold(b.events)), fields(t, s)); diff != "" {
			t.Errorf("%s: %s", b.run, diff)
		}
	}
}

// chaos is a large run in which everything happens, with several seeds a point or one.
func chaos(seed uint64, seeds int) *builder {
	r := rand.New(rand.NewPCG(seed, 1))
	var points []plan.Params
	for i := range 1500 / seeds {
		points = append(points, plan.Params{{Name: "i", Value: plan.IntValue(int64(i))}})
	}
	b := newRun("20260111-aaaa").plan("big", seeds, "maximize acc", []ledger.Axis{{Name: "i"}}, points)
	for _, key := range b.specs["big"].order {
		b.wait(1)
		switch r.IntN(12) {
		case 0:
			b.fail("big", key, []string{"exit", "timeout"}[r.IntN(2)], "it failed", "boom\n")
		case 1:
			b.skip("big", key, []string{"deadline", "fuse"}[r.IntN(2)], "not run")
		case 2:
			if r.IntN(20) == 0 {
				b.start("big", key)
			}
		case 3:
			b.reuse("big", key, "20260101-aaaa", float64(r.IntN(50)))
		default:
			b.ok("big", key, float64(r.IntN(50))+float64(seed)*0.1)
		}
	}
	if seed%2 == 0 {
		b.add(ledger.RunInterrupted{Reason: "interrupt", ExitCode: 130}).add(ledger.RunResumed{})
	}
	return b
}

func TestAnOverviewOfALargeRunListsTheBestAndTheFirstThatFailed(t *testing.T) {
	for seed := range uint64(3) {
		b := chaos(seed, []int{1, 3, 5}[seed%3])
		l, run := b.ledger(t)
		s, err := report.Brief(t.Context(), l, run)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(fields(t, report.Fold(b.events)), fields(t, s)); diff != "" {
			t.Errorf("%d: %s", seed, diff)
		}
		var whole, part bytes.Buffer
		if err := report.Fold(b.events).Show(&whole, "", ""); err != nil {
			t.Fatal(err)
		}
		if err := s.Show(&part, "", ""); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(whole.String(), part.String()); diff != "" {
			t.Errorf("%d: %s", seed, diff)
		}
		if n := strings.Count(part.String(), "\n"); n > 40 || !strings.Contains(part.String(), "all of them: xrun show 20260111-aaaa/big") {
			t.Errorf("%d lines:\n%s", n, part.String())
		}
	}
}

// Where a large run stands is found from a few of its trials, and is the same.
func TestWhereALargeRunStandsIsTheSameAsFromAllOfIt(t *testing.T) {
	for seed := range uint64(3) {
		b := chaos(seed, []int{1, 3, 5}[seed%3])
		l, run := b.ledger(t)
		if !report.Large(run) {
			t.Fatalf("%d trials are not many", run.Planned)
		}
		for _, pid := range []int{0, 7} {
			o := report.StatusOptions{
				Now: b.at, PID: pid, Runs: func(string) bool { return true },
				RetryAfter: func(*plan.Experiment, []ledger.AttemptFinished) time.Duration { return time.Minute },
			}
			whole := report.Newest()
			for _, e := range b.events {
				whole.Apply(e)
			}
			part, err := report.Standing(t.Context(), l, run)
			if err != nil {
				t.Fatal(err)
			}
			lines := func(s *report.State) []string {
				text, err := json.MarshalIndent(s.Status(o), "", " ")
				if err != nil {
					t.Fatal(err)
				}
				return strings.Split(string(text), "\n")
			}
			if diff := cmp.Diff(lines(whole), lines(part)); diff != "" {
				t.Errorf("%d, process %d: %s", seed, pid, diff)
			}
		}
	}
}
