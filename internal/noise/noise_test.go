package noise_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xrun-dev/xrun/internal/noise"
)

func near(a, b float64) bool {
	return math.IsNaN(a) && math.IsNaN(b) || math.Abs(a-b) <= 1e-9*max(1, math.Abs(a), math.Abs(b))
}

// The acid containers are example 9.11 of Walpole, Myers, Myers & Ye, Probability & Statistics for Engineers and
// Scientists; the other intervals were computed with 30 digits from the incomplete beta function.
func TestSummarizeAgreesWithTextbooks(t *testing.T) {
	nan := math.NaN()
	for name, c := range map[string]struct {
		sample     noise.Sample
		confidence float64
		want       noise.Summary
	}{
		"acid":           {noise.Sample{9.8, 10.2, 10.4, 9.8, 10, 10.2, 9.6}, 0.95, noise.Summary{7, 10, 0.2828427124746190, 9.6, 10.4, 9.738414119925106, 10.261585880074893}},
		"losses":         {noise.Sample{0.231, 0.233, 0.229}, 0.95, noise.Summary{3, 0.231, 0.002, 0.229, 0.233, 0.2260317245764993, 0.2359682754235006}},
		"two":            {noise.Sample{2, 1}, 0.95, noise.Summary{2, 1.5, math.Sqrt2 / 2, 1, 2, -4.853102368087352, 7.853102368087352}},
		"99 %":           {noise.Sample{1, 2, 3, 4, 5}, 0.99, noise.Summary{5, 3, 1.5811388300841897, 1, 5, -0.2555867047577853, 6.255586704757785}},
		"one":            {noise.Sample{-7}, 0.95, noise.Summary{1, -7, nan, -7, -7, nan, nan}},
		"none":           {nil, 0.95, noise.Summary{0, nan, nan, nan, nan, nan, nan}},
		"constant":       {noise.Sample{0.1, 0.1, 0.1}, 0.95, noise.Summary{3, 0.1, 0, 0.1, 0.1, 0.1, 0.1}},
		"large constant": {noise.Sample{1.7e308, 1.7e308}, 0.95, noise.Summary{2, 1.7e308, 0, 1.7e308, 1.7e308, 1.7e308, 1.7e308}},
	} {
		got := noise.Summarize(c.sample, c.confidence)
		if diff := cmp.Diff(c.want, got, cmp.Comparer(near)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestEqualValuesHaveNoSpreadAtAll(t *testing.T) {
	got := noise.Summarize(noise.Sample{0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1}, 0.95)
	if got.Mean != 0.1 || got.SD != 0 || got.CILow != 0.1 {
		t.Errorf("seven times 0.1: %+v", got)
	}
}

func tied(r noise.Ranking) []bool {
	var b []bool
	for _, x := range r.Ranks {
		b = append(b, x.Tied)
	}
	return b
}

func ranks(r noise.Ranking) []int {
	var n []int
	for _, x := range r.Ranks {
		n = append(n, x.Rank)
	}
	return n
}

// In "losses" s = 0.0017029 on 5 degrees of freedom and t(0.975; 5) = 2.570582: against the best of three values a
// point of two is tied up to 0.2349961, a point of three up to 0.2345742 (computed apart with 30 digits).
func TestRankPoints(t *testing.T) {
	losses := func(second float64) []noise.Sample {
		return []noise.Sample{{0.231, 0.233, 0.229}, {second - 0.0015, second + 0.0015}, {0.250, 0.252, 0.251}}
	}
	for name, c := range map[string]struct {
		points   []noise.Sample
		maximize bool
		ranks    []int
		tied     []bool
		best, df int
		tells    bool
	}{
		"just within":     {losses(0.23499), false, []int{1, 2, 3}, []bool{true, true, false}, 0, 5, true},
		"just outside":    {losses(0.23500), false, []int{1, 2, 3}, []bool{true, false, false}, 0, 5, true},
		"maximize":        {losses(0.23499), true, []int{3, 2, 1}, []bool{false, false, true}, 2, 5, true},
		"one value each":  {[]noise.Sample{{3}, {1}, {2}}, false, []int{3, 1, 2}, []bool{false, false, false}, 1, 0, false},
		"equal means":     {[]noise.Sample{{5, 5}, {1, 1}, {1, 1}, {7, 7}}, false, []int{3, 1, 1, 4}, []bool{false, true, true, false}, 1, 4, true},
		"empty among":     {[]noise.Sample{nil, {1, 2}, {}}, true, []int{0, 1, 0}, []bool{false, true, false}, 1, 1, true},
		"all empty":       {[]noise.Sample{nil, {}}, true, []int{0, 0}, []bool{false, false}, -1, 0, false},
		"no points":       {nil, true, nil, nil, -1, 0, false},
		"one point":       {[]noise.Sample{{4, 4.5}}, true, []int{1}, []bool{true}, 0, 1, true},
		"single and many": {[]noise.Sample{{1}, {1.1, 0.9, 1.2}, {40}}, false, []int{1, 2, 3}, []bool{true, true, false}, 0, 2, true},
	} {
		r := noise.RankPoints(c.points, c.maximize, 0.95)
		if diff := cmp.Diff(c.ranks, ranks(r)); diff != "" {
			t.Errorf("%s: ranks (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(c.tied, tied(r)); diff != "" {
			t.Errorf("%s: tied (-want +got):\n%s", name, diff)
		}
		if r.Best != c.best || r.DF != c.df || r.Tells != c.tells {
			t.Errorf("%s: best %d, df %d, tells %t; want %d, %d, %t", name, r.Best, r.DF, r.Tells, c.best, c.df, c.tells)
		}
	}
	if r := noise.RankPoints(losses(0.2375), false, 0.95); !near(r.SD, 0.0017029386365926401) {
		t.Errorf("pooled sd %v", r.SD)
	}
}

func draw(r *rand.Rand, k, n int) []noise.Sample {
	points := make([]noise.Sample, k)
	for i := range points {
		level := r.NormFloat64()
		for range 1 + r.IntN(n) {
			points[i] = append(points[i], level+r.NormFloat64())
		}
	}
	return points
}

func mapped(points []noise.Sample, f func(float64) float64) []noise.Sample {
	out := make([]noise.Sample, len(points))
	for i, p := range points {
		for _, x := range p {
			out[i] = append(out[i], f(x))
		}
	}
	return out
}

func TestRanksDoNotDependOnUnitLevelOrDirection(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		points := draw(r, 1+r.IntN(8), 4)
		want := noise.RankPoints(points, false, 0.95)
		for name, got := range map[string]noise.Ranking{
			"shifted":     noise.RankPoints(mapped(points, func(x float64) float64 { return x + 100 }), false, 0.95),
			"scaled":      noise.RankPoints(mapped(points, func(x float64) float64 { return x * 3.7 }), false, 0.95),
			"minute":      noise.RankPoints(mapped(points, func(x float64) float64 { return x * 0x1p-700 }), false, 0.95),
			"huge":        noise.RankPoints(mapped(points, func(x float64) float64 { return x * 0x1p900 }), false, 0.95),
			"other sign":  noise.RankPoints(mapped(points, func(x float64) float64 { return -x }), true, 0.95),
			"other order": reversed(points),
		} {
			if diff := cmp.Diff(want.Ranks, got.Ranks); diff != "" {
				t.Fatalf("%s %v (-want +got):\n%s", name, points, diff)
			}
		}
	}
}

// reversed ranks the points in reverse, each with its values in reverse, and gives the ranks in the first order.
func reversed(points []noise.Sample) noise.Ranking {
	turned := mapped(points, func(x float64) float64 { return x })
	for _, p := range turned {
		slices.Reverse(p)
	}
	slices.Reverse(turned)
	r := noise.RankPoints(turned, false, 0.95)
	slices.Reverse(r.Ranks)
	return r
}

func TestTrulyBestIsAmongTheMarked(t *testing.T) {
	const rounds = 4000
	r := rand.New(rand.NewPCG(20, 26))
	for _, c := range []struct {
		points, seeds int
		step          float64 // between the levels of neighbours, in sd
	}{{5, 2, 0}, {5, 3, 0.3}, {30, 3, 0}, {30, 5, 0.1}, {2, 2, 0}, {2, 8, 1}} {
		found := 0
		for range rounds {
			points := make([]noise.Sample, c.points)
			for i := range points {
				for range c.seeds {
					points[i] = append(points[i], -c.step*float64(i)+r.NormFloat64())
				}
			}
			if noise.RankPoints(points, true, 0.95).Ranks[0].Tied {
				found++
			}
		}
		if share := float64(found) / rounds; share < 0.94 {
			t.Errorf("%d points, %d seeds, step %g: the best is marked in %.1f %%", c.points, c.seeds, c.step, 100*share)
		}
	}
}

func TestIntervalCoversTheMean(t *testing.T) {
	const rounds = 4000
	r := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{2, 3, 8} {
		covered := 0
		for range rounds {
			s := make(noise.Sample, n)
			for i := range s {
				s[i] = 5 + r.NormFloat64()
			}
			if x := noise.Summarize(s, 0.95); x.CILow <= 5 && 5 <= x.CIHigh {
				covered++
			}
		}
		if share := float64(covered) / rounds; math.Abs(share-0.95) > 0.012 {
			t.Errorf("n = %d: the interval covers in %.1f %%", n, 100*share)
		}
	}
}
