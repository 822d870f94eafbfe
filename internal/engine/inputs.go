package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/xrun-dev/xrun/internal/ledger"
	"github.com/xrun-dev/xrun/internal/plan"
)

// A produced is a trial with a result, as other experiments may start from it.
type produced struct {
	trial     *plan.Trial
	objective float64
	dir       string // of its artifacts, absolute
	files     []string
	keptDir   string // of those that stayed on the host
	kept      []string
}

// produce keeps a result for the experiments that start from it.
func (e *experimentState) produce(t *plan.Trial, out ledger.AttemptFinished) {
	if p, ok := e.product(t, out); ok {
		e.results = append(e.results, p)
	}
}

// product is a result as others start from it, if any do.
func (e *experimentState) product(t *plan.Trial, out ledger.AttemptFinished) (produced, bool) {
	if !e.upstream || out.Objective == nil {
		return produced{}, false
	}
	return produced{
		trial: t, objective: float64(*out.Objective), files: out.Artifacts, kept: out.Kept, keptDir: out.KeptDir,
		dir: filepath.Join(e.state, filepath.FromSlash(path.Dir(out.Log)), "artifacts"),
	}, true
}

// feeds reports whether an experiment of the spec starts from results of the one of that name.
func feeds(s *plan.Spec, name string) bool {
	return slices.ContainsFunc(s.Experiments, func(e plan.Experiment) bool { return startsFrom(&e, name) })
}

func startsFrom(e *plan.Experiment, name string) bool {
	for _, in := range e.Inputs {
		if in.Experiment == name {
			return true
		}
	}
	return false
}

// named finds an experiment of the run; nil if it is no part of it.
func (r *run) named(experiment string) *experimentState {
	i := slices.IndexFunc(r.experiments, func(e *experimentState) bool { return e.spec.Name == experiment })
	if i < 0 {
		return nil
	}
	return r.experiments[i]
}

// waits reports whether an experiment starts from one that is not over yet.
func (r *run) waits(e *experimentState) bool {
	for _, in := range e.spec.Inputs {
		if up := r.named(in.Experiment); up != nil && !up.over() {
			return true
		}
	}
	return false
}

// over: every trial has its turn behind it.
func (e *experimentState) over() bool {
	return e.undeclared == 0 && len(e.pending) == 0 && e.inFlight == 0
}

// choose finds what a task starts from, once all is there, and says why it cannot start; "" if it can. One that runs on
// its host already has what it started from, and is asked when it comes back to be tried again.
func (r *run) choose(t *task) (why string) {
	e := t.exp
	if t.inputs != nil || t.adopt != nil || len(e.spec.Inputs) == 0 || r.waits(e) {
		return ""
	}
	t.inputs = map[string]string{}
	for _, name := range sortedKeys(e.spec.Inputs) {
		file, problem := r.input(e.spec.Inputs[name], t.trial)
		if problem != "" {
			return fmt.Sprintf("input %s: %s", name, problem)
		}
		t.inputs[name] = file
	}
	return ""
}

func sortedKeys[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// input is the path of what a trial starts from, or why there is none.
func (r *run) input(in plan.Input, t *plan.Trial) (file, problem string) {
	up := r.named(in.Experiment)
	if up == nil {
		return "", fmt.Sprintf("experiment %s is no part of this run", in.Experiment)
	}
	from, problem := up.pick(in.Trial, t)
	if problem != "" {
		return "", problem
	}
	file = from.file(in.Path)
	if _, err := os.Lstat(file); file != "" && errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Sprintf("artifact %s of trial %s of %s is gone: it was %s", in.Path, from.trial.ID, in.Experiment, file)
	}
	if file != "" {
		return file, ""
	}
	return "", fmt.Sprintf("trial %s of %s has no artifact %s", from.trial.ID, in.Experiment, in.Path)
}

// file is where an artifact lies; "" if there is none of that name. What stayed on a host is as good as what came home:
// there is one machine.
func (p produced) file(name string) string {
	clean := path.Clean(name)
	for dir, files := range map[string][]string{p.dir: p.files, p.keptDir: p.kept} {
		for _, f := range files {
			if f == clean || strings.HasPrefix(f, clean+"/") {
				return filepath.Join(dir, filepath.FromSlash(clean))
			}
		}
	}
	return ""
}

// pick is the trial that which names: best, only or same. The experiment is over.
func (e *experimentState) pick(which string, t *plan.Trial) (produced, string) {
	if which == "same" {
		return e.choice(which, func(p produced) bool { return agree(p.trial.Params, t.Params) })
	}
	if e.picked == nil {
		e.picked = map[string]pick{}
	}
	c, ok := e.picked[which]
	if !ok {
		c.from, c.problem = e.choice(which, func(produced) bool { return true })
		e.picked[which] = c
	}
	return c.from, c.problem
}

// A pick is what choice found.
type pick struct {
	from    produced
	problem string
}

// choice is the best of those results that are asked for, and of equal ones the first of the plan: not the first that
// happened to end.
func (e *experimentState) choice(which string, asked func(produced) bool) (produced, string) {
	var found []produced
	for _, p := range e.results {
		if asked(p) {
			found = append(found, p)
		}
	}
	switch name := e.spec.Name; {
	case len(found) == 0 && which == "same":
		return produced{}, fmt.Sprintf("no trial of %s with the same parameters has a result", name)
	case len(found) == 0:
		return produced{}, fmt.Sprintf("no trial of %s has a result", name)
	case which == "only" && len(found) > 1:
		return produced{}, fmt.Sprintf("%s has %d results, and can have only one", name, len(found))
	}
	place := func(p produced) int {
		return slices.IndexFunc(e.planned.Trials, func(t plan.Trial) bool { return t.ID == p.trial.ID })
	}
	return slices.MinFunc(found, func(a, b produced) int {
		switch {
		case a.objective == b.objective:
			return place(a) - place(b)
		case (a.objective > b.objective) == e.spec.Objective.Maximize():
			return -1
		}
		return 1
	}), ""
}

// agree reports whether two points have the same values of all parameters that both have.
func agree(a, b plan.Params) bool {
	for _, p := range a {
		if v, ok := b.Get(p.Name); ok && v != p.Value {
			return false
		}
	}
	return true
}
