package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/xrun-dev/xrun/internal/noise"
	"github.com/xrun-dev/xrun/internal/plan"
)

// Longest tables and lists of report.md; the rest is in report.json.
const (
	maxRows     = 30
	maxMetrics  = 4
	maxFailures = 10
)

// experiment writes the table of one experiment.
func (m *markdown) experiment(x *Experiment) {
	m.section(2, escapeText(visible(x.Name)))
	switch {
	case len(x.Iterations) > 0:
		m.iterations(x)
	case len(x.Points) > 1:
		m.points(x)
	default:
		m.trials(x)
	}
	if x.StopReason != nil && *x.StopReason != "complete" {
		m.printf("\nStopped: %s.\n", inlineText(*x.StopReason))
	}
}

// withResult counts the points that have a value.
func (x *Experiment) withResult() int {
	n := 0
	for i := range x.Points {
		if x.Points[i].N > 0 {
			n++
		}
	}
	return n
}

func (x *Experiment) inPlanOrder() []*Point {
	points := make([]*Point, len(x.Points))
	for i := range x.Points {
		points[i] = &x.Points[i]
	}
	return points
}

// ranked is the points as the table shows them: by rank, those without a result last, else in plan order.
func (x *Experiment) ranked() []*Point {
	points := x.inPlanOrder()
	place := func(p *Point) int {
		if p.Rank == nil {
			return math.MaxInt
		}
		return *p.Rank
	}
	slices.SortStableFunc(points, func(a, b *Point) int { return cmp.Compare(place(a), place(b)) })
	return points
}

// parameters are the names of those that vary over the points, in the order of the axes, and the others with their
// value.
func (x *Experiment) parameters() (vary []string, fixed plan.Params) {
	var names []string
	if x.of.planned != nil {
		for _, a := range x.of.planned.Axes {
			names = append(names, a.Name)
		}
	}
	values := map[string]map[plan.Value]int{}
	for i := range x.Points {
		for _, p := range x.Points[i].Params {
			if values[p.Name] == nil {
				values[p.Name] = map[plan.Value]int{}
			}
			values[p.Name][p.Value]++
			if !slices.Contains(names, p.Name) {
				names = append(names, p.Name)
			}
		}
	}
	for _, n := range names {
		var only plan.Value
		seen := 0
		for v, k := range values[n] {
			only, seen = v, seen+k
		}
		switch {
		case len(values[n]) == 0:
		case len(values[n]) == 1 && seen == len(x.Points):
			fixed = append(fixed, plan.Param{Name: n, Value: only})
		default:
			vary = append(vary, n)
		}
	}
	return vary, fixed
}

// points writes the ranked table of a sweep.
func (m *markdown) points(x *Experiment) {
	vary, fixed := x.parameters()
	m.printf("%s, %s.", count(len(x.Points), "point"), count(len(x.Trials), "trial"))
	if x.Objective.Metric != "" {
		m.printf(" %s.", m.aim(x))
	}
	if len(fixed) > 0 {
		m.printf(" All with %s.", pointName(fixed))
	}
	t := pointTable{Experiment: x, vary: vary, scale: x.scale(), spread: x.hasSpread(), metrics: x.metricColumns()}
	m.printf("\n\n")
	m.header(t.columns())
	rows := x.ranked()
	for _, p := range rows[:min(maxRows, len(rows))] {
		m.row(t.row(p))
	}
	if len(rows) > maxRows {
		m.printf("\nThe first %d of %d points; the others are in report.json.\n", maxRows, len(rows))
	}
	if slices.ContainsFunc(x.Points, func(p Point) bool { return p.hasLongValue() }) {
		m.printf("\nValues with … in them are whole in report.json.\n")
	}
	if n := legend(x); n != "" {
		m.printf("\n%s\n", n)
	}
}

func (p *Point) hasLongValue() bool {
	return slices.ContainsFunc(p.Params, func(v plan.Param) bool { return utf8.RuneCountInString(v.Value.String()) > cellLimit })
}

// method says by what points are told apart, and whose spread blurs it: one noise is taken for all points.
func method(x *Experiment) string {
	var sum, df float64
	var sds []float64
	wild := 0
	for i := range x.Points {
		p := &x.Points[i]
		if p.SD == nil {
			continue
		}
		sum += float64(p.N-1) * *p.SD * *p.SD
		df += float64(p.N - 1)
		sds = append(sds, *p.SD)
		if *p.SD > *x.Points[wild].sd() {
			wild = i
		}
	}
	text := fmt.Sprintf("Told apart by comparison with the best (Hsu), with one noise for all points: sd %s.", short3(math.Sqrt(sum/df)))
	slices.Sort(sds)
	if median := sds[(len(sds)-1)/2]; len(sds) > 2 && sds[len(sds)-1] > 4*median {
		text += fmt.Sprintf(" %s spreads far more (%s) than the others (about %s), and blurs them: leave it out to see more.",
			code(pointName(x.Points[wild].Params)), short3(sds[len(sds)-1]), short3(median))
	}
	return text
}

