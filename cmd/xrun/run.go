package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/xrun-dev/xrun/internal/ledger"
	"github.com/xrun-dev/xrun/internal/plan"
	"github.com/xrun-dev/xrun/internal/plan/specfile"
)

type runCmd struct {
	textOrJSON
	asked
	Paths       []string `arg:"" optional:"" name:"path" help:"Directories or files of CUE, or one plan file."`
	Host        []string `placeholder:"NAME" help:"Use only these hosts."`
	MaxParallel positive `placeholder:"N" help:"At most N trials at once."`
	Overlap     string   `enum:",skip,wait,fail" default:"" placeholder:"skip" help:"What to do while another run is active: skip, wait or fail."`
	NoTUI       bool     `name:"no-tui" help:"Plain lines (there is no other view yet)."`
	Deadline    string   `placeholder:"07:30|8h" help:"Start nothing new after a time of day or a duration, nor what would not end by then."`
	DryAgents   string   `hidden:""`
	Detach      bool     `hidden:""`
}

// Help is the example.
func (runCmd) Help() string {
	return "Example:\n  xrun run ./experiments --first 1\n\nTrials that succeeded before under the same identity are reused. Ctrl-C starts nothing more and leaves\nwhat runs running; \"xrun resume\" goes on, \"xrun stop --now\" ends it."
}

// Run plans and runs.
func (c *runCmd) Run(ctx context.Context, a *app) error {
	for flag, set := range map[string]bool{"run --dry-agents": c.DryAgents != "", "run --detach": c.Detach} {
		if set {
			return notBuilt(flag)
		}
	}
	promised, paths, err := c.promised(a)
	if err != nil {
		return err
	}
	j, err := a.loadForeseen(ctx, paths)
	if err != nil {
		return err
	}
	if err := c.refuseUnbuilt(j.spec); err != nil {
		return err
	}
	s, err := a.open(ctx, j.state, or(c.Overlap, j.spec.Settings.Overlap))
	if err != nil {
		return err
	}
	defer s.close()
	if err := s.begin(ctx, j, c.Host); err != nil {
		return err
	}
	if err := j.askGlobs(ctx); err != nil {
		return err
	}
	b := j.basis(s.history)
	b.Fresh, b.Hosts = c.Fresh, c.Host
	p, err := j.build(ctx, s.ledger, b)
	if err != nil {
		return err
	}
	if promised != nil && promised.Digest != p.Digest {
		return planDiffers(promised, p)
	}
	s.asked = c.asked
	if err := s.asked.narrow(p); err != nil {
		return err
	}
	s.maxParallel = int(c.MaxParallel)
	if s.bounds, err = a.bounds(j.spec, c.Deadline); err != nil {
		return err
	}
	j.sayHere(a)
	j.spec.Place = nil // with it goes all that CUE made: a run lasts a night
	code, err := s.run(ctx, j, p, c.Paths)
	if err != nil {
		return err
	}
	s.keepRuns(context.WithoutCancel(ctx), j.spec.Settings.KeepRuns)
	return s.finish(ctx, c.Output, code)
}

// isPlan reports whether a PATH is that of a plan file: of any file that is none of CUE. It is then no part of the code,
// whatever it is called and wherever it lies.
func (a *app) isPlan(path string) bool {
	if fi, err := os.Stat(a.path(path)); err == nil && fi.Mode().IsRegular() && !strings.HasSuffix(path, ".cue") {
		a.output = append(a.output, fi)
		return true
	}
	return strings.HasSuffix(path, ".json")
}

// promised reads the plan file, if the argument is one. Its experiments are those of the directories of its spec.
func (c *runCmd) promised(a *app) (*plan.Plan, []string, error) {
	if len(c.Paths) != 1 || !a.isPlan(c.Paths[0]) {
		return nil, c.Paths, nil
	}
	p, err := readPlan(a.path(c.Paths[0]))
	if err != nil {
		return nil, nil, err
	}
	root := specfile.Root(a.Dir)
	var files []string
	for _, f := range p.Spec {
		file := filepath.Join(root, filepath.FromSlash(f.File))
		if filepath.IsAbs(f.File) || strings.HasPrefix(f.File, specfile.UserConfigDir) || a.Inventory != "" && inside(a.Inventory, file) {
			continue // an inventory: it is looked for where it always is
		}
		if _, err := os.Stat(file); err != nil {
			return nil, nil, &cliError{
				code: exitUsage, kind: "plan", msg: fmt.Sprintf("%s is a plan for %s, which is not in %s", c.Paths[0], f.File, root),
				hint: "start it within its repository, or outside git in the directory of its package: -C DIR",
			}
		}
		files = append(files, file)
	}
	return p, specfile.Paths(files), nil
}

