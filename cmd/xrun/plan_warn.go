package main

import (
	"fmt"
	"slices"

	"github.com/xrun-dev/xrun/internal/plan"
)

// warnings are those of the plan and those of this machine, each with what to do about it.
func (v planView) warnings() {
	known := map[string]plan.Problem{}
	for _, p := range slices.Concat(v.job.spec.Warnings, v.job.codeWarnings, v.job.limitWarnings) {
		known[warning(p)] = p
	}
	var placed []plan.Problem
	for _, w := range v.plan.Warnings {
		p, ok := known[w]
		if !ok {
			p = plan.Problem{Message: w}
		}
		placed = append(placed, p)
	}
	for _, p := range folded(append(placed, sortedProblems(v.job.hereWarnings)...)) {
		suggestion := p.Suggestion
		p.Suggestion = nil
		fmt.Fprintf(v.w, "warning: %s\n", visible(warning(p)))
		if suggestion != nil {
			fmt.Fprintf(v.w, "         = %s\n", visible(*suggestion))
		}
	}
}
