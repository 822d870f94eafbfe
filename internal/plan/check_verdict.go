package plan

import (
	"fmt"
	"slices"
	"strconv"
)

// verdicts checks what a verdict is made of: thresholds, the claim, and that there is a verdict at all.
func (c *checker) verdicts(e *Experiment) {
	if e.Criteria != nil {
		if e.Loop == nil && e.Claim == nil {
			c.add([]string{"criteria"}, "add a claim, which compares one value with the others, or leave criteria out", "nothing reads criteria: a %s without a claim has no verdict", e.Kind())
		}
		c.thresholds(e)
	}
	if e.Claim != nil {
		c.claim(e)
	}
	if e.Sweep != nil && e.Sweep.EarlyStop != nil {
		c.earlyStop(e)
	}
}

// thresholds checks their order: from disappointing over solid to exciting it gets better.
func (c *checker) thresholds(e *Experiment) {
	k := e.Criteria
	if k.MinEffect != nil && k.MinEffectPercent != nil {
		c.add([]string{"criteria", "min_effect_percent"}, "keep one of them", "min_effect and min_effect_percent are both set")
	}
	// a is to be worse than b, or, unless it is strict, as good.
	check := func(low, high string, a, b *float64, strict bool) {
		if a == nil || b == nil {
			return
		}
		worse, better := *a, *b
		if !e.Objective.Maximize() {
			worse, better = -worse, -better
		}
		if worse < better || worse == better && !strict {
			return
		}
		side, word, order := "above", "less", "exciting <= solid < disappointing"
		if e.Objective.Maximize() {
			side, word, order = "below", "more", "disappointing < solid <= exciting"
		}
		c.add([]string{"criteria", high}, fmt.Sprintf("for direction %s: %s", e.Objective.Direction, order),
			"%s %s does not lie %s %s %s, where %s is better", low, FloatValue(*a), side, high, FloatValue(*b), word)
	}
	check("disappointing", "solid", k.Disappointing, k.Solid, true)
	check("solid", "exciting", k.Solid, k.Exciting, false)
	if k.Solid == nil {
		check("disappointing", "exciting", k.Disappointing, k.Exciting, true)
	}
}

// earlyStop needs values of the objective while a trial runs.
func (c *checker) earlyStop(e *Experiment) {
	path := []string{"sweep", "early_stop"}
	switch {
	case e.Evaluate != nil:
		c.add(path, "leave one of them out", "early_stop compares what trials print on the way, and this objective is measured by evaluate when they have ended")
	case e.Sweep.EarlyStop.Step == e.Objective.Metric:
		c.add(append(path, "step"), `name the metric that counts progress, such as "epoch"`, "step is the objective itself")
	}
}

// claim checks that the claimed value and those it is compared with are there.
func (c *checker) claim(e *Experiment) {
	cl := e.Claim
	for i, v := range cl.Against {
		if v == cl.Candidate {
			c.add([]string{"claim", "against", strconv.Itoa(i)}, "", "%s is the candidate: it is not compared with itself", v)
		}
	}
	switch {
	case cl.Param == "":
		c.claimsMethod(e)
		return
	case e.Sweep == nil:
		c.add([]string{"claim", "param"}, "leave it out if the candidate is a method of FINAL_RESULTS", "only a sweep has other values of a parameter to compare with")
		return
	}
	names := e.Varying()
	if !contains(names, cl.Param) {
		if _, fixed := e.Params[cl.Param]; fixed {
			c.add([]string{"claim", "param"}, "make it an axis of the sweep", "parameter %s has one value: there is nothing to compare it with", cl.Param)
		} else {
			c.unknownParam([]string{"claim", "param"}, cl.Param, names)
		}
		return
	}
	values, all := e.valuesOf(cl.Param)
	if !all {
		return
	}
	has := func(v Value, path ...string) {
		if !slices.Contains(values, v) {
			c.add(path, meantValue(v, values), "%s never is %s", cl.Param, v)
		}
	}
	has(cl.Candidate, "claim", "candidate")
	for i, v := range cl.Against {
		has(v, "claim", "against", strconv.Itoa(i))
	}
	if len(values) == 1 {
		c.add([]string{"claim", "param"}, "add the values that it is compared with", "parameter %s has one value: there is nothing to compare it with", cl.Param)
	}
	if len(names) == 1 && len(e.Seeds) < 3 {
		c.warn([]string{"claim"}, "add seeds: 5", "a verdict needs at least 3 seeds of each value, and the sweep has %d", len(e.Seeds))
	}
}

// claimsMethod is about a claim without param, whose candidate is a method of FINAL_RESULTS.
func (c *checker) claimsMethod(e *Experiment) {
	for _, name := range e.Varying() {
		if values, _ := e.valuesOf(name); slices.Contains(values, e.Claim.Candidate) {
			c.warn([]string{"claim", "candidate"}, fmt.Sprintf("add param: %q if that is meant", name),
				"without param, %s is a method of FINAL_RESULTS; the axis %s has this value too", e.Claim.Candidate, name)
			return
		}
	}
}

// meantValue is the suggestion for a value that is not among values.
func meantValue(v Value, values []Value) string {
	var texts []string
	for _, x := range values {
		if x.text == v.text {
			return fmt.Sprintf("did you mean the %s %s?", kindNames[x.kind], x)
		}
		texts = append(texts, x.text)
	}
	if n := Nearest(v.text, texts); n != "" && v.kind == String {
		return fmt.Sprintf("did you mean %s?", n)
	}
	return "values: " + some(texts, 8)
}

var kindNames = map[Kind]string{String: "string", Number: "number", Bool: "bool"}

// maxListed is how many values of an axis are listed to find one of them.
const maxListed = 1000

// valuesOf lists the values that a parameter takes in the sweep; all is false where only some of them can be told.
func (e *Experiment) valuesOf(name string) (values []Value, all bool) {
	all = true
	seen := map[Value]bool{}
	add := func(vs ...Value) {
		for _, v := range vs {
			if !seen[v] {
				seen[v] = true
				values = append(values, v)
			}
		}
	}
	e.Sweep.axes(func(a Axis, _ []string) {
		if a.Name != name {
			return
		}
		n, err := a.count()
		if err != nil || n > maxListed {
			all = false
			return
		}
		vs, err := a.values()
		add(vs...)
		all = all && err == nil
	})
	if e.Sweep.Random != nil {
		for _, d := range e.Sweep.Random.Params {
			if d.Name == name {
				add(d.Values...)
				all = all && d.Dist == "choice"
			}
		}
	}
	for _, p := range e.Sweep.Include {
		if v, ok := p.Get(name); ok {
			add(v)
		}
	}
	if v, ok := e.Params[name]; ok && len(e.Sweep.Cases)+len(e.Sweep.Include) > 0 {
		add(v) // a case or an included point without a value of its own has the fixed one
	}
	return values, all
}
