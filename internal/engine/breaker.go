package engine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/xrun-dev/xrun/internal/hosts"
	"github.com/xrun-dev/xrun/internal/ledger"
)

const (
	// breakerTrips is how many attempts in a row must end badly on a host, while others succeed, to drain it.
	breakerTrips = 3
	// quick is a failure so soon that the program hardly did anything: on one host only, it is about the host.
	quick       = 10 * time.Second
	drainFirst  = time.Minute
	drainAtMost = 30 * time.Minute
)

// A breaker keeps a host that spoils what it is given from spoiling the rest: it is drained, asked again after a while,
// and given one attempt to show that it is well.
type breaker struct {
	bad    int       // attempts that ended badly, in a row
	since  time.Time // the first of them
	good   time.Time // the newest success
	last   string    // what the newest of them said
	until  time.Time // drained until then; zero: it serves
	drains int       // in a row
	trial  bool      // it is given one attempt
	asking bool      // it is being asked whether it is there
}

// closed reports whether the host may be given an attempt.
func (b *breaker) closed(busy int) bool { return b.until.IsZero() && (!b.trial || busy == 0) }

// judge books the end of an attempt on h, and drains it if it is the host that makes them fail.
func (r *run) judge(h *hostState, out ledger.AttemptFinished) error {
	b := &h.breaker
	now := r.Now()
	switch {
	case out.State == ledger.Succeeded:
		was := b.trial
		*b = breaker{good: now}
		if err := r.drainSuspects(h); err != nil {
			return err
		}
		return r.wellAgain(h, was, "an attempt ended well")
	case out.State != ledger.Failed:
		return nil
	case policy(Cause(out.Cause)).Blame != BlameHost && out.DurationS >= quick.Seconds():
		if b.bad = 0; !b.trial { // one that was started before it was drained says nothing new
			return nil
		}
		*b = breaker{good: b.good}
		return r.wellAgain(h, true, "an attempt ran for long enough there")
	}
	if b.bad++; b.bad == 1 {
		b.since = now
	}
	b.last = out.Message
	switch {
	case b.trial:
		return r.drain(h, "the one attempt that it was given failed too: "+out.Message)
	case b.bad < breakerTrips || !r.othersDoWell(h):
		return nil
	}
	return r.drain(h, spoils(out.Message))
}

// wellAgain says that a host serves which was given one attempt to show that it is well.
func (r *run) wellAgain(h *hostState, was bool, why string) error {
	if !was {
		return nil
	}
	return r.append(r.hostSays(h, "serving", why))
}

func spoils(last string) string {
	return fmt.Sprintf("%d attempts in a row failed here while other hosts did well; the last: %s", breakerTrips, last)
}

// suspect reports whether h is to wait until it is known whether others do better: it would spoil the whole queue before
// the first of them is done.
func (r *run) suspect(h *hostState) bool {
	return h.breaker.bad >= breakerTrips && slices.ContainsFunc(r.hosts, func(o *hostState) bool {
		return o != h && o.handed() > 0 && o.breaker.bad < breakerTrips
	})
}

// drainSuspects is for when an attempt ended well on h: those that fail do so by themselves.
func (r *run) drainSuspects(h *hostState) error {
	for _, o := range r.hosts {
		if o != h && o.breaker.until.IsZero() && o.breaker.bad >= breakerTrips {
			if err := r.drain(o, spoils(o.breaker.last)); err != nil {
				return err
			}
		}
	}
	return nil
}

// othersDoWell reports whether an attempt succeeded elsewhere since they fail on h.
func (r *run) othersDoWell(h *hostState) bool {
	for _, o := range r.hosts {
		if o != h && o.breaker.until.IsZero() && !o.breaker.good.Before(h.breaker.since) && !o.breaker.good.IsZero() {
			return true
		}
	}
	return false
}

// drain gives h nothing more for a while, and takes back what waits there.
func (r *run) drain(h *hostState, why string) error {
	b := &h.breaker
	wait := drainFirst
	for range b.drains {
		wait = min(2*wait, drainAtMost)
	}
	b.drains++
	b.bad, b.trial, b.until = 0, false, r.Now().Add(wait)
	for t, j := range r.handed.on(h.host) {
		r.side.Go(func() { r.takeBack(t, j, recall{reason: "its host was drained", again: true}) })
	}
	return r.append(r.hostSays(h, "drained", why))
}

// reopen asks drained hosts whose time has come whether they are there.
func (r *run) reopen(ctx context.Context) {
	for _, h := range r.hosts {
		b := &h.breaker
		if b.until.IsZero() || b.asking || r.Now().Before(b.until) {
			continue
		}
		b.asking = true
		r.side.Go(func() { // Run waits for it; the scheduler takes what it says
			ctx, cancel := context.WithTimeout(ctx, recallPatience)
			defer cancel()
			c, err := h.host.Capacity(ctx)
			select {
			case r.asked <- answer{h, c, err}:
			case <-ctx.Done():
			}
		})
	}
}

// An answer is what a drained host says when it is asked again.
type answer struct {
	host *hostState
	cap  hosts.Capacity
	err  error
}

// answered gives the host one attempt, or more time.
func (r *run) answered(a answer) error {
	b := &a.host.breaker
	b.asking = false
	if a.err != nil {
		return r.drain(a.host, a.err.Error())
	}
	b.until, b.trial = time.Time{}, true
	r.changed = true
	return nil
}

// nextReopen is how long until a drained host is asked.
func (r *run) nextReopen() (time.Duration, bool) {
	var least time.Duration
	found := false
	for _, h := range r.hosts {
		if b := &h.breaker; !b.until.IsZero() && !b.asking {
			if d := b.until.Sub(r.Now()); !found || d < least {
				least, found = max(0, d), true
			}
		}
	}
	return least, found
}
