package engine

import (
	"context"
	"time"

	"github.com/xrun-dev/xrun/internal/ledger"
	"github.com/xrun-dev/xrun/internal/plan"
)

// Review reads what a run recorded, to go on with it.
func Review(ctx context.Context, past Past, run string) (*Seen, error) {
	r := &review{
		Seen: &Seen{
			Experiments: map[string]bool{}, Planned: map[ledger.Key]bool{}, Final: map[ledger.Key]ledger.State{},
			Attempts: map[ledger.Key]int{}, Failed: map[ledger.Key]failures{}, Chains: map[ledger.Key]chain{}, Told: map[ledger.Attempt]map[string]int64{}, Finished: map[string]bool{},
			Results: map[ledger.Key]ledger.AttemptFinished{},
			Models:  map[ledger.Key]string{},
		},
		specs: map[string]*plan.Experiment{}, open: map[string]bool{}, feeds: map[string]bool{},
		checkpoints: map[ledger.Key]string{}, early: map[string]bool{},
	}
	for ev, err := range past.Events(ctx, run) {
		if err != nil {
			return nil, err
		}
		if err := r.apply(ev); err != nil {
			return nil, err
		}
	}
	if err := r.goBack(ctx, past, run); err != nil {
		return nil, err
	}
	r.Spent.Wall += max(0, r.last.Sub(r.began)) // the clock may have been set back
	return r.Seen, nil
}

// A review is the state of Review between two events.
type review struct {
	*Seen
	specs map[string]*plan.Experiment
	open  map[string]bool // experiments that a bound ended
	feeds map[string]bool // experiments that others start from
	// checkpoints are those of the newest attempts.
	checkpoints map[ledger.Key]string
	early       map[string]bool // experiments with a result from before it was known that others start from it
	began       time.Time       // of the newest process
	last        time.Time
}

func (r *review) apply(ev ledger.Event) error {
	switch b := ev.Body.(type) {
	case ledger.RunStarted:
		r.began = ev.At
	case ledger.RunResumed:
		r.open = map[string]bool{}
		r.Spent.Wall += max(0, r.last.Sub(r.began))
		r.began = ev.At
	case ledger.ExperimentPlanned:
		r.Experiments[b.Name] = true
		e, err := decodeExperiment(b)
		if err != nil {
			return err
		}
		r.specs[b.Name] = e
		for _, in := range e.Inputs {
			r.feeds[in.Experiment] = true
		}
	case ledger.TrialPlanned:
		r.Planned[b.Key] = true
	case ledger.AttemptIntended:
		r.checkpoints[b.Key] = b.Checkpoint
		r.Attempts[b.Key] = max(r.Attempts[b.Key], b.Attempt.Attempt)
		r.Spent.Runs++
	case ledger.AttemptStarted:
		if len(b.GPUs) > 0 {
			r.Models[b.Key] = b.GPUs[0].Model
		}
	case ledger.MetricValues:
		tell(r.Told, b)
	case ledger.AttemptFinished:
		r.Failed[b.Key] = r.Failed[b.Key].add(b)
		r.result(b.Key, b)
		if e := r.specs[b.Experiment]; e != nil {
			r.Spent.ended(e, b)
			r.Chains[b.Key] = r.Chains[b.Key].after(e, r.checkpoints[b.Key], b)
		}
	case ledger.TrialFinished:
		if b.Reused != nil {
			r.result(b.Key, b.Reused.Outcome)
		}
		if r.Final[b.Key] = b.State; b.State == ledger.NotRun && bounded(b.Cause) {
			delete(r.Final, b.Key) // a resume has another deadline
			r.open[b.Experiment] = true
		}
	case ledger.ExperimentFinished:
		r.Finished[b.Name] = !r.open[b.Name]
	}
	if r.began.IsZero() {
		r.began = ev.At
	}
	r.last = ev.At
	return nil
}

// result keeps a result for the experiments that start from it. Of an experiment of which that is not known it may be
// known later.
func (r *review) result(k ledger.Key, out ledger.AttemptFinished) {
	switch {
	case out.State != ledger.Succeeded:
	case r.feeds[k.Experiment]:
		r.Results[k] = out
	default:
		r.early[k.Experiment] = true
	}
}

// goBack reads again what was recorded before it was known that others start from it. To keep all results of a run for
// that would take much memory.
func (r *review) goBack(ctx context.Context, past Past, run string) error {
	missed := false
	for e := range r.feeds {
		missed = missed || r.early[e]
	}
	if !missed {
		return nil
	}
	for ev, err := range past.Events(ctx, run) {
		if err != nil {
			return err
		}
		switch b := ev.Body.(type) {
		case ledger.AttemptFinished:
			r.result(b.Key, b)
		case ledger.TrialFinished:
			if b.Reused != nil {
				r.result(b.Key, b.Reused.Outcome)
			}
		}
	}
	return nil
}
