package hosts

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// What nvidia-smi is asked. The name, in which anything may stand, has numbers and words of known form on both sides.
const (
	smiGPUs = "--query-gpu=index,uuid,name,memory.total,memory.used,utilization.gpu"
	smiApps = "--query-compute-apps=gpu_uuid,pid,process_name,used_memory"
	smiCSV  = "--format=csv,noheader,nounits"
)

// A smiGPU is one line about a GPU. A number that is not known is below 0.
type smiGPU struct {
	index         int
	uuid, model   string
	total, used   float64 // MiB
	util          float64 // percent
	unreliable    string  // why nothing it says can be relied upon; "" if it can
	memoryUnknown bool    // it does not tell how much is in use, and is not sick for that
}

// A smiApp is one line about a process that computes.
type smiApp struct {
	uuid string
	pid  int
	name string
	mb   float64 // below 0: not known
}

// errNoGPU is that a machine has no GPU, which differs from one that could not be asked.
var errNoGPU = errors.New("no GPU")

// errGPULost is that the driver has lost one; which, only some of its sentences say.
var errGPULost = errors.New("a GPU is lost")

// cell reads a number, or why there is none: the sick say so in words of their own.
func cell(s string) (n float64, sick string) {
	s = strings.TrimSpace(s)
	n, err := strconv.ParseFloat(s, 64)
	if err == nil && n >= 0 {
		return n, ""
	}
	switch strings.ToLower(strings.Trim(s, "[]")) {
	case "n/a", "not supported", "not available", "":
		return -1, ""
	}
	return -1, s
}

// parseGPUs reads the answer to smiGPUs; odd is every line that is none.
func parseGPUs(out string) (gpus []smiGPU, odd []string) {
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		g, ok := parseGPU(line)
		if !ok {
			odd = append(odd, line)
			continue
		}
		gpus = append(gpus, g)
	}
	return gpus, odd
}

func parseGPU(line string) (smiGPU, bool) {
	f := strings.Split(line, ",")
	if len(f) < 6 {
		return smiGPU{}, false
	}
	index, err := strconv.Atoi(strings.TrimSpace(f[0]))
	if err != nil || index < 0 {
		return smiGPU{}, false
	}
	n := len(f)
	g := smiGPU{index: index, uuid: strings.TrimSpace(f[1]), model: strings.TrimSpace(strings.Join(f[2:n-3], ","))}
	sick := func(name, s string) float64 {
		v, why := cell(s)
		if why != "" && g.unreliable == "" && !(name == "utilization.gpu" && strings.Contains(why, "Permissions")) {
			g.unreliable = fmt.Sprintf("nvidia-smi says %s of its %s", why, name)
		}
		return v
	}
	g.total = sick("memory.total", f[n-3])
	g.used = sick("memory.used", f[n-2])
	g.util = sick("utilization.gpu", f[n-1])
	g.memoryUnknown = g.unreliable == "" && g.used < 0
	if !strings.HasPrefix(g.uuid, "GPU-") {
		g.unreliable = fmt.Sprintf("nvidia-smi says %s of its uuid", g.uuid)
	}
	if g.model == "" || strings.HasPrefix(g.model, "[") {
		g.model = "unknown model"
	}
	return g, true
}

// parseApps reads the answer to smiApps. Lines that name no process are left out: the memory in use tells of them.
func parseApps(out string) []smiApp {
	var apps []smiApp
	for line := range strings.Lines(out) {
		f := strings.Split(strings.TrimSpace(line), ",")
		if len(f) < 4 {
			continue
		}
		pid, err := strconv.Atoi(strings.TrimSpace(f[1]))
		if err != nil {
			continue
		}
		mb, _ := cell(f[len(f)-1])
		apps = append(apps, smiApp{uuid: strings.TrimSpace(f[0]), pid: pid, name: strings.TrimSpace(strings.Join(f[2:len(f)-1], ",")), mb: mb})
	}
	return apps
}

// A slice is a MIG instance.
type slice struct {
	parent  string // UUID
	uuid    string
	profile string
	mb      int64 // as its profile says; 0: not known
}

var (
	parentLine  = regexp.MustCompile(`^GPU (\d+): (.+) \(UUID: (GPU-[0-9a-fA-F-]+)\)$`)
	sliceLine   = regexp.MustCompile(`^\s+MIG (\S+)\s+Device\s+(\d+): \(UUID: (MIG-[^)]+)\)$`)
	sliceMemory = regexp.MustCompile(`g\.(\d+)gb`)
)

// parseSlices reads the answer to -L.
func parseSlices(out string) []slice {
	var slices []slice
	parent := ""
	for line := range strings.Lines(out) {
		line = strings.TrimRight(line, "\r\n ")
		if m := parentLine.FindStringSubmatch(line); m != nil {
			parent = m[3]
		} else if m := sliceLine.FindStringSubmatch(line); m != nil {
			s := slice{parent: parent, uuid: m[3], profile: m[1]}
			if mem := sliceMemory.FindStringSubmatch(m[1]); mem != nil {
				gb, _ := strconv.ParseInt(mem[1], 10, 64)
				s.mb = gb * 1024
			}
			slices = append(slices, s)
		}
	}
	return slices
}

// refusal says what an answer without any GPU in it means. nvidia-smi writes its complaints where the answer should be.
func refusal(out string, exit int) error {
	first, _, _ := strings.Cut(strings.TrimSpace(out), "\n")
	first = strings.TrimSpace(first)
	if len(first) > 200 {
		first = first[:200] + "…"
	}
	switch {
	case strings.HasPrefix(first, "No devices were found"), strings.Contains(first, "No supported GPUs were found"):
		return fmt.Errorf("%w: nvidia-smi says %q", errNoGPU, first)
	case strings.Contains(strings.ToLower(first), "gpu is lost"), exit == 15:
		return fmt.Errorf("%w: nvidia-smi says %q (exit status %d)", errGPULost, first, exit)
	case first == "" && exit == 0:
		return errors.New("nvidia-smi printed nothing")
	case first == "":
		return fmt.Errorf("nvidia-smi ended with exit status %d and printed nothing", exit)
	}
	return fmt.Errorf("nvidia-smi says %q (exit status %d)", first, exit)
}
