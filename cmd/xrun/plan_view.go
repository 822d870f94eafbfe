package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/xrun-dev/xrun/internal/plan"
)

// maxRows is how many trials of an experiment a person is shown; -o json has all.
const maxRows = 40

// lineWidth is how long a line of words may become.
const lineWidth = 110

// planView prints a plan for a person.
type planView struct {
	w    io.Writer
	plan *plan.Plan
	spec *plan.Spec
}

func (v planView) print() {
	for i := range v.plan.Experiments {
		v.experiment(&v.plan.Experiments[i])
	}
	for _, w := range v.plan.Warnings {
		fmt.Fprintf(v.w, "warning: %s\n", w)
	}
	v.total()
}

func (v planView) experiment(pe *plan.PlannedExperiment) {
	fmt.Fprintf(v.w, "%s (%s)\n", pe.Name, pe.Kind)
	fmt.Fprintf(v.w, "  code    %s, %s, %s\n", pe.Code.ID, count(pe.Code.Files, "file"), plan.Bytes(pe.Code.Bytes))
	for _, h := range pe.Hosts {
		if h.Eligible {
			fmt.Fprintf(v.w, "  host    %s%s\n", h.Name, v.about(h.Name))
		} else {
			fmt.Fprintf(v.w, "  not on  %s: %s\n", h.Name, *h.WhyNot)
		}
	}
	if e := v.find(pe.Name); e != nil {
		v.defaults(e)
	}
	for _, p := range pe.Phases {
		if p.TrialsMax == 0 {
			continue
		}
		fmt.Fprintf(v.w, "  phase   %s, at most %s\n", p.Phase, count(p.TrialsMax, "trial"))
	}
	if len(pe.Trials) > 0 {
		v.trials(pe.Trials)
	}
	fmt.Fprintln(v.w)
}

func (v planView) find(name string) *plan.Experiment {
	for i := range v.spec.Experiments {
		if v.spec.Experiments[i].Name == name {
			return &v.spec.Experiments[i]
		}
	}
	return nil
}

// about is how many trials a host takes at once, and the file that says so.
func (v planView) about(host string) string {
	for _, h := range v.spec.Hosts {
		if h.Name == host {
			from := h.From
			if from == "" {
				from = "no host is declared: this machine"
			}
			return fmt.Sprintf(", %s (%s)", count(h.Slots, "slot"), from)
		}
	}
	return ""
}

// defaults shows what the spec leaves to xrun.
func (v planView) defaults(e *plan.Experiment) {
	var parts []string
	for _, d := range e.Defaulted() {
		parts = append(parts, d.Name+" "+d.Value)
	}
	line := "  default"
	for i, p := range parts {
		if i < len(parts)-1 {
			p += ","
		}
		if len(line)+1+len(p) > lineWidth {
			fmt.Fprintln(v.w, line)
			line = "         "
		}
		line += " " + p
	}
	if len(parts) > 0 {
		fmt.Fprintln(v.w, line)
	}
}

func (v planView) trials(ts []plan.Trial) {
	var table strings.Builder
	tw := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprint(tw, "  trial\twhy\tseed\t")
	for _, p := range ts[0].Params {
		fmt.Fprintf(tw, "%s\t", visible(p.Name))
	}
	fmt.Fprintln(tw)
	for _, t := range ts[:min(len(ts), maxRows)] {
		fmt.Fprintf(tw, "  %s\t%s\t%d\t", t.ID, why(t), t.Seed)
		for _, p := range ts[0].Params {
			value := "-"
			if x, ok := t.Params.Get(p.Name); ok {
				value = visible(x.String())
			}
			fmt.Fprintf(tw, "%s\t", value)
		}
		for _, p := range t.Params {
			if _, ok := ts[0].Params.Get(p.Name); !ok {
				fmt.Fprintf(tw, "%s=%s\t", visible(p.Name), visible(p.Value.String()))
			}
		}
		fmt.Fprintln(tw)
	}
	tw.Flush()
	for line := range strings.Lines(table.String()) {
		fmt.Fprintln(v.w, strings.TrimRight(line, " \n"))
	}
	if n := len(ts) - maxRows; n > 0 {
		fmt.Fprintf(v.w, "  … and %s (-o json lists all)\n", count(n, "more trial"))
	}
}

