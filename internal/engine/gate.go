package engine

import (
	"fmt"
	"slices"
	"time"

	"github.com/xrun-dev/xrun/internal/ledger"
)

// A gate lets one trial of a sweep, the canary, go ahead of the rest until it has printed an objective, lived for a
// while, or shown in another way that its code works: a mistake that stops every trial then costs one or two of them.
type gate struct {
	shut  bool
	live  time.Duration // a canary that lives so long opens the gate
	bird  *task
	since time.Time
	tried map[string]bool // points that a canary was
	fell  map[*task]fall  // canaries that failed
	held  bool            // two fell in the same way, and one of them is tried again: no third is tried before that
	blown string
}

// A fall is the newest failure of a canary; unless it is final, the canary is tried again.
type fall struct {
	signature string
	final     bool
}

// newGate returns the gate of an experiment: shut if it has a canary and nothing to say that it worked before.
func newGate(live time.Duration, shut bool) gate {
	return gate{shut: shut, live: live, tried: map[string]bool{}, fell: map[*task]fall{}}
}

func (g *gate) open() { g.shut, g.bird, g.held = false, nil, false }

// admitsAny reports whether some trial may start now.
func (g *gate) admitsAny(now time.Time) bool {
	if g.shut && g.bird != nil && now.Sub(g.since) >= g.live {
		g.open()
	}
	return !g.shut || g.bird == nil
}

// admits reports whether t may, if any may: a second canary is of another point than the first.
func (g *gate) admits(t *task) bool {
	if _, fell := g.fell[t]; g.held {
		return fell
	}
	return !g.shut || !g.tried[t.trial.Params.String()]
}

// lets reports whether any of the tasks may go ahead where none is admitted: every point was a canary already. It lets go
// of those that fell and will not come again: somebody stopped them.
func (g *gate) lets(pending []*task) bool {
	g.held = g.held && slices.ContainsFunc(pending, g.admits)
	return g.shut && !g.held
}

func (g *gate) started(t *task, now time.Time) {
	if g.shut && g.bird == nil {
		g.bird, g.since = t, now
		g.tried[t.trial.Params.String()] = true
	}
}

// leave takes a canary back that will start again.
func (g *gate) leave(t *task) {
	if g.bird == t {
		g.bird = nil
		delete(g.tried, t.trial.Params.String())
	}
}

// ShowsCodeRuns reports whether an attempt that ended with a cause, or well (""), has shown that its code works.
func ShowsCodeRuns(cause string) bool {
	switch Cause(cause) {
	case "", CauseDiverged, CauseTimeout, CauseOOMGPU:
		return true
	}
	return false
}

// finished looks at the end of a canary. What shows that the code ran (it diverged, took its time, filled its GPU) opens
// the gate too; after another failure a second canary starts at another point, and two failures of one kind are enough.
func (g *gate) finished(t *task, out ledger.AttemptFinished) {
	if !g.shut || g.bird != t {
		return
	}
	if ShowsCodeRuns(out.Cause) {
		g.open()
		return
	}
	g.bird = nil
	if out.State == ledger.Failed { // else somebody stopped it: that says nothing
		g.fall(t, fall{out.Signature, true}, out.Message)
	}
}

// again is finished for a canary that is tried again: until that has ended, it and another that fell in the same way are
// enough. A mistake that stops every trial would else stop each of them once.
func (g *gate) again(t *task, out ledger.AttemptFinished) {
	if !g.shut || g.bird != t {
		return
	}
	if ShowsCodeRuns(out.Cause) {
		g.open()
		return
	}
	g.bird = nil
	g.fall(t, fall{out.Signature, false}, out.Message)
}

func (g *gate) fall(t *task, f fall, message string) {
	differ := false
	for other, o := range g.fell {
		switch {
		case other == t:
		case o.signature != f.signature:
			differ = true
		case o.final && f.final:
			g.blown = fmt.Sprintf("two trials that went ahead failed in the same way; the last: %s", message)
		default:
			g.held = true
		}
	}
	g.fell[t] = f
	if differ && g.blown == "" {
		g.open() // they fail in different ways: that is a matter of the points
	}
}

// nextWake is how long until something happens that no lane tells.
func (r *run) nextWake() (time.Duration, bool) {
	least, found := r.nextGate()
	for _, next := range []func() (time.Duration, bool){r.nextRetry, r.nextReopen, func() (time.Duration, bool) { return r.bound.next(r.Now()) }} {
		if d, ok := next(); ok && (!found || d < least) {
			least, found = d, true
		}
	}
	return least, found
}

// nextGate is how long until a canary has lived long enough.
func (r *run) nextGate() (time.Duration, bool) {
	var least time.Duration
	found := false
	for _, e := range r.experiments {
		g := &e.gate
		if !g.shut || g.bird == nil || len(e.pending) == 0 {
			continue
		}
		d := g.live - r.Now().Sub(g.since)
		if d <= 0 {
			g.open() // here too: while no slot is free nobody asks whether it may
		}
		if d = max(0, d); !found || d < least {
			least, found = d, true
		}
	}
	return least, found
}
