package engine

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/xrun-dev/xrun/internal/hosts"
	"github.com/xrun-dev/xrun/internal/hosts/hosttest"
	"github.com/xrun-dev/xrun/internal/ledger"
	"github.com/xrun-dev/xrun/internal/plan"
)

// canary gives the sweep one that opens the gate after five minutes.
func canary(e *plan.Experiment) { e.Sweep.Canary = &plan.Canary{For: plan.Duration(5 * time.Minute)} }

// begun is when each trial was started, in plan order, as time after the first one.
func (l *lab) begun(run string) map[string]time.Duration {
	l.t.Helper()
	names, out := map[ledger.Key]string{}, map[string]time.Duration{}
	var first time.Time
	for _, e := range l.events(run) {
		switch b := e.Body.(type) {
		case ledger.TrialPlanned:
			names[b.Key] = strings.TrimSuffix(strings.TrimPrefix(string(b.Params), `{"x":`), "}")
		case ledger.AttemptStarted:
			if first.IsZero() {
				first = e.At
			}
			out[names[b.Key]] = e.At.Sub(first)
		}
	}
	return out
}

func TestTheFirstTrialGoesAheadUntilItsCodeIsSeenToWork(t *testing.T) {
	later := func(after, took time.Duration, text string, code int) hosttest.Script {
		return hosttest.Script{Took: took, Code: code, Later: []hosttest.Line{{After: after, Text: text}}}
	}
	for name, c := range map[string]struct {
		first hosttest.Script
		opens time.Duration
	}{
		"it prints an objective":   {later(90*time.Second, time.Hour, "loss: 1\n", 0), 90 * time.Second},
		"it prints another metric": {later(90*time.Second, time.Hour, "acc: 1\n", 0), 5 * time.Minute},
		"it lives long enough":     {later(20*time.Minute, time.Hour, "loss: 1\n", 0), 5 * time.Minute},
		"it diverges":              {later(30*time.Second, time.Minute, "loss: nan\n", 0), 30 * time.Second},
		"it ends well":             {later(59*time.Second, time.Minute, "loss: 1\n", 0), 59 * time.Second},
		"it fills its GPU":         {later(time.Second, time.Minute, "CUDA out of memory\n", 1), time.Minute},
		"it takes too long":        {hosttest.Script{Took: 2 * time.Minute, End: hosts.TimedOut, Code: 143}, 2 * time.Minute},
	} {
		inLab(t, 4, canary, func(l *lab) {
			l.host("a", 3, func(j job) hosttest.Script {
				if j.x() == "1" {
					return c.first
				}
				return ok(j)
			})
			l.run("r")
			b := l.begun("r")
			if b["1"] != 0 || b["2"] != c.opens || b["3"] != c.opens {
				t.Errorf("%s: started at %v, want %s", name, b, c.opens)
			}
		})
	}
}

func TestThereIsNoCanaryWhereTheExperimentWorkedBefore(t *testing.T) {
	inLab(t, 2, canary, func(l *lab) {
		l.host("a", 4, ok)
		l.run("r1")
		l.spec.Experiments[0] = sweepOf("e", 6, canary)
		l.spec.Fill()
		l.run("r2")
		for x, at := range l.begun("r2") {
			if at != 0 {
				t.Errorf("%s starts after %s", x, at)
			}
		}
	})
}

func TestACanaryThatFailsElectsAnotherAtAnotherPoint(t *testing.T) {
	twoSeeds := func(e *plan.Experiment) {
		canary(e)
		e.Seeds, e.Set["seeds"] = plan.Seeds{0, 1}, true
	}
	inLab(t, 3, twoSeeds, func(l *lab) {
		h := l.host("a", 4, func(j job) hosttest.Script {
			if j.x() == "1" {
				return fails(1, "boom\n")(j)
			}
			return ok(j)
		})
		wantOutcome(t, l.run("r"), "some_failed", 3)
		if got := started(h); !strings.HasPrefix(got, "1 2 ") {
			t.Errorf("started %s", got)
		}
		if b := l.begun("r"); b["2"] < time.Second {
			t.Errorf("started at %v", b)
		}
	})
}

