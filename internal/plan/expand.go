package plan

import (
	"fmt"
	"iter"
	"math"
	"math/big"
	"math/bits"
	"slices"
	"strings"
)

// values lists an axis. The arithmetic of a range is decimal: {from: 0, to: 0.3, step: 0.1} is 0, 0.1, 0.2, 0.3.
func (a Axis) values() ([]Value, error) {
	switch {
	case a.Range != nil:
		return a.Range.values()
	case a.Glob != nil:
		return nil, fmt.Errorf("the files of {glob: %q} are known only on host %s", a.Glob.Glob, a.Glob.On)
	default:
		return a.Values, nil
	}
}

// maxAxis bounds one axis, so that a mistyped step is an error and not a full memory.
const maxAxis = 1_000_000

func (r *Range) values() ([]Value, error) {
	if (r.Step == nil) == (r.Points == nil) {
		return nil, fmt.Errorf("a range has either step or points")
	}
	from, to := r.From.rat(), r.To.rat()
	switch {
	case r.Step != nil && r.Log:
		return nil, fmt.Errorf("log goes with points, not with step")
	case r.Step != nil:
		step := r.Step.rat()
		if from.Cmp(to) > 0 {
			return nil, fmt.Errorf("from %s is above to %s", r.From, r.To)
		}
		n := new(big.Rat).Quo(new(big.Rat).Sub(to, from), step)
		count, _ := n.Float64()
		if count >= maxAxis {
			return nil, fmt.Errorf("from %s to %s in steps of %s is more than %d values", r.From, r.To, r.Step, maxAxis)
		}
		var vs []Value
		for x := from; x.Cmp(to) <= 0; x = new(big.Rat).Add(x, step) {
			vs = append(vs, ratValue(x))
		}
		return vs, nil
	case r.Log:
		return r.geometric()
	default:
		n := *r.Points
		vs := make([]Value, n)
		width := new(big.Rat).Sub(to, from)
		for i := range vs {
			x := new(big.Rat).Mul(width, big.NewRat(int64(i), int64(n-1)))
			vs[i] = ratValue(x.Add(x, from))
		}
		return vs, nil
	}
}

func (r *Range) geometric() ([]Value, error) {
	from, _ := r.From.Float64()
	to, _ := r.To.Float64()
	if from <= 0 || to <= 0 {
		return nil, fmt.Errorf("a log range needs from and to above 0")
	}
	n := *r.Points
	vs := make([]Value, n)
	for i := range vs {
		vs[i] = FloatValue(round(math.Exp(math.Log(from) + (math.Log(to)-math.Log(from))*float64(i)/float64(n-1))))
	}
	vs[0], vs[n-1] = r.From, r.To
	return vs, nil
}

// round keeps 12 significant digits: what a logarithm is good for, and 0.001 stays 0.001.
func round(f float64) float64 {
	if f == 0 {
		return 0
	}
	r, _ := new(big.Rat).SetString(fmt.Sprintf("%.11e", f))
	g, _ := r.Float64()
	return g
}

func (v Value) rat() *big.Rat {
	r, ok := new(big.Rat).SetString(v.text)
	if !ok {
		return new(big.Rat)
	}
	return r
}

func ratValue(r *big.Rat) Value {
	if r.IsInt() {
		return Value{Number, r.Num().String()}
	}
	f, _ := r.Float64()
	return FloatValue(f)
}

// A block is a factor of the product: its points, in order.
type block []Params

// blocks are the factors of a sweep: the grid's axes one by one, the zip as one, the cases as one, the samples as one.
func (s *Sweep) blocks() ([]block, error) {
	var bs []block
	for _, a := range s.Grid {
		b, err := axisBlock(a)
		if err != nil {
			return nil, err
		}
		bs = append(bs, b)
	}
	if len(s.Zip) > 0 {
		var zip block
		for i, a := range s.Zip {
			b, err := axisBlock(a)
			if err != nil {
				return nil, err
			}
			if i == 0 {
				zip = make(block, len(b))
			}
			if len(b) != len(zip) {
				return nil, fmt.Errorf("zip: %s has %d values and %s has %d", s.Zip[0].Name, len(zip), a.Name, len(b))
			}
			for j := range zip {
				zip[j] = append(zip[j], b[j]...)
			}
		}
		bs = append(bs, zip)
	}
	if len(s.Cases) > 0 {
		var cases block
		for _, axes := range s.Cases {
			var factors []block
			for _, a := range axes {
				b, err := axisBlock(a)
				if err != nil {
					return nil, err
				}
				factors = append(factors, b)
			}
			for p := range product(factors) {
				cases = append(cases, p)
			}
		}
		bs = append(bs, cases)
	}
	if s.Random != nil {
		bs = append(bs, s.Random.samples())
	}
	return bs, nil
}

