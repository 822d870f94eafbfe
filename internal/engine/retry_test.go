package engine

import (
	"testing"
	"time"

	"github.com/xrun-dev/xrun/internal/hosts/hosttest"
	"github.com/xrun-dev/xrun/internal/ledger"
	"github.com/xrun-dev/xrun/internal/plan"
)

func retry(most int, on ...string) func(*plan.Experiment) {
	return func(e *plan.Experiment) {
		e.Retry = &plan.Retry{Max: most, On: on, Backoff: plan.Duration(10 * time.Second)}
		e.Set["retry.on"], e.Set["retry.backoff"] = on != nil, true
	}
}

// failing fails so often and then does well.
func failing(times, code int, logs ...string) func(job) hosttest.Script {
	n := 0
	return func(j job) hosttest.Script {
		n++
		if n > times {
			return ok(j)
		}
		return fails(code, logs[min(n, len(logs))-1])(j)
	}
}

func TestARetryWaitsTwiceAsLongEachTimeAndCanSucceed(t *testing.T) {
	inLab(t, 1, retry(3, "exit"), func(l *lab) {
		l.host("a", 1, failing(3, 2, "cannot reach the licence server\n"))
		begun := time.Now()
		wantOutcome(t, l.run("r1"), "done", 0)
		// Three failures of a second each, waits of 10, 20 and 40 s, and a minute that went well.
		if took := time.Since(begun); took != 133*time.Second {
			t.Errorf("it took %s", took)
		}
		fin := bodies[ledger.AttemptFinished](l, "r1")
		if len(fin) != 4 || fin[3].Attempt.Attempt != 4 || fin[3].State != ledger.Succeeded {
			t.Errorf("%d attempts: %+v", len(fin), fin)
		}
		if done := bodies[ledger.TrialFinished](l, "r1"); len(done) != 1 || done[0].Attempt != 4 || done[0].State != ledger.Succeeded {
			t.Errorf("%+v", done)
		}
	})
}

func TestOthersRunWhileOneWaitsToBeTriedAgain(t *testing.T) {
	inLab(t, 3, retry(1, "exit"), func(l *lab) {
		h := l.host("a", 1, failing(1, 2, "no\n"))
		wantOutcome(t, l.run("r1"), "done", 0)
		if got := started(h); got != "1 2 3 1" {
			t.Errorf("started %s", got)
		}
	})
}

func TestWhatIsNotAskedForIsNotTriedAgain(t *testing.T) {
	for name, c := range map[string]struct {
		edit     func(*plan.Experiment)
		behave   func(job) hosttest.Script
		attempts int
	}{
		"another cause":              {retry(5, "timeout"), fails(2, "no\n"), 1},
		"as often as asked":          {retry(2, "exit"), fails(2, "no\n"), 3},
		"killed alike twice":         {retry(5), failing(9, 137, "epoch 1\n"), 2},
		"killed in another way each": {retry(2), failing(9, 137, "epoch one\n", "loading data\n", "saving\n"), 3},
		"a program that is missing":  {retry(5, "exit"), fails(127, "sh: 1: pyhton: not found\n"), 1},
		"no retry":                   {nil, fails(137, ""), 1},
	} {
		t.Run(name, func(t *testing.T) {
			inLab(t, 1, c.edit, func(l *lab) {
				l.host("a", 1, c.behave)
				l.run("r1")
				if n := len(bodies[ledger.AttemptFinished](l, "r1")); n != c.attempts {
					t.Errorf("%d attempts", n)
				}
				if done := bodies[ledger.TrialFinished](l, "r1"); len(done) != 1 || done[0].State != ledger.Failed {
					t.Errorf("%+v", done)
				}
			})
		})
	}
}

func TestRetriesAreCountedAcrossAnInterrupt(t *testing.T) {
	inLab(t, 1, retry(2, "exit"), func(l *lab) {
		l.host("a", 1, fails(2, "no\n"))
		l.interrupted("r1", 5*time.Second) // the first has failed, the second waits
		l.resume("r1")
		if n := len(bodies[ledger.AttemptFinished](l, "r1")); n != 3 {
			t.Errorf("%d attempts", n)
		}
	})
}

func TestAnAttemptOfADeadRunThatFailedIsTriedAgain(t *testing.T) {
	inLab(t, 1, retry(1, "exit"), func(l *lab) {
		l.host("a", 1, failing(1, 2, "no\n"))
		l.die("r1", 500*time.Millisecond)
		time.Sleep(time.Minute)
		l.settle()
		if done := bodies[ledger.TrialFinished](l, "r1"); len(done) != 0 {
			t.Errorf("%+v", done)
		}
		wantOutcome(t, l.resume("r1"), "done", 0)
	})
}

func TestAFuseThatBlowsLeavesAFailureAFailure(t *testing.T) {
	inLab(t, 6, retry(9, "exit"), func(l *lab) {
		l.spec.Experiments[0].Retry.Backoff = plan.Duration(time.Hour)
		x := 0
		l.host("a", 1, func(j job) hosttest.Script {
			x++
			if x == 1 {
				return fails(2, "this one waits\n")(j)
			}
			return fails(127, "sh: 1: train: not found\n")(j)
		})
		l.run("r1")
		for _, f := range bodies[ledger.TrialFinished](l, "r1") {
			if f.Attempt == 1 && f.State != ledger.Failed || f.Attempt == 0 && f.State != ledger.NotRun {
				t.Errorf("%+v", f)
			}
		}
	})
}
