package report

import (
	"fmt"
	"strings"

	"github.com/xrun-dev/xrun/internal/ledger"
)

// experiment writes an experiment: what was tried, what was found, and its trials; of a long list the best and the first
// that failed, unless all are asked for.
func (p *printer) experiment(s *State, x *experiment, all bool) {
	r := s.experimentReport(x)
	ends := x.ends()
	p.line("experiment %s: %s, %s", x.name, r.Kind, strings.TrimSpace(r.Objective.Direction+" "+r.Objective.Metric))
	p.field("verdict", deref(r.Verdict)+because(deref(r.VerdictReason)))
	p.field("stopped", deref(r.StopReason))
	if ends.Planned > 0 {
		p.field("trials", ends.String())
	}
	for _, a := range x.axes() {
		p.field("axis", a)
	}
	cut := !all && (x.part != nil || ends.Planned > wholeExperiment)
	ranked := r.ranked()
	if cut { // the numbers that are shown, and no others, say how many digits they need
		ranked = ranked[:min(cutRows, len(ranked))]
	}
	f := scaleOfPoints(ranked)
	if b := r.Best; b != nil && b.point != nil {
		spread := ""
		if b.SD != nil {
			spread = " ± " + f.spread(b.SD)
		}
		p.field("best", fmt.Sprintf("%s: %s%s (n = %d)", orElse(b.Params.String(), "no parameters"), f.format(b.Mean), spread, b.N))
	}
	p.field("note", deref(r.Note))
	l := lists{printer: p, x: x, of: map[string]*Trial{}, scale: f}
	for i := range r.Trials {
		l.of[r.Trials[i].ID] = &r.Trials[i]
	}
	if !cut {
		l.write("", x.inOrder())
		return
	}
	best, failed := l.best(ranked), l.failed()
	if n := ends.Succeeded + ends.Reused; len(best) > 0 {
		l.write(fmt.Sprintf("the best of %d", n), best)
	}
	if n := ends.Failed + ends.Lost - ends.underway; len(failed) > 0 {
		l.write(fmt.Sprintf("the first of %d that failed", n), failed)
	}
	p.line("  all of them: %s", shell(s.xrun("show", s.run+"/"+x.name)))
}

// axes says what was varied: "lr: 4 values, 0.0001 to 0.1".
func (x *experiment) axes() []string {
	if x.planned == nil {
		return nil
	}
	var out []string
	for _, a := range x.planned.Axes {
		switch n := len(a.Values); {
		case n < 2:
		case n <= 6:
			out = append(out, a.Name+": "+squeeze(strings.Join(a.Values, ", "), nameLimit))
		default:
			line := fmt.Sprintf("%s: %d values", a.Name, n)
			if low, high, ok := ends(a); ok {
				line += fmt.Sprintf(", %s to %s", short(low), short(high))
			}
			out = append(out, line)
		}
	}
	return out
}

// lists writes lists of trials of an experiment.
type lists struct {
	*printer
	x     *experiment
	of    map[string]*Trial
	scale scale
}

func (l *lists) write(title string, trials []*trial) {
	if len(trials) == 0 {
		return
	}
	if title != "" {
		l.line("  %s", title)
	}
	t := &table{titles: []string{"TRIAL", "PARAMETERS", " SEED", "STATE", " " + strings.ToUpper(orElse(l.x.objective().Metric, "objective")), " TIME", "HOST"}}
	for _, tr := range trials {
		o := l.of[tr.key.Trial]
		state := string(tr.state())
		if o.Cause != nil {
			state += ": " + *o.Cause
		}
		t.add(o.ID, clip(o.Params.String(), cellLimit, "report.json"), fmt.Sprint(o.Seed), state, l.scale.format(o.Objective), trialTime(o), deref(o.Host))
	}
	l.table(t)
}

// best are the first trials of the points in the order of their ranks.
func (l *lists) best(ranked []*Point) []*trial {
	var out []*trial
	for _, p := range ranked {
		for _, t := range p.of {
			if _, ok := t.value(); ok && len(out) < cutRows {
				out = append(out, t)
			}
		}
	}
	return out
}

// failed are the first trials that failed.
func (l *lists) failed() []*trial {
	var out []*trial
	for _, t := range l.x.inOrder() {
		if st := t.final(); (st == ledger.Failed || st == ledger.Lost && !t.underway()) && len(out) < cutRows {
			out = append(out, t)
		}
	}
	return out
}
