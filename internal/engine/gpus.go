package engine

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/xrun-dev/xrun/internal/hosts"
	"github.com/xrun-dev/xrun/internal/ledger"
	"github.com/xrun-dev/xrun/internal/plan"
)

// gpuNeed is what one trial of an experiment asks of GPUs; nil: nothing.
func gpuNeed(n plan.Needs) *hosts.GPUNeed {
	if n.GPUs == 0 {
		return nil
	}
	return &hosts.GPUNeed{Count: n.GPUs, PerGPU: max(1, n.PerGPU), Memory: int64(n.GPUMemory), Models: n.GPUModel}
}

// needOf is what a trial asks of GPUs now: what its experiment does, more memory than it has filled before, and the model
// on which those ran that it is compared with.
func (t *task) needOf() *hosts.GPUNeed {
	n := gpuNeed(t.exp.spec.Needs)
	if n != nil {
		n.Memory = max(n.Memory, t.memory)
		n.Only = t.exp.classOf(t)
	}
	return n
}

// A gpuRoom is the GPUs of a host as the scheduler sees them. Which trial has which is the host's business: this is a
// guess, good enough to hand over as many as can run, and as many again so that no GPU waits for us.
type gpuRoom struct {
	gpus    []hosts.GPUInfo
	on      [][]*task // by GPU
	waiting []*task   // handed over beyond that
}

func newGPURoom(gpus []hosts.GPUInfo) gpuRoom {
	gpus = slices.DeleteFunc(slices.Clone(gpus), func(g hosts.GPUInfo) bool { return g.State == hosts.GPUUnknown })
	slices.SortStableFunc(gpus, func(a, b hosts.GPUInfo) int { // as hosts give them away
		return cmp.Or(cmp.Compare(memoryOf(a), memoryOf(b)), strings.Compare(a.Model, b.Model))
	})
	return gpuRoom{gpus: gpus, on: make([][]*task, len(gpus))}
}

func memoryOf(g hosts.GPUInfo) int64 {
	if g.MemoryMB == 0 {
		return math.MaxInt64
	}
	return g.MemoryMB
}

// mostShared is how many trials share a GPU at most.
func (r *run) mostShared() int {
	most := 1
	for _, e := range r.experiments {
		most = max(most, e.spec.Needs.PerGPU)
	}
	return most
}

// lanes is how many trials may be handed over at once.
func (g *gpuRoom) lanes(perGPU int) int { return 2 * len(g.gpus) * perGPU }

// free picks the GPUs that a trial with the need would get now; nil if it would have to wait.
func (g *gpuRoom) free(n *hosts.GPUNeed) []int {
	var picked []int
	for i, info := range g.gpus {
		if len(picked) < n.Count && n.Meets(info) && g.takes(i, n) {
			picked = append(picked, i)
		}
	}
	if len(picked) < n.Count {
		return nil
	}
	return picked
}

func (g *gpuRoom) takes(i int, n *hosts.GPUNeed) bool {
	most := n.PerGPU
	for _, t := range g.on[i] {
		most = min(most, t.need.PerGPU)
	}
	return len(g.on[i]) == 0 || len(g.on[i]) < most
}

// admits reports whether a trial with the need may be handed over.
func (g *gpuRoom) admits(n *hosts.GPUNeed) bool {
	return g.fit(n) && (g.free(n) != nil || g.ahead() < float64(len(g.gpus)))
}

// ahead is how many GPUs those will take that wait.
func (g *gpuRoom) ahead() float64 {
	sum := 0.0
	for _, t := range g.waiting {
		sum += float64(t.need.Count) / float64(t.need.PerGPU)
	}
	return sum
}

// fit reports whether there are GPUs that meet the need, whoever has them.
func (g *gpuRoom) fit(n *hosts.GPUNeed) bool {
	count := 0
	for _, info := range g.gpus {
		if n.Meets(info) {
			count++
		}
	}
	return count >= n.Count
}

func (g *gpuRoom) add(t *task) {
	picked := g.free(t.need)
	if picked == nil {
		g.waiting = append(g.waiting, t)
	}
	for _, i := range picked {
		g.on[i] = append(g.on[i], t)
	}
}

// remove takes out a trial that is over. Those that waited move up.
func (g *gpuRoom) remove(t *task) {
	is := func(x *task) bool { return x == t }
	for i := range g.on {
		g.on[i] = slices.DeleteFunc(g.on[i], is)
	}
	waiting := slices.DeleteFunc(g.waiting, is)
	g.waiting = nil
	for _, w := range waiting {
		g.add(w)
	}
}

// free reports whether a trial would start on h at once.
func (h *hostState) free(n *hosts.GPUNeed) bool {
	if n == nil {
		return h.busy < h.cap.Slots
	}
	return h.gpus.free(n) != nil
}

// room reports whether a trial may be handed to h.
func (h *hostState) room(n *hosts.GPUNeed) bool {
	switch {
	case n != nil:
		return h.gpus.admits(n)
	case h.adopted > 0:
		return h.busy < h.cap.Slots
	}
	return h.busy < h.cap.Slots+h.cap.Ahead
}

// handed is how many trials it has.
func (h *hostState) handed() int {
	on := map[*task]bool{}
	for _, ts := range append(slices.Clone(h.gpus.on), h.gpus.waiting) {
		for _, t := range ts {
			on[t] = true
		}
	}
	return h.busy + len(on)
}

