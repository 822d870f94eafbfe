package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/xrun-dev/xrun/internal/engine"
	"github.com/xrun-dev/xrun/internal/engine/checkpoint"
	"github.com/xrun-dev/xrun/internal/ledger"
	"github.com/xrun-dev/xrun/internal/plan"
)

type resumeCmd struct {
	textOrJSON
	RunID         string   `arg:"" optional:"" name:"run" help:"The run; the newest unfinished one by default."`
	Host          []string `placeholder:"NAME" help:"Use only these hosts."`
	MaxParallel   positive `placeholder:"N" help:"At most N trials at once."`
	AcceptChanges bool     `help:"Go on with the spec and the code as they are now."`
	NoTUI         bool     `name:"no-tui" help:"Plain lines (there is no other view yet)."`
	Deadline      string   `placeholder:"07:30|8h" help:"Start nothing new after a time of day or a duration, nor what would not end by then."`
}

// Help is the example.
func (resumeCmd) Help() string {
	return "Example:\n  xrun resume\n\nWhat finished is not run again, what still runs is taken up. The run keeps the code and the spec that it started with."
}

// Run goes on with a run.
func (c *resumeCmd) Run(ctx context.Context, a *app) error {
	state := a.findState()
	if _, err := os.Stat(filepath.Join(state, ledger.FileName)); err != nil {
		return usageHint(&ledger.NoRunError{Arg: or(c.RunID, "last")})
	}
	s, err := a.open(ctx, state, "fail")
	if e, ok := errors.AsType[*cliError](err); ok && e.kind == "overlap" {
		e.code, e.kind, e.hint = exitSkipped, "skipped", "it goes on by itself: `xrun show last` says how far it is, `xrun stop` ends it"
	}
	if err != nil {
		return err
	}
	defer s.close()
	r, err := c.find(ctx, s)
	if err != nil {
		return err
	}
	s.id = r.ID
	if !r.Unfinished() {
		fmt.Fprintf(a.stderr, "xrun: run %s is finished (%s); there is nothing to resume\n", r.ID, r.Outcome)
		return c.repeat(ctx, s, r)
	}
	return c.goOn(ctx, s)
}

// find is the run to go on with: the one named, else the newest unfinished, else the newest.
func (c *resumeCmd) find(ctx context.Context, s *session) (ledger.Run, error) {
	if c.RunID != "" {
		r, err := s.ledger.Find(ctx, c.RunID)
		return r, usageHint(err)
	}
	runs, err := s.ledger.Runs(ctx)
	if err != nil {
		return ledger.Run{}, err
	}
	for _, r := range runs {
		// One that was imported does not bring what it began with.
		if _, err := os.Stat(storedPath(s.state, r.ID)); r.Unfinished() && err == nil {
			return r, nil
		}
	}
	r, err := s.ledger.Find(ctx, "last")
	return r, usageHint(err)
}

// repeat prints what a finished run found and exits as it did.
func (c *resumeCmd) repeat(ctx context.Context, s *session, r ledger.Run) error {
	code := 0
	if r.ExitCode != nil {
		code = *r.ExitCode
	}
	// Whoever was killed between the end of the run and the last file of its report could not write it.
	if _, err := os.Stat(filepath.Join(s.dir(), "junit.xml")); errors.Is(err, os.ErrNotExist) {
		if _, err := writeReport(ctx, s.ledger, s.state, s.id); err != nil {
			return err
		}
		fmt.Fprintf(s.app.stderr, "xrun: its report was missing and is written: %s\n", filepath.Join(s.dir(), "report.md"))
	}
	if c.Output == "json" {
		rep, err := buildReport(ctx, s.ledger, s.id)
		if err != nil {
			return err
		}
		if _, err := s.app.stdout.Write(rep.JSON()); err != nil {
			return err
		}
	}
	return status(code)
}

