package plan

import (
	"fmt"
	"slices"
	"time"
)

// A Worst is the longest that something can take: every trial as long as its limit.
type Worst struct {
	Trials int
	Slots  int // 0: only the hosts can tell
	Wall   Duration
}

// Worst is that of one experiment on the hosts that it may use; false where it cannot be told before the hosts are
// asked for their GPUs or their files.
func (s *Spec) Worst(pe *PlannedExperiment) (Worst, bool) {
	e := s.Experiment(pe.Name)
	if e == nil || pe.Estimate.Trials == nil {
		return Worst{}, false
	}
	w := Worst{Trials: *pe.Estimate.Trials}
	if e.Loop != nil {
		return s.worstLoop(e, w)
	}
	for i, c := range pe.Hosts {
		if !c.Eligible || i >= len(s.Hosts) {
			continue
		}
		n := s.Hosts[i].slotsFor(e)
		if n < 0 {
			return Worst{Trials: w.Trials}, false
		}
		w.Slots += n
	}
	if e.Limits.MaxParallel != nil {
		w.Slots = min(w.Slots, *e.Limits.MaxParallel)
	}
	if w.Slots == 0 {
		return w, false
	}
	rounds := (w.Trials + w.Slots - 1) / w.Slots
	if float64(rounds)*e.Limits.Trial.Seconds() > maxWall {
		return w, false
	}
	w.Wall = Duration(rounds) * e.Limits.Trial
	return w, true
}

// worstLoop is that of a loop: each step waits for the one before.
func (s *Spec) worstLoop(e *Experiment, w Worst) (Worst, bool) {
	wall := float64(w.Trials) * e.Limits.Trial.Seconds()
	if i := slices.IndexFunc(s.Agents, func(a Agent) bool { return a.Name == e.Loop.Agent }); i >= 0 {
		wall += float64(e.Loop.Iterations*(1+e.Loop.Repair)) * s.Agents[i].Timeout.Seconds()
	}
	if wall > maxWall {
		return w, false
	}
	w.Slots, w.Wall = 1, Duration(wall*float64(time.Second))
	return w, true
}

// maxWall is a century, in seconds: longer is no time that anybody waits.
const maxWall = 100 * 365 * 24 * 3600

// slotsFor is how many trials of e the host takes at once, -1 if only the host can tell.
func (h *Host) slotsFor(e *Experiment) int {
	if e.Needs.GPUs == 0 {
		return max(1, h.Slots)
	}
	n := h.declaredGPUs()
	if n < 0 {
		return -1
	}
	return n / e.Needs.GPUs * max(1, e.Needs.PerGPU)
}

// Experiment is the one of that name; nil if there is none.
func (s *Spec) Experiment(name string) *Experiment {
	i := slices.IndexFunc(s.Experiments, func(e Experiment) bool { return e.Name == name })
	if i < 0 {
		return nil
	}
	return &s.Experiments[i]
}

// near is the part of a limit from which on a trial is close to it.
const near = 0.8

// CheckLimits compares the limits of the experiments with how long their trials took before.
func CheckLimits(s *Spec, p *Plan) []Finding {
	c := &checker{spec: s}
	for i := range p.Experiments {
		pe := &p.Experiments[i]
		e := s.Experiment(pe.Name)
		if e == nil || e.Limits.Trial <= 0 || pe.Estimate.Trials != nil && *pe.Estimate.Trials == 0 {
			continue
		}
		c.at = []string{"experiments", e.Name}
		c.limit(e, pe)
	}
	return c.found
}

func (c *checker) limit(e *Experiment, pe *PlannedExperiment) {
	limit := e.Limits.Trial.Seconds()
	longest, ended := 0.0, 0
	for i := range pe.Trials {
		t := &pe.Trials[i]
		if t.EstS == nil {
			continue
		}
		switch took := *t.EstS; {
		case t.LastState == "failed" && took >= 0.95*limit && took <= 1.5*limit:
			ended++
		case t.LastState == "succeeded":
			longest = max(longest, took)
		}
	}
	suggestion := fmt.Sprintf("limits: trial: %q would leave room", roomFor(max(longest, limit)))
	which := "limits.trial " + e.Limits.Trial.String()
	if !e.Set["limits.trial"] {
		which = "the default limit of " + e.Limits.Trial.String()
	}
	path := []string{"limits", "trial"}
	switch {
	case ended > 0:
		c.warn(path, suggestion, "%s failed before after about as long as %s", number(ended, "trial", "trials"), which)
	case longest >= limit:
		c.warn(path, suggestion, "a trial took %s before, and %s would end it", secondsText(longest), which)
	case longest >= near*limit:
		c.warn(path, suggestion, "a trial took %s before: close to %s", secondsText(longest), which)
	}
}

// roomFor is twice as long, in round numbers.
func roomFor(s float64) Duration {
	d := time.Duration(2 * s * float64(time.Second))
	step := time.Second
	for _, s := range []time.Duration{time.Hour, 10 * time.Minute, time.Minute} {
		if d >= 3*s {
			step = max(step, s)
		}
	}
	return Duration((d + step - 1) / step * step)
}

func secondsText(s float64) string {
	d := time.Duration(s * float64(time.Second))
	if d >= time.Minute {
		return Duration(d.Round(time.Second)).String()
	}
	return Duration(d.Round(100 * time.Millisecond)).String()
}