// planDiffers says what is another trial now.
func planDiffers(old, now *plan.Plan) error {
	d := plan.Compare(old, now)
	e := &cliError{code: exitUsage, kind: "plan", hint: "give the -t and --inventory that the plan was made with, or plan again (xrun plan --out FILE), or run the PATH"}
	e.msg = fmt.Sprintf("the plan is not the one in the file any more: %s added, %d removed, %d changed", count(len(d.Added), "trial"), len(d.Removed), len(d.Changed))
	if d.Empty() {
		e.msg = "the plan is not the one in the file any more: the trials are the same, but the spec says something else about them"
	}
	list := func(what string, ts []plan.DiffTrial) {
		for _, t := range ts[:min(len(ts), maxRows)] {
			e.problems = append(e.problems, plan.Problem{Path: t.Experiment + "/" + t.ID, Message: fmt.Sprintf("%s: %s seed %d", what, t.Params, t.Seed)})
		}
		if n := len(ts) - maxRows; n > 0 {
			e.problems = append(e.problems, plan.Problem{Message: fmt.Sprintf("%s: %s", what, count(n, "more trial"))})
		}
	}
	list("added", d.Added)
	list("removed", d.Removed)
	list("changed", d.Changed)
	return e
}

// refuseUnbuilt names what the spec needs and this version cannot do, as far as this run would need it.
func (c *runCmd) refuseUnbuilt(s *plan.Spec) error {
	part := *s
	part.Experiments = slices.DeleteFunc(slices.Clone(s.Experiments), func(e plan.Experiment) bool {
		ok, err := matchAny(c.Only, e.Name)
		return err == nil && !ok
	})
	if len(c.Host) > 0 {
		part.Hosts = slices.DeleteFunc(slices.Clone(s.Hosts), func(h plan.Host) bool { return !slices.Contains(c.Host, h.Name) })
	}
	found := plan.Unbuilt(&part)
	if len(found) == 0 {
		return nil
	}
	e := &cliError{code: exitUsage, kind: "unbuilt", msg: "the spec needs what is not built yet; nothing was started", hint: "docs/roadmap.md says what comes next"}
	for _, f := range found {
		e.problems = append(e.problems, s.Problem(f))
	}
	return e
}

// narrow leaves only the trials that the flags ask for in the plan.
func (c asked) narrow(p *plan.Plan) error {
	keep := p.Experiments[:0]
	for _, e := range p.Experiments {
		ok, err := matchAny(c.Only, e.Name)
		if err != nil {
			return err
		}
		if ok {
			keep = append(keep, e)
		}
	}
	if len(keep) == 0 && len(p.Experiments) > 0 {
		return &cliError{code: exitUsage, kind: "usage", msg: fmt.Sprintf("--only %s matches no experiment", strings.Join(c.Only, ", "))}
	}
	p.Experiments = keep
	left, any := c.First, false
	for i := range p.Experiments {
		e := &p.Experiments[i]
		all := len(e.Trials)
		e.Trials = slices.DeleteFunc(e.Trials, func(t plan.Trial) bool {
			if c.Rerun == "failed" && !t.FailedBefore {
				return true
			}
			if c.First == 0 || t.Why == plan.Reused {
				return false
			}
			left--
			return left < 0
		})
		e.Left = all - len(e.Trials)
		any = any || all == 0 || len(e.Trials) > 0
	}
	if c.Rerun == "failed" && !any {
		p.Warnings = append(p.Warnings, "--rerun failed: no trial failed before, so there is nothing to run")
	}
	return nil
}

func matchAny(globs []string, name string) (bool, error) {
	if len(globs) == 0 {
		return true, nil
	}
	for _, g := range globs {
		ok, err := path.Match(g, name)
		if err != nil {
			return false, &cliError{code: exitUsage, kind: "usage", msg: fmt.Sprintf("--only %s is not a glob", g)}
		}
		if ok {
			return true, nil
		}
	}
	return false, nil
}

func or(s, d string) string {
	if s == "" {
		return d
	}
	return s
}

