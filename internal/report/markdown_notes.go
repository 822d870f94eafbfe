package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/xrun-dev/xrun/internal/ledger"
	"github.com/xrun-dev/xrun/internal/plan"
)

// notes says what a careful reader would have found in the numbers.
func (m *markdown) notes() {
	var lines []string
	for i := range m.Experiments {
		x := &m.Experiments[i]
		name := "**" + escapeText(visible(x.Name)) + "**: "
		for _, line := range slices.Concat(x.cut(), x.edges(), x.seeds(), x.retried(), x.metricNotes()) {
			lines = append(lines, name+line)
		}
	}
	for _, w := range m.Warnings {
		lines = append(lines, capital(inlineText(w)))
	}
	if n := len(m.SkippedRuns); n > 0 {
		last := m.SkippedRuns[n-1]
		holder := ""
		if last.Holder != "" { // else it was just starting
			holder = fmt.Sprintf(" (%s was active)", code(last.Holder))
		}
		lines = append(lines, fmt.Sprintf("%s found another run active and did nothing, the last on %s UTC%s", count(n, "start"), last.At.Format(minute), holder))
	}
	if len(lines) == 0 {
		return
	}
	m.section(2, "Worth knowing")
	for _, line := range lines {
		m.printf("- %s\n", sentence(line))
	}
}

// sentence ends a line with a full stop.
func sentence(s string) string {
	if strings.HasSuffix(s, ".") || strings.HasSuffix(s, "?") || strings.HasSuffix(s, "!") {
		return s
	}
	return s + "."
}

// cut says which trials a limit ended that nobody asked for.
func (x *Experiment) cut() []string {
	p := x.of.planned
	if p == nil || !p.Limits.TrialDefault {
		return nil
	}
	n := 0
	for i := range x.Trials {
		if deref(x.Trials[i].Cause) == "timeout" {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return []string{fmt.Sprintf("the default limit of %s cut %s short. If that is too little, set %s.",
		duration(p.Limits.TrialS), count(n, "trial"), code("limits.trial"))}
}

// edges says where the best point has the least or the greatest value that was tried: the optimum may lie beyond. Two
// values have nothing but edges, and samples of a distribution have no edge of the user's choice.
func (x *Experiment) edges() []string {
	if x.Best == nil || len(x.Points) < 2 || x.of.planned == nil || x.random() {
		return nil
	}
	var lines []string
	for _, a := range x.of.planned.Axes {
		low, high, ok := ends(a)
		v, has := x.Best.Params.Get(a.Name)
		f, number := v.Float64()
		if !ok || !has || !number || f != low && f != high || x.valuesWithResult(a.Name) < 3 {
			continue
		}
		which, more := "least", "smaller"
		if f == high {
			which, more = "greatest", "larger"
		}
		line := fmt.Sprintf("the best %s, %s, is the %s that was tried: the optimum may lie beyond. Adding %s values reruns nothing",
			inline(a.Name), inline(v.String()), which, more)
		if x.tiedElsewhere(a.Name, f) {
			line += " (points further in cannot be told from it, though)"
		}
		lines = append(lines, line+".")
	}
	return lines
}

// ends are the least and the greatest value of an ordered axis with at least three values.
func ends(a ledger.Axis) (low, high float64, ok bool) {
	if !a.Ordered || len(a.Values) < 3 {
		return 0, 0, false
	}
	for i, text := range a.Values {
		f, err := strconv.ParseFloat(text, 64) // not as a value of a spec: there may be many
		if err != nil {
			return 0, 0, false
		}
		if i == 0 {
			low, high = f, f
		}
		low, high = min(low, f), max(high, f)
	}
	return low, high, true
}

// valuesWithResult counts the values of a parameter at which something was measured.
func (x *Experiment) valuesWithResult(name string) int {
	seen := map[plan.Value]bool{}
	for i := range x.Points {
		if v, ok := x.Points[i].Params.Get(name); ok && x.Points[i].N > 0 {
			seen[v] = true
		}
	}
	return len(seen)
}

// tiedElsewhere reports whether a point with another value of a parameter cannot be told from the best.
func (x *Experiment) tiedElsewhere(name string, value float64) bool {
	for i := range x.Points {
		p := &x.Points[i]
		v, _ := p.Params.Get(name)
		if f, ok := v.Float64(); ok && f != value && p.TiedWithBest != nil && *p.TiedWithBest {
			return true
		}
	}
	return false
}

// seeds says where the seed made no difference: every point that was run several times gave one and the same value.
func (x *Experiment) seeds() []string {
	several := 0
	for i := range x.Points {
		p := &x.Points[i]
		if p.N < 2 {
			continue
		}
		if *p.Min != *p.Max {
			return nil
		}
		several++
	}
	if several == 0 {
		return nil
	}
	return []string{fmt.Sprintf("the seed made no difference: all runs of a point gave the same %s. Either the program is deterministic, and one seed is enough, or it does not use %s.",
		x.metric(), code("{seed}"))}
}

// retried says how many results took more than one attempt.
func (x *Experiment) retried() []string {
	n := 0
	for i := range x.Trials {
		if t := &x.Trials[i]; t.State == string(ledger.Succeeded) && len(t.Attempts) > 1 {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s needed more than one attempt.", count(n, "trial"))}
}

// metricNotes are what the reading of the logs found doubtful, each once with the number of trials.
func (x *Experiment) metricNotes() []string {
	counts := map[string]int{}
	var order []string
	for i := range x.Trials {
		for _, n := range x.Trials[i].Notes {
			if counts[n]++; counts[n] == 1 {
				order = append(order, n)
			}
		}
	}
	slices.SortStableFunc(order, func(a, b string) int { return cmp.Compare(counts[b], counts[a]) })
	var lines []string
	for i, n := range order {
		if i == 5 {
			return append(lines, fmt.Sprintf("more notes are in report.json: %d.", len(order)-i))
		}
		line := inlineText(n)
		if counts[n] > 1 {
			line += fmt.Sprintf(" (%d trials)", counts[n])
		}
		lines = append(lines, line)
	}
	return lines
}
