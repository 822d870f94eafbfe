package report

import (
	"fmt"
	"math"
	"strings"

	"github.com/xrun-dev/xrun/internal/noise"
	"github.com/xrun-dev/xrun/internal/plan"
)

// winners says what each experiment found, in one sentence with its noise, and how to have it again.
func (m *markdown) winners() {
	if len(m.Experiments) == 0 {
		return
	}
	m.section(2, "Result")
	for i := range m.Experiments {
		x := &m.Experiments[i]
		m.printf("- **%s**: %s\n", escapeText(visible(x.Name)), m.finding(x))
		m.repeat(x)
	}
}

// finding is an experiment's result in a sentence or two.
func (m *markdown) finding(x *Experiment) string {
	var b strings.Builder
	if x.Verdict != nil {
		fmt.Fprintf(&b, "**%s**", inlineText(*x.Verdict))
		if x.VerdictReason != nil {
			b.WriteString(": " + inlineText(strings.TrimSuffix(*x.VerdictReason, ".")))
		}
		b.WriteString(".")
		if x.Best == nil {
			return b.String()
		}
		b.WriteString(" ")
	}
	if x.Best == nil && x.Kind == plan.KindLoop {
		return "no verdict yet."
	}
	if x.Best == nil {
		return b.String() + "no winner: " + m.whyNone(x) + "."
	}
	f := x.scale()
	if len(x.Points) == 1 {
		fmt.Fprintf(&b, "%s %s", x.metric(), level(x.Best.Level, x.Best.point, f, deref(x.Objective.Unit)))
		if x.Best.N == 1 {
			b.WriteString(": its noise is not known")
		}
		return b.String() + "."
	}
	fmt.Fprintf(&b, "%s has the %s %s, %s. %s", pointName(x.Best.Params), x.extreme(), x.metric(),
		level(x.Best.Level, x.Best.point, f, deref(x.Objective.Unit)), x.told(f))
	if missing := x.missing(); missing > 0 {
		verb := "have"
		if missing == 1 {
			verb = "has"
		}
		yet := ""
		if !m.state.complete() {
			yet = " yet"
		}
		fmt.Fprintf(&b, " %d of %s %s no result%s.", missing, count(len(x.Trials), "trial"), verb, yet)
	}
	return b.String()
}

// metric is the objective's name for a sentence.
func (x *Experiment) metric() string {
	if x.Objective.Metric == "" {
		return "objective"
	}
	return inline(x.Objective.Metric)
}

func (x *Experiment) extreme() string {
	if x.of.maximize() {
		return "highest"
	}
	return "lowest"
}

// missing counts the trials without a result.
func (x *Experiment) missing() int {
	n := 0
	for i := range x.Trials {
		if x.Trials[i].Objective == nil {
			n++
		}
	}
	return n
}

// level is "0.2310 ± 0.0021 (sd of 3 runs; 95 % interval of the mean 0.2258 to 0.2362)".
func level(l Level, p *Point, f scale, unit string) string {
	if unit != "" {
		unit = " " + escapeText(visible(unit))
	}
	mean := f.format(l.Mean) + unit
	if l.SD == nil {
		return mean + " (one run)"
	}
	if *l.SD == 0 {
		return fmt.Sprintf("%s (the same in all of %d runs)", mean, l.N)
	}
	return fmt.Sprintf("%s ± %s%s (mean ± sd, n = %d; 95 %% interval %s to %s)",
		f.format(l.Mean), f.spread(l.SD), unit, l.N, f.format(p.CILow), f.format(p.CIHigh))
}

