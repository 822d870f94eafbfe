package report

import (
	"context"

	"github.com/xrun-dev/xrun/internal/ledger"
	"github.com/xrun-dev/xrun/internal/noise"
)

// manyFailed is how many trials of an experiment that failed are read one by one to say where a run stands. Of one with
// more, all of the run is read.
const manyFailed = 1000

// Large reports whether a run is better asked for anew (Standing) than followed event by event.
func Large(run ledger.Run) bool { return run.Planned > wholeRun && run.Failed+run.Lost <= manyFailed }

// Standing is the State from which Status says where a large run stands, without most of its trials.
func Standing(ctx context.Context, l *ledger.Ledger, run ledger.Run) (*State, error) {
	s, err := brief(ctx, l, run, Newest(), nextListed, -1)
	if err != nil {
		return nil, err
	}
	attempts, err := l.Attempts(ctx, run.ID)
	if err != nil {
		return nil, err
	}
	for _, x := range s.experiments {
		x.part.attempts = attempts[x.name]
		for _, t := range x.part.tallies {
			if t.State == ledger.Spent {
				x.part.spent = float64(t.N) / 1e6
			}
		}
		if x.part.tied, err = x.tied(ctx, l, run.ID); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// tied counts the points that cannot be told from the best, as noise.RankPoints does.
func (x *experiment) tied(ctx context.Context, l *ledger.Ledger, run string) (int, error) {
	score := x.part.score
	if score.DF == 0 {
		return 0, nil // nothing can be told
	}
	n, farthest := 0, 0.0
	var best ledger.Mean
	for m, err := range l.Means(ctx, run, x.name, x.maximize()) {
		if err != nil {
			return 0, err
		}
		if best.N == 0 {
			// A point of one value reaches farthest.
			best, farthest = m, noise.Reach(score.Squares, score.DF, score.Points, 1, m.N, confidence)
			continue
		}
		d := best.Mean - m.Mean
		if !x.maximize() {
			d = -d
		}
		if d > farthest {
			break
		}
		if d <= noise.Reach(score.Squares, score.DF, score.Points, m.N, best.N, confidence) {
			n++
		}
	}
	return n, nil
}
