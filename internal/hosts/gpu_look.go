package hosts

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// row is what was said of a GPU; false: it was not listed.
func (l look) row(uuid string) (smiGPU, bool) {
	if i := slices.IndexFunc(l.gpus, func(g smiGPU) bool { return g.uuid == uuid }); i >= 0 {
		return l.gpus[i], true
	}
	if i := slices.IndexFunc(l.slices, func(s slice) bool { return s.uuid == uuid }); i >= 0 {
		s := l.slices[i]
		// What a MIG instance has in use is told of its parent only.
		return smiGPU{uuid: uuid, total: float64(s.mb), used: -1, util: -1, memoryUnknown: true}, true
	}
	return smiGPU{}, false
}

// occupied says what stands in the way of giving a GPU away; "" if nothing does. Processes that are allowed are those of
// jobs that share it; beside them the memory in use says nothing.
func (l look) occupied(uuid string, shared bool, allowed func(pid int) bool) string {
	g, ok := l.row(uuid)
	switch {
	case !ok:
		return "nvidia-smi does not list it any more"
	case g.unreliable != "":
		return g.unreliable
	}
	var who []string
	for _, a := range l.apps {
		// The server of CUDA's multi-process service stays when those that it serves are gone.
		if a.uuid == uuid && path.Base(a.name) != "nvidia-cuda-mps-server" && !allowed(a.pid) {
			who = append(who, processName(a.pid, a.name))
		}
	}
	switch {
	case len(who) > 3:
		return fmt.Sprintf("used by %s and %d more", strings.Join(who[:3], ", "), len(who)-3)
	case len(who) > 0:
		return "used by " + strings.Join(who, ", ")
	case !shared && g.used > emptyMB(int64(g.total)):
		return fmt.Sprintf("%.0f MB of its memory are in use, by no process that can be seen", g.used)
	}
	return ""
}

// lost reports whether the driver does not have the GPU any more.
func (l look) lost(uuid string) bool {
	g, ok := l.row(uuid)
	return l.none || !ok || strings.Contains(strings.ToLower(g.unreliable), "lost")
}

// infos are the GPUs that can be given away, instances of MIG instead of those that they are parts of.
func (l look) infos() []GPUInfo {
	var out []GPUInfo
	for _, g := range l.gpus {
		info := GPUInfo{GPU: GPU{g.uuid, g.model}, Index: g.index, MemoryMB: int64(max(0, g.total)), State: GPUFree}
		if g.unreliable != "" {
			info.State, info.Why = GPUUnknown, g.unreliable
		}
		parts := 0
		for _, s := range l.slices {
			if s.parent == g.uuid {
				part := info
				part.UUID, part.Model, part.MemoryMB = s.uuid, g.model+" MIG "+s.profile, s.mb
				out = append(out, part)
				parts++
			}
		}
		if parts == 0 {
			out = append(out, info)
		}
	}
	for i := range out {
		if out[i].State != GPUFree {
			continue
		}
		if why := l.occupied(out[i].UUID, false, func(int) bool { return false }); why != "" {
			out[i].State, out[i].Why = GPUBusy, why
		}
	}
	return out
}