// told says whether the winner can be told from the others, and what its number is worth.
func (x *Experiment) told(f scale) string {
	ranked := x.ranked()
	var with []*Point
	tied := []string{}
	for _, p := range ranked {
		if p.N == 0 || p == x.Best.point {
			continue
		}
		with = append(with, p)
		if p.TiedWithBest != nil && *p.TiedWithBest {
			tied = append(tied, fmt.Sprintf("%s (%s)", pointName(p.Params), f.format(p.Mean)))
		}
	}
	if len(with) == 0 {
		return "No other point has a result: there is nothing to compare it with."
	}
	picked := fmt.Sprintf(" Picked from %d: expect a little less gain on new seeds.", len(with)+1)
	if x.Best.point.TiedWithBest == nil {
		return "One run per point: whether that is more than luck cannot be told." + picked
	}
	if noSpread(with, x.Best.point) {
		if len(tied) > 0 {
			return "It equals " + list(tied, 3) + "; no point varies with the seed."
		}
		return fmt.Sprintf("The runner-up, %s, has %s; no point varies with the seed.", pointName(with[0].Params), f.format(with[0].Mean))
	}
	if len(tied) == 0 {
		return fmt.Sprintf("It can be told from the runner-up, %s (%s), with 95 %% confidence.", pointName(with[0].Params), f.format(with[0].Mean)) + picked
	}
	s := "It cannot be told from " + list(tied, 3)
	if len(tied) > 1 {
		s += fmt.Sprintf(": with 95 %% confidence the best point is among these %d", len(tied)+1)
	}
	return s + "." + picked
}

func noSpread(points []*Point, best *Point) bool {
	for _, p := range append([]*Point{best}, points...) {
		if p.SD != nil && *p.SD > 0 {
			return false
		}
	}
	return true
}

// whyNone says why an experiment has no winner.
func (m *markdown) whyNone(x *Experiment) string {
	if len(x.Trials) == 0 {
		return "it has no trials"
	}
	if len(x.Trials) == 1 {
		return "its only trial has no result (" + inlineText(trialEnd(&x.Trials[0])) + ")"
	}
	counts := TrialTotals{}
	for _, t := range x.of.trials {
		*counts.of(t.final())++
	}
	parts := []string{}
	for _, c := range []struct {
		n    int
		what string
	}{
		{counts.Succeeded + counts.Reused, "without a value"},
		{counts.Failed, "failed"},
		{counts.StoppedEarly, "stopped early"},
		{counts.Cancelled, "cancelled"},
		{counts.Lost, "without an end"},
		{counts.NotRun, "not run"},
	} {
		if c.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", c.n, c.what))
		}
	}
	return fmt.Sprintf("none of %s has a result (%s)", count(len(x.Trials), "trial"), strings.Join(parts, ", "))
}

// repeat gives the winner's command and where its files lie.
func (m *markdown) repeat(x *Experiment) {
	b := x.Best
	if b == nil || len(b.Command) == 0 {
		return
	}
	first := x.of.byID[*b.Trial]
	m.printf("\n  To repeat it")
	if b.N > 1 {
		m.printf(" (here with seed %d)", first.seed())
	}
	if f := first.finished; f != nil && f.Reused != nil {
		m.printf(", measured in run %s", code(f.Reused.Run))
	}
	if p := x.of.planned; p != nil && p.Dir != "" && p.Dir != "." {
		m.printf(", in %s", code(p.Dir))
	}
	m.printf(":\n\n")
	m.WriteString(indent(fence("sh", shell(b.Command)), "  "))
	o := first.outcome()
	if len(o.Artifacts) == 0 {
		return
	}
	paths := make([]string, len(o.Artifacts))
	for i, a := range o.Artifacts {
		paths[i] = code(clip(artifactPath(o.Log, a), 200, "report.json"))
	}
	m.printf("\n  It left %s in the state directory.", list(paths, 3))
	if n := len(b.Artifacts) - len(paths); n > 0 {
		m.printf(" What its other seeds left is in report.json.")
	}
	m.printf("\n")
}

func indent(s, by string) string {
	return by + strings.ReplaceAll(strings.TrimSuffix(s, "\n"), "\n", "\n"+by) + "\n"
}

// scale is that of the experiment's objective.
func (x *Experiment) scale() scale { return scaleOfPoints(x.inPlanOrder()) }

func scaleOfPoints(points []*Point) scale {
	var means, sds []float64
	for _, p := range points {
		if p.Mean != nil {
			means = append(means, *p.Mean)
			if p.SD != nil {
				sds = append(sds, *p.SD)
			}
		}
	}
	return scaleOf(means, sds)
}

// difference says how now differs from then, in a way whose sign cannot be misread.
func difference(then, now noise.Sample, maximize bool, f scale) string {
	a, b := noise.Summarize(then, confidence), noise.Summarize(now, confidence)
	d := b.Mean - a.Mean
	word := "better"
	if (d > 0) != maximize {
		word = "worse"
	}
	d = math.Abs(d)
	return fmt.Sprintf("%s by %s", word, f.format(&d))
}
