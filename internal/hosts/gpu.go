package hosts

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// A GPU is one that a job was given.
type GPU struct {
	UUID  string `json:"uuid"`
	Model string `json:"model"`
}

// A GPUNeed is what a job asks of GPUs.
type GPUNeed struct {
	Count  int
	PerGPU int   // jobs of one controller that may share each of them; below 2 none
	Memory int64 // of each, in bytes, met within 5 %
	// Models are parts of a model's name, any of which will do; empty: all. Only, if set, is the whole name.
	Models []string
	Only   string
}

// GPUState is what is known of a GPU.
type GPUState string

// The states of a GPU.
const (
	GPUFree    GPUState = "free"    // as far as could be seen
	GPUBusy    GPUState = "busy"    // something that is not ours uses it, or has the lease
	GPUUnknown GPUState = "unknown" // it cannot be judged, so it is given to nobody
)

// GPUInfo is one GPU of a host.
type GPUInfo struct {
	GPU
	Index    int
	MemoryMB int64 // 0 is not known
	State    GPUState
	Why      string // it is not free
}

// Name is how a person finds it: "GPU 1 (NVIDIA A100, GPU-1234…)".
func (g GPUInfo) Name() string {
	return fmt.Sprintf("GPU %d (%s, %s)", g.Index, g.Model, g.UUID)
}

// Meets reports whether a job with the need may have g. Memory that is not known is taken to do.
func (n GPUNeed) Meets(g GPUInfo) bool { return n.fitsMemory(g) && n.fitsModel(g) }

func (n GPUNeed) fitsMemory(g GPUInfo) bool {
	return g.MemoryMB == 0 || float64(g.MemoryMB)*(1<<20) >= float64(n.Memory)*0.95
}

func (n GPUNeed) fitsModel(g GPUInfo) bool {
	if n.Only != "" && n.Only != g.Model {
		return false
	}
	return len(n.Models) == 0 || slices.ContainsFunc(n.Models, func(part string) bool {
		return strings.Contains(strings.ToLower(g.Model), strings.ToLower(part))
	})
}

// shares reports whether jobs with the need may be on a GPU together.
func (n GPUNeed) shares() bool { return n.PerGPU > 1 }

// A GPUChoice says which of a machine's GPUs serve: all (Auto), the first Count, or those whose index or UUID List names.
// The zero value is none, and then nobody is asked.
type GPUChoice struct {
	Auto  bool
	Count int
	List  []string
}

// none reports whether no GPU is to serve.
func (c GPUChoice) none() bool { return !c.Auto && c.Count <= 0 && len(c.List) == 0 }

// pick takes those that serve out of what was found, in the order of found. What is declared and not there is an error.
func (c GPUChoice) pick(found []GPUInfo) ([]GPUInfo, error) {
	switch {
	case c.Auto:
		return found, nil
	case len(c.List) == 0:
		if c.Count > len(found) {
			return nil, fmt.Errorf("%d GPUs are declared, found: %s", c.Count, namesOf(found))
		}
		return found[:max(0, c.Count)], nil
	}
	var out []GPUInfo
	for _, g := range found {
		if slices.ContainsFunc(c.List, func(name string) bool { return g.is(name) }) {
			out = append(out, g)
		}
	}
	for _, name := range c.List {
		n := 0
		for _, g := range out {
			if g.is(name) {
				n++
			}
		}
		if n == 0 {
			return nil, fmt.Errorf("GPU %s is declared, found: %s", name, namesOf(found))
		}
		if n > 1 {
			return nil, fmt.Errorf("GPU %s could be %d of them, found: %s", name, n, namesOf(found))
		}
	}
	return out, nil
}

// is reports whether name, an index, a UUID or the beginning of one, means g.
func (g GPUInfo) is(name string) bool {
	if name == fmt.Sprint(g.Index) && !strings.HasPrefix(g.UUID, "MIG-") {
		return true
	}
	return g.UUID == name || len(name) >= 8 && strings.HasPrefix(g.UUID, name) && uuidLike(name)
}

func uuidLike(s string) bool { return strings.HasPrefix(s, "GPU-") || strings.HasPrefix(s, "MIG-") }

func namesOf(gpus []GPUInfo) string {
	if len(gpus) == 0 {
		return "none"
	}
	var names []string
	for _, g := range gpus {
		names = append(names, fmt.Sprintf("%d %s (%s)", g.Index, g.UUID, g.Model))
	}
	return strings.Join(names, ", ")
}

// visible leaves those that CUDA_VISIBLE_DEVICES names, as CUDA reads it: what follows a name that means nothing does not
// count. Indexes are those of the PCI bus.
func visible(found []GPUInfo, list string) []GPUInfo {
	var out []GPUInfo
	for name := range strings.SplitSeq(list, ",") {
		i := slices.IndexFunc(found, func(g GPUInfo) bool { return g.is(strings.TrimSpace(name)) })
		if i < 0 {
			break
		}
		if !slices.ContainsFunc(out, func(g GPUInfo) bool { return g.UUID == found[i].UUID }) {
			out = append(out, found[i])
		}
	}
	slices.SortStableFunc(out, func(a, b GPUInfo) int { return a.Index - b.Index })
	return out
}

// emptyMB is the most memory that a GPU on which nothing runs has in use, by its driver: 600 MiB, or 1 % of a large one.
func emptyMB(totalMB int64) float64 { return math.Max(600, float64(totalMB)/100) }