func TestTwoCanariesThatFailInTheSameWayStopTheExperiment(t *testing.T) {
	inLab(t, 5, canary, func(l *lab) {
		l.host("a", 4, func(j job) hosttest.Script { return fails(1, "KeyError: "+j.x()+"\n")(j) })
		wantOutcome(t, l.run("r"), "nothing_usable", 4)
		l.want("r", "1: failed exit on a", "2: failed exit on a", "3: not_run fuse", "4: not_run fuse", "5: not_run fuse")
		if e := bodies[ledger.ExperimentFinished](l, "r"); len(e) != 1 || !strings.Contains(e[0].StopReason, "two trials that went ahead failed in the same way; the last: exit status 1: KeyError: ") {
			t.Errorf("%+v", e)
		}
	})
	inLab(t, 5, canary, func(l *lab) { // in different ways: that is a matter of the points
		l.host("a", 4, func(j job) hosttest.Script {
			switch j.x() {
			case "1":
				return fails(1, "KeyError\n")(j)
			case "2":
				return fails(2, "boom\n")(j)
			}
			return ok(j)
		})
		wantOutcome(t, l.run("r"), "some_failed", 3)
		l.want("r", "1: failed exit on a", "2: failed exit on a", "3: succeeded on a", "4: succeeded on a", "5: succeeded on a")
	})
}

// A mistake that stops every trial costs two of them also where failures are tried again.
func TestCanariesThatAreTriedAgainDoNotLetTheRestOut(t *testing.T) {
	again := func(e *plan.Experiment) { canary(e); retry(2, "exit")(e) }
	inLab(t, 12, again, func(l *lab) {
		h := l.host("a", 4, func(j job) hosttest.Script { return fails(1, "KeyError: "+j.x()+"\n")(j) })
		wantOutcome(t, l.run("r"), "nothing_usable", 4)
		if got := started(h); got != "1 2 1 2 1 2" {
			t.Errorf("started %s", got)
		}
	})
	inLab(t, 4, again, func(l *lab) { // what helps the first one helps all
		n := map[string]int{}
		var mu sync.Mutex
		h := l.host("a", 4, func(j job) hosttest.Script {
			mu.Lock()
			defer mu.Unlock()
			if n[j.x()]++; n[j.x()] == 1 && j.x() < "3" {
				return fails(1, "no licence\n")(j)
			}
			return ok(j)
		})
		wantOutcome(t, l.run("r"), "done", 0)
		if got := started(h); !strings.HasPrefix(got, "1 2 1 ") {
			t.Errorf("started %s", got)
		}
	})
	inLab(t, 4, again, func(l *lab) { // both are stopped while they wait: another goes ahead
		l.host("a", 4, func(j job) hosttest.Script {
			if j.x() < "3" {
				return fails(1, "no licence\n")(j)
			}
			return ok(j)
		})
		p := l.plan()
		out := l.asking("r", 5*time.Second,
			Request{Experiment: "e", Trial: p.Experiments[0].Trials[0].ID, Reason: "enough"},
			Request{Experiment: "e", Trial: p.Experiments[0].Trials[1].ID, Reason: "enough"})
		if out.Counts[ledger.Succeeded] != 2 {
			t.Errorf("%v", out.Counts)
		}
	})
}

func TestACanaryThatAHostFailsGoesAheadAgainElsewhere(t *testing.T) {
	inLab(t, 3, canary, func(l *lab) {
		var n atomic.Int32
		first := func(j job) hosttest.Script { // whichever host has it
			if n.Add(1) == 1 {
				return hosttest.Script{Took: time.Second, End: hosts.Vanished, Code: -1}
			}
			return ok(j)
		}
		l.host("a", 1, first)
		l.host("b", 1, first)
		wantOutcome(t, l.run("r"), "done", 0)
		// Whichever trial goes ahead now, on the host that asks first, it is alone until it has shown that it works.
		if b := l.begun("r"); b["1"] == b["2"] || min(b["1"], b["2"]) >= b["3"] {
			t.Errorf("started at %v: two went ahead at once", b)
		}
	})
}

