package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/xrun-dev/xrun/internal/ledger"
)

// ended counts trials by how they ended, those that were counted elsewhere included.
type ended struct {
	TrialTotals
	underway int // of Lost: those that the record leaves running
	budgeted int // of NotRun: those that a budget or the deadline kept from running
	causes   map[ledger.State]map[string]int
}

// ends counts the trials of an experiment.
func (x *experiment) ends() *ended {
	e := &ended{causes: map[ledger.State]map[string]int{}}
	e.Planned, e.NotRun = x.undeclared(), x.undeclared()
	for _, t := range x.trials {
		if x.part == nil || t.finished == nil { // else its tally has it
			e.trial(t)
		}
	}
	if x.part == nil {
		return e
	}
	for _, t := range x.part.tallies {
		switch t.State {
		case ledger.AsPlanned:
			e.Planned = x.undeclared() + t.N
		case ledger.Spent:
		default:
			*e.of(t.State) += t.N
			e.cause(t.State, t.Cause, t.N)
		}
	}
	// What was neither counted nor seen was never started.
	e.NotRun = e.Planned - e.Succeeded - e.Reused - e.Failed - e.StoppedEarly - e.Cancelled - e.Lost
	return e
}

func (e *ended) trial(t *trial) {
	state := t.final()
	e.Planned++
	*e.of(state)++
	if t.underway() {
		e.underway++
	}
	if t.finished != nil || len(t.attempts) > 0 {
		cause, _ := t.cause()
		e.cause(state, cause, 1)
	}
}

func (e *ended) cause(state ledger.State, cause string, n int) {
	if cause == "" {
		return
	}
	if e.causes[state] == nil {
		e.causes[state] = map[string]int{}
	}
	e.causes[state][cause] += n
	if state == ledger.NotRun && (cause == "budget" || cause == "deadline") {
		e.budgeted += n
	}
}

// add adds the trials of another experiment.
func (e *ended) add(o *ended) {
	e.Planned += o.Planned
	e.underway += o.underway
	for _, s := range []ledger.State{ledger.Succeeded, ledger.Reused, ledger.Failed, ledger.StoppedEarly, ledger.Cancelled, ledger.Lost, ledger.NotRun} {
		*e.of(s) += *o.of(s)
	}
	for state, causes := range o.causes {
		for cause, n := range causes {
			e.cause(state, cause, n)
		}
	}
}

// String is "17 of 18 done, 1 failed (oom_gpu)".
func (e *ended) String() string {
	n := e.TrialTotals
	parts := []string{fmt.Sprintf("%d of %d done", n.Succeeded, n.Planned)}
	add := func(n int, what string, state ledger.State) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s%s", n, what, e.why(state)))
		}
	}
	add(n.Reused, "reused", "")
	add(n.StoppedEarly, "stopped early", "")
	add(n.Failed, "failed", ledger.Failed)
	add(n.Cancelled, "cancelled", ledger.Cancelled)
	add(n.Lost-e.underway, "lost", ledger.Lost)
	add(e.underway, "under way", "")
	add(n.NotRun, "not run", ledger.NotRun)
	return strings.Join(parts, ", ")
}

// why counts why trials ended in a state: " (oom_gpu 2, exit 1)".
func (e *ended) why(state ledger.State) string {
	counts := e.causes[state]
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	if len(names) == 0 {
		return ""
	}
	if len(names) == 1 {
		return " (" + visible(names[0]) + ")"
	}
	for i, c := range names {
		names[i] = fmt.Sprintf("%s %d", visible(c), counts[c])
	}
	return " (" + strings.Join(names, ", ") + ")"
}
