package report

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/xrun-dev/xrun/internal/ledger"
	"github.com/xrun-dev/xrun/internal/plan"
)

// nextListed is how many trials that wait are listed by name.
const nextListed = 10

// waits finds out why trials wait, from the plan and what runs, in the order in which the scheduler asks. What does not
// follow from them is not guessed.
type waits struct {
	*State
	StatusOptions
	all  []*waitingExperiment // in plan order
	busy map[string]int       // attempts by host
	left map[string]*room     // by host
}

// room is what is left on a host. A job that needs GPUs takes no slot.
type room struct {
	slots int
	gpus  float64
}

// takes reports whether there is room for a trial of x, and takes it.
func (r *room) takes(x *waitingExperiment) bool {
	if n := x.share(); n > 0 {
		r.gpus -= n
		return r.gpus > -1e-9
	}
	r.slots--
	return r.slots >= 0
}

// share is how many GPUs a trial needs, as a part of one where several share it; 0 if it takes a slot.
func (x *waitingExperiment) share() float64 {
	return float64(x.spec.Needs.GPUs) / float64(max(1, x.spec.Needs.PerGPU))
}

type waitingExperiment struct {
	*experiment
	spec   plan.Experiment
	queued []*trial // in plan order
	flying []*trial // given to a host
	ahead  []*trial // of those, the ones that are prepared there and wait for a slot
	counts StatusTrials
	rest   int // more that wait, and were never begun
}

// sort sorts the trials of an experiment by where they stand.
func (x *waitingExperiment) sort() {
	x.counts.Planned, x.counts.Queued = x.undeclared(), x.undeclared()
	for _, t := range x.inOrder() {
		if x.part != nil && t.finished != nil {
			continue // its tally has it
		}
		x.counts.Planned++
		switch state := t.state(); {
		case t.finished != nil, state == ledger.Succeeded:
			*x.counts.of(state)++
		case state == ledger.Queued, state.Final():
			x.counts.Queued++ // also what ended and is not given up: it is tried again
			x.queued = append(x.queued, t)
		default:
			x.counts.Running++
			x.flying = append(x.flying, t)
		}
	}
	if x.part != nil {
		x.sortRest()
	}
}

// sortRest counts the trials that the State has not.
func (x *waitingExperiment) sortRest() {
	n := &x.counts
	n.Planned = x.undeclared()
	for _, t := range x.part.tallies {
		switch t.State {
		case ledger.AsPlanned:
			n.Planned += t.N
		case ledger.Spent:
		default:
			*n.of(t.State) += t.N
		}
	}
	x.rest = n.Planned - n.Succeeded - n.Reused - n.Failed - n.StoppedEarly - n.Cancelled - n.Lost - n.NotRun - n.Running - n.Queued
	n.Queued += x.rest
}

// prepared finds the attempts that wait for a slot on their host, where the next one is made ready while the slot is busy:
// to whoever asks they wait like others.
func (w *waits) prepared() {
	w.left = map[string]*room{}
	var staging []*trial
	of := map[*trial]*waitingExperiment{}
	for _, h := range w.hosts {
		w.left[h.name] = &room{h.state.Slots, float64(len(h.state.GPUs))}
	}
	for _, x := range w.all {
		for _, t := range x.flying {
			if a := t.last(); a.finished == nil && a.passing == ledger.Staging {
				staging, of[t] = append(staging, t), x
			} else if r := w.left[a.host]; r != nil {
				r.takes(x)
			}
		}
	}
	slices.SortStableFunc(staging, func(a, b *trial) int { return a.last().begun.Compare(b.last().begun) })
	for _, t := range staging {
		x, r := of[t], w.left[t.last().host]
		if r == nil || r.takes(x) {
			continue
		}
		x.ahead = append(x.ahead, t)
		x.counts.Running--
		x.counts.Queued++
	}
}

