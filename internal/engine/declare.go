package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/xrun-dev/xrun/internal/ledger"
	"github.com/xrun-dev/xrun/internal/plan"
)

// chunk is how many facts are stored at once while a plan is recorded.
const chunk = 1000

// declare records the plan, settles what can be reused, and fills the queue with the rest. Of a resumed run only what
// is new is recorded.
func (r *run) declare(ctx context.Context) error {
	d := &declaration{run: r, adopted: map[string]bool{}}
	for i := range r.Plan.Experiments {
		if err := d.experiment(ctx, &r.Plan.Experiments[i]); err != nil {
			return err
		}
	}
	if err := d.flush(); err != nil {
		return err
	}
	slices.SortStableFunc(r.experiments, func(a, b *experimentState) int { return b.spec.Priority - a.spec.Priority })
	for _, e := range r.experiments {
		if err := r.settleExperiment(e); err != nil {
			return err
		}
	}
	return nil
}

// A declaration gathers facts and stores them in chunks.
type declaration struct {
	*run
	bodies  []ledger.Body
	adopted map[string]bool // jobs
}

func (d *declaration) add(b ledger.Body) error {
	if d.bodies = append(d.bodies, b); len(d.bodies) >= chunk {
		return d.flush()
	}
	return nil
}

func (d *declaration) flush() error {
	err := d.append(d.bodies...)
	d.bodies = d.bodies[:0]
	return err
}

func (d *declaration) experiment(ctx context.Context, pe *plan.PlannedExperiment) error {
	i := slices.IndexFunc(d.Spec.Experiments, func(e plan.Experiment) bool { return e.Name == pe.Name })
	if i < 0 {
		return fmt.Errorf("the plan has experiment %s, the spec has not", pe.Name)
	}
	spec := &d.Spec.Experiments[i]
	e := &experimentState{spec: spec, planned: pe, command: plan.ParseCommand(spec.Command, spec.Env), counts: map[ledger.State]int{}, state: d.State, upstream: feeds(d.Spec, pe.Name)}
	for _, h := range pe.Hosts {
		if h.Eligible {
			e.eligible = append(e.eligible, h.Name)
		}
	}
	if d.Seen == nil || !d.Seen.Experiments[pe.Name] {
		if err := d.add(ledger.CodeStored{ID: pe.Code.ID, Files: codeFiles(d.Codes[pe.Code.ID])}); err != nil {
			return err
		}
		b, err := planned(spec, pe, e.eligible)
		if err != nil {
			return err
		}
		if err := d.add(b); err != nil {
			return err
		}
	}
	if spec.Sweep != nil {
		e.ladder = newLadder(spec.Sweep.EarlyStop)
	}
	var adopted []*task
	for i := range pe.Trials {
		t, err := d.trial(ctx, e, i)
		switch {
		case err != nil:
			return err
		case t == nil:
		case t.adopt != nil:
			adopted = append(adopted, t)
		default:
			e.pending = append(e.pending, t)
		}
	}
	worked := e.counts[ledger.Succeeded]+e.counts[ledger.Reused] > 0
	shut := spec.Sweep != nil && spec.Sweep.Canary != nil && !spec.Sweep.Canary.Off && !worked && len(adopted) == 0
	if shut {
		e.gate = newGate(durationOf(&spec.Sweep.Canary.For), true)
	}
	e.pending = append(adopted, e.pending...)
	d.experiments = append(d.experiments, e)
	return nil
}

// trial declares one trial, and returns its task if there is something to do.
func (d *declaration) trial(ctx context.Context, e *experimentState, index int) (*task, error) {
	t := &task{exp: e, trial: &e.planned.Trials[index]}
	key := t.key()
	if d.Seen == nil || !d.Seen.Planned[key] {
		b, err := trialPlanned(t, index)
		if err != nil {
			return nil, err
		}
		if err := d.add(b); err != nil {
			return nil, err
		}
	} else {
		if s, ok := d.Seen.Final[key]; ok {
			e.counts[s]++
			if out, ok := d.Seen.Results[key]; ok && (s == ledger.Succeeded || s == ledger.Reused) {
				e.produce(d.State, t.trial, out)
			}
			return nil, nil
		}
		t.attempts, t.failed, t.chain = d.Seen.Attempts[key], d.Seen.Failed[key], d.Seen.Chains[key]
	}
	// Two experiments may have a trial of one id; a job belongs to one of them.
	if open, ok := d.Adopt[t.trial.ID]; ok && !d.adopted[open.Job] && (open.Run != d.Run || open.Key == key) {
		d.adopted[open.Job] = true
		t.adopt = &open
		return t, nil
	}
	if t.trial.Why != plan.Reused {
		return t, nil
	}
	from, err := d.Reusable(ctx, t.trial.ID)
	if err != nil {
		return nil, err
	}
	if from == nil {
		return t, nil
	}
	if err := d.reread(from, e.spec); err != nil {
		return nil, err
	}
	e.counts[ledger.Reused]++
	e.produce(d.State, t.trial, from.Outcome)
	return nil, d.add(ledger.TrialFinished{Key: key, State: ledger.Reused, Reused: from})
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
		Name: e.Name, Kind: pe.Kind, Code: pe.Code.ID, Dir: pe.Dir, Trials: len(pe.Trials), Hosts: append([]string{}, hosts...), Spec: spec,
		Objective: ledger.Objective{Metric: e.Objective.Metric, Direction: e.Objective.Direction, Unit: e.Objective.Unit, Pick: e.Objective.Pick},
		Limits:    ledger.Limits{TrialS: e.Limits.Trial.Seconds(), TrialDefault: !e.Set["limits.trial"], SilenceS: durationOf(e.Limits.Silence).Seconds()},
		Metrics:   []string{}, Axes: axes(e, pe),
	}
	for _, w := range wants(e)[1:] {
		b.Metrics = append(b.Metrics, w.Name)
	}
	return b, nil
}

// axes lists the parameters that vary, with the values that the plan has.
func axes(e *plan.Experiment, pe *plan.PlannedExperiment) []ledger.Axis {
	out := []ledger.Axis{}
	for _, name := range e.Varying() {
		a := ledger.Axis{Name: name, Values: []string{}, Ordered: true}
		seen := map[plan.Value]bool{}
		for i := range pe.Trials {
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
