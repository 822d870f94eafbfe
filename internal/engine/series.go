package engine

import "github.com/xrun-dev/xrun/internal/ledger"

// maxPending is how many values of one metric wait at most: a program can print a million of them between two flushes.
const maxPending = 4 * maxPerFlush

// A series is what of one metric waits to be recorded. What is more than that is thinned evenly; the last one is kept.
type series struct {
	values  []ledger.MetricValue
	step    int // each step-th value is kept; 0 is each
	skipped int
	last    *ledger.MetricValue // the newest, if it was skipped
}

func (s *series) add(v ledger.MetricValue) {
	if s.skipped+1 < s.step {
		s.skipped++
		s.last = &v
		return
	}
	s.skipped, s.last = 0, nil
	if s.values = append(s.values, v); len(s.values) == maxPending {
		s.values = thin(s.values, maxPending/2)
		s.step = 2 * max(s.step, 1)
	}
}

// take returns what is to be recorded.
func (s *series) take() []ledger.MetricValue {
	if s.last != nil {
		s.values = append(s.values, *s.last)
	}
	return thin(s.values, maxPerFlush)
}

func thin(vs []ledger.MetricValue, n int) []ledger.MetricValue {
	if len(vs) <= n {
		return vs
	}
	out := make([]ledger.MetricValue, n)
	for i := range out {
		out[i] = vs[(i+1)*len(vs)/n-1]
	}
	return out
}
