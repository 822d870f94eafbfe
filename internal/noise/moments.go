package noise

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// moments are the mean of a sample and the sum of squares round it, both in some unit.
type moments struct {
	n             int
	mean, squares float64
}

// unitOf is a power of two near the largest magnitude in the samples. Values divided by it are exact and their squares
// neither overflow nor vanish, so a metric of 1e-200 has the same ranks and ties as one of 1.
func unitOf(samples ...Sample) float64 {
	largest := 0.0
	for _, s := range samples {
		for _, x := range s {
			largest = max(largest, math.Abs(x))
		}
	}
	if largest == 0 {
		return 1
	}
	_, exp := math.Frexp(largest)
	return math.Ldexp(1, min(exp, 1023))
}

// momentsOf sums in ascending order from the least value on: the same values in any order have the same moments, and
// equal values have exactly their value as mean and no spread, which a plain sum does not give (0.1+0.1+0.1 ≠ 3·0.1).
func momentsOf(s Sample, unit float64) moments {
	sorted := slices.Sorted(slices.Values(s))
	n := float64(len(s))
	base, sum := sorted[0]/unit, 0.0
	for _, x := range sorted {
		sum += x/unit - base
	}
	m := moments{n: len(s), mean: base + sum/n}
	for _, x := range sorted {
		d := x/unit - m.mean
		m.squares += d * d
	}
	return m
}

// quantileT is the p-quantile of Student's t with df degrees of freedom.
func quantileT(p, df float64) float64 {
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: df}.Quantile(p)
}
