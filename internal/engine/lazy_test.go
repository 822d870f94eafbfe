package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/xrun-dev/xrun/internal/hosts/hosttest"
	"github.com/xrun-dev/xrun/internal/ledger"
	"github.com/xrun-dev/xrun/internal/plan"
)

const many = 2*portion + 100

// A slowRecord stores no more of the plan than its first portion until its gate is open.
type slowRecord struct {
	Recorder
	stored bool // the first portion
	gate   chan struct{}
	open   func()
	opens  func(ledger.Body) bool
	never  bool
}

func (s *slowRecord) Append(ctx context.Context, events ...ledger.Event) error {
	planned := 0
	for _, e := range events {
		if isOf[ledger.TrialPlanned](e.Body) {
			planned++
		}
		if s.opens(e.Body) {
			s.open()
		}
	}
	if planned == 0 {
		return s.Recorder.Append(ctx, events...)
	}
	if s.stored {
		<-s.gate
		if s.never {
			return errors.New("power cut")
		}
	}
	s.stored = true
	return s.Recorder.Append(ctx, events...)
}

// large is a run whose plan is only recorded beyond its first portion once an event has come.
func (l *lab) large(id string, opens func(ledger.Body) bool) (Config, *slowRecord) {
	l.t.Helper()
	l.say(id, ledger.RunStarted{})
	cfg := l.config(id)
	slow := &slowRecord{Recorder: l.ledger, gate: make(chan struct{}), opens: opens}
	slow.open = sync.OnceFunc(func() { close(slow.gate) })
	cfg.Record = slow
	return cfg, slow
}

func isOf[B ledger.Body](b ledger.Body) bool {
	_, ok := b.(B)
	return ok
}

func swift(job) hosttest.Script { return hosttest.Script{Took: time.Second, Log: "loss: 0.5\n"} }

func TestALargePlanStartsBeforeItIsStored(t *testing.T) {
	inLab(t, many, nil, func(l *lab) {
		h := l.host("a", 4, swift)
		cfg, _ := l.large("r", isOf[ledger.AttemptFinished])
		wantOutcome(t, l.start(l.t.Context(), cfg), "done", 0)
		l.want("r", times(many, "%d: succeeded on a")...)
		if got, want := started(h), strings.Join(times(many, "%d"), " "); got != want {
			t.Errorf("not in the order of the plan: %.100s", got)
		}
		if n := len(bodies[ledger.ExperimentFinished](l, "r")); n != 1 {
			t.Errorf("the experiment ends %d times", n)
		}
		wantOutcome(t, l.run("again"), "done", 0)
		l.want("again", times(many, "%d: reused")...)
	})
}

func TestARunThatEndsBeforeItsPlanIsStoredIsTakenUp(t *testing.T) {
	inLab(t, many, nil, func(l *lab) {
		l.host("a", 4, swift)
		ctx, cancel := context.WithTimeout(l.t.Context(), 10*time.Second)
		defer cancel()
		cfg, slow := l.large("r", isOf[ledger.RunResumed])
		context.AfterFunc(ctx, slow.open)
		out := l.start(ctx, cfg)
		if n := len(bodies[ledger.TrialPlanned](l, "r")); !out.Interrupted || n > 2*portion {
			t.Fatalf("%d trials are stored; %+v", n, out)
		}
		wantOutcome(t, l.resume("r"), "done", 0)
		ends := map[string]int{}
		for _, f := range bodies[ledger.TrialFinished](l, "r") {
			ends[string(f.State)]++
		}
		if len(l.story("r")) != many || ends["succeeded"] != many || len(ends) != 1 {
			t.Error(ends)
		}
	})
}

func TestAPlanThatCannotBeStoredEndsTheRun(t *testing.T) {
	inLab(t, many, nil, func(l *lab) {
		l.host("a", 4, swift)
		cfg, slow := l.large("r", isOf[ledger.AttemptFinished])
		slow.never = true
		if _, err := Run(l.t.Context(), cfg); err == nil || err.Error() != "power cut" {
			t.Error(err)
		}
	})
}

// What blows the fuse, or reaches a bound, is for the trials too that were no tasks yet.
func TestNoTrialOfALargePlanIsForgotten(t *testing.T) {
	for name, c := range map[string]struct {
		behave func(job) hosttest.Script
		edit   func(*Config)
		code   int
		left   string
	}{
		"fuse":   {fails(1, "KeyError\n"), func(*Config) {}, ExitNothing, "not_run fuse"},
		"budget": {swift, func(c *Config) { c.Bounds.Budget = &plan.Budget{Runs: ptr(7)} }, ExitBound, "not_run budget"},
		"stop": {swift, func(c *Config) {
			asks := make(chan Request, 1)
			asks <- Request{Experiment: "e", Reason: "enough"}
			c.Requests = asks
		}, ExitSomeFailed, "not_run cancelled"},
		"nowhere": {func(job) hosttest.Script { return hosttest.Script{Code: 127, Log: "sh: train: not found\n"} }, func(*Config) {}, ExitNothing, "not_run not_found"},
	} {
		t.Run(name, func(t *testing.T) {
			inLab(t, many, nil, func(l *lab) {
				l.host("a", 2, c.behave)
				cfg, _ := l.large("r", isOf[ledger.TrialFinished])
				c.edit(&cfg)
				out := l.start(l.t.Context(), cfg)
				if code := out.Finish().ExitCode; code != c.code && name != "stop" {
					t.Errorf("exit %d, want %d", code, c.code)
				}
				story := l.story("r")
				if len(story) != many || out.Total() != many {
					t.Fatalf("%d trials, %d counted", len(story), out.Total())
				}
				for i := 100; i < many; i++ {
					if want := fmt.Sprintf("%d: %s", i+1, c.left); story[i] != want {
						t.Fatalf("%s, want %s", story[i], want)
					}
				}
			})
		})
	}
}

// An experiment that starts from another's results waits for all of them, declared or not.
func TestInputsWaitForAllOfALargePlan(t *testing.T) {
	inLab(t, many, nil, func(l *lab) {
		l.add(sweepOf("f", many, func(e *plan.Experiment) {
			e.Inputs = map[string]plan.Input{"model": {Experiment: "e", Trial: "same", Path: "m"}}
		}))
		l.host("a", 4, func(j job) hosttest.Script {
			s := swift(j)
			s.Artifacts = map[string]string{"m": "weights"}
			return s
		})
		cfg, _ := l.large("r", isOf[ledger.AttemptFinished])
		wantOutcome(t, l.start(l.t.Context(), cfg), "done", 0)
		ended := false
		for _, e := range l.events("r") {
			switch b := e.Body.(type) {
			case ledger.ExperimentFinished:
				ended = ended || b.Name == "e"
			case ledger.AttemptIntended:
				if b.Experiment == "f" && !ended {
					t.Fatal("f began before e was over")
				}
			}
		}
	})
}
