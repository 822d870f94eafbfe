package plan

import (
	"fmt"
	"iter"
	"math"
	"math/big"
	"slices"
	"strconv"
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

func (r *Range) values() ([]Value, error) {
	n, err := r.count()
	if err != nil {
		return nil, err
	}
	if r.Log {
		return r.geometric(), nil
	}
	if vs := r.steps(n); vs != nil {
		return vs, nil
	}
	from, step := r.From.rat(), new(big.Rat)
	if r.Step != nil {
		step = r.Step.rat()
	} else {
		step.Sub(r.To.rat(), from).Mul(step, big.NewRat(1, int64(n-1)))
	}
	vs := make([]Value, n)
	for i := range vs {
		x := new(big.Rat).Mul(step, big.NewRat(int64(i), 1))
		vs[i] = ratValue(x.Add(x, from))
	}
	return vs, nil
}

// steps is values for the usual case, without the cost of rationals: from, step and all that lies between are decimals of
// few digits. nil if they are not.
func (r *Range) steps(n int) []Value {
	if r.Step == nil {
		return nil
	}
	from, scale, ok := r.From.decimal()
	step, other, also := r.Step.decimal()
	if !ok || !also {
		return nil
	}
	for ; scale < other; scale++ {
		from *= 10
	}
	for ; other < scale; other++ {
		step *= 10
	}
	// Below 2^53, and a power of ten up to 10^22, a float64 is exact: their quotient is rounded once.
	const exact = 1 << 53
	if max(from, -from) >= exact || step >= exact/int64(n) || max(from+step*int64(n), -from) >= exact {
		return nil
	}
	unit := int64(math.Pow10(scale))
	vs := make([]Value, n)
	for i := range vs {
		x := from + step*int64(i)
		if x%unit == 0 {
			vs[i] = IntValue(x / unit)
		} else {
			vs[i] = FloatValue(float64(x) / float64(unit))
		}
	}
	return vs
}

// decimal is v as digits, the last scale of them behind the point; not ok if they are many.
func (v Value) decimal() (digits int64, scale int, ok bool) {
	const most = 9
	mantissa, exponent, _ := strings.Cut(v.text, "e")
	whole, frac, _ := strings.Cut(mantissa, ".")
	digits, err := strconv.ParseInt(whole+frac, 10, 64)
	scale = len(frac)
	if err == nil && exponent != "" {
		var e int
		e, err = strconv.Atoi(exponent)
		scale -= e
	}
	return digits, scale, err == nil && v.kind == Number && len(whole)+len(frac) <= most && scale >= 0 && scale <= most
}

func (r *Range) geometric() []Value {
	from, _ := r.From.Float64()
	to, _ := r.To.Float64()
	n := *r.Points
	vs := make([]Value, n)
	for i := range vs {
		vs[i] = FloatValue(round(math.Exp(math.Log(from) + (math.Log(to)-math.Log(from))*float64(i)/float64(n-1))))
	}
	vs[0], vs[n-1] = r.From, r.To
	return vs
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
			for p := range product(factors, 0) {
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
	b, all := make(block, len(vs)), make(Params, len(vs))
	for i, v := range vs {
		all[i] = Param{a.Name, v}
		b[i] = all[i : i+1 : i+1]
	}
	return b, nil
}

// product yields the points of the factors, the first factor the slowest, with room for so many more parameters. Without
// factors there is one empty point.
func product(factors []block, room int) iter.Seq[Params] {
	return func(yield func(Params) bool) {
		index := make([]int, len(factors))
		for _, f := range factors {
			if len(f) == 0 {
				return
			}
		}
		for {
			n := room
			for i, f := range factors {
				n += len(f[index[i]])
			}
			p := make(Params, 0, n)
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
	return func(yield func(Params) bool) {
		if !e.Sweep.onlyIncludes() {
			for p := range product(factors, len(fixed)) {
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
