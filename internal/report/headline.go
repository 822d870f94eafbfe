package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/xrun-dev/xrun/internal/ledger"
)

// headline is the run in one line: done, reused, failed, not run, and why.
func (s *State) headline() string {
	e := s.ends()
	n := e.TrialTotals
	var b strings.Builder
	switch {
	case s.skipped != nil:
		return "Skipped: " + visible(wasActive(s.skipped.Holder))
	case s.interrupted != nil:
		b.WriteString("Interrupted")
		if r := s.interrupted.Reason; r != "" {
			fmt.Fprintf(&b, " (%s)", r)
		}
		b.WriteString(": ")
	case !s.complete():
		b.WriteString("Unfinished: ")
	}
	switch {
	case n.Planned == 0:
		b.WriteString("No trials: nothing was run")
		return b.String()
	case n.Reused == n.Planned:
		fmt.Fprintf(&b, "%d of %d reused: nothing was measured", n.Reused, n.Planned)
		return b.String()
	}
	b.WriteString(e.String())
	if s.complete() && s.withResult() == 0 {
		b.WriteString(": nothing usable")
	}
	return b.String()
}

// wasActive says who had the state directory when a start was skipped; one that was just starting has no name.
func wasActive(holder string) string {
	if holder == "" {
		return "another xrun was active"
	}
	return "run " + holder + " was active"
}

// ends counts the trials of the run.
func (s *State) ends() *ended {
	sum := &ended{causes: map[ledger.State]map[string]int{}}
	for _, x := range s.experiments {
		sum.add(x.ends())
	}
	return sum
}

// withResult counts the experiments that have a result.
func (s *State) withResult() int {
	n := 0
	for _, x := range s.experiments {
		if x.hasResult() {
			n++
		}
	}
	return n
}

func (x *experiment) hasResult() bool {
	if f := x.finished; x.result || f != nil && f.Verdict != "" && f.Verdict != "failed" || x.part != nil && x.part.score.Points > 0 {
		return true
	}
	if x.objective().Metric == "" {
		e := x.ends()
		return e.Succeeded+e.Reused > 0
	}
	return slices.ContainsFunc(x.trials, func(t *trial) bool {
		_, ok := t.value()
		return ok
	})
}

// Headline is the first line of report.md, as plain text: done, reused, failed, not run, and why.
func (r *Report) Headline() string { return r.state.headline() }
