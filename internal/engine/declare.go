package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"slices"

	"github.com/xrun-dev/xrun/internal/ledger"
	"github.com/xrun-dev/xrun/internal/plan"
)

// chunk is how many facts are stored at once while a plan is recorded.
const chunk = 1000

// portion is how many trials are declared at once. What runs waits for no more of them when it records something.
const portion = 250

// declare records the plan, and of its trials the first portion: so much is known before anything starts. The rest follows
// while the first trials run (feed). Of a resumed run only what is new is recorded.
func (r *run) declare(ctx context.Context) error {
	d := &declaration{run: r, adopted: map[string]bool{}}
	for i := range r.Plan.Experiments {
		if err := d.experiment(&r.Plan.Experiments[i]); err != nil {
			return err
		}
	}
	slices.SortStableFunc(r.experiments, func(a, b *experimentState) int { return b.spec.Priority - a.spec.Priority })
	for _, e := range r.experiments {
		d.rest = append(d.rest, part{e, d.order(e)})
	}
	first, err := d.next(ctx, portion)
	if err != nil {
		return err
	}
	r.declaration = d
	for _, news := range first {
		e := news.exp
		e.pending = append(e.pending, e.book(news)...)
	}
	for _, e := range r.experiments {
		if err := r.settleExperiment(e); err != nil {
			return err
		}
	}
	return nil
}

// A declaration turns planned trials into tasks, a portion at a time: what it says of them is on disk before they are tasks.
type declaration struct {
	*run
	rest    []part
	bodies  []ledger.Body
	adopted map[string]bool // jobs
}

// A part is what is left to declare of an experiment: places in its plan, in the order in which they are tried.
type part struct {
	exp    *experimentState
	trials []int
}

// A declared is what became of some trials of an experiment: tasks, and results that were there already.
type declared struct {
	exp      *experimentState
	tasks    []*task
	counts   map[ledger.State]int
	produced []produced
	n        int // trials
	err      error
}

// book takes over what was declared, and returns its tasks.
func (e *experimentState) book(news declared) []*task {
	e.undeclared -= news.n
	for s, n := range news.counts {
		e.counts[s] += n
	}
	e.results = append(e.results, news.produced...)
	return news.tasks
}

// feed declares what is left, for the scheduler to take. It has ended when ctx has.
func (d *declaration) feed(ctx context.Context, to chan<- declared) {
	send := func(news declared) bool {
		select {
		case to <- news:
			return true
		case <-ctx.Done():
			return false
		}
	}
	defer func() {
		if v := recover(); v != nil {
			send(declared{err: &BugError{Value: v, Stack: debug.Stack()}})
		}
	}()
	for len(d.rest) > 0 && ctx.Err() == nil {
		some, err := d.next(ctx, portion)
		if err != nil {
			send(declared{err: err})
			return
		}
		for _, news := range some {
			if !send(news) {
				return
			}
		}
	}
}

// next declares up to n trials.
func (d *declaration) next(ctx context.Context, n int) ([]declared, error) {
	var out []declared
	for n > 0 && len(d.rest) > 0 {
		p := &d.rest[0]
		k := min(n, len(p.trials))
		news := declared{exp: p.exp, n: k, counts: map[ledger.State]int{}}
		for _, i := range p.trials[:k] {
			if err := d.trial(ctx, &news, i); err != nil {
				return nil, err
			}
		}
		out = append(out, news)
		if p.trials = p.trials[k:]; len(p.trials) == 0 {
			d.rest = d.rest[1:]
		}
		n -= k
	}
	err := d.append(d.bodies...)
	d.bodies = d.bodies[:0]
	return out, err
}

// order is that in which the trials of an experiment are declared: those that run on hosts already come first.
func (d *declaration) order(e *experimentState) []int {
	out := make([]int, 0, len(e.planned.Trials))
	for i := range e.planned.Trials {
		if _, ok := d.Adopt[e.planned.Trials[i].ID]; ok {
			out = append(out, i)
		}
	}
	running := len(out)
	for i := range e.planned.Trials {
		if _, ok := d.Adopt[e.planned.Trials[i].ID]; running == 0 || !ok {
			out = append(out, i)
		}
	}
	return out
}

// experiment announces one experiment, without its trials.
func (d *declaration) experiment(pe *plan.PlannedExperiment) error {
	i := slices.IndexFunc(d.Spec.Experiments, func(e plan.Experiment) bool { return e.Name == pe.Name })
	if i < 0 {
		return fmt.Errorf("the plan has experiment %s, the spec has not", pe.Name)
	}
	spec := &d.Spec.Experiments[i]
	e := &experimentState{
		spec: spec, planned: pe, command: plan.ParseCommand(spec.Command, spec.Env), counts: map[ledger.State]int{}, state: d.State,
		upstream: feeds(d.Spec, pe.Name), undeclared: len(pe.Trials),
	}
	for _, h := range pe.Hosts {
		if h.Eligible {
			e.eligible = append(e.eligible, h.Name)
		}
	}
	if d.Seen == nil || !d.Seen.Experiments[pe.Name] {
		b, err := planned(spec, pe, e.eligible)
		if err != nil {
			return err
		}
		d.bodies = append(d.bodies, ledger.CodeStored{ID: pe.Code.ID, Files: codeFiles(d.Codes[pe.Code.ID])}, b)
	}
	if spec.Sweep != nil {
		e.ladder = newLadder(spec.Sweep.EarlyStop)
		if err := d.remember(e); err != nil {
			return err
		}
		if c := spec.Sweep.Canary; c != nil && !c.Off && !d.worked(e) {
			e.gate = newGate(durationOf(&c.For), true)
		}
	}
	d.experiments = append(d.experiments, e)
	return nil
}

