package main

import (
	"fmt"
	"strings"

	"github.com/xrun-dev/xrun/internal/plan"
)

// total is the last line: what would run, and the most that it can cost.
func (v planView) total() {
	counts := v.plan.Counts()
	var parts []string
	for _, w := range []plan.Why{plan.New, plan.Changed, plan.Failed, plan.Lost, plan.Reused} {
		if counts[w] > 0 {
			part := fmt.Sprintf("%d %s", counts[w], w)
			if w == plan.Failed || w == plan.Lost {
				part += " before"
			}
			parts = append(parts, part)
		}
	}
	e := v.plan.Estimate
	loops := v.loopTrials()
	if loops > 0 && len(parts) > 0 {
		parts = append(parts, fmt.Sprintf("at most %d of loops", loops))
	}
	switch {
	case e.Trials == nil:
		fmt.Fprint(v.w, "the number of trials is not known yet")
	case len(parts) > 0:
		fmt.Fprintf(v.w, "%s to run: %s", count(*e.Trials, "trial"), strings.Join(parts, ", "))
	default:
		fmt.Fprintf(v.w, "at most %s to run", count(*e.Trials, "trial"))
	}
	if e.GPUHoursMax != nil && *e.GPUHoursMax > 0 {
		fmt.Fprintf(v.w, "; at most %.1f GPU-hours", *e.GPUHoursMax)
	}
	if e.AgentTurns != nil && *e.AgentTurns > 0 {
		fmt.Fprintf(v.w, "; at most %s", count(*e.AgentTurns, "agent turn"))
	}
	if wall, n, ok := v.worst(); ok && wall > 0 {
		fmt.Fprintf(v.w, "; at most %s on %s", wall, count(n, "slot"))
	}
	if e.WallS != nil {
		fmt.Fprintf(v.w, "; about %s", roundDuration(*e.WallS))
	} else {
		fmt.Fprint(v.w, "; no history to tell how long")
	}
	fmt.Fprintln(v.w)
}

// worst is how long all of it can take, one experiment after the other, and the slots of the hosts that serve.
func (v planView) worst() (wall plan.Duration, slots int, ok bool) {
	serving := map[string]bool{}
	for i := range v.plan.Experiments {
		pe := &v.plan.Experiments[i]
		if pe.Estimate.Trials != nil && *pe.Estimate.Trials == 0 {
			continue
		}
		w, known := v.job.spec.Worst(pe)
		if !known {
			return 0, 0, false
		}
		wall += w.Wall
		slots = max(slots, w.Slots)
		for _, h := range pe.Hosts {
			serving[h.Name] = serving[h.Name] || h.Eligible
		}
	}
	all := 0
	for _, h := range v.job.spec.Hosts {
		if serving[h.Name] {
			all += max(1, h.Slots)
		}
	}
	return wall, max(slots, all), true
}

// loopTrials is the most trials that the loops can take.
func (v planView) loopTrials() int {
	n := 0
	for _, e := range v.plan.Experiments {
		for _, p := range e.Phases {
			n += p.TrialsMax
		}
	}
	return n
}