func (c *resumeCmd) goOn(ctx context.Context, s *session) error {
	engine.Forget(s.dir(), s.app.log.Named("control")) // before others find us as the run
	if err := s.lock.name(s.id, s.app.now()); err != nil {
		return err
	}
	j, old, err := s.recall()
	if err != nil {
		return err
	}
	began, err := s.began(ctx)
	if err != nil {
		return err
	}
	resumed := ledger.RunResumed{Command: append([]string{"xrun"}, s.app.args...), Accepted: []string{}}
	if j, resumed.Accepted, err = c.accepted(ctx, s, began, j, old); err != nil {
		return err
	}
	if s.bounds, err = s.app.bounds(j.spec, c.Deadline); err != nil {
		return err // before anything of the run is touched
	}
	if err := s.heal(ctx, j); err != nil {
		return err
	}
	if err := s.begin(ctx, j, c.Host); err != nil {
		return err
	}
	p, err := c.plan(ctx, s, j, old)
	if err != nil {
		return err
	}
	resumed.PlanDigest, resumed.SpecDigest = p.Digest, plan.SpecDigest(j.spec)
	seen, err := engine.Review(ctx, s.ledger, s.id)
	if err != nil {
		return err
	}
	adopt, err := s.adopt(ctx, p)
	if err != nil {
		return err
	}
	if err := s.listen(ctx); err != nil {
		return err
	}
	facts := []ledger.Event{ledger.New(s.id, s.app.now(), resumed)}
	if c.AcceptChanges {
		facts = append(facts, s.dropped(seen, p)...)
		seen.Experiments, seen.Finished = map[string]bool{}, map[string]bool{}
	}
	if err := s.ledger.Append(ctx, facts...); err != nil {
		return err
	}
	s.maxParallel, s.bounds.Before = int(c.MaxParallel), seen.Spent
	code, err := s.execute(ctx, j, p, adopt, seen)
	if err != nil {
		return err
	}
	s.keepRuns(context.WithoutCancel(ctx), j.spec.Settings.KeepRuns)
	return s.finish(ctx, c.Output, code)
}

// accepted is the job to go on with, and the changes of the spec that it takes; changes that were not asked for are the
// error.
func (c *resumeCmd) accepted(ctx context.Context, s *session, began ledger.RunStarted, j *job, old *plan.Plan) (*job, []string, error) {
	now, diff, err := s.compareSpec(ctx, began, j, old)
	switch {
	case err != nil:
		return nil, nil, err
	case len(diff) > 0 && !c.AcceptChanges:
		return nil, nil, &cliError{
			code: exitUsage, kind: "changed", msg: "the spec is not the one that the run started with: " + strings.Join(diff, "; "),
			hint: "undo the change, or take it with --accept-changes; finished trials that it does not touch stay finished",
		}
	case len(diff) > 0:
		return now, diff, now.askGlobs(ctx)
	case c.AcceptChanges && now != nil:
		now.globs = j.globs
		return now, []string{}, nil // the code may have changed
	default:
		return j, []string{}, nil
	}
}

// plan is what is left to do of the run, or the whole of it anew where changes were accepted.
func (c *resumeCmd) plan(ctx context.Context, s *session, j *job, old *plan.Plan) (*plan.Plan, error) {
	b := j.basis(s.history)
	b.Hosts, b.Fresh = c.Host, s.asked.Fresh
	p, err := j.planOn(ctx, s.ledger, b)
	if err != nil {
		return nil, err
	}
	if !c.AcceptChanges {
		keepTrials(p, old)
		return p, nil
	}
	if err := s.asked.narrow(p); err != nil {
		return nil, err
	}
	if err := s.store(ctx, j, p); err != nil {
		return nil, err
	}
	return p, writePlan(filepath.Join(s.dir(), "plan.json"), p)
}

// keepTrials leaves in p the trials that the run started with: --first and --only of its command still hold.
func keepTrials(p, old *plan.Plan) {
	keep := map[string]bool{}
	for _, e := range old.Experiments {
		for _, t := range e.Trials {
			keep[e.Name+"/"+t.ID] = true
		}
	}
	experiments := p.Experiments[:0]
	for _, e := range p.Experiments {
		trials := e.Trials[:0:0]
		for _, t := range e.Trials {
			if keep[e.Name+"/"+t.ID] {
				trials = append(trials, t)
			}
		}
		if e.Trials = trials; len(trials) > 0 {
			experiments = append(experiments, e)
		}
	}
	p.Experiments = experiments
}