func axisBlock(a Axis) (block, error) {
	vs, err := a.values()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", a.Name, err)
	}
	b := make(block, len(vs))
	for i, v := range vs {
		b[i] = Params{{a.Name, v}}
	}
	return b, nil
}

// product yields the points of the factors, the first factor the slowest. Without factors there is one empty point.
func product(factors []block) iter.Seq[Params] {
	return func(yield func(Params) bool) {
		index := make([]int, len(factors))
		for _, f := range factors {
			if len(f) == 0 {
				return
			}
		}
		for {
			var p Params
			for i, f := range factors {
				p = append(p, f[index[i]]...)
			}
			if !yield(p) {
				return
			}
			i := len(factors) - 1
			for ; i >= 0; i-- {
				if index[i]++; index[i] < len(factors[i]) {
					break
				}
				index[i] = 0
			}
			if i < 0 {
				return
			}
		}
	}
}

// size is the number of points of the product, before exclude and include; it stops at math.MaxInt64.
func size(factors []block) int64 {
	n := uint64(1)
	for _, f := range factors {
		hi, lo := bits.Mul64(n, uint64(len(f)))
		if hi != 0 || lo > math.MaxInt64 {
			return math.MaxInt64
		}
		n = lo
	}
	return int64(n)
}

// points yields the points of an experiment in plan order: the product, less what exclude names, then include. Fixed
// parameters follow the axes, sorted by name.
func (e *Experiment) points() (iter.Seq[Params], error) {
	fixed := make(Params, 0, len(e.Params))
	for name, v := range e.Params {
		fixed = append(fixed, Param{name, v})
	}
	fixed = sortedByName(fixed)
	complete := func(p Params) Params {
		for _, f := range fixed {
			if _, ok := p.Get(f.Name); !ok {
				p = append(p, f)
			}
		}
		return p
	}
	if e.Sweep == nil {
		return func(yield func(Params) bool) { yield(complete(Params{})) }, nil
	}
	factors, err := e.Sweep.blocks()
	if err != nil {
		return nil, err
	}
	// A sweep that only includes points has no product.
	only := len(factors) == 0 && len(e.Sweep.Include) > 0
	return func(yield func(Params) bool) {
		if !only {
			for p := range product(factors) {
				p = complete(p)
				if slices.ContainsFunc(e.Sweep.Exclude, func(m Match) bool { return m.matches(p) }) {
					continue
				}
				if !yield(p) {
					return
				}
			}
		}
		for _, p := range e.Sweep.Include {
			if !yield(complete(slices.Clone(p))) {
				return
			}
		}
	}, nil
}

func (m Match) matches(p Params) bool {
	for _, a := range m {
		v, ok := p.Get(a.Name)
		if !ok || !slices.Contains(a.Values, v) {
			return false
		}
	}
	return true
}

// Varying lists the parameters of the sweep in the order of the source; fixed ones are not among them.
func (e *Experiment) Varying() []string {
	if e.Sweep == nil {
		return nil
	}
	var names []string
	add := func(name string) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, axes := range append([]Axes{e.Sweep.Grid, e.Sweep.Zip}, e.Sweep.Cases...) {
		for _, a := range axes {
			add(a.Name)
		}
	}
	if e.Sweep.Random != nil {
		for _, d := range e.Sweep.Random.Params {
			add(d.Name)
		}
	}
	for _, p := range e.Sweep.Include {
		for _, v := range p {
			add(v.Name)
		}
	}
	return names
}

// widest names the axes with the most values, the widest first: what to look at when a product is too large.
func (s *Sweep) widest() string {
	type axis struct {
		name string
		n    int
	}
	var axes []axis
	for _, a := range append(slices.Clone(s.Grid), s.Zip...) {
		if vs, err := a.values(); err == nil {
			axes = append(axes, axis{a.Name, len(vs)})
		}
	}
	if s.Random != nil {
		axes = append(axes, axis{"random", s.Random.N})
	}
	if n := len(s.Cases); n > 0 {
		axes = append(axes, axis{"cases", n})
	}
	slices.SortStableFunc(axes, func(a, b axis) int { return b.n - a.n })
	var parts []string
	for _, a := range axes[:min(3, len(axes))] {
		parts = append(parts, fmt.Sprintf("%s (%d)", a.name, a.n))
	}
	return strings.Join(parts, ", ")
}