// A stored run is what a resume needs that the ledger does not hold: the resolved spec and which code goes with it.
type stored struct {
	Spec      *plan.Spec          `json:"spec"`
	Root      string              `json:"root"`
	Files     []plan.SourceFile   `json:"files"`
	Set       map[string][]string `json:"set"`       // by experiment: what the spec itself sets
	Dirs      map[string]string   `json:"dirs"`      // by experiment
	Manifests map[string]string   `json:"manifests"` // by experiment: tree id
	Plan      *plan.Plan          `json:"plan"`
	Asked     asked               `json:"asked"`
	Globs     []storedGlob        `json:"globs"` // the files of axes when the run began
}

// asked are the flags of a run that a resume goes on with.
type asked struct {
	Only  []string `json:"only" placeholder:"GLOB" help:"Only experiments whose name matches."`
	Fresh bool     `json:"fresh" help:"Reuse nothing."`
	Rerun string   `json:"rerun" enum:",failed" default:"" placeholder:"failed" help:"Only trials that failed before: --rerun failed."`
	First positive `json:"first" placeholder:"N" help:"Only the first N trials that are to be run."`
}

func storedPath(state, run string) string { return filepath.Join(state, "code", "runs", run+".json") }

// store keeps the spec and the shipped bytes, so that edits made meanwhile do not reach this run.
func (s *session) store(ctx context.Context, j *job, p *plan.Plan) error {
	st := stored{Spec: j.spec, Root: j.spec.Root, Files: j.spec.Files, Set: map[string][]string{}, Dirs: map[string]string{}, Manifests: map[string]string{}, Asked: s.asked, Globs: storeGlobs(j.globs, j.spec)}
	done := map[string]bool{}
	for i := range j.spec.Experiments {
		e := &j.spec.Experiments[i]
		m := j.manifests[e.Name]
		for path, set := range e.Set {
			if set {
				st.Set[e.Name] = append(st.Set[e.Name], path)
			}
		}
		st.Set[e.Name] = sortedUnique(st.Set[e.Name])
		st.Dirs[e.Name], st.Manifests[e.Name] = e.Dir, m.TreeID
		if done[m.TreeID] {
			continue
		}
		done[m.TreeID] = true
		if err := s.code.Put(ctx, m); err != nil {
			return fmt.Errorf("store the code of experiment %s: %w", e.Name, err)
		}
		if err := s.code.SaveManifest(m); err != nil {
			return fmt.Errorf("store the code of experiment %s: %w", e.Name, err)
		}
	}
	return fillFile(storedPath(s.state, s.id), func(w io.Writer) error {
		return plan.Writer{Depth: 1}.Write(w, p, func(p *plan.Plan) any {
			st.Plan = p
			return st
		})
	})
}

// recall reads back what store kept.
func (s *session) recall() (*job, *plan.Plan, error) {
	var st stored
	b, err := os.ReadFile(storedPath(s.state, s.id))
	if err == nil {
		err = json.Unmarshal(b, &st)
	}
	if err == nil && (st.Spec == nil || st.Plan == nil) {
		err = errors.New("it is not whole")
	}
	var j *job
	if err == nil {
		j, err = s.recallJob(&st)
	}
	if err != nil {
		return nil, nil, &cliError{
			code: exitError, kind: "error", msg: fmt.Sprintf("what run %s began with, in %s: %v", s.id, storedPath(s.state, s.id), err),
			hint: "`xrun run` starts a new run, and what finished is not run again",
		}
	}
	s.asked = st.Asked
	return j, st.Plan, nil
}

// start records the beginning of the run.
func (s *session) start(j *job, p *plan.Plan, paths []string) ledger.RunStarted {
	e := ledger.RunStarted{
		Command: append([]string{"xrun"}, s.app.args...), Dir: s.app.Dir, Paths: append([]string{}, paths...), Tags: append([]string{}, s.app.Tags...),
		Inventory: s.app.Inventory, XrunVersion: version(), PlanDigest: p.Digest, SpecDigest: plan.SpecDigest(j.spec),
		Commit: p.Commit, Dirty: p.Dirty, HostUser: hostUser(), Spec: []ledger.SourceFile{}, Warnings: append([]string{}, p.Warnings...),
	}
	for _, f := range p.Spec {
		e.Spec = append(e.Spec, ledger.SourceFile(f))
	}
	return e
}
