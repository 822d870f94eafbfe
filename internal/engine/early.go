package engine

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/xrun-dev/xrun/internal/engine/metric"
	"github.com/xrun-dev/xrun/internal/hosts"
	"github.com/xrun-dev/xrun/internal/ledger"
	"github.com/xrun-dev/xrun/internal/plan"
)

// A rung is a step at which trials are compared. Asynchronous successive halving (Li et al., MLSys 2020,
// arXiv:1810.05934), in the form that stops: at each rung a trial goes on if it is among the best 1/factor of those that
// have reached it so far. Nobody waits for anybody; of fewer than factor trials all go on.
type rung struct {
	step   float64
	values []float64 // of the trials that reached it, the best first
}

// enter books a value and reports whether its trial goes on.
func (g *rung) enter(v float64, maximize bool, factor int) (goesOn bool, rank int) {
	better := func(a, b float64) int {
		if maximize {
			a, b = b, a
		}
		return cmp.Compare(a, b)
	}
	at, _ := slices.BinarySearchFunc(g.values, v, better)
	g.values = slices.Insert(g.values, at, v)
	n := len(g.values)
	return n < factor || at < max(1, n/factor), at + 1
}

// A ladder is the rungs of an experiment: min_step, and factor times as far each.
type ladder struct {
	spec   *plan.EarlyStop
	least  float64
	factor int
	rungs  []*rung
	// heard: an objective was printed by somebody; together: with a step.
	heard, together bool
}

func newLadder(s *plan.EarlyStop) *ladder {
	if s == nil {
		return nil
	}
	l := &ladder{spec: s, factor: 3}
	l.least, _ = s.MinStep.Float64() // a number, says the schema
	if s.Factor != nil {
		l.factor = *s.Factor
	}
	return l
}

// step is where rung k stands.
func (l *ladder) step(k int) float64 { return l.least * math.Pow(float64(l.factor), float64(k)) }

// A progress is news of a trial: its objective at a step, which is NaN where none came with it.
type progress struct{ step, value float64 }

// climb takes news of a trial. It returns why the trial is to be stopped; "" if it goes on.
func (l *ladder) climb(t *task, p progress, maximize bool) string {
	for ; l.step(t.rung) <= p.step; t.rung++ {
		g := l.rung(t.rung)
		if ok, rank := g.enter(p.value, maximize, l.factor); !ok {
			return fmt.Sprintf("%s %v: %v is number %d of %d that came so far, and the best %s goes on",
				l.spec.Step, p.step, p.value, rank, len(g.values), ordinal(l.factor))
		}
	}
	return ""
}

// rung k, which may have to be made.
func (l *ladder) rung(k int) *rung {
	for len(l.rungs) <= k {
		l.rungs = append(l.rungs, &rung{step: l.step(len(l.rungs))})
	}
	return l.rungs[k]
}

// note enters what a trial printed for an earlier process, which has decided what became of it.
func (l *ladder) note(t *task, p progress, maximize bool) {
	l.heard = true
	if math.IsNaN(p.step) {
		return
	}
	l.together = true
	for ; l.step(t.rung) <= p.step; t.rung++ {
		l.rung(t.rung).enter(p.value, maximize, l.factor)
	}
}

func ordinal(n int) string {
	return map[int]string{2: "half", 3: "third", 4: "quarter", 5: "fifth", 6: "sixth", 7: "seventh", 8: "eighth", 9: "ninth", 10: "tenth"}[n]
}

// A climber turns the readings of one attempt into progress: the objective with the step of its line, whichever of the
// two is printed first, else with the step before.
type climber struct {
	step, objective string
	best            func(a, b float64) float64 // by pick; nil: the newest value
	at              float64                    // the newest step
	atLine          int64
	open            *metric.Reading // the objective, whose line may yet say its step
	so              float64         // the value that is picked so far
	any             bool
	alone           bool // the objective came without a step, which has been told
	tell            func(progress)
}

func newClimber(e *plan.Experiment, tell func(progress)) *climber {
	c := &climber{step: e.Sweep.EarlyStop.Step, objective: e.Objective.Metric, at: math.NaN(), tell: tell}
	switch e.Objective.Pick {
	case "min":
		c.best = math.Min
	case "max":
		c.best = math.Max
	}
	return c
}

// afresh is the climber at the beginning of the log.
func (c *climber) afresh() *climber {
	return &climber{step: c.step, objective: c.objective, best: c.best, at: math.NaN(), tell: c.tell}
}

func (c *climber) reading(r metric.Reading) {
	if c.open != nil && r.Line > c.open.Line {
		c.settle()
	}
	switch r.Metric {
	case c.step:
		c.at, c.atLine = r.Value, r.Line
		if c.open != nil && c.open.Line == r.Line {
			c.settle()
		}
	case c.objective:
		c.open = &r
		if c.atLine == r.Line {
			c.settle()
		}
	}
}

// close is for the end of the log: nothing more comes with the last value.
func (c *climber) close() {
	if c != nil && c.open != nil {
		c.settle()
	}
}

// settle pairs the objective with its step.
func (c *climber) settle() {
	r := c.open
	c.open = nil
	at := c.at
	if math.IsNaN(at) && r.Step != nil && (strings.EqualFold(c.step, "step") || strings.EqualFold(c.step, "epoch")) {
		at = *r.Step // "Epoch [3/10]" is none of the metrics, and a step all the same
	}
	if !finite(r.Value) {
		return // it has diverged: that is for the end to tell
	}
	if math.IsNaN(at) && c.alone {
		return
	}
	c.alone = math.IsNaN(at)
	if !c.any || c.best == nil {
		c.so, c.any = r.Value, true
	} else {
		c.so = c.best(c.so, r.Value)
	}
	c.tell(progress{at, c.so})
}

// climb takes news of a trial that runs.
func (r *run) climb(t *task, p progress) {
	t.exp.ladder.heard = true
	if math.IsNaN(p.step) {
		return
	}
	t.exp.ladder.together = true
	if t.hopeless != "" {
		return
	}
	if why := t.exp.ladder.climb(t, p, t.exp.spec.Objective.Maximize()); why != "" {
		r.stopEarly(t, why)
	}
}

// stopEarly asks the host to end a trial that is not worth its time.
func (r *run) stopEarly(t *task, why string) {
	t.hopeless = why
	for _, j := range r.handed.of(t) {
		r.side.Go(func() { // Run waits for it
			ctx, cancel := context.WithTimeout(context.Background(), recallPatience)
			defer cancel()
			if err := j.host.Stop(ctx, j.job, earlyReason+why); err != nil {
				r.Log.Warn("not stopped", "job", j.job, "error", err)
			}
		})
	}
}

// earlyReason begins the reason of a job that was stopped early: whoever judges the end of the job, perhaps after a
// crash, knows it by that.
const earlyReason = "early stop: "

// stoppedEarly reports whether the job ended because its trial was not worth its time, and why.
func stoppedEarly(exit hosts.Exit) (why string, ok bool) {
	if exit.End != hosts.Stopped {
		return "", false
	}
	return strings.CutPrefix(exit.Reason, earlyReason)
}

// neverTogether is the warning about an experiment whose objective never came with its step.
func (e *experimentState) neverTogether() (ledger.Warning, bool) {
	l := e.ladder
	if l == nil || !l.heard || l.together {
		return ledger.Warning{}, false
	}
	return ledger.Warning{Message: fmt.Sprintf("experiment %s: early_stop: %s was never printed together with %s, so nothing was stopped", e.spec.Name, e.spec.Objective.Metric, l.spec.Step)}, true
}
