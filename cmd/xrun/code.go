package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/xrun-dev/xrun/internal/engine/checkpoint"
	"github.com/xrun-dev/xrun/internal/plan"
	"github.com/xrun-dev/xrun/internal/plan/specfile"
)

// codeDir is the directory of an experiment's code. code.path starts at the package; without it the code is the
// repository, and outside git the package's directory.
func codeDir(e *plan.Experiment) string {
	switch root := checkpoint.FindRoot(e.Dir); {
	case filepath.IsAbs(e.Code.Path):
		return filepath.Clean(e.Code.Path)
	case e.Code.Path == "" && root != "":
		return root
	default:
		return filepath.Join(e.Dir, filepath.FromSlash(e.Code.Path))
	}
}

// scan lists the code of every experiment. Those that ship the same are listed once.
func (j *job) scan(ctx context.Context, scan scanner) error {
	j.manifests, j.setup = map[string]*checkpoint.Manifest{}, map[string][]plan.CodeFile{}
	done := map[string]*checkpoint.Manifest{}
	failed, also := map[string]int{}, map[int]int{} // the problem of a selection, and how many more experiments have it
	var problems specfile.Problems
	for i := range j.spec.Experiments {
		e := &j.spec.Experiments[i]
		sel := j.selection(e)
		key := fmt.Sprintf("%q", []any{sel.Dir, sel.Include, sel.Exclude, sel.Ignore, sel.MaxSize})
		m, ok := done[key]
		if !ok {
			var err error
			m, err = scan(ctx, sel)
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			done[key] = m
			if err != nil {
				failed[key] = len(problems)
				problems = append(problems, codeProblem(j.spec, e.Name, err))
				continue
			}
			for _, n := range m.Notes {
				j.codeWarnings = append(j.codeWarnings, j.spec.Problem(plan.Finding{Path: []string{"experiments", e.Name, "code"}, Message: n}))
			}
		}
		if k, bad := failed[key]; bad {
			also[k]++
			continue
		}
		if len(m.Files) == 0 && e.UsesCode() {
			j.codeWarnings = append(j.codeWarnings, j.spec.Problem(plan.Finding{
				Path: []string{"experiments", e.Name, "code"}, Message: "no file is shipped: its directory is empty, or git ignores all of it",
			}))
		}
		j.manifests[e.Name] = m
		if err := j.setupFiles(e, m); err != nil {
			problems = append(problems, j.spec.Problem(plan.Finding{Path: []string{"experiments", e.Name, "setup", "key"}, Message: err.Error()}))
		}
	}
	for k, n := range also {
		problems[k].Message += fmt.Sprintf(" (and of %s with the same code)", count(n, "more experiment"))
	}
	if len(problems) > 0 {
		return sortedProblems(problems)
	}
	return nil
}

// setupFiles finds the files that decide whether an experiment's setup must run again. A glob that finds none decides
// nothing, which nobody means.
func (j *job) setupFiles(e *plan.Experiment, m *checkpoint.Manifest) error {
	if e.Setup == nil || len(e.Setup.Key) == 0 {
		return nil
	}
	files, none, err := m.Select(e.Setup.Key)
	if err != nil {
		return err
	}
	for _, f := range files {
		j.setup[e.Name] = append(j.setup[e.Name], plan.CodeFile(f))
	}
	for _, g := range none {
		if !plan.IsGlob(g) {
			continue // a plain name: CheckCode knows what it may have been meant as
		}
		at := strconv.Itoa(slices.Index(e.Setup.Key, g))
		j.codeWarnings = append(j.codeWarnings, j.spec.Problem(plan.Finding{
			Path:    []string{"experiments", e.Name, "setup", "key", at},
			Message: fmt.Sprintf("%s names no file that is shipped: a change of it would go unseen", g),
		}))
	}
	return nil
}

// selection says what an experiment ships.
func (j *job) selection(e *plan.Experiment) checkpoint.Selection {
	omit := append(j.specFilesIn(codeDir(e)), j.state, filepath.Join(j.spec.Root, stateName))
	if cache, err := os.UserCacheDir(); err == nil {
		omit = append(omit, filepath.Join(cache, "xrun")) // jobs lie there: never code, even where the code is the home directory
	}
	for d := e.Dir; ; d = filepath.Dir(d) {
		omit = append(omit, filepath.Join(d, "cue.mod"))
		if d == j.spec.Root || d == filepath.Dir(d) {
			break
		}
	}
	// A package that somebody names outside of the root brings its own repository.
	within := j.spec.Root
	if !inside(resolve(within), resolve(e.Dir)) {
		within = cmp.Or(checkpoint.FindRoot(e.Dir), e.Dir)
	}
	return checkpoint.Selection{
		Dir: codeDir(e), Within: within, Include: e.Code.Include, Exclude: e.Code.Exclude, Ignore: e.Code.Ignore,
		Omit: sortedUnique(omit), OmitFile: j.notCode, MaxSize: int64(e.Code.MaxSize),
	}
}

// specFilesIn are the files of the spec that lie in a directory, as they are spelled or as links lead. A thousand packages
// have a thousand files, and each ships its own directory: only those there need be asked about for every file.
func (j *job) specFilesIn(dir string) []string {
	if j.realFiles == nil {
		j.realFiles = make([]string, len(j.spec.AbsFiles))
		for i, f := range j.spec.AbsFiles {
			j.realFiles[i] = resolve(f)
		}
	}
	var out []string
	realDir := resolve(dir)
	for i, f := range j.spec.AbsFiles {
		if inside(dir, f) || inside(realDir, j.realFiles[i]) {
			out = append(out, f)
		}
	}
	return out
}