// worked reports whether some trial of an experiment has a result, or runs: then its code works, as far as is known.
func (d *declaration) worked(e *experimentState) bool {
	for i := range e.planned.Trials {
		t := &e.planned.Trials[i]
		key := ledger.Key{Experiment: e.spec.Name, Trial: t.ID}
		_, runs := d.Adopt[t.ID]
		if t.Why == plan.Reused || runs || d.Seen != nil && (d.Seen.Final[key] == ledger.Succeeded || d.Seen.Final[key] == ledger.Reused) {
			return true
		}
	}
	return false
}

// trial declares one trial, and adds its task, if there is something to do, or its result.
func (d *declaration) trial(ctx context.Context, news *declared, index int) error {
	e := news.exp
	t := &task{exp: e, trial: &e.planned.Trials[index]}
	key := t.key()
	result := func(s ledger.State, out ledger.AttemptFinished) {
		news.counts[s]++
		if s == ledger.Succeeded || s == ledger.Reused {
			if p, ok := e.product(t.trial, out); ok {
				news.produced = append(news.produced, p)
			}
		}
	}
	if d.Seen == nil || !d.Seen.Planned[key] {
		b, err := trialPlanned(t, index)
		if err != nil {
			return err
		}
		d.bodies = append(d.bodies, b)
	} else {
		if s, ok := d.Seen.Final[key]; ok {
			result(s, d.Seen.Results[key])
			return nil
		}
		t.attempts, t.failed, t.chain = d.Seen.Attempts[key], d.Seen.Failed[key], d.Seen.Chains[key]
		t.rung = e.climbed[t.trial.ID]
	}
	// Two experiments may have a trial of one id; a job belongs to one of them.
	if open, ok := d.Adopt[t.trial.ID]; ok && !d.adopted[open.Job] && (open.Run != d.Run || open.Key == key) {
		d.adopted[open.Job] = true
		t.adopt = &open
	}
	if t.adopt == nil && t.trial.Why == plan.Reused {
		from, err := d.Reusable(ctx, t.trial.ID)
		if err != nil {
			return err
		}
		if from != nil {
			if err := d.reread(from, e.spec); err != nil {
				return err
			}
			result(ledger.Reused, from.Outcome)
			d.bodies = append(d.bodies, ledger.TrialFinished{Key: key, State: ledger.Reused, Reused: from})
			return nil
		}
	}
	news.tasks = append(news.tasks, t)
	return nil
}

func trialPlanned(t *task, index int) (ledger.TrialPlanned, error) {
	params, err := json.Marshal(t.trial.Params)
	if err != nil {
		return ledger.TrialPlanned{}, fmt.Errorf("trial %s: %w", t.trial.ID, err)
	}
	return ledger.TrialPlanned{
		Key: t.key(), Index: index, Params: params, Seed: t.trial.Seed,
		Point: plan.PointKey(t.exp.spec.Name, t.trial.Params, t.trial.Seed),
		Code:  t.trial.Code, Command: t.trial.Command(), Parts: t.trial.Parts(),
		Why: string(t.trial.Why), Changed: t.trial.Changed,
	}, nil
}

func planned(e *plan.Experiment, pe *plan.PlannedExperiment, hosts []string) (ledger.ExperimentPlanned, error) {
	spec, err := json.Marshal(e)
	if err != nil {
		return ledger.ExperimentPlanned{}, fmt.Errorf("experiment %s: %w", e.Name, err)
	}
	b := ledger.ExperimentPlanned{
		Name: e.Name, Kind: pe.Kind, Code: pe.Code.ID, Dir: pe.Dir, Trials: len(pe.Trials), Left: pe.Left, Hosts: append([]string{}, hosts...), Spec: spec,
		Objective: ledger.Objective{Metric: e.Objective.Metric, Direction: e.Objective.Direction, Unit: e.Objective.Unit, Pick: e.Objective.Pick},
		Limits:    ledger.Limits{TrialS: e.Limits.Trial.Seconds(), TrialDefault: !e.Set["limits.trial"], SilenceS: durationOf(e.Limits.Silence).Seconds()},
		Metrics:   []string{}, Axes: axes(e, pe),
	}
	for i := range pe.Trials {
		if pe.Trials[i].Why == plan.Reused {
			b.Reusable++
		}
	}
	for _, w := range wants(e)[1:] {
		b.Metrics = append(b.Metrics, w.Name)
	}
	return b, nil
}

// axes lists the parameters that vary, with the values that the plan has, in the order of the spec.
func axes(e *plan.Experiment, pe *plan.PlannedExperiment) []ledger.Axis {
	out := []ledger.Axis{}
	places := make([]int, len(pe.Trials))
	for i := range places {
		places[i] = i
	}
	slices.SortStableFunc(places, func(a, b int) int { return pe.Trials[a].Place - pe.Trials[b].Place })
	for _, name := range e.Varying() {
		a := ledger.Axis{Name: name, Values: []string{}, Ordered: true}
		seen := map[plan.Value]bool{}
		for _, i := range places {
			v, ok := pe.Trials[i].Params.Get(name)
			if !ok || seen[v] {
				continue
			}
			seen[v] = true
			a.Values = append(a.Values, v.Text())
			a.Ordered = a.Ordered && v.Kind() == plan.Number
		}
		out = append(out, a)
	}
	return out
}

func codeFiles(files []plan.CodeFile) []ledger.CodeFile {
	out := make([]ledger.CodeFile, len(files))
	for i, f := range files {
		out[i] = ledger.CodeFile(f)
	}
	return out
}
