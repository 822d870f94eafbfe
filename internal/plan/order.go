package plan

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// longFirst puts of the trials that are to run the long ones first, where it is known how long they took: else the
// longest of them may be the last to start, and one slot works while all others are idle (the rule of the longest
// processing time: Graham, SIAM J. Appl. Math. 17, 1969). Of a trial of which nothing is known the mean is expected.
// Trials that differ by less than a fifth, or take less than a minute, keep their order.
func longFirst(trials []Trial) {
	known, sum := 0, 0.0
	for i := range trials {
		if s := trials[i].EstS; s != nil {
			known++
			sum += *s
		}
	}
	if known == 0 {
		return
	}
	mean := sum / float64(known)
	length := func(t *Trial) int {
		s := mean
		if t.EstS != nil {
			s = *t.EstS
		}
		return int(math.Log(max(s/time.Minute.Seconds(), 1)) / math.Log(1.25))
	}
	if !slices.ContainsFunc(trials, func(t Trial) bool { return length(&t) != length(&trials[0]) }) {
		return
	}
	var places []int
	var run []Trial
	for i := range trials {
		if trials[i].Why != Reused {
			places = append(places, i)
			run = append(run, trials[i])
		}
	}
	slices.SortStableFunc(run, func(a, b Trial) int { return cmp.Compare(length(&b), length(&a)) })
	for i, t := range run {
		trials[places[i]] = t
	}
}