// enter and leave book a trial that is handed over, and one that came back.
func (h *hostState) enter(t *task) {
	if t.need != nil {
		h.gpus.add(t)
		return
	}
	h.busy++
	if t.adopt != nil {
		h.adopted++
	}
}

func (h *hostState) leave(t *task) {
	if t.need != nil {
		h.gpus.remove(t)
		return
	}
	h.busy--
	if t.adopt != nil {
		h.adopted--
	}
}

// lacksGPUs says which GPUs an experiment needs and a host has not; "" if none.
func lacksGPUs(n plan.Needs, c hosts.Capacity) string {
	need := gpuNeed(n)
	if need == nil {
		return ""
	}
	room := newGPURoom(c.GPUs)
	if room.fit(need) {
		return ""
	}
	has := describe(room.gpus)
	if c.Note != "" && len(c.GPUs) == 0 {
		has = "no GPU (" + strings.TrimPrefix(c.Note, "no GPU: ") + ")"
	}
	for _, g := range c.GPUs {
		if g.State == hosts.GPUUnknown {
			has += fmt.Sprintf("; %s: %s", g.Name(), g.Why)
		}
	}
	want := "one"
	if n.GPUs > 1 {
		want = fmt.Sprint(n.GPUs)
	}
	if n.GPUMemory > 0 {
		want += " of " + gigabytes(int64(n.GPUMemory))
	}
	if len(n.GPUModel) > 0 {
		want += " of model " + strings.Join(n.GPUModel, " or ")
	}
	verb := "is"
	if n.GPUs > 1 {
		verb = "are"
	}
	return fmt.Sprintf("has %s, %s %s needed", has, want, verb)
}

// gigabytes is a size of memory as makers of GPUs say it: 80 GB is 80e9 bytes, and 80 GiB as well.
func gigabytes(n int64) string {
	if n%1e9 == 0 {
		return fmt.Sprintf("%d GB", n/1e9)
	}
	return fmt.Sprintf("%.0f GB", math.Ceil(float64(n)/(1<<30)))
}

// describe counts GPUs by memory and model: "2 GPUs of 24 GB (NVIDIA RTX 4090)".
func describe(gpus []hosts.GPUInfo) string {
	if len(gpus) == 0 {
		return "no GPU of use"
	}
	var parts []string
	for from := 0; from < len(gpus); {
		to := from
		for to < len(gpus) && gpus[to].MemoryMB == gpus[from].MemoryMB && gpus[to].Model == gpus[from].Model {
			to++
		}
		noun := "GPUs"
		if to-from == 1 {
			noun = "GPU"
		}
		of := ""
		if mb := gpus[from].MemoryMB; mb > 0 {
			of = fmt.Sprintf(" of %.0f GB", math.Round(float64(mb)/1024))
		}
		parts = append(parts, fmt.Sprintf("%d %s%s (%s)", to-from, noun, of, gpus[from].Model))
		from = to
	}
	return strings.Join(parts, ", ")
}

// hostEvent says that a host serves, with its GPUs and what keeps some of them out.
func (r *run) hostEvent(h *hostState, kind string) ledger.HostState {
	e := ledger.HostState{Host: h.name, Kind: kind, GPUs: []ledger.GPU{}, State: "serving"}
	with, without := false, false
	for _, x := range r.experiments {
		with, without = with || x.spec.Needs.GPUs > 0, without || x.spec.Needs.GPUs == 0
	}
	if without || !with {
		e.Slots = h.cap.Slots
	}
	if !with {
		return e
	}
	e.Slots += len(h.gpus.gpus)
	var whys []string
	for _, g := range h.cap.GPUs {
		e.GPUs = append(e.GPUs, ledger.GPU(g.GPU))
		if g.Why != "" {
			whys = append(whys, g.Name()+": "+g.Why)
		}
	}
	if h.cap.Note != "" {
		whys = append(whys, h.cap.Note)
	}
	e.Reason = strings.Join(whys, "; ")
	return e
}

// hostSays is news of a host.
func (r *run) hostSays(h *hostState, state, reason string) ledger.HostState {
	e := r.hostEvent(h, h.kind)
	e.State, e.Reason = state, reason
	return e
}

// tellWait records, once, what keeps trials waiting on a host.
func (r *run) tellWait(h *hostState, why string) error {
	if h.said[why] {
		return nil
	}
	if h.said == nil {
		h.said = map[string]bool{}
	}
	h.said[why] = true
	return r.append(r.hostSays(h, "serving", why))
}

// moreMemory makes a trial that filled its GPU ask for one with more, if there is any that it may have.
func (r *run) moreMemory(t *task, h *hostState) {
	if t.need == nil || len(t.had) == 0 {
		return
	}
	var filled int64
	for _, g := range h.cap.GPUs {
		if slices.ContainsFunc(t.had, func(x hosts.GPU) bool { return x.UUID == g.UUID }) {
			filled = max(filled, g.MemoryMB)
		}
	}
	var next int64
	for _, o := range r.hosts {
		if !t.exp.takes(o.name) {
			continue
		}
		for _, g := range o.gpus.gpus {
			// Within 5 % it is the same size.
			if t.need.Meets(g) && float64(g.MemoryMB) > 1.05*float64(filled) && (next == 0 || g.MemoryMB < next) {
				next = g.MemoryMB
			}
		}
	}
	if filled > 0 && next > 0 {
		t.memory = next << 20
	}
}
