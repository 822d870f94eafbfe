package engine

import (
	"context"
	"strings"

	"github.com/xrun-dev/xrun/internal/ledger"
)

// open asks the hosts for their capacity.
func (r *run) open(ctx context.Context) error {
	r.left = map[string][]ledger.Attempt{}
	for i := range r.Spec.Hosts {
		h := &r.Spec.Hosts[i]
		host, ok := r.Hosts[h.Name]
		if !ok {
			continue
		}
		c, err := host.Capacity(ctx)
		if err != nil && ctx.Err() != nil { // xrun is leaving: that says nothing about the host
			r.stopping = true
			return nil
		}
		hs := &hostState{name: h.Name, kind: h.Kind, host: host, cap: c, data: h.Data, gpus: newGPURoom(c.GPUs)}
		hs.lanes = c.Slots + c.Ahead + hs.gpus.lanes(r.mostShared())
		state := r.hostEvent(hs, h.Kind)
		if err != nil {
			state.State, state.Reason = "refused", err.Error()
			for _, e := range r.experiments {
				e.refuse(h.Name, refusal{message: strings.TrimPrefix(strings.TrimPrefix(err.Error(), "host "), h.Name+": ")})
			}
			r.Log.Debug("host refused", "host", h.Name, "error", err)
		} else {
			r.hosts = append(r.hosts, hs)
		}
		if err := r.append(state); err != nil {
			return err
		}
	}
	for _, e := range r.experiments {
		for _, h := range r.hosts {
			if why := lacks(e.spec.Needs, h.cap); why != "" {
				e.refuse(h.name, refusal{message: why})
			}
			if e.takes(h.name) {
				e.fuse.hosts++
			}
		}
		if err := r.classify(e); err != nil {
			return err
		}
	}
	return nil
}
