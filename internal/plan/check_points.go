package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxCompared is how many points are made at most to find those that stand there twice.
const maxCompared = 10_000

// repeats finds points that stand there twice. The product is not made: its points differ if those of its factors do.
func (c *checker) repeats(e *Experiment) {
	s := e.Sweep
	s.axes(func(a Axis, path []string) {
		if path[1] != "zip" {
			c.repeatedValues(a, path)
		}
	})
	c.repeatedRows(s.Zip)
	if n, err := s.countCases(); err == nil && n <= maxCompared {
		c.repeatedCases(e)
	}
	c.repeatedIncludes(e)
	c.idleExcludes(e)
}

// maxRepeats is how many repetitions of one list are shown.
const maxRepeats = 3

// A repeatList warns of the repetitions of one list: of the first ones in whole, of the others by their number.
type repeatList struct {
	*checker
	shown, more int
}

func (r *repeatList) warn(path []string, suggestion, format string, args ...any) {
	if r.shown == maxRepeats {
		r.more++
		return
	}
	r.shown++
	r.checker.warn(path, suggestion, format+" (it is run once)", args...)
}

func (r *repeatList) end() {
	if r.more > 0 {
		r.found[len(r.found)-1].Message += fmt.Sprintf(", and %d more like it", r.more)
	}
}

// repeatedValues is about one axis.
func (c *checker) repeatedValues(a Axis, path []string) {
	if r := a.Range; r != nil && r.Points != nil && r.From == r.To {
		c.warn(path, "", "all %d points of the range are %s", *r.Points, r.From)
		return
	}
	list := repeatList{checker: c}
	seen := make(map[Value]bool, len(a.Values))
	for i, v := range a.Values {
		if seen[v] {
			list.warn(append(slices.Clone(path), strconv.Itoa(i)), "", "%s stands there twice", v)
		}
		seen[v] = true
	}
	list.end()
}

// repeatedRows is about axes that move together. One axis that never repeats makes the rows differ.
func (c *checker) repeatedRows(zip Axes) {
	if len(zip) == 0 {
		return
	}
	rows := make([]Params, len(zip[0].Values))
	for _, a := range zip {
		if len(a.Values) != len(rows) {
			return // a range, whose values differ
		}
		for i, v := range a.Values {
			rows[i] = append(rows[i], Param{a.Name, v})
		}
	}
	list := repeatList{checker: c}
	seen := make(map[string]bool, len(rows))
	for i, row := range rows {
		key := pointText(row)
		if seen[key] {
			list.warn([]string{"sweep", "zip", zip[0].Name, strconv.Itoa(i)}, "", "%s stands there twice", row)
		}
		seen[key] = true
	}
	list.end()
}

// repeatedCases finds a case that has a point of an earlier one: only cases of the same parameters can.
func (c *checker) repeatedCases(e *Experiment) {
	kinds := map[string][]int{}
	for i, axes := range e.Sweep.Cases {
		var names []string
		for _, a := range axes {
			names = append(names, a.Name)
		}
		for name := range e.Params {
			if !contains(names, name) {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		kind := strings.Join(names, " ")
		kinds[kind] = append(kinds[kind], i)
	}
	for _, kind := range sortedKeys(kinds) {
		if len(kinds[kind]) > 1 {
			c.sharedPoints(e, kinds[kind])
		}
	}
}

func (c *checker) sharedPoints(e *Experiment, cases []int) {
	list := repeatList{checker: c}
	first := map[string]int{}
	for _, i := range cases {
		one := Experiment{Params: e.Params, Sweep: &Sweep{Grid: e.Sweep.Cases[i]}}
		points, err := one.points()
		if err != nil {
			return
		}
		said := false
		for p := range points {
			key := pointText(p)
			j, ok := first[key]
			if ok && j != i && !said {
				list.warn([]string{"sweep", "cases", strconv.Itoa(i)}, "", "cases[%d] has %s too", j, p)
				said = true
			}
			if !ok {
				first[key] = i
			}
		}
	}
	list.end()
}

// repeatedIncludes finds included points that are there anyway.
func (c *checker) repeatedIncludes(e *Experiment) {
	s := e.Sweep
	if len(s.Include) == 0 {
		return
	}
	var factors []block
	n, err := s.countFactors()
	if err == nil && n <= maxCompared && times(n, int64(len(s.Include))) <= 100*maxCompared && !s.onlyIncludes() {
		factors, _ = s.blocks() // without factors nothing is found in them
	}
	list := repeatList{checker: c}
	first := map[string]int{}
	for i, p := range s.Include {
		whole := e.withFixed(p)
		key := pointText(whole)
		path := []string{"sweep", "include", strconv.Itoa(i)}
		if j, ok := first[key]; ok {
			list.warn(path, "leave it out", "include[%d] is %s too", j, p)
			continue
		}
		first[key] = i
		if len(factors) == 0 || slices.ContainsFunc(s.Exclude, func(m Match) bool { return m.matches(whole) }) {
			continue
		}
		if e.made(factors, whole) {
			list.warn(path, "leave it out", "the sweep has %s without it", p)
		}
	}
	list.end()
}

// withFixed is a point with the fixed parameters that it does not set itself.
func (e *Experiment) withFixed(p Params) Params {
	p = slices.Clone(p)
	for _, name := range sortedKeys(e.Params) {
		if _, ok := p.Get(name); !ok {
			p = append(p, Param{name, e.Params[name]})
		}
	}
	return p
}

// made reports whether the product of the factors has the point: whether each factor has a part of it, and these parts
// have all of it that the fixed parameters do not give.
func (e *Experiment) made(factors []block, point Params) bool {
	own := func(p Param) bool {
		fixed, ok := e.Params[p.Name]
		return !ok || fixed != p.Value
	}
	count := func(ps Params) (n int) {
		for _, p := range ps {
			if own(p) {
				n++
			}
		}
		return n
	}
	sizes := map[int]bool{0: true} // how much of it can be made by the factors so far
	for _, f := range factors {
		next := map[int]bool{}
		for _, part := range f {
			if slices.ContainsFunc(part, func(p Param) bool { x, ok := point.Get(p.Name); return !ok || x != p.Value }) {
				continue
			}
			for size := range sizes {
				next[size+count(part)] = true
			}
		}
		sizes = next
	}
	return sizes[count(point)]
}

// countFactors is how many points all factors of the product have, one after the other.
func (s *Sweep) countFactors() (n int64, err error) {
	for _, a := range slices.Concat(s.Grid, s.Zip) {
		k, err := a.count()
		if err != nil {
			return 0, err
		}
		n = plus(n, int64(k))
	}
	k, err := s.countCases()
	if s.Random != nil {
		k = plus(k, int64(s.Random.N))
	}
	return plus(n, k), err
}
