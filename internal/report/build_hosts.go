package report

import (
	"cmp"
	"maps"
	"slices"

	"github.com/xrun-dev/xrun/internal/ledger"
)

// hostReports says what each host did, by name.
func (s *State) hostReports() []Host {
	hosts := []Host{}
	for _, h := range s.hosts {
		r := Host{
			Name: h.name, Kind: h.state.Kind, GPUs: orEmpty(h.state.GPUs), Slots: h.state.Slots,
			IdleWhy: map[string]float64{},
		}
		if h.state.State != "" && h.state.State != serving {
			// Drained hosts and those that were refused get no more trials; one that does not answer may come back.
			r.Quarantined = h.state.State == "drained" || h.state.State == "refused"
			r.Note = orNil(h.state.State + because(h.state.Reason))
		} else if h.state.Reason != "" { // it serves, but not with all that it has
			r.Note = orNil(h.state.Reason)
		}
		s.work(h.name, &r)
		if r.Slots > 0 {
			idle, sum := s.idle(h), 0.0
			for _, why := range slices.Sorted(maps.Keys(idle)) {
				r.IdleWhy[why] = round(idle[why], 3)
				sum += idle[why]
			}
			r.IdleS = finite(round(sum, 3))
		}
		r.BusyS = round(r.BusyS, 3)
		hosts = append(hosts, r)
	}
	slices.SortFunc(hosts, func(a, b Host) int { return cmp.Compare(a.Name, b.Name) })
	return hosts
}

// work adds up what the attempts on a host say.
func (s *State) work(name string, r *Host) {
	for _, x := range s.experiments {
		for _, t := range x.trials {
			here, failed := false, false
			for _, a := range t.attempts {
				if a.host != name {
					continue
				}
				here = true
				failed = failed || a.finished != nil && a.finished.State == ledger.Failed
				r.BusyS += a.seconds(s.lastAt)
			}
			if here {
				r.Trials++
			}
			if failed {
				r.Failed++
			}
		}
	}
}

// because appends a reason to a statement, if there is one.
func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}
