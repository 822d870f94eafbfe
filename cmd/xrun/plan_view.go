package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/xrun-dev/xrun/internal/engine/checkpoint"
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
	job  *job
}

func (v planView) print() {
	said := map[string]string{}
	for i := range v.plan.Experiments {
		v.experiment(&v.plan.Experiments[i], said)
	}
	v.warnings()
	v.total()
}

// experiment shows one. What is the same as with an earlier one is said in a line: said holds, by text, whose it was.
func (v planView) experiment(pe *plan.PlannedExperiment, said map[string]string) {
	fmt.Fprintf(v.w, "%s (%s)\n", pe.Name, pe.Kind)
	parts := []struct{ name, text string }{{"code", v.code(pe)}, {"hosts", v.hosts(pe)}}
	if e := v.job.spec.Experiment(pe.Name); e != nil {
		parts = append(parts, struct{ name, text string }{"defaults", defaults(e)}, struct{ name, text string }{"limit", limit(e)})
	}
	var same []string
	whose := ""
	for _, p := range parts {
		key := p.name + p.text
		switch owner, ok := said[key]; {
		case p.text == "":
		case ok && (whose == "" || whose == owner):
			whose, same = owner, append(same, p.name)
		default:
			if !ok {
				said[key] = pe.Name
			}
			fmt.Fprint(v.w, p.text)
		}
	}
	if len(same) > 0 {
		fmt.Fprintf(v.w, "  as %s: %s\n", whose, strings.Join(same, ", "))
	}
	v.cost(pe)
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

// code says what is shipped; of what is large, which files make it so.
func (v planView) code(pe *plan.PlannedExperiment) string {
	text := fmt.Sprintf("  code    %s, %s, %s: each slot holds a copy\n", pe.Code.ID, count(pe.Code.Files, "file"), plan.Bytes(pe.Code.Bytes))
	m := v.job.manifests[pe.Name]
	if m == nil {
		return text
	}
	var ignored int
	for _, f := range m.Files {
		if f.Ignored {
			ignored++
		}
	}
	if ignored > 0 {
		text = strings.TrimSuffix(text, "\n") + fmt.Sprintf(" (%s of them no part of a trial's identity)\n", count(ignored, "file"))
	}
	if m.Bytes < large {
		return text
	}
	files := slices.Clone(m.Files)
	slices.SortStableFunc(files, func(a, b checkpoint.File) int { return cmp.Compare(b.Size, a.Size) })
	var names []string
	for _, f := range files[:min(3, len(files))] {
		names = append(names, fmt.Sprintf("%s %s", visible(f.Path), plan.Bytes(f.Size)))
	}
	return text + "  largest " + strings.Join(names, ", ") + "\n"
}

// large is the code of which the largest files are named.
const large = 1 << 20

func (v planView) hosts(pe *plan.PlannedExperiment) string {
	// Hosts of which the same is to be said share a line: a fleet has many that are alike.
	alike, order := map[string][]string{}, []string{}
	for _, h := range pe.Hosts {
		form := "  host    %s" + strings.ReplaceAll(v.about(h.Name), "%", "%%")
		if !h.Eligible {
			form = "  not on  %s: " + strings.ReplaceAll(visible(*h.WhyNot), "%", "%%")
		}
		if alike[form] == nil {
			order = append(order, form)
		}
		alike[form] = append(alike[form], h.Name)
	}
	var b strings.Builder
	for _, form := range order {
		names, more := alike[form], ""
		if n := len(names) - maxNames; n > 0 {
			names, more = names[:maxNames], fmt.Sprintf(" and %d more", n)
		}
		if len(names) > 1 && strings.HasPrefix(form, "  host") {
			form = strings.Replace(form, " (", " each (", 1)
		}
		fmt.Fprintf(&b, form+"\n", strings.Join(names, ", ")+more)
	}
	return b.String()
}

// maxNames is how many hosts a line names.
const maxNames = 8

// about is how many trials a host takes at once, and the file that says so.
func (v planView) about(host string) string {
	for _, h := range v.job.spec.Hosts {
		if h.Name == host {
			from := h.From
			if from == "" {
				from = "no host is declared: this machine"
			}
			return fmt.Sprintf(", %s (%s)", count(h.Slots, "slot"), visible(from))
		}
	}
	return ""
}

// defaults shows what the spec leaves to xrun.
func defaults(e *plan.Experiment) string {
	var parts []string
	for _, d := range e.Defaulted() {
		parts = append(parts, d.Name+" "+d.Value)
	}
	if len(parts) == 0 {
		return ""
	}
	var b strings.Builder
	line := "  default"
	for i, p := range parts {
		if i < len(parts)-1 {
			p += ","
		}
		if len(line)+1+len(p) > lineWidth {
			b.WriteString(line + "\n")
			line = "         "
		}
		line += " " + p
	}
	return b.String() + line + "\n"
}

// limit says by itself what ends a trial where nobody has thought of it.
func limit(e *plan.Experiment) string {
	if e.Set["limits.trial"] || e.Limits.Trial == 0 {
		return ""
	}
	return fmt.Sprintf("  limit   a trial is ended after %s (the default; set limits: trial)\n", e.Limits.Trial)
}

// cost is the most that an experiment can take, and what it took before.
func (v planView) cost(pe *plan.PlannedExperiment) {
	e := pe.Estimate
	if e.Trials == nil || *e.Trials == 0 {
		return
	}
	parts := []string{"at most " + count(*e.Trials, "trial")}
	if len(pe.Trials) > 0 {
		parts[0] = count(*e.Trials, "trial")
	}
	switch w, ok := v.job.spec.Worst(pe); {
	case ok:
		parts[0] += fmt.Sprintf(": at most %s on %s", w.Wall, count(w.Slots, "slot"))
		if pe.Kind == plan.KindLoop {
			parts[0] = strings.TrimSuffix(parts[0], " on 1 slot") + ", one after the other"
		}
	case w.Slots == 0 && slices.ContainsFunc(pe.Hosts, func(h plan.HostChoice) bool { return h.Eligible }):
		parts[0] += ": how many at once only the hosts can tell"
	}
	if e.GPUHoursMax != nil && *e.GPUHoursMax > 0 {
		parts = append(parts, fmt.Sprintf("%.1f GPU-hours", *e.GPUHoursMax))
	}
	if e.AgentTurns != nil && *e.AgentTurns > 0 {
		parts = append(parts, count(*e.AgentTurns, "agent turn"))
	}
	text := strings.Join(parts, ", ")
	if e.WallS != nil {
		text += "; about " + roundDuration(*e.WallS) + ", from earlier runs"
	}
	fmt.Fprintf(v.w, "  cost    %s\n", text)
}

func (v planView) trials(ts []plan.Trial) {
	var table strings.Builder
	tw := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprint(tw, "  trial\twhy\tseed\t")
	for _, p := range ts[0].Params {
		fmt.Fprintf(tw, "%s\t", visible(p.Name))
	}
	fmt.Fprintln(tw)
	rows := v.rows()
	for _, t := range ts[:min(len(ts), rows)] {
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
	if n := len(ts) - rows; n > 0 {
		fmt.Fprintf(v.w, "  … and %s (-o json lists all)\n", count(n, "more trial"))
	}
}

// rows is how many trials of each experiment are shown: fewer where there are many experiments.
func (v planView) rows() int {
	n := len(v.plan.Experiments)
	if n <= 5 {
		return maxRows
	}
	return max(3, 5*maxRows/n)
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
			fmt.Fprintf(v.w, "  %s %s/%s seed %d  %s\n", sign, visible(t.Experiment), visible(t.ID), t.Seed, visible(t.Params.String()))
		}
	}
	list("+", d.Added)
	list("-", d.Removed)
	list("~", d.Changed)
}

// visibleLines is visible for text of several lines.
func visibleLines(s string) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		lines[i] = visible(line)
	}
	return strings.Join(lines, "\n")
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
