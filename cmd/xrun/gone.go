package main

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/xrun-dev/xrun/internal/ledger"
	"github.com/xrun-dev/xrun/internal/plan"
)

// planOn is buildPlan on what is still there: a result from which another experiment starts is not reused where the
// artifact that is wanted is gone, be it by `xrun gc`, by hand, or because it was left out of what was imported.
func (j *job) planOn(ctx context.Context, l *ledger.Ledger, b plan.Basis) (*plan.Plan, error) {
	missing := map[string]bool{}
	results := b.History.Results
	for {
		p, err := buildPlan(b)
		if err != nil {
			return nil, err
		}
		gone, err := j.gone(ctx, l, p)
		if err != nil || len(gone) == 0 {
			return p, err
		}
		for _, id := range gone {
			missing[id] = true
		}
		b.History.Results = func(yield func(plan.Past, error) bool) {
			for past, err := range results {
				past.Gone = past.Gone || missing[past.ID]
				if !yield(past, err) {
					return
				}
			}
		}
		// What is to be run now may want what others left in its turn.
	}
}

// gone lists the trials that p would reuse, whose artifacts a trial wants that is to be run, and nobody has.
func (j *job) gone(ctx context.Context, l *ledger.Ledger, p *plan.Plan) ([]string, error) {
	runs := map[string]bool{}
	for _, e := range p.Experiments {
		runs[e.Name] = slices.ContainsFunc(e.Trials, func(t plan.Trial) bool { return t.Why != plan.Reused })
	}
	wanted := map[string][]string{} // paths by experiment
	for _, e := range j.spec.Experiments {
		for _, in := range e.Inputs {
			if runs[e.Name] {
				wanted[in.Experiment] = append(wanted[in.Experiment], path.Clean(in.Path))
			}
		}
	}
	var out []string
	for _, e := range p.Experiments {
		if len(wanted[e.Name]) == 0 {
			continue
		}
		for _, t := range e.Trials {
			if t.Why != plan.Reused {
				continue
			}
			o, err := l.Outcome(ctx, t.ID)
			if err != nil {
				return nil, err
			}
			if o != nil && lacksArtifact(j.state, o, wanted[e.Name]) {
				out = append(out, t.ID)
			}
		}
	}
	return out, nil
}

// lacksArtifact reports whether a file or directory that is wanted is not there whole, neither at home nor where it was
// kept on its host: there is one machine.
func lacksArtifact(state string, o *ledger.AttemptFinished, wanted []string) bool {
	home := filepath.Join(state, filepath.FromSlash(path.Dir(o.Log)), "artifacts")
	there := func(dir string, names []string, w string) bool {
		n := 0
		for _, a := range names {
			if a != w && !strings.HasPrefix(a, w+"/") {
				continue
			}
			if n++; dir == "" {
				return false
			}
			if _, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(a))); err != nil {
				return false
			}
		}
		return n > 0
	}
	return slices.ContainsFunc(wanted, func(w string) bool {
		return !there(home, o.Artifacts, w) && !there(o.KeptDir, o.Kept, w)
	})
}
