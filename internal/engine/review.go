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
	}
	for ev, err := range past.Events(ctx, run) {
		if err != nil {
			return nil, err
		}
		if err := r.apply(ev); err != nil {
			return nil, err
		}
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
	began time.Time       // of the newest process
	last  time.Time
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
		if b.State == ledger.Succeeded && r.feeds[b.Experiment] {
			r.Results[b.Key] = b
		}
		if e := r.specs[b.Experiment]; e != nil {
			r.Spent.GPUHours += gpuHours(e, b)
			r.Chains[b.Key] = r.Chains[b.Key].after(e, b)
		}
	case ledger.TrialFinished:
		if b.Reused != nil && r.feeds[b.Experiment] {
			r.Results[b.Key] = b.Reused.Outcome
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