// sd is the spread of a point, 0 if it has none.
func (p *Point) sd() *float64 {
	if p.SD == nil {
		return new(float64)
	}
	return p.SD
}

// legend explains the marks of a table.
func legend(x *Experiment) string {
	switch {
	case x.Best == nil:
		return ""
	case x.Best.point.TiedWithBest == nil && x.withResult() < 2:
		return ""
	case x.Best.point.TiedWithBest == nil:
		return "One value each: cannot tell what is noise."
	}
	for i := range x.Points {
		p := &x.Points[i]
		if p != x.Best.point && p.TiedWithBest != nil && *p.TiedWithBest {
			return "≈ cannot be told from the best: with 95 % confidence the truly best point is among the marked ones. " + method(x)
		}
	}
	return ""
}

// A pointTable is the table of a sweep. Columns in which nothing would stand are left out.
type pointTable struct {
	*Experiment
	vary    []string
	scale   scale
	spread  bool
	metrics []metricColumn
}

func (t *pointTable) columns() []column {
	columns := []column{{"rank", true}}
	for _, n := range t.vary {
		columns = append(columns, column{cell(n), t.numeric(n)})
	}
	columns = append(columns, column{"n", true}, column{cell(cmp.Or(t.Objective.Metric, "objective")), true})
	if t.spread {
		columns = append(columns, column{"sd", true}, column{"95 % interval", true})
	}
	for _, c := range t.metrics {
		columns = append(columns, column{cell(c.name), true})
	}
	return append(columns, column{"", false})
}

func (t *pointTable) row(p *Point) []string {
	row := []string{"–"}
	if p.Rank != nil {
		row[0] = fmt.Sprint(*p.Rank)
	}
	for _, n := range t.vary {
		v, ok := p.Params.Get(n)
		if !ok {
			row = append(row, "–")
			continue
		}
		row = append(row, cell(squeeze(v.String(), cellLimit)))
	}
	n := fmt.Sprint(p.N)
	if p.N != len(p.of) {
		n = fmt.Sprintf("%d of %d", p.N, len(p.of))
	}
	row = append(row, n, t.scale.format(p.Mean))
	if t.spread {
		interval := ""
		if p.CILow != nil && p.CIHigh != nil {
			interval = t.scale.format(p.CILow) + " to " + t.scale.format(p.CIHigh)
		}
		row = append(row, t.scale.spread(p.SD), interval)
	}
	for _, c := range t.metrics {
		row = append(row, c.scale.format(finite(noise.Summarize(p.metric(c.name), confidence).Mean)))
	}
	return append(row, t.mark(p))
}

// hasSpread reports whether some point was measured more than once.
func (x *Experiment) hasSpread() bool {
	return slices.ContainsFunc(x.Points, func(p Point) bool { return p.SD != nil })
}

// mark is the last cell of a point's row: best, tied, or why there is no number.
func (x *Experiment) mark(p *Point) string {
	switch {
	case p.N == 0:
		return p.states()
	case x.Best != nil && p == x.Best.point:
		return "**best**"
	case p.TiedWithBest != nil && *p.TiedWithBest:
		return "≈ best"
	}
	return ""
}

// states says how the trials of a point without a result ended.
func (p *Point) states() string {
	var words []string
	counts := map[string]int{}
	for _, t := range p.of {
		cause, _ := t.cause()
		w := cmp.Or(cause, strings.ReplaceAll(string(t.state()), "_", " "))
		if counts[w]++; counts[w] == 1 {
			words = append(words, w)
		}
	}
	for i, w := range words {
		if counts[w] > 1 {
			words[i] = fmt.Sprintf("%s ×%d", w, counts[w])
		}
		words[i] = cell(words[i])
	}
	return list(words, 3)
}

// A metricColumn is a further metric in a table, its numbers written alike.
type metricColumn struct {
	name  string
	scale scale
}

// metricColumns are the further metrics that the experiment asked for and some trial with a result has.
func (x *Experiment) metricColumns() []metricColumn {
	if x.of.planned == nil {
		return nil
	}
	var columns []metricColumn
	for _, name := range x.of.planned.Metrics {
		var means, sds []float64
		for i := range x.Points {
			if s := noise.Summarize(x.Points[i].metric(name), confidence); s.N > 0 {
				means, sds = append(means, s.Mean), append(sds, s.SD)
			}
		}
		if name != x.Objective.Metric && len(means) > 0 && len(columns) < maxMetrics {
			columns = append(columns, metricColumn{name, scaleOf(means, sds)})
		}
	}
	return columns
}

// metric is the values of a further metric, of the trials of p that count.
func (p *Point) metric(name string) noise.Sample {
	var values noise.Sample
	for _, t := range p.of {
		if _, ok := t.value(); !ok {
			continue
		}
		if v, ok := t.outcome().Metrics[name]; ok && finite(float64(v)) != nil {
			values = append(values, float64(v))
		}
	}
	return values
}

// numeric reports whether a parameter is a number wherever it is.
func (x *Experiment) numeric(name string) bool {
	for i := range x.Points {
		if v, ok := x.Points[i].Params.Get(name); ok && v.Kind() != plan.Number {
			return false
		}
	}
	return true
}