// dropped gives the trials that the accepted changes took away their final state.
func (s *session) dropped(seen *engine.Seen, p *plan.Plan) []ledger.Event {
	still := map[ledger.Key]bool{}
	for _, e := range p.Experiments {
		for _, t := range e.Trials {
			still[ledger.Key{Experiment: e.Name, Trial: t.ID}] = true
		}
	}
	var keys []ledger.Key
	for k := range seen.Planned {
		if _, final := seen.Final[k]; !final && !still[k] {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(a, b ledger.Key) int {
		return cmp.Or(strings.Compare(a.Experiment, b.Experiment), strings.Compare(a.Trial, b.Trial))
	})
	var out []ledger.Event
	for _, k := range keys {
		out = append(out, ledger.New(s.id, s.app.now(), ledger.TrialFinished{
			Key: k, State: ledger.NotRun, Cause: string(engine.CauseCancelled), Message: "the changes that were accepted took it out of the spec",
		}))
	}
	return out
}

// heal makes sure that the shipped bytes are there as they were: from the files they came from, if those are still the
// same.
func (s *session) heal(ctx context.Context, j *job) error {
	for _, name := range sortedKeys(j.manifests) {
		if err := s.code.Put(ctx, j.manifests[name]); err != nil {
			return &cliError{
				code: exitError, kind: "code", msg: fmt.Sprintf("the code of experiment %s, as run %s began with it, is damaged in %s: %v", name, s.id, s.code.Dir, err),
				hint: "take the code as it is now with --accept-changes, or start a new run; what finished is not run again",
			}
		}
	}
	return nil
}

// began is the event that began the run.
func (s *session) began(ctx context.Context) (ledger.RunStarted, error) {
	for e, err := range s.ledger.Events(ctx, s.id) {
		if err != nil {
			return ledger.RunStarted{}, err
		}
		if b, ok := e.Body.(ledger.RunStarted); ok {
			return b, nil
		}
	}
	return ledger.RunStarted{}, fmt.Errorf("the ledger does not tell how run %s began", s.id)
}

// compareSpec loads the spec as it is now and says how it differs from the one that the run started with. A spec that
// is gone or wrong now is a difference too.
func (s *session) compareSpec(ctx context.Context, began ledger.RunStarted, j *job, old *plan.Plan) (now *job, diff []string, err error) {
	a := *s.app
	a.Dir, a.Tags, a.Inventory, a.State = began.Dir, began.Tags, began.Inventory, s.state
	now, err = a.load(ctx, began.Paths)
	if err != nil {
		if ctx.Err() != nil {
			return nil, nil, err
		}
		return nil, []string{"it cannot be read: " + err.Error()}, nil
	}
	if plan.SpecDigest(now.spec) == plan.SpecDigest(j.spec) {
		return now, nil, nil
	}
	now.globs = j.globs
	p, err := buildPlan(now.basis(plan.History{}))
	if err != nil {
		return nil, []string{err.Error()}, nil
	}
	d := plan.Compare(old, p)
	diff = append(diff, fmt.Sprintf("%s added, %d removed, %d changed, %d the same", count(len(d.Added), "trial"), len(d.Removed), len(d.Changed), d.Same))
	return now, append(diff, changedFields(j.spec, now.spec)...), nil
}

// changedFields names what differs between two specs, a level below each experiment.
func changedFields(old, now *plan.Spec) []string {
	var out []string
	a, b := fieldsOf(old), fieldsOf(now)
	for _, path := range sortedKeys(b) {
		if a[path] != b[path] {
			out = append(out, path)
		}
	}
	for _, path := range sortedKeys(a) {
		if _, ok := b[path]; !ok {
			out = append(out, path)
		}
	}
	return out
}

func fieldsOf(s *plan.Spec) map[string]string {
	out := map[string]string{}
	add := func(prefix string, v any) {
		var fields map[string]json.RawMessage
		b, err := json.Marshal(v)
		if err == nil {
			err = json.Unmarshal(b, &fields)
		}
		if err != nil {
			return // a spec always encodes
		}
		for name, raw := range fields {
			out[prefix+"."+name] = string(raw)
		}
	}
	for _, e := range s.Experiments {
		add("experiments."+e.Name, e)
	}
	for _, h := range s.Hosts {
		add("hosts."+h.Name, h)
	}
	add("settings", s.Settings)
	return out
}

// recallJob makes a job of what was stored.
func (s *session) recallJob(st *stored) (*job, error) {
	spec := st.Spec
	spec.Root, spec.Files = st.Root, st.Files
	j := &job{spec: spec, state: s.state, globs: recallGlobs(st.Globs), manifests: map[string]*checkpoint.Manifest{}, setup: map[string][]plan.CodeFile{}}
	for i := range spec.Experiments {
		e := &spec.Experiments[i]
		e.Dir, e.Set = st.Dirs[e.Name], map[string]bool{}
		for _, path := range st.Set[e.Name] {
			e.Set[path] = true
		}
		m, err := s.code.LoadManifest(st.Manifests[e.Name])
		if err != nil {
			return nil, fmt.Errorf("the code of experiment %s of run %s: %w", e.Name, s.id, err)
		}
		j.manifests[e.Name] = m
		if err := j.setupFiles(e, m); err != nil {
			return nil, err
		}
	}
	return j, nil
}