// status says what the experiment has found so far.
func (x *waitingExperiment) status() StatusExperiment {
	o := x.objective()
	e := StatusExperiment{Name: x.name, Kind: x.kind(), Objective: Objective{o.Metric, o.Direction, orNil(o.Unit)}, Trials: x.counts}
	if f := x.finished; f != nil {
		e.Verdict = orNil(f.Verdict)
	}
	if e.Kind == plan.KindLoop {
		return e
	}
	points, best, note := new(State).rank(x.experiment)
	e.Note = orNil(note)
	if best != nil && best.point != nil {
		e.Best = &StatusBest{Params: best.Params, N: best.N, Mean: best.Mean, SD: best.SD}
		var means, sds []float64
		for i := range points {
			p := &points[i]
			if p.TiedWithBest != nil && *p.TiedWithBest && p != best.point {
				e.Best.Tied++
			}
			if p.Mean != nil {
				means = append(means, *p.Mean)
			}
			if p.SD != nil {
				sds = append(sds, *p.SD)
			}
		}
		if x.part != nil {
			e.Best.Tied = x.part.tied
		}
		e.scale = scaleOf(means, sds)
	}
	return e
}

// running lists what is on hosts, and counts it by host.
func (w *waits) running() []StatusRunning {
	out := []StatusRunning{}
	for _, x := range w.all {
		for _, t := range x.flying {
			if slices.Contains(x.ahead, t) {
				continue
			}
			out = append(out, w.attempt(x, t))
			w.busy[t.last().host]++
		}
	}
	slices.SortStableFunc(out, func(a, b StatusRunning) int {
		if a.Since == nil || b.Since == nil {
			return cmp.Compare(b.ForS, a.ForS)
		}
		return a.Since.Compare(*b.Since)
	})
	return out
}

func (w *waits) attempt(x *waitingExperiment, t *trial) StatusRunning {
	a := t.last()
	r := StatusRunning{
		Experiment: x.name, Trial: t.key.Trial, Params: t.params, Seed: t.seed(), Attempt: a.n, Host: a.host, GPUs: orEmpty(a.gpus),
		State: string(a.passing), Reason: orNil(a.reason), Since: utc(&a.begun), Metric: x.objective().Metric, name: t.name(),
	}
	if a.finished != nil {
		r.State = string(t.state()) // its twin's result counts, and is not there yet
	}
	if d := w.Now.Sub(a.begun).Seconds(); d > 0 && !a.begun.IsZero() {
		r.ForS = round(d, 3)
	}
	for _, m := range a.series {
		if m.Metric == r.Metric && len(m.Values) > 0 {
			v := m.Values[len(m.Values)-1]
			r.Objective = finite(float64(v.Value))
			if v.Step != nil {
				r.Step = finite(float64(*v.Step))
			}
		}
	}
	return r
}

// waiting says why the trials of an experiment wait, those of one reason together.
func (w *waits) waiting(x *waitingExperiment) []StatusWaiting {
	var out []StatusWaiting
	common := w.common(x)
	at := map[string]int{}
	add := func(why StatusWaiting, n int) *StatusWaiting {
		i, ok := at[why.Why+why.Reason]
		if !ok {
			i = len(out)
			at[why.Why+why.Reason] = i
			why.Experiment, why.Next = x.name, []string{}
			out = append(out, why)
		}
		out[i].Count += n
		return &out[i]
	}
	for _, t := range slices.Concat(x.ahead, x.queued) {
		why := common
		if slices.Contains(x.ahead, t) && w.PID != 0 {
			why = StatusWaiting{Why: WaitsSlot, Reason: "no " + x.unit() + " is free on " + t.last().host + ", where it is prepared"}
		} else if common.Why != WaitsInactive && common.Why != WaitsInputs {
			if until := w.retry(x, t); until != nil {
				why = StatusWaiting{Why: WaitsRetry, Reason: "tried again in " + duration(until.Sub(w.Now).Seconds()), Until: until}
			}
		}
		if group := add(why, 1); len(group.Next) < nextListed {
			group.Next = append(group.Next, t.key.Trial)
		}
	}
	if x.rest > 0 {
		add(common, x.rest)
	}
	return out
}

