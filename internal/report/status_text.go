package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/xrun-dev/xrun/internal/ledger"
)

// Longest lists of the text; the JSON has them whole.
const (
	maxRunning = 30
	maxWaiting = 15
)

// Line is the state of the run in one line, without anything that passes by itself.
func (s *Status) Line() string {
	n := s.Trials
	parts := []string{fmt.Sprintf("%d of %d done", n.Succeeded+n.Reused, n.Planned)}
	for _, p := range []struct {
		n    int
		what string
	}{
		{n.Failed, "failed"},
		{n.StoppedEarly, "stopped early"},
		{n.Cancelled, "cancelled"},
		{n.Lost, "lost"},
		{n.NotRun, "not run"},
		{n.Running, "running"},
		{n.Queued, "waiting"},
	} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.what))
		}
	}
	state := "active"
	if !s.Run.Active {
		state = deref(s.Run.Outcome)
	}
	return visible(fmt.Sprintf("run %s: %s, %s", s.Run.ID, state, strings.Join(parts, ", ")))
}

// Text writes the status for a person.
func (s *Status) Text(w io.Writer) error {
	p := &printer{w: w}
	p.line("%s", s.Line())
	p.field("command", shell(s.Run.Command))
	if s.Run.Active {
		p.field("process", fmt.Sprint(*s.Run.PID))
	} else {
		p.field("outcome", deref(s.Run.Outcome)+because(deref(s.Run.Reason))+exit(s.Run.ExitCode))
	}
	p.field("spent", s.spentText())
	if s.Deadline != nil && s.Run.Active {
		p.field("deadline", fmt.Sprintf("%s UTC, in %s", s.Deadline.Format("2006-01-02 15:04"), duration(s.Deadline.Sub(s.At).Seconds())))
	}
	for _, h := range s.Hosts {
		if h.State != serving {
			p.field("host", fmt.Sprintf("%s: %s%s", h.Name, orElse(h.State, "not known yet"), because(deref(h.Reason))))
		}
	}
	s.runningText(p)
	s.waitingText(p)
	s.foundText(p)
	for i, f := range s.Failures {
		if i == 0 {
			p.line("")
			p.line("failed")
		}
		if i == maxFailures {
			p.line("  and %d more kinds of failure", len(s.Failures)-i)
			break
		}
		p.line("  %d × %s on %s", f.Count, join(f.Cause, f.Message), orElse(list(f.Hosts, 3), "no host"))
	}
	return p.err
}

// spentText is what was spent, each of what there is.
func (s *Status) spentText() string {
	of := func(what string, bound string) string {
		if bound == "" {
			return what
		}
		return what + " of " + bound
	}
	var wall, gpu, runs string
	if b := s.Budget; b != nil {
		if b.WallS != nil {
			wall = duration(*b.WallS)
		}
		if b.GPUHours != nil {
			gpu = short(*b.GPUHours)
		}
		if b.Runs != nil {
			runs = fmt.Sprint(*b.Runs)
		}
	}
	parts := []string{of(duration(s.Spent.WallS), wall), of(count(s.Spent.Runs, "attempt"), runs)}
	if s.Spent.GPUHours > 0 || gpu != "" {
		parts = append(parts, of(short3(s.Spent.GPUHours), gpu)+" GPU-hours")
	}
	return strings.Join(parts, ", ")
}

func (s *Status) runningText(p *printer) {
	if len(s.Running) == 0 {
		return
	}
	p.line("")
	if s.Run.Active {
		p.line("running")
	} else {
		p.line("not ended when the record ends")
	}
	t := &table{titles: []string{"TRIAL", "HOST", "GPUS", "STATE", " FOR", "OBJECTIVE", " STEP"}}
	for i, r := range s.Running {
		if i == maxRunning {
			break
		}
		value, step := "", ""
		if r.Objective != nil {
			value = r.Metric + " " + short(*r.Objective)
		}
		if r.Step != nil {
			step = short(*r.Step)
		}
		state := r.State + because(deref(r.Reason))
		if r.State == string(ledger.Unknown) {
			state = "does not answer" + because(deref(r.Reason))
		}
		t.add(r.Experiment+"/"+r.name, r.Host, models(r.GPUs), state, duration(r.ForS), value, step)
	}
	p.table(t)
	if n := len(s.Running) - maxRunning; n > 0 {
		p.line("  and %d more", n)
	}
}

func (s *Status) waitingText(p *printer) {
	for i, w := range s.Waiting {
		if i == 0 {
			p.line("")
			p.line("waiting")
		}
		if i == maxWaiting {
			p.line("  and more, for %d other reasons", len(s.Waiting)-i)
			break
		}
		p.line("  %d of %s%s", w.Count, w.Experiment, because(strings.TrimSuffix(w.Reason, "waits")))
	}
}

func (s *Status) foundText(p *printer) {
	head := false
	for _, e := range s.Experiments {
		if e.Best == nil && e.Verdict == nil {
			continue
		}
		if !head {
			head = true
			p.line("")
			p.line("found so far")
		}
		line := "  " + e.Name + ": "
		if b := e.Best; b != nil {
			spread := ""
			if b.SD != nil {
				spread = " ± " + e.scale.spread(b.SD)
			}
			line += fmt.Sprintf("%s %s%s (n = %d) with %s", e.Objective.Metric, e.scale.format(b.Mean), spread, b.N, orElse(squeeze(b.Params.String(), nameLimit), "no parameters"))
			if b.Tied > 0 {
				line += fmt.Sprintf("; %s cannot be told from it", count(b.Tied, "other point"))
			}
		}
		if e.Verdict != nil {
			line = strings.Replace(line+"; ", ": ; ", ": ", 1) + "verdict " + *e.Verdict
		}
		p.line("%s", line)
	}
}
