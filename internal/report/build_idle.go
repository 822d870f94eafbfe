package report

import (
	"slices"
	"time"
)

const serving = "serving"

// The reasons for which a slot of a host that serves is idle. Of one that does not, the reason is the host's state.
const (
	idleNeverUsed = "never_used"         // no trial of the run was ever started there
	idleBefore    = "before_first_trial" // probing, staging, waiting for the canary
	idleBetween   = "between_trials"     // there was something to run
	idleNothing   = "nothing_left"       // every trial had been started
)

// idle is the idle time of a host's slots by reason, in seconds, as our clock saw it.
func (s *State) idle(h *host) map[string]float64 {
	var began, ended []time.Time // of attempts here
	var empty time.Time          // when the last trial was started, anywhere
	for _, x := range s.experiments {
		for _, t := range x.trials {
			for _, a := range t.attempts {
				if a.begun.After(empty) {
					empty = a.begun
				}
				if a.host != h.name || a.begun.IsZero() {
					continue
				}
				began = append(began, a.begun)
				if a.ended.IsZero() {
					ended = append(ended, s.lastAt)
				} else {
					ended = append(ended, a.ended)
				}
			}
		}
	}
	if s.waiting() {
		empty = s.lastAt
	}
	marks := slices.Concat(began, ended, []time.Time{empty})
	for _, c := range h.changes {
		marks = append(marks, c.at)
	}
	slices.SortFunc(began, time.Time.Compare)
	slices.SortFunc(ended, time.Time.Compare)
	out := map[string]float64{}
	for _, x := range s.stretches() {
		for _, part := range x.split(marks) {
			free := h.state.Slots - upTo(began, part.from) + upTo(ended, part.from)
			if free <= 0 {
				continue
			}
			why := h.stateAt(part.from)
			if why == serving {
				why = whyIdle(began, part.from, empty)
			}
			out[why] += float64(free) * part.to.Sub(part.from).Seconds()
		}
	}
	return out
}

// waiting reports whether some trial was never started and not given up either.
func (s *State) waiting() bool {
	for _, x := range s.experiments {
		for _, t := range x.trials {
			if t.finished == nil && len(t.attempts) == 0 {
				return true
			}
		}
	}
	return false
}

func whyIdle(began []time.Time, at, empty time.Time) string {
	switch {
	case len(began) == 0:
		return idleNeverUsed
	case !at.Before(empty):
		return idleNothing
	case at.Before(began[0]):
		return idleBefore
	}
	return idleBetween
}

// split cuts a stretch at the marks within it.
func (x stretch) split(marks []time.Time) []stretch {
	inside := slices.DeleteFunc(slices.Clone(marks), func(t time.Time) bool { return !t.After(x.from) || !t.Before(x.to) })
	slices.SortFunc(inside, time.Time.Compare)
	var parts []stretch
	from := x.from
	for _, t := range append(slices.CompactFunc(inside, time.Time.Equal), x.to) {
		if t.After(from) {
			parts = append(parts, stretch{from, t})
			from = t
		}
	}
	return parts
}

// upTo counts the times of a sorted list that are not after t.
func upTo(sorted []time.Time, t time.Time) int {
	n, found := slices.BinarySearchFunc(sorted, t, time.Time.Compare)
	for found && n < len(sorted) && sorted[n].Equal(t) {
		n++
	}
	return n
}

// stateAt is what the host had last been said to be; one of which nothing was said serves.
func (h *host) stateAt(t time.Time) string {
	state := serving
	for _, c := range h.changes {
		if c.at.After(t) {
			break
		}
		state = c.state
	}
	return state
}
