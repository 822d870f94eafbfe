package plan

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"slices"
	"strings"
)

// count is how many values the axis has, found without making them.
func (a Axis) count() (int, error) {
	switch {
	case a.Range != nil:
		return a.Range.count()
	case a.Glob != nil:
		_, err := a.values()
		return 0, err
	case len(a.Values) == 0:
		return 0, fmt.Errorf("has no values")
	default:
		return len(a.Values), nil
	}
}

// maxAxis bounds one axis, so that a mistyped step is an error and not a full memory.
const maxAxis = 1_000_000

// count is how many values the range has; the error is what is wrong with it.
func (r *Range) count() (int, error) {
	switch {
	case (r.Step == nil) == (r.Points == nil):
		return 0, fmt.Errorf("a range has either step or points")
	case r.Step != nil && r.Log:
		return 0, fmt.Errorf("log goes with points, not with step")
	case r.Log && (r.From.rat().Sign() <= 0 || r.To.rat().Sign() <= 0):
		return 0, fmt.Errorf("a log range needs from and to above 0")
	case r.Points != nil && *r.Points < 2:
		return 0, fmt.Errorf("a range has at least 2 points")
	case r.Points != nil:
		return *r.Points, nil
	}
	from, to, step := r.From.rat(), r.To.rat(), r.Step.rat()
	if step.Sign() <= 0 {
		return 0, fmt.Errorf("step %s is not above 0", r.Step)
	}
	if from.Cmp(to) > 0 {
		return 0, fmt.Errorf("from %s is above to %s", r.From, r.To)
	}
	q := to.Sub(to, from)
	q.Quo(q, step)
	n := new(big.Int).Quo(q.Num(), q.Denom())
	if !n.IsInt64() || n.Int64() >= maxAxis {
		return 0, fmt.Errorf("from %s to %s in steps of %s is more than %d values", r.From, r.To, r.Step, maxAxis)
	}
	return int(n.Int64()) + 1, nil
}

// count is the number of points of the sweep before exclude, found without making them; it stops at math.MaxInt64.
// The axes of zip are of one length.
func (s *Sweep) count() (int64, error) {
	n, err := countAxes(s.Grid)
	if err != nil {
		return 0, err
	}
	if len(s.Zip) > 0 {
		k, err := countAxes(s.Zip[:1])
		if err != nil {
			return 0, err
		}
		n = times(n, k)
	}
	if len(s.Cases) > 0 {
		k, err := s.countCases()
		if err != nil {
			return 0, err
		}
		n = times(n, k)
	}
	if s.Random != nil {
		n = times(n, int64(s.Random.N))
	}
	if s.onlyIncludes() {
		n = 0
	}
	return plus(n, int64(len(s.Include))), nil
}

// onlyIncludes reports whether the sweep has no product: points are listed one by one.
func (s *Sweep) onlyIncludes() bool {
	return len(s.Grid)+len(s.Zip)+len(s.Cases) == 0 && s.Random == nil && len(s.Include) > 0
}

func (s *Sweep) countCases() (n int64, err error) {
	for _, axes := range s.Cases {
		k, err := countAxes(axes)
		if err != nil {
			return 0, err
		}
		n = plus(n, k)
	}
	return n, nil
}

func countAxes(axes Axes) (int64, error) {
	n := int64(1)
	for _, a := range axes {
		k, err := a.count()
		if err != nil {
			return 0, fmt.Errorf("%s: %w", a.Name, err)
		}
		n = times(n, int64(k))
	}
	return n, nil
}

// times and plus are of numbers that are not negative, and stop at math.MaxInt64.
func times(a, b int64) int64 {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	if hi != 0 || lo > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(lo)
}

func plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// widest names the axes with the most values, the widest first: what to look at when a product is too large.
func (s *Sweep) widest() string {
	type axis struct {
		name string
		n    int64
	}
	var axes []axis
	for _, a := range append(slices.Clone(s.Grid), s.Zip...) {
		if n, err := a.count(); err == nil {
			axes = append(axes, axis{a.Name, int64(n)})
		}
	}
	if s.Random != nil {
		axes = append(axes, axis{"random", int64(s.Random.N)})
	}
	if n, err := s.countCases(); err == nil && len(s.Cases) > 0 {
		axes = append(axes, axis{"cases", n})
	}
	slices.SortStableFunc(axes, func(a, b axis) int { return cmp.Compare(b.n, a.n) })
	var parts []string
	for _, a := range axes[:min(3, len(axes))] {
		parts = append(parts, fmt.Sprintf("%s (%d)", a.name, a.n))
	}
	return strings.Join(parts, ", ")
}
