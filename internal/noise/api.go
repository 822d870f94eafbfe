package noise

import (
	"math"
	"slices"
)

// A Sample is the values of one point, one per replicate, all finite.
type Sample []float64

// A Summary describes a Sample. SD, CILow and CIHigh are NaN below two values.
type Summary struct {
	N             int
	Mean, SD      float64 // SD with n-1
	Min, Max      float64
	CILow, CIHigh float64 // of the mean, two-sided, Student's t with n-1 degrees of freedom
}

// Summarize describes s; confidence is that of the interval (0.95). Of an empty s everything but N is NaN.
//
// The interval is mean ± t(1 − (1−confidence)/2; n−1)·sd/√n (Student 1908; NIST/SEMATECH e-Handbook, 1.3.5.2).
func Summarize(s Sample, confidence float64) Summary {
	nan := math.NaN()
	if len(s) == 0 {
		return Summary{Mean: nan, SD: nan, Min: nan, Max: nan, CILow: nan, CIHigh: nan}
	}
	unit := unitOf(s)
	m := momentsOf(s, unit)
	sum := Summary{
		N: m.n, Mean: m.mean * unit, SD: nan, Min: slices.Min(s), Max: slices.Max(s), CILow: nan, CIHigh: nan,
	}
	if m.n < 2 {
		return sum
	}
	df := float64(m.n - 1)
	sd := math.Sqrt(m.squares / df)
	half := quantileT(1-(1-confidence)/2, df) * sd / math.Sqrt(float64(m.n))
	sum.SD, sum.CILow, sum.CIHigh = sd*unit, (m.mean-half)*unit, (m.mean+half)*unit
	return sum
}

// A Rank is the place of one point among several.
type Rank struct {
	Rank int // 1 is best; equal means share a rank; 0 for an empty sample
	// Tied: with the given confidence it cannot be told from the best (always true of the best itself). False where
	// there is nothing to tell with (one value each).
	Tied bool
}

// Ranking is the ranks of points, in the order given, and whether the best can be told from the others at all.
type Ranking struct {
	Ranks []Rank
	Best  int // index of the first best point; -1 if all are empty
	// Tells is false where no point has two values: nothing can be said about noise.
	Tells bool
	SD    float64 // pooled over the points; NaN where nothing tells
	DF    int
}

// RankPoints ranks points by mean. Points not told from the best are those of Hsu's multiple comparisons with the best
// (Hsu 1996), with Bonferroni's bound in place of Dunnett's quantile: with the given confidence the point that is truly
// best is among them.
//
//	not told from the best:  mean ≥ best − t(1 − α/(k−1); df)·s·√(1/n_i + 1/n_best),   α = 1 − confidence
//
// for k points that have a value, s² being the squares within points over their df = Σ(n_i − 1) degrees of freedom.
// Where s is 0 only equal means are tied. A point with a single value takes part with the noise of the others.
func RankPoints(points []Sample, maximize bool, confidence float64) Ranking {
	r := Ranking{Ranks: make([]Rank, len(points)), Best: -1, SD: math.NaN()}
	unit := unitOf(points...)
	sign := -1.0
	if maximize {
		sign = 1
	}
	moments := make([]moments, len(points))
	k, squares := 0, 0.0
	for i, p := range points {
		if len(p) == 0 {
			continue
		}
		m := momentsOf(p, unit)
		m.mean *= sign // from here on, more is better
		moments[i] = m
		k++
		r.DF += m.n - 1
		squares += m.squares
		if r.Best < 0 || m.mean > moments[r.Best].mean {
			r.Best = i
		}
	}
	rank(r.Ranks, moments)
	if r.DF == 0 {
		return r
	}
	r.Tells = true
	s := math.Sqrt(squares / float64(r.DF))
	r.SD = s * unit
	best := moments[r.Best]
	t := 0.0
	if k > 1 {
		t = quantileT(1-(1-confidence)/float64(k-1), float64(r.DF))
	}
	for i, m := range moments {
		if m.n == 0 {
			continue
		}
		bar := best.mean - t*s*math.Sqrt(1/float64(m.n)+1/float64(best.n))
		r.Ranks[i].Tied = m.mean == best.mean || m.mean >= bar
	}
	return r
}

// Reach is how far from the best's mean the mean of a point of n values may be so that RankPoints cannot tell them apart: of
// k points that have a value, squares within points over df degrees of freedom, the best having nBest values.
func Reach(squares float64, df, k, n, nBest int, confidence float64) float64 {
	if k < 2 || df < 1 {
		return 0
	}
	t := quantileT(1-(1-confidence)/float64(k-1), float64(df))
	return t * math.Sqrt(squares/float64(df)) * math.Sqrt(1/float64(n)+1/float64(nBest))
}

// rank gives the place of each point that has a value: one more than the number of points that are better.
func rank(ranks []Rank, of []moments) {
	means := make([]float64, 0, len(of))
	for _, m := range of {
		if m.n > 0 {
			means = append(means, -m.mean)
		}
	}
	slices.Sort(means)
	for i, m := range of {
		if m.n > 0 {
			better, _ := slices.BinarySearch(means, -m.mean)
			ranks[i].Rank = better + 1
		}
	}
}