// While the canary lives longer than it must and no slot is free, nothing else happens: that must not keep a processor
// busy (in a bubble it would never end).
func TestAGateThatNobodyAsksCostsNothing(t *testing.T) {
	inLab(t, 3, canary, func(l *lab) {
		l.host("a", 1, func(j job) hosttest.Script {
			return hosttest.Script{Took: 30 * time.Minute, Later: []hosttest.Line{{After: 29 * time.Minute, Text: "loss: 1\n"}}}
		})
		l.say("r", ledger.RunStarted{})
		cfg := l.config("r")
		cfg.MaxParallel = 1
		wantOutcome(t, l.start(l.t.Context(), cfg), "done", 0)
	})
}

func TestFuse(t *testing.T) {
	boom := func(j job) hosttest.Script { return fails(1, fmt.Sprintf("error %s at /tmp/%s\n", j.x(), j.ID))(j) }
	inLab(t, 9, nil, func(l *lab) {
		l.host("a", 1, boom)
		wantOutcome(t, l.run("r"), "nothing_usable", 4)
		failed := 0
		for _, f := range bodies[ledger.TrialFinished](l, "r") {
			if f.State == ledger.Failed {
				failed++
			} else if f.Cause != string(CauseFuse) || !strings.HasPrefix(f.Message, "5 trials failed in the same way and none succeeded since; the last: exit status 1: error ") && !strings.HasPrefix(f.Message, "6 trials") {
				t.Errorf("%+v", f)
			}
		}
		if failed != 5 && failed != 6 { // the sixth waited on the host already
			t.Errorf("%d failed on one host", failed)
		}
	})
	inLab(t, 12, nil, func(l *lab) {
		l.host("a", 1, boom)
		l.host("b", 1, boom)
		l.run("r")
		// Three, and what each host had already.
		if n := l.failed("r"); n > 6 {
			t.Errorf("%d failed on two hosts", n)
		}
	})
	inLab(t, 9, nil, func(l *lab) { // a success begins the count anew
		l.host("a", 1, func(j job) hosttest.Script {
			if j.x() == "4" {
				return ok(j)
			}
			return boom(j)
		})
		l.run("r")
		if n := l.failed("r"); n != 8 {
			t.Errorf("%d failed, want all 8: none of the rows is five long but the last", n)
		}
	})
	inLab(t, 9, nil, func(l *lab) { // the other host exists in the spec alone
		l.host("a", 1, boom)
		l.host("b", 1, boom).Unreachable(true)
		l.run("r")
		if n := l.failed("r"); n > 6 {
			t.Errorf("%d failed on the one host that serves", n)
		}
	})
	inLab(t, 8, nil, func(l *lab) { // diverged is a matter of the points
		l.host("a", 1, func(job) hosttest.Script { return hosttest.Script{Log: "loss: nan\n"} })
		l.run("r")
		if n := l.failed("r"); n != 8 {
			t.Errorf("%d diverged, want 8", n)
		}
	})
	inLab(t, 8, nil, func(l *lab) { // each in its own way
		l.host("a", 1, func(j job) hosttest.Script {
			return fails(1, strings.Repeat("x", len(j.x()))+string('a'+rune(j.x()[0]-'0'))+"\n")(j)
		})
		l.run("r")
		if n := l.failed("r"); n != 8 {
			t.Errorf("%d failed, want 8", n)
		}
	})
}

// failed is how many trials failed by running.
func (l *lab) failed(run string) int {
	l.t.Helper()
	n := 0
	for _, f := range bodies[ledger.TrialFinished](l, run) {
		if f.State == ledger.Failed {
			n++
		}
	}
	return n
}
