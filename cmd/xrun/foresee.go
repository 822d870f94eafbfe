package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/xrun-dev/xrun/internal/engine/checkpoint"
	"github.com/xrun-dev/xrun/internal/plan"
)

// foresee compares the spec with the code and with this machine: what would fail tonight is said now. Nothing is run,
// connected to or written. Problems are the error; the warnings are kept in j.
func (j *job) foresee(ctx context.Context) error {
	looks, known := map[*checkpoint.Manifest]*lookout{}, treeNames{}
	look := func(e *plan.Experiment) *lookout {
		m := j.manifests[e.Name]
		if looks[m] == nil {
			looks[m] = newLookout(ctx, m, j.selection(e), e.Dir, j.spec.Root, known)
		}
		return looks[m]
	}
	j.reads = func(e *plan.Experiment, variable string) bool { return plan.Reads(e, look(e), variable) }
	problems := j.badGlobs()
	for _, f := range plan.CheckCode(j.spec, func(e *plan.Experiment) plan.Look { return look(e) }) {
		if p := j.spec.Problem(f); f.Warning {
			j.codeWarnings = append(j.codeWarnings, p)
		} else {
			problems = append(problems, p)
		}
	}
	for _, f := range plan.CheckHere(j.spec, func(e *plan.Experiment) plan.Surrounding { return look(e) }, thisMachine()) {
		j.hereWarnings = append(j.hereWarnings, j.spec.Problem(f))
	}
	j.spec.Warnings = j.withoutUnused(j.spec.Warnings)
	if len(problems) > 0 {
		return sortedProblems(problems)
	}
	return nil
}

// inEnvironment are the variables in which a program finds what no placeholder gives it, by the warning that none does.
var inEnvironment = map[string]string{plan.UnusedParams: "XRUN_PARAM", plan.UnusedSeed: "XRUN_SEED"}

// withoutUnused drops the warnings about parameters and seeds that no placeholder uses where the program reads them itself.
func (j *job) withoutUnused(ps []plan.Problem) []plan.Problem {
	if !slices.ContainsFunc(ps, func(p plan.Problem) bool { return inEnvironment[p.Kind] != "" }) {
		return ps
	}
	experiments := map[string]*plan.Experiment{}
	for i := range j.spec.Experiments {
		experiments[j.spec.Experiments[i].Name] = &j.spec.Experiments[i]
	}
	return slices.DeleteFunc(slices.Clone(ps), func(p plan.Problem) bool {
		variable, e := inEnvironment[p.Kind], experiments[experimentAt(p.Path)]
		return variable != "" && e != nil && j.reads(e, variable)
	})
}

// experimentAt is the experiment that the path of a problem lies in: experiments.NAME.… or experiments."NAME".…
func experimentAt(path string) string {
	rest, _ := strings.CutPrefix(path, "experiments.")
	if quoted, ok := strings.CutPrefix(rest, `"`); ok {
		rest, _, _ = strings.Cut(quoted, `"`)
		return rest
	}
	rest, _, _ = strings.Cut(rest, ".")
	return rest
}

func sortedProblems[S ~[]plan.Problem](ps S) S {
	ps = slices.Clone(ps)
	slices.SortStableFunc(ps, func(a, b plan.Problem) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
	return ps
}

// allWarnings are in the order of the source.
func (j *job) allWarnings() []plan.Problem {
	return sortedProblems(slices.Concat(j.spec.Warnings, j.codeWarnings, j.hereWarnings))
}

// warning is one of them in a line: the place, what is dubious, what to do.
func warning(p plan.Problem) string {
	s := p.Message
	if p.Path != "" {
		s = p.Path + ": " + s
	}
	switch {
	case p.File == "":
	case p.Line == 0: // of the file or directory as a whole
		s = p.File + ": " + s
	default:
		s = fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Col, s)
	}
	if p.Suggestion != nil {
		s += " (" + *p.Suggestion + ")"
	}
	return s
}

// sayHere tells what will fail on this machine: it is no part of the plan, and so of no record.
func (j *job) sayHere(a *app) {
	if a.Quiet {
		return
	}
	for _, p := range folded(sortedProblems(j.hereWarnings)) {
		fmt.Fprintf(a.stderr, "warning: %s\n", visible(warning(p)))
	}
}

// codeProblem places what keeps the code of an experiment from being listed.
func codeProblem(s *plan.Spec, experiment string, err error) plan.Problem {
	f := plan.Finding{Path: []string{"experiments", experiment, "code"}, Message: err.Error(), Suggestion: hintOf(err)}
	if e, ok := errors.AsType[*checkpoint.SelectionError](err); ok && e.Field != "" {
		f.Path = append(f.Path, e.Field)
	}
	return s.Problem(f)
}

// A machine is this one, below a root that is / but in tests.
type machine struct{ root string }

// testOnlyRoot is where tests keep a /proc and a /dev of their own.
var testOnlyRoot = "/"

func thisMachine() machine { return machine{testOnlyRoot} }

// Which looks along PATH, as a shell does. A program in the current directory is none.
func (machine) Which(program string) string {
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		file := filepath.Join(dir, program)
		if fi, err := os.Stat(file); filepath.IsAbs(dir) && err == nil && fi.Mode().IsRegular() && fi.Mode()&0o111 != 0 {
			return file
		}
	}
	return ""
}

// GPUs counts what the drivers of NVIDIA and AMD list. No program is run for it.
func (m machine) GPUs() int {
	if entries, err := os.ReadDir(filepath.Join(m.root, "proc/driver/nvidia/gpus")); err == nil && len(entries) > 0 {
		return len(entries)
	}
	count := func(pattern string) int {
		found, _ := filepath.Glob(filepath.Join(m.root, pattern)) // the only error is that of the pattern
		return len(found)
	}
	n := count("dev/nvidia[0-9]*")
	if m.Has(filepath.Join(m.root, "dev/kfd")) { // otherwise what renders is a display, and does not compute
		n = max(n, count("dev/dri/renderD*"))
	}
	return n
}

// Has reports whether something lies there.
func (machine) Has(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// Home is HOME.
func (machine) Home() string {
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Clean(home)
}

// folded makes one of the warnings that say the same about one line of the source, as those of experiments that come
// from a template do.
func folded(ps []plan.Problem) []plan.Problem {
	type key struct {
		file      string
		line, col int
		message   string
	}
	var out []plan.Problem
	at, more := map[key]int{}, map[int]int{}
	for _, p := range ps {
		k := key{p.File, p.Line, p.Col, p.Message}
		if i, ok := at[k]; ok && p.File != "" {
			more[i]++
			continue
		}
		at[k] = len(out)
		out = append(out, p)
	}
	for i, n := range more {
		out[i].Message += fmt.Sprintf(" (and %d more like it)", n)
	}
	return out
}
