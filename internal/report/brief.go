package report

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/xrun-dev/xrun/internal/ledger"
)

// How much of a run is shown without being asked for by name.
const (
	wholeRun        = 1000 // trials: such a run is read whole
	wholeExperiment = 100  // trials: such a list is shown whole
	cutRows         = 10   // of the best, and of those that failed, where a list is cut
)

// A part is what a State needs to know of the trials of an experiment that it was not given.
type part struct {
	tallies []ledger.Tally // of all trials
	score   ledger.Score
	// For who asks where the run stands:
	attempts int
	spent    float64 // seconds of attempts that ended
	tied     int     // points that cannot be told from the best
}

// declared is how many trials the record knows.
func (p *part) declared() int {
	for _, t := range p.tallies {
		if t.State == ledger.AsPlanned {
			return t.N
		}
	}
	return 0
}

// Brief is the State of a run for who wants an overview. Of a large run it has what is of no trial, what runs, and of each
// experiment the best trials and the first that failed; the rest it has counted.
func Brief(ctx context.Context, l *ledger.Ledger, run ledger.Run) (*State, error) {
	if run.Planned <= wholeRun {
		return Whole(ctx, l, run.ID)
	}
	return brief(ctx, l, run, WithoutSeries(), cutRows, cutRows)
}

// Whole is the State that a run left, without the values of metrics by step: a report has no place for them, and they are
// the most of it.
func Whole(ctx context.Context, l *ledger.Ledger, run string) (*State, error) {
	s := WithoutSeries()
	for e, err := range l.EventsWithout(ctx, run, ledger.MetricValues{}.EventType()) {
		if err != nil {
			return nil, err
		}
		s.Apply(e)
	}
	return s, nil
}

func brief(ctx context.Context, l *ledger.Ledger, run ledger.Run, s *State, rows, failed int) (*State, error) {
	events, err := l.EventsOfRun(ctx, run.ID)
	if err != nil {
		return nil, err
	}
	outline := Fold(events)
	tallies, err := l.Tallies(ctx, run.ID)
	if err != nil {
		return nil, err
	}
	trials, err := l.Open(ctx, run.ID)
	if err != nil {
		return nil, err
	}
	parts := map[string]*part{}
	rows = max(1, min(rows, 20*rows/max(1, len(outline.experiments)))) // of many experiments less each
	w := wanted{rows: rows, failed: failed, queued: rows + len(trials)}
	for _, x := range outline.experiments {
		p := &part{}
		parts[x.name] = p
		for _, t := range tallies {
			if t.Experiment == x.name {
				p.tallies = append(p.tallies, t)
			}
		}
		if p.score, err = l.Score(ctx, run.ID, x.name); err != nil {
			return nil, err
		}
		more, err := w.of(ctx, l, run.ID, x)
		if err != nil {
			return nil, err
		}
		trials = append(trials, more...)
	}
	more, err := l.EventsOfTrials(ctx, run.ID, s.newest, trials...)
	if err != nil {
		return nil, err
	}
	s.fold(append(events, more...))
	s.lastAt = run.Last
	for _, x := range s.experiments {
		x.part = cmp.Or(parts[x.name], &part{})
	}
	return s, nil
}

// wanted is how many trials of an experiment an overview has: of the best, of the first that failed, and of the first that
// wait. Those that are under way it has all.
type wanted struct{ rows, failed, queued int }

func (w wanted) of(ctx context.Context, l *ledger.Ledger, run string, x *experiment) ([]ledger.Key, error) {
	trials, err := l.Best(ctx, run, x.name, x.maximize(), w.rows)
	if err != nil {
		return nil, err
	}
	for state, most := range map[ledger.State]int{ledger.Running: -1, ledger.Failed: w.failed, ledger.Lost: w.failed, ledger.Queued: w.queued} {
		more, err := l.InState(ctx, run, x.name, state, most)
		if err != nil {
			return nil, err
		}
		trials = append(trials, more...)
	}
	return trials, nil
}

// fold applies events of several kinds in the order in which they were recorded.
func (s *State) fold(events []ledger.Event) {
	slices.SortFunc(events, func(a, b ledger.Event) int { return cmp.Compare(a.Seq, b.Seq) })
	for _, e := range events {
		s.Apply(e)
	}
}

// One is the State of a run of whose trials it has one.
func One(ctx context.Context, l *ledger.Ledger, run ledger.Run, trial ledger.Key) (*State, error) {
	events, err := l.EventsOfRun(ctx, run.ID)
	if err != nil {
		return nil, err
	}
	more, err := l.EventsOfTrials(ctx, run.ID, true, trial)
	if err != nil {
		return nil, err
	}
	s := new(State)
	s.fold(append(events, more...))
	s.lastAt = run.Last
	return s, nil
}

// Find names the trial of an experiment of a run that ref means: an id, the beginning of one, or name=value,… with the
// parameters and the seed as far as they are needed to tell it from the others.
func Find(ctx context.Context, l *ledger.Ledger, run ledger.Run, experiment, ref string) (ledger.Key, error) {
	if err := HasExperiment(run, experiment); err != nil {
		return ledger.Key{}, err
	}
	var found []ledger.Key
	var err error
	switch {
	case strings.Contains(ref, "="):
		found, err = byParams(ctx, l, run.ID, experiment, strings.Split(ref, ","))
	case ref != "":
		if found, err = l.WithPrefix(ctx, run.ID, experiment, ref); slices.Contains(found, ledger.Key{Experiment: experiment, Trial: ref}) {
			found = []ledger.Key{{Experiment: experiment, Trial: ref}}
		}
	}
	switch {
	case err != nil:
		return ledger.Key{}, err
	case len(found) == 1:
		return found[0], nil
	case len(found) == 0:
		return ledger.Key{}, fmt.Errorf("experiment %s of run %s has no trial %q", experiment, run.ID, ref)
	}
	const named = 5
	events, err := l.EventsOfTrials(ctx, run.ID, false, found[:min(named+1, len(found))]...)
	if err != nil {
		return ledger.Key{}, err
	}
	x := Fold(events).experiment(experiment)
	names := make([]string, len(found))
	for i, k := range found {
		if t := x.byID[k.Trial]; t != nil {
			names[i] = fmt.Sprintf("%s (%s)", k.Trial, visible(t.name()))
		}
	}
	return ledger.Key{}, fmt.Errorf("%q means %d trials of %s/%s: %s", ref, len(found), run.ID, experiment, list(names, named))
}

// HasExperiment says what there is if the run has no such experiment.
func HasExperiment(run ledger.Run, name string) error {
	if slices.Contains(run.Experiments, name) {
		return nil
	}
	if len(run.Experiments) == 0 {
		return fmt.Errorf("run %s has no experiment %q", run.ID, name)
	}
	names := make([]string, len(run.Experiments))
	for i, n := range run.Experiments {
		names[i] = visible(n)
	}
	return fmt.Errorf("run %s has no experiment %q; it has %s", run.ID, name, list(names, 10))
}
