package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/xrun-dev/xrun/internal/ledger"
)

// headline is the run in one line: done, reused, failed, not run, and why.
func (s *State) headline() string {
	t := s.Counts()
	n := t.Trials
	var b strings.Builder
	switch {
	case s.skipped != nil:
		return fmt.Sprintf("Skipped: run %s was active", visible(s.skipped.Holder))
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
	parts := []string{fmt.Sprintf("%d of %d done", n.Succeeded, n.Planned)}
	add := func(n int, what string, states ...ledger.State) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s%s", n, what, s.causes(states)))
		}
	}
	add(n.Reused, "reused")
	add(n.StoppedEarly, "stopped early")
	add(n.Failed, "failed", ledger.Failed)
	add(n.Cancelled, "cancelled", ledger.Cancelled)
	running := s.running()
	add(n.Lost-running, "lost", ledger.Lost)
	add(running, "under way")
	add(n.NotRun, "not run", ledger.NotRun)
	b.WriteString(strings.Join(parts, ", "))
	if s.complete() && t.WithResult == 0 {
		b.WriteString(": nothing usable")
	}
	return b.String()
}

// running counts the trials that the record leaves under way.
func (s *State) running() int {
	n := 0
	for _, x := range s.experiments {
		for _, t := range x.trials {
			if t.underway() {
				n++
			}
		}
	}
	return n
}

// causes counts why trials ended in one of the states: " (oom_gpu 2, exit 1)".
func (s *State) causes(states []ledger.State) string {
	counts := map[string]int{}
	var names []string
	for _, x := range s.experiments {
		for _, t := range x.trials {
			cause, _ := t.cause()
			if t.finished == nil && len(t.attempts) == 0 || cause == "" || !slices.Contains(states, t.final()) {
				continue
			}
			if counts[cause] == 0 {
				names = append(names, cause)
			}
			counts[cause]++
		}
	}
	if len(names) == 0 {
		return ""
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(counts[b], counts[a]) })
	if len(names) == 1 {
		return " (" + visible(names[0]) + ")"
	}
	for i, c := range names {
		names[i] = fmt.Sprintf("%s %d", visible(c), counts[c])
	}
	return " (" + strings.Join(names, ", ") + ")"
}

// Headline is the first line of report.md, as plain text: done, reused, failed, not run, and why.
func (r *Report) Headline() string { return r.state.headline() }
