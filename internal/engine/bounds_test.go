package engine

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/xrun-dev/xrun/internal/hosts/hosttest"
	"github.com/xrun-dev/xrun/internal/ledger"
	"github.com/xrun-dev/xrun/internal/plan"
)

// bounded runs within bounds.
func (l *lab) bounded(id string, b Bounds) Outcome {
	l.t.Helper()
	cfg := l.config(id)
	cfg.Bounds = b
	return l.start(context.Background(), cfg)
}

func TestNothingIsStartedThatWouldNotEndBeforeTheDeadline(t *testing.T) {
	inLab(t, 10, nil, func(l *lab) {
		l.say("r1", ledger.RunStarted{})
		h := l.host("a", 1, ok) // a minute each
		begun := time.Now()
		out := l.bounded("r1", Bounds{Deadline: begun.Add(5*time.Minute + 30*time.Second)})
		wantOutcome(t, out, "deadline", ExitBound)
		if took := time.Since(begun); took > 5*time.Minute+30*time.Second {
			t.Errorf("it took %s", took)
		}
		if out.Counts[ledger.Succeeded] != 5 || out.Counts[ledger.NotRun] != 5 {
			t.Errorf("%v, started %s", out.Counts, started(h))
		}
		for _, f := range bodies[ledger.TrialFinished](l, "r1") {
			if f.State == ledger.NotRun && f.Cause != string(CauseDeadline) {
				t.Errorf("%+v", f)
			}
		}
		// The rest is another day's.
		wantOutcome(t, l.resume("r1"), "done", 0)
		if n := len(h.Jobs()); n != 10 {
			t.Errorf("%d jobs", n)
		}
		runs, err := l.ledger.Runs(l.t.Context())
		if err != nil || runs[0].NotRun != 0 || runs[0].Succeeded != 10 {
			t.Errorf("%+v, %v", runs[0], err)
		}
	})
}

func TestWhatRunsAtTheDeadlineIsLeftToEnd(t *testing.T) {
	inLab(t, 3, nil, func(l *lab) {
		l.host("a", 1, func(j job) hosttest.Script {
			s := ok(j)
			s.Took = time.Hour
			return s
		})
		out := l.bounded("r1", Bounds{Deadline: time.Now().Add(time.Minute)})
		wantOutcome(t, out, "deadline", ExitBound)
		if out.Counts[ledger.Succeeded] != 1 || out.Counts[ledger.NotRun] != 2 { // nothing was known of how long it takes
			t.Errorf("%v", out.Counts)
		}
	})
}

func TestARunThatIsCompleteBeforeTheDeadlineIsDone(t *testing.T) {
	inLab(t, 3, nil, func(l *lab) {
		l.host("a", 3, ok)
		wantOutcome(t, l.bounded("r1", Bounds{Deadline: time.Now().Add(time.Hour)}), "done", 0)
	})
}

func TestADeadlineThatHasPassedStartsNothing(t *testing.T) {
	inLab(t, 3, nil, func(l *lab) {
		h := l.host("a", 3, ok)
		wantOutcome(t, l.bounded("r1", Bounds{Deadline: time.Now().Add(-time.Hour)}), "deadline", ExitBound)
		if n := len(h.Jobs()); n != 0 {
			t.Errorf("%d jobs", n)
		}
	})
}

func TestBudgets(t *testing.T) {
	for name, c := range map[string]struct {
		budget plan.Budget
		before Spent
		want   int // trials that succeed
	}{
		"runs":                  {plan.Budget{Runs: ptr(3)}, Spent{}, 3},
		"runs, some before":     {plan.Budget{Runs: ptr(3)}, Spent{Runs: 2}, 1},
		"wall":                  {plan.Budget{Wall: ptr(plan.Duration(150 * time.Second))}, Spent{}, 3},
		"wall, some before":     {plan.Budget{Wall: ptr(plan.Duration(150 * time.Second))}, Spent{Wall: 2 * time.Minute}, 1},
		"GPU-hours":             {plan.Budget{GPUHours: ptr(0.1)}, Spent{}, 4}, // 2 GPUs for a minute each; one waits there when the third ends
		"GPU-hours, all before": {plan.Budget{GPUHours: ptr(0.1)}, Spent{GPUHours: 0.1}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			inLab(t, 8, func(e *plan.Experiment) { e.Needs.GPUs = 2 }, func(l *lab) {
				l.host("a", 1, ok).GPUs(gpus(24, 24)...)
				out := l.bounded("r1", Bounds{Budget: &c.budget, Before: c.before})
				wantOutcome(t, out, "budget", ExitBound)
				if n := out.Counts[ledger.Succeeded]; n != c.want {
					t.Errorf("%d ran, want %d", n, c.want)
				}
			})
		})
	}
}

