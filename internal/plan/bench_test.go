package plan

import (
	"fmt"
	"testing"
)

// large is a spec of n trials, n a multiple of 100.
func large(n int) *Spec {
	step, one := val(1), val(1)
	to := val(n / 100)
	s := specOf(experiment(sweep(Sweep{Grid: Axes{
		{Name: "a", Range: &Range{From: one, To: to, Step: &step}}, list("b", 0.1, 0.2, 0.3, 0.4, 0.5), list("c", "x", "y", "z", "u", "v"),
	}}), func(e *Experiment) { e.Seeds, e.Set["seeds"] = Seeds{0, 1, 2, 3}, true }))
	s.Experiments[0].Env = map[string]string{"A": "{a}", "B": "x"}
	return s
}

func BenchmarkBuild(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := large(n)
			b.ReportAllocs()
			for b.Loop() {
				if p := build(b, Basis{Spec: s}); len(p.Experiments[0].Trials) != n {
					b.Fatalf("%d trials", len(p.Experiments[0].Trials))
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(n), "µs/trial")
		})
	}
}

func TestAHundredThousandTrialsAreNoTrouble(t *testing.T) {
	n := len(build(t, Basis{Spec: large(100_000)}).Experiments[0].Trials)
	if n != 100_000 {
		t.Errorf("%d trials", n)
	}
}
