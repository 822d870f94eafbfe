package main

import (
	"strconv"

	"github.com/xrun-dev/xrun/internal/engine/checkpoint"
	"github.com/xrun-dev/xrun/internal/plan"
	"github.com/xrun-dev/xrun/internal/plan/specfile"
)

// badGlobs finds globs that are none: they would select nothing, and nobody would be told. Those of code are read when it is
// listed.
func (j *job) badGlobs() specfile.Problems {
	var problems specfile.Problems
	check := func(e *plan.Experiment, globs []string, path ...string) {
		for i, g := range globs {
			if _, err := checkpoint.Match(g, "x"); g != "" && err != nil {
				at := append(append([]string{"experiments", e.Name}, path...), strconv.Itoa(i))
				problems = append(problems, j.spec.Problem(plan.Finding{Path: at, Message: err.Error(), Suggestion: "a character that is meant as itself stands behind a \\"}))
			}
		}
	}
	for i := range j.spec.Experiments {
		e := &j.spec.Experiments[i]
		check(e, e.Artifacts.Paths, "artifacts", "paths")
		check(e, e.Artifacts.Keep, "artifacts", "keep")
		if e.Evaluate != nil {
			check(e, e.Evaluate.Files, "evaluate", "files")
		}
		if e.Setup != nil {
			check(e, e.Setup.Key, "setup", "key")
		}
		if e.Loop != nil {
			check(e, e.Loop.Editable, "loop", "editable")
			check(e, e.Loop.Protected, "loop", "protected")
			check(e, e.Loop.Deliver, "loop", "deliver")
		}
	}
	return problems
}
