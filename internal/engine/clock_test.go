package engine

import (
	"regexp"
	"testing"
	"time"

	"github.com/xrun-dev/xrun/internal/ledger"
	"github.com/xrun-dev/xrun/internal/plan"
	"github.com/xrun-dev/xrun/internal/report"
)

// C18: the clock is set back an hour in the middle of a run, and forward again. Everything has its end and its time, and
// none of these is negative.
func TestC18TheClockIsSetBackDuringARun(t *testing.T) {
	inLab(t, 8, nil, func(l *lab) {
		l.host("a", 2, ok)
		begun := time.Now()
		l.say("r1", ledger.RunStarted{})
		cfg := l.config("r1")
		cfg.Now = func() time.Time { // without a monotonic part, as the worst of clocks
			now := time.Now().Round(0)
			switch gone := now.Sub(begun); {
			case gone > 3*time.Minute:
				return now.Add(2 * time.Hour)
			case gone > 90*time.Second:
				return now.Add(-time.Hour)
			}
			return now
		}
		wantOutcome(t, l.start(l.t.Context(), cfg), "done", 0)
		if took := time.Since(begun); took != 4*time.Minute {
			t.Errorf("it took %s", took)
		}
		for _, f := range bodies[ledger.AttemptFinished](l, "r1") {
			if f.DurationS != 60 {
				t.Errorf("an attempt took %v s", f.DurationS)
			}
		}
		text := string(report.Fold(l.events("r1")).Report(report.Options{XrunVersion: "test"}).JSON())
		if negative := regexp.MustCompile(`"[a-z_]+": ?-[0-9.]+`).FindAllString(text, -1); negative != nil {
			t.Errorf("the report says %q", negative)
		}
		if seen, err := Review(l.t.Context(), l.ledger, "r1"); err != nil || seen.Spent.Wall < 0 {
			t.Errorf("%v, %v", seen.Spent, err)
		}
	})
}

// What a process spent whose clock was set back is not given to the next one.
func TestC18TimeSpentIsNeverGivenBack(t *testing.T) {
	inLab(t, 2, nil, func(l *lab) {
		l.host("a", 1, ok)
		at := time.Now()
		for _, e := range []struct {
			after time.Duration
			body  ledger.Body
		}{
			{0, ledger.RunStarted{}},
			{-time.Hour, ledger.Warning{Message: "an hour earlier"}},
			{-30 * time.Minute, ledger.RunResumed{}},
			{-10 * time.Minute, ledger.Warning{Message: "and later"}},
		} {
			if err := l.ledger.Append(l.t.Context(), ledger.New("r1", at.Add(e.after), e.body)); err != nil {
				t.Fatal(err)
			}
		}
		seen, err := Review(l.t.Context(), l.ledger, "r1")
		if err != nil || seen.Spent.Wall != 20*time.Minute {
			t.Errorf("%v, %v", seen.Spent, err)
		}
		cfg := l.config("r1")
		cfg.Seen = seen
		cfg.Bounds = Bounds{Budget: &plan.Budget{Wall: ptr(plan.Duration(20*time.Minute + 30*time.Second))}, Before: seen.Spent}
		wantOutcome(t, l.start(l.t.Context(), cfg), "budget", ExitBound)
	})
}
