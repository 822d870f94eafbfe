package engine

import (
	"testing"

	"github.com/xrun-dev/xrun/internal/ledger"
)

func TestASeriesIsThinnedEvenlyInConstantMemory(t *testing.T) {
	for _, n := range []int{1, 199, 200, 201, 799, 800, 801, 1601, 123_457, 1_000_000} {
		s := &series{}
		most := 0
		for i := range n {
			s.add(ledger.MetricValue{Line: int64(i + 1)})
			most = max(most, len(s.values))
		}
		got := s.take()
		if most > maxPending || len(got) > maxPerFlush || n <= maxPerFlush && len(got) != n || n > maxPerFlush && len(got) != maxPerFlush {
			t.Errorf("%d values: %d are kept, %d waited", n, len(got), most)
		}
		if last := got[len(got)-1].Line; last != int64(n) {
			t.Errorf("%d values: the last one kept is %d", n, last)
		}
		// Twice the even distance and a little: the values that were skipped last are fewer than a step.
		even, before := int64(n/len(got)), int64(0)
		for _, v := range got {
			if d := v.Line - before; d < 1 || d > 2*even+2 {
				t.Errorf("%d values: %d comes after %d", n, v.Line, before)
			}
			before = v.Line
		}
	}
}
