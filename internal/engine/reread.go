package engine

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/xrun-dev/xrun/internal/engine/metric"
	"github.com/xrun-dev/xrun/internal/ledger"
	"github.com/xrun-dev/xrun/internal/plan"
)

// reread brings a reused result up to the metrics that the experiment asks for now. The objective is part of a trial's
// identity, the other metrics are not: where one is new, or is picked in another way, the stored log is read again.
func (r *run) reread(from *ledger.ReusedFrom, e *plan.Experiment) error {
	var missing []wanted
	for _, w := range wants(e)[1:] {
		if pick, ok := from.Outcome.Picks[w.Name]; !ok || pick != w.how() {
			missing = append(missing, w)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	file := filepath.Join(r.State, filepath.FromSlash(from.Outcome.Log))
	if e.Evaluate != nil {
		file = filepath.Join(filepath.Dir(file), "evaluate.log")
	}
	log, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		from.Outcome.Notes = append(from.Outcome.Notes, fmt.Sprintf("metric %s: the log of this result is gone, so it cannot be read", missing[0].Name))
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the log of reused trial %s again: %w", from.Outcome.Trial, err)
	}
	defer log.Close()
	f := newFollower(attempt{Attempt: from.Outcome.Attempt, exp: e}, nil, nil, r.Now, nil)
	f.every = 0
	f.extract = metric.New(logWants(missing), f.keep)
	if _, err := io.Copy(f.extract, log); err != nil {
		return fmt.Errorf("read the log of reused trial %s again: %w", from.Outcome.Trial, err)
	}
	f.extract.Close(false)
	if from.Outcome.Picks == nil {
		from.Outcome.Picks = map[string]string{}
	}
	for _, w := range missing {
		delete(from.Outcome.Metrics, w.Name)
	}
	results, err := findings(missing, f.extract.Results(), filepath.Join(filepath.Dir(log.Name()), "artifacts"), from.Outcome.Artifacts, r.redact, f.keep)
	if err != nil {
		return err
	}
	for _, r := range results {
		if !r.Found {
			from.Outcome.Notes = append(from.Outcome.Notes, fmt.Sprintf("metric %s: it %s", r.Name, r.missing))
		}
	}
	f.note(&from.Outcome, results)
	r.redact.outcome(&from.Outcome)
	for _, b := range f.series() {
		if v, ok := b.(ledger.MetricValues); ok {
			from.Series = append(from.Series, v)
		}
	}
	return nil
}
