package report

import (
	"fmt"
	"strings"

	"github.com/xrun-dev/xrun/internal/ledger"
)

// excerptLines is how many lines of a log the text shows.
const excerptLines = 20

// failures shows what went wrong, one of each kind, and what was never run.
func (m *markdown) failures() {
	skipped := m.notRun()
	if len(m.Report.Failures) == 0 && len(skipped) == 0 {
		return
	}
	m.section(2, "What went wrong")
	for i := range m.Report.Failures {
		if i == maxFailures {
			m.printf("\nMore kinds of failure are in report.json: %d.\n", len(m.Report.Failures)-maxFailures)
			break
		}
		m.failure(&m.Report.Failures[i], i > 0)
	}
	if len(m.Report.Failures) > 0 && len(skipped) > 0 {
		m.printf("\n")
	}
	for _, line := range skipped {
		m.printf("- %s\n", line)
	}
}

func (m *markdown) failure(f *Failure, apart bool) {
	if apart {
		m.printf("\n")
	}
	m.printf("**%d × %s**", f.Count, inline(f.Cause))
	if f.Message != "" {
		m.printf(": %s", inlineText(f.Message))
	}
	names := make([]string, len(f.of))
	for i, t := range f.of {
		names[i] = m.trialName(t)
		if len(f.Experiments) == 1 {
			names[i] = code(t.name()) // the experiment stands before them all
		}
	}
	m.printf("\n\nIn ")
	if len(f.Experiments) == 1 && len(m.state.experiments) > 1 {
		m.printf("**%s**: ", escapeText(visible(f.Experiments[0])))
	}
	m.printf("%s", list(names, 3))
	if len(f.Hosts) > 0 {
		hosts := make([]string, len(f.Hosts))
		for i, h := range f.Hosts {
			hosts[i] = inline(h)
		}
		m.printf(", on %s", list(hosts, 4))
	}
	m.printf(".")
	if f.Log != nil {
		m.printf(" The log of the first: %s.", code(*f.Log))
	}
	m.printf("\n")
	if text := lastLines(f.Excerpt, excerptLines); text != "" {
		m.printf("\n%s", fence("text", text))
	}
}

// trialName is what the text calls a trial: with its experiment only where there are several.
func (m *markdown) trialName(t *trial) string {
	name := code(t.name())
	if len(m.state.experiments) > 1 {
		return escapeText(visible(t.key.Experiment)) + " " + name
	}
	return name
}

// underway names the trials that the record leaves running.
func (m *markdown) underway() {
	var names []string
	for _, x := range m.state.experiments {
		for _, t := range x.inOrder() {
			if t.underway() {
				a := t.last()
				names = append(names, fmt.Sprintf("%s (%s on %s)", m.trialName(t), a.passing, inline(a.host)))
			}
		}
	}
	if len(names) > 0 {
		m.section(2, "Under way when the record ends")
		m.printf("%s.\n", capital(list(names, 10)))
	}
}

// lastLines is the last n lines of a text, each of them cut where it is very long.
func lastLines(s string, n int) string {
	lines := strings.Split(strings.TrimRight(s, "\r\n \t"), "\n")
	lines = lines[max(0, len(lines)-n):]
	for i, l := range lines {
		lines[i] = clip(strings.TrimRight(l, "\r"), 500, "the log")
	}
	return strings.Join(lines, "\n")
}

// notRun says by cause which trials were not run or were cancelled, unless that is because the run is not complete.
func (m *markdown) notRun() []string {
	type group struct {
		state          ledger.State
		cause, message string
	}
	counts := map[group]int{}
	var order []group
	for _, x := range m.state.experiments {
		for _, t := range x.inOrder() {
			state := t.final()
			if state != ledger.NotRun && state != ledger.Cancelled || t.finished == nil {
				continue
			}
			g := group{state: state}
			g.cause, g.message = t.cause()
			if counts[g]++; counts[g] == 1 {
				order = append(order, g)
			}
		}
	}
	var lines []string
	for i, g := range order {
		if i == maxFailures {
			return append(lines, "More reasons are in report.json.")
		}
		line := fmt.Sprintf("%s %s", count(counts[g], "trial"), strings.ReplaceAll(string(g.state), "_", " "))
		if g.cause != "" {
			line += ": " + inline(g.cause)
		}
		if g.message != "" {
			line += ": " + inlineText(strings.TrimSuffix(g.message, "."))
		}
		lines = append(lines, line+".")
	}
	return lines
}