// common is why a trial of the experiment that is ready waits.
func (w *waits) common(x *waitingExperiment) StatusWaiting {
	if w.PID == 0 {
		return StatusWaiting{Why: WaitsInactive, Reason: "no process works on the run: `xrun resume " + w.run + "` goes on"}
	}
	if up := w.before(x); up != "" {
		return StatusWaiting{Why: WaitsInputs, Reason: "waits for experiment " + up}
	}
	total := 0
	for _, y := range w.all {
		total += len(y.flying)
	}
	switch m := x.spec.Limits.MaxParallel; {
	case m != nil && len(x.flying) >= *m:
		return StatusWaiting{Why: WaitsMaxParallel, Reason: fmt.Sprintf("limits.max_parallel is %d", *m)}
	case w.MaxParallel > 0 && total >= w.MaxParallel:
		return StatusWaiting{Why: WaitsMaxParallel, Reason: fmt.Sprintf("--max-parallel is %d", w.MaxParallel)}
	}
	if t := w.canary(x); t != nil {
		return StatusWaiting{Why: WaitsCanary, Reason: "the canary goes ahead: " + t.name()}
	}
	return w.hostless(x)
}

// before is an experiment that has to be over before x begins; "" if there is none.
func (w *waits) before(x *waitingExperiment) string {
	names := make([]string, 0, len(x.spec.Inputs))
	for _, in := range x.spec.Inputs {
		names = append(names, in.Experiment)
	}
	slices.Sort(names)
	for _, name := range names {
		for _, up := range w.all {
			if up.name == name && len(up.queued)+len(up.flying) > 0 {
				return name
			}
		}
	}
	return ""
}

// canary is the trial that goes ahead of the rest of a sweep, as long as nothing shows that the gate is open.
func (w *waits) canary(x *waitingExperiment) *trial {
	if x.spec.Sweep == nil || x.spec.Sweep.Canary == nil || x.spec.Sweep.Canary.Off || len(x.flying) != 1 || x.counts.Succeeded+x.counts.Reused > 0 {
		return nil
	}
	bird := x.flying[0]
	a := bird.last()
	adopted := a.adopted != "" || a.begun.Before(w.segment)
	if adopted || a.finished != nil || w.Now.Sub(a.begun) >= time.Duration(x.spec.Sweep.Canary.For) {
		return nil
	}
	for _, m := range a.series {
		if m.Metric == x.objective().Metric {
			return nil
		}
	}
	failed := map[string]bool{}
	for _, t := range x.trials {
		for _, a := range t.attempts {
			if f := a.finished; f != nil && !a.begun.Before(w.segment) {
				failed[f.Signature] = true
				if w.Runs(f.Cause) || len(failed) > 1 {
					return nil
				}
			}
		}
	}
	return bird
}

// retry is when a trial is tried again that failed; nil if it need not wait.
func (w *waits) retry(x *waitingExperiment, t *trial) *time.Time {
	var ended []ledger.AttemptFinished
	for _, a := range t.attempts {
		if a.finished != nil {
			ended = append(ended, *a.finished)
		}
	}
	if len(ended) == 0 || t.last().ended.Before(w.segment) { // a resume does not wait
		return nil
	}
	until := t.last().ended.Add(w.RetryAfter(&x.spec, ended)).UTC()
	if !until.After(w.Now) {
		return nil
	}
	return &until
}

// unit is what a trial takes of a host.
func (x *waitingExperiment) unit() string {
	if x.share() > 0 {
		return "GPU"
	}
	return "slot"
}

// hostless says that every slot is taken, or that no host serves.
func (w *waits) hostless(x *waitingExperiment) StatusWaiting {
	var full, down []string
	if x.planned == nil {
		return StatusWaiting{Why: WaitsUnknown, Reason: "waits"}
	}
	for _, name := range x.planned.Hosts {
		i := slices.IndexFunc(w.hosts, func(h *host) bool { return h.name == name })
		switch {
		case i < 0:
			return StatusWaiting{Why: WaitsUnknown, Reason: "waits"}
		case w.hosts[i].state.State != serving:
			down = append(down, name+" is "+orElse(w.hosts[i].state.State, "not known yet"))
		case x.share() == 0 && w.left[name].slots > 0, x.share() > 0 && w.left[name].gpus > x.share()-1e-9:
			return StatusWaiting{Why: WaitsUnknown, Reason: "waits"}
		default:
			full = append(full, name)
		}
	}
	switch {
	case len(full) > 0:
		return StatusWaiting{Why: WaitsSlot, Reason: "no " + x.unit() + " is free on " + list(full, 3)}
	case len(down) > 0:
		return StatusWaiting{Why: WaitsHost, Reason: "no host serves: " + list(down, 3)}
	}
	return StatusWaiting{Why: WaitsUnknown, Reason: "waits"}
}
