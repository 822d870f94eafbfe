package noise

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
func Summarize(s Sample, confidence float64) Summary { return Summary{} }

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
	SD    float64 // pooled over the points
	DF    int
}

// RankPoints ranks points by mean. Points not told from the best are those of Hsu's multiple comparisons with the best
// (Hsu 1996), with Bonferroni's bound in place of Dunnett's quantile.
func RankPoints(points []Sample, maximize bool, confidence float64) Ranking { return Ranking{} }
