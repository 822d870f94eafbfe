package engine

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/xrun-dev/xrun/internal/engine/metric"
	"github.com/xrun-dev/xrun/internal/hosts/hosttest"
	"github.com/xrun-dev/xrun/internal/ledger"
	"github.com/xrun-dev/xrun/internal/plan"
)

func halving(least float64, factor int) func(*plan.Experiment) {
	return func(e *plan.Experiment) {
		e.Sweep.EarlyStop = &plan.EarlyStop{Step: "epoch", MinStep: plan.FloatValue(least), Factor: &factor}
	}
}

// learns is a script of nine epochs, one a minute; trial x ends at a loss of x.
func learns(line string) func(job) hosttest.Script {
	return func(j job) hosttest.Script {
		s := hosttest.Script{Took: 9*time.Minute + time.Second}
		for epoch := range 9 {
			s.Later = append(s.Later, hosttest.Line{After: time.Duration(epoch+1) * time.Minute, Text: fmt.Sprintf(line+"\n", epoch+1, j.x()+"."+fmt.Sprint(9-epoch))})
		}
		return s
	}
}

func TestHopelessTrialsAreStoppedEarly(t *testing.T) {
	for name, line := range map[string]string{
		"in one line":      "epoch: %d loss: %s",
		"the loss first":   `{"loss": %[2]s, "epoch": %[1]d}`,
		"the step before":  "epoch=%d\nloss=%s",
		"as Keras does it": "Epoch %d/9 - loss: %s",
	} {
		t.Run(name, func(t *testing.T) {
			inLab(t, 9, halving(1, 3), func(l *lab) {
				l.host("a", 1, learns(line))
				out := l.run("r1")
				wantOutcome(t, out, "done", 0)
				// One after the other, the best first: whoever comes later is worse, and from the third on is stopped.
				if out.Counts[ledger.StoppedEarly] != 7 || out.Counts[ledger.Succeeded] != 2 {
					t.Errorf("%v", out.Counts)
				}
				for _, f := range bodies[ledger.TrialFinished](l, "r1") {
					if f.State == ledger.StoppedEarly && (f.Cause != "" || !strings.Contains(f.Message, "that came so far, and the best third goes on")) {
						t.Errorf("%+v", f)
					}
				}
				for _, f := range bodies[ledger.AttemptFinished](l, "r1") {
					if f.State == ledger.StoppedEarly && (f.Objective != nil || !f.Partial || f.DurationS > 120) {
						t.Errorf("%+v", f)
					}
				}
				for _, s := range bodies[ledger.MetricValues](l, "r1") {
					if s.Metric != "loss" {
						t.Errorf("%s is recorded, and was not asked for", s.Metric)
					}
				}
			})
		})
	}
}

func TestAStepThatNeverComesWithTheObjectiveIsTold(t *testing.T) {
	inLab(t, 2, halving(1, 3), func(l *lab) {
		l.host("a", 1, ok) // says loss: 0.5, and no epoch
		wantOutcome(t, l.run("r1"), "done", 0)
		w := bodies[ledger.Warning](l, "r1")
		if len(w) != 1 || !strings.Contains(w[0].Message, "loss was never printed together with epoch") {
			t.Errorf("%+v", w)
		}
	})
}

func TestRungsKeepTheBestShare(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for _, factor := range []int{2, 3, 4} {
		for _, maximize := range []bool{false, true} {
			g := &rung{}
			var all []float64
			for n := 1; n <= 200; n++ {
				v := math.Round(rnd.Float64()*50) / 50 // with ties
				all = append(all, v)
				ok, _ := g.enter(v, maximize, factor)
				ahead := 0
				for _, o := range all[:n-1] {
					if maximize && o > v || !maximize && o < v {
						ahead++
					}
				}
				if want := n < factor || ahead < max(1, n/factor); ok != want {
					t.Fatalf("factor %d: %v is behind %d of %d: goes on %v", factor, v, ahead, n, ok)
				}
			}
			if !slices.IsSortedFunc(g.values, func(a, b float64) int {
				if maximize {
					a, b = b, a
				}
				return int(math.Copysign(1, a-b)) * map[bool]int{true: 0, false: 1}[a == b]
			}) {
				t.Error("not sorted")
			}
		}
	}
}

func TestALadderIsClimbedRungByRung(t *testing.T) {
	l := newLadder(&plan.EarlyStop{Step: "step", MinStep: plan.IntValue(100)})
	first, second := &task{}, &task{}
	for step := 50.0; step <= 1000; step += 50 {
		if why := l.climb(first, progress{step, 1}, false); why != "" {
			t.Error(why)
		}
	}
	if first.rung != 3 || len(l.rungs) != 3 || l.rungs[2].step != 900 {
		t.Errorf("rung %d of %d", first.rung, len(l.rungs))
	}
	if l.climb(second, progress{2000, 2}, false); second.rung != 3 { // it prints rarely
		t.Errorf("rung %d", second.rung)
	}
}

func TestTheObjectiveIsPickedOnTheWay(t *testing.T) {
	var got []string
	e := &plan.Experiment{Objective: plan.Objective{Metric: "loss", Pick: "min"}, Sweep: &plan.Sweep{EarlyStop: &plan.EarlyStop{Step: "epoch"}}}
	c := newClimber(e, func(p progress) { got = append(got, fmt.Sprintf("%v:%v", p.step, p.value)) })
	for i, v := range []float64{5, 3, 4, math.NaN(), 2} {
		c.reading(metric.Reading{Metric: "loss", Value: v, Line: int64(i + 1)})
		c.reading(metric.Reading{Metric: "epoch", Value: float64(i), Line: int64(i + 1)})
	}
	if s := strings.Join(got, " "); s != "0:5 1:3 2:3 4:2" {
		t.Error(s)
	}
}

// What was stopped early has not failed, and has no result either: the report of such a run names no best, and says so.
func TestARunWhoseOtherTrialsFailHasNothingUsable(t *testing.T) {
	inLab(t, 5, halving(1, 3), func(l *lab) {
		l.host("a", 1, func(j job) hosttest.Script {
			s := learns("epoch: %d loss: %s")(j)
			s.Code = 1
			return s
		})
		out := l.run("r1")
		if out.Counts[ledger.StoppedEarly] != 3 || out.Counts[ledger.Failed] != 2 {
			t.Errorf("%v", out.Counts)
		}
		wantOutcome(t, out, "nothing_usable", ExitNothing)
	})
}

// A resume goes on with what the trials before it printed: those that are done, and those that run.
func TestAResumeComparesWithWhatCameBefore(t *testing.T) {
	for name, after := range map[string]time.Duration{"two are done": 19 * time.Minute, "the second runs": 14 * time.Minute} {
		inLab(t, 9, halving(1, 3), func(l *lab) {
			l.host("a", 1, learns("epoch: %d loss: %s"))
			l.interrupted("r1", after)
			l.resume("r1")
			n := map[ledger.State]int{}
			for _, f := range bodies[ledger.TrialFinished](l, "r1") {
				n[f.State]++
			}
			if n[ledger.StoppedEarly] != 7 || n[ledger.Succeeded] != 2 {
				t.Errorf("%s: %v", name, n)
			}
			for _, values := range l.lines("r1") {
				for i := 1; i < len(values); i++ {
					if values[i] <= values[i-1] {
						t.Errorf("%s: a value is recorded twice: lines %v", name, values)
					}
				}
			}
		})
	}
}