// asking runs and makes a request after a while.
func (l *lab) asking(id string, after time.Duration, qs ...Request) Outcome {
	l.t.Helper()
	cfg := l.config(id)
	ch := make(chan Request, len(qs))
	cfg.Requests = ch
	time.AfterFunc(after, func() {
		for _, q := range qs {
			ch <- q
		}
	})
	return l.start(context.Background(), cfg)
}

func TestAStoppedRunLetsWhatRunsEndAndCanBeResumed(t *testing.T) {
	inLab(t, 6, nil, func(l *lab) {
		h := l.host("a", 2, ok)
		begun := time.Now()
		out := l.asking("r1", 30*time.Second, Request{Reason: "xrun stop"})
		if took := time.Since(begun); took != time.Minute {
			t.Errorf("it took %s", took)
		}
		if !out.Interrupted || out.Counts[ledger.Succeeded] != 2 || len(out.Left) != 0 {
			t.Errorf("%+v", out)
		}
		if i := bodies[ledger.RunInterrupted](l, "r1"); len(i) != 1 || i[0].Reason != "xrun stop" || i[0].Running != 0 {
			t.Errorf("%+v", i)
		}
		wantOutcome(t, l.resume("r1"), "done", 0)
		done := map[string]int{}
		for _, f := range bodies[ledger.AttemptFinished](l, "r1") {
			if f.State == ledger.Succeeded {
				done[f.Trial]++
			}
		}
		if len(done) != 6 || len(bodies[ledger.TrialFinished](l, "r1")) != 6 {
			t.Errorf("%v, started %s", done, started(h))
		}
	})
}

func TestARunThatIsStoppedNowEndsWhatRuns(t *testing.T) {
	inLab(t, 6, nil, func(l *lab) {
		l.host("a", 2, ok)
		begun := time.Now()
		out := l.asking("r1", 30*time.Second, Request{Now: true, Reason: "xrun stop --now"})
		if took := time.Since(begun); took > 45*time.Second {
			t.Errorf("it took %s", took)
		}
		if !out.Interrupted || out.Counts[ledger.Succeeded] != 0 {
			t.Errorf("%+v", out)
		}
		if n := len(bodies[ledger.TrialFinished](l, "r1")); n != 0 {
			t.Errorf("%d trials are final", n)
		}
		wantOutcome(t, l.resume("r1"), "done", 0)
	})
}

func TestAStoppedExperimentLeavesTheOthers(t *testing.T) {
	inLab(t, 4, nil, func(l *lab) {
		l.add(sweepOf("f", 3, func(e *plan.Experiment) { e.Command = append(e.Command, "f") }))
		l.host("a", 1, ok)
		out := l.asking("r1", 30*time.Second, Request{Experiment: "e", Reason: "xrun stop"})
		wantOutcome(t, out, "some_failed", ExitSomeFailed)
		if out.Counts[ledger.Succeeded] != 4 || out.Counts[ledger.NotRun] != 3 {
			t.Errorf("%v", out.Counts)
		}
	})
}

func TestAStoppedTrialIsCancelled(t *testing.T) {
	inLab(t, 3, nil, func(l *lab) {
		l.host("a", 1, ok)
		p := l.plan()
		out := l.asking("r1", 30*time.Second,
			Request{Experiment: "e", Trial: p.Experiments[0].Trials[0].ID, Now: true, Reason: "enough"},
			Request{Experiment: "e", Trial: p.Experiments[0].Trials[2].ID, Reason: "enough"})
		var got []string
		for _, f := range bodies[ledger.TrialFinished](l, "r1") {
			got = append(got, fmt.Sprint(f.State, " ", f.Cause))
		}
		if out.Counts[ledger.Cancelled] != 1 || out.Counts[ledger.NotRun] != 1 || out.Counts[ledger.Succeeded] != 1 {
			t.Errorf("%v: %v", out.Counts, got)
		}
	})
}

// What is taken over was counted when it was started, and what was taken back never ran.
func TestABudgetOfRunsCountsEachOnce(t *testing.T) {
	inLab(t, 10, nil, func(l *lab) {
		h := l.host("a", 2, ok)
		l.interrupted("r1", 90*time.Second) // two are done, two run on, two that waited are taken back
		cfg := l.config("r1")
		cfg.Adopt = l.adopt()
		seen, err := Review(l.t.Context(), l.ledger, "r1")
		if err != nil {
			t.Fatal(err)
		}
		if seen.Spent.Runs != 4 {
			t.Errorf("%d runs are spent", seen.Spent.Runs)
		}
		cfg.Seen = seen
		cfg.Bounds = Bounds{Budget: &plan.Budget{Runs: ptr(7)}, Before: seen.Spent}
		l.say("r1", ledger.RunResumed{})
		wantOutcome(t, l.start(l.t.Context(), cfg), "budget", ExitBound)
		n := 0
		for _, f := range bodies[ledger.AttemptFinished](l, "r1") {
			if f.State == ledger.Succeeded {
				n++
			}
		}
		if n != 7 {
			t.Errorf("%d of 7 ran: %s", n, started(h))
		}
	})
}