func why(t plan.Trial) string {
	if len(t.Changed) == 0 {
		return string(t.Why)
	}
	shown := strings.Join(t.Changed[:min(2, len(t.Changed))], ", ")
	if n := len(t.Changed) - 2; n > 0 {
		shown += fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf("%s: %s", t.Why, visible(shown))
}

func (v planView) total() {
	counts := v.plan.Counts()
	var parts []string
	for _, w := range []plan.Why{plan.New, plan.Changed, plan.Failed, plan.Lost, plan.Reused} {
		if counts[w] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[w], map[plan.Why]string{plan.Failed: "failed before", plan.Lost: "lost before"}[w]))
			if w != plan.Failed && w != plan.Lost {
				parts[len(parts)-1] = fmt.Sprintf("%d %s", counts[w], w)
			}
		}
	}
	e := v.plan.Estimate
	loops := v.loopTrials()
	if loops > 0 && len(parts) > 0 {
		parts = append(parts, fmt.Sprintf("at most %d of loops", loops))
	}
	switch {
	case e.Trials == nil:
		fmt.Fprint(v.w, "the number of trials is not known yet")
	case len(parts) > 0:
		fmt.Fprintf(v.w, "%s to run: %s", count(*e.Trials, "trial"), strings.Join(parts, ", "))
	default:
		fmt.Fprintf(v.w, "at most %s to run", count(*e.Trials, "trial"))
	}
	if e.GPUHoursMax != nil && *e.GPUHoursMax > 0 {
		fmt.Fprintf(v.w, "; at most %.1f GPU-hours", *e.GPUHoursMax)
	}
	if e.AgentTurns != nil && *e.AgentTurns > 0 {
		fmt.Fprintf(v.w, "; at most %s", count(*e.AgentTurns, "agent turn"))
	}
	if e.WallS != nil {
		fmt.Fprintf(v.w, "; about %s", roundDuration(*e.WallS))
	} else {
		fmt.Fprint(v.w, "; no history to tell how long")
	}
	fmt.Fprintln(v.w)
}

// loopTrials is the most trials that the loops can take.
func (v planView) loopTrials() int {
	n := 0
	for _, e := range v.plan.Experiments {
		for _, p := range e.Phases {
			n += p.TrialsMax
		}
	}
	return n
}

func roundDuration(s float64) string {
	d := time.Duration(s * float64(time.Second))
	switch {
	case d < 10*time.Second:
		return d.Round(100 * time.Millisecond).String()
	case d < 10*time.Minute:
		return d.Round(time.Second).String()
	default:
		return plan.Duration(d.Round(time.Minute)).String()
	}
}

func (v planView) diff(against string, d plan.Diff) {
	fmt.Fprintf(v.w, "against %s: %d added, %d removed, %d changed, %d the same\n", against, len(d.Added), len(d.Removed), len(d.Changed), d.Same)
	list := func(sign string, ts []plan.DiffTrial) {
		for _, t := range ts[:min(len(ts), maxRows)] {
			fmt.Fprintf(v.w, "  %s %s/%s seed %d  %s\n", sign, t.Experiment, t.ID, t.Seed, visible(t.Params.String()))
		}
	}
	list("+", d.Added)
	list("-", d.Removed)
	list("~", d.Changed)
}

// visible shows control characters as codes, so that nothing from a spec or a log can give commands to a terminal.
func visible(s string) string {
	var b strings.Builder
	for _, r := range s {
		if strconv.IsPrint(r) {
			b.WriteRune(r)
		} else {
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		}
	}
	return b.String()
}
