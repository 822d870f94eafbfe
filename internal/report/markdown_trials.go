package report

import (
	"cmp"
	"fmt"
	"strings"
)

// aim is "Minimize loss: of each trial the last value counts".
func (m *markdown) aim(x *Experiment) string {
	text := capital(x.Objective.Direction) + " " + inline(x.Objective.Metric)
	if which := picked(x.of.objective().Pick); which != "" {
		text += ": of each trial the " + which + " counts"
	}
	return text
}

// picked is which of the values of a trial counts, in words.
func picked(pick string) string {
	switch pick {
	case "":
		return ""
	case "min":
		return "least value"
	case "max":
		return "greatest value"
	case "mean":
		return "mean"
	default:
		return pick + " value"
	}
}

// trials writes the trials of an experiment that compares nothing.
func (m *markdown) trials(x *Experiment) {
	if len(x.Trials) == 0 {
		m.printf("It has no trials.\n")
		return
	}
	var said []string
	if x.Objective.Metric != "" {
		said = append(said, m.aim(x)+".")
	}
	if len(x.Points) > 0 && len(x.Points[0].Params) > 0 {
		said = append(said, "With "+pointName(x.Points[0].Params)+".")
	}
	if len(said) > 0 {
		m.printf("%s\n\n", strings.Join(said, " "))
	}
	metrics := x.metricColumns()
	columns := []column{{"seed", true}, {cell(cmp.Or(x.Objective.Metric, "objective")), true}}
	for _, c := range metrics {
		columns = append(columns, column{cell(c.name), true})
	}
	m.header(append(columns, column{"state", false}, column{"time", true}, column{"host", false}))
	f := x.scale()
	for i := range x.Trials {
		if i == maxRows {
			m.printf("\nThe first %d of %d trials; the others are in report.json.\n", maxRows, len(x.Trials))
			break
		}
		t := &x.Trials[i]
		row := []string{fmt.Sprint(t.Seed), f.format(t.Objective)}
		for _, c := range metrics {
			row = append(row, c.scale.format(t.Metrics[c.name]))
		}
		m.row(append(row, trialState(t), trialTime(t), cell(deref(t.Host))))
	}
}

func trialState(t *Trial) string { return cell(trialEnd(t)) }

// trialEnd is how a trial ended: "failed: oom_gpu".
func trialEnd(t *Trial) string { return join(strings.ReplaceAll(t.State, "_", " "), deref(t.Cause)) }

func trialTime(t *Trial) string {
	if t.DurationS == nil {
		return ""
	}
	return duration(*t.DurationS)
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// iterations writes what a loop tried.
func (m *markdown) iterations(x *Experiment) {
	m.header([]column{{"iteration", true}, {"phase", false}, {"decision", false}, {cell(cmp.Or(x.Objective.Metric, "objective")), true}, {"change", false}, {"reason", false}})
	f := x.scale()
	for i, it := range x.Iterations {
		if i == maxRows {
			m.printf("\nThe first %d of %d iterations; the others are in report.json.\n", maxRows, len(x.Iterations))
			break
		}
		m.row([]string{fmt.Sprint(it.N), cell(it.Phase), cell(it.Decision), f.format(it.Metric), cell(deref(it.Candidate.Summary)), cell(it.Reason)})
	}
}
