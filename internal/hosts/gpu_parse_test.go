package hosts

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var testStart = time.Date(2024, 3, 1, 12, 0, 0, 0, time.UTC)

// Each line is one that nvidia-smi prints, in all its moods.
func TestRowsOfGPUs(t *testing.T) {
	for _, tc := range []struct {
		line string
		want smiGPU
		ok   bool
	}{
		{"0, GPU-004f693d-767b-b215-b4a9-a18af0ffd643, GeForce GTX TITAN X, 12206, 802, 0", smiGPU{index: 0, uuid: "GPU-004f693d-767b-b215-b4a9-a18af0ffd643", model: "GeForce GTX TITAN X", total: 12206, used: 802}, true},
		{"1, GPU-86fe97db-bf54-a056-4e8d-9b07e1a298e7, One, with a comma, 12206, 10032, 86", smiGPU{index: 1, uuid: "GPU-86fe97db-bf54-a056-4e8d-9b07e1a298e7", model: "One, with a comma", total: 12206, used: 10032, util: 86}, true},
		// Unified memory, a MIG parent, old drivers: not known, and not sick.
		{"0, GPU-a, NVIDIA GB10, [N/A], [N/A], 3", smiGPU{uuid: "GPU-a", model: "NVIDIA GB10", total: -1, used: -1, util: 3, memoryUnknown: true}, true},
		{"0, GPU-a, NVIDIA A100-SXM4-80GB, 81920, 0, [N/A]", smiGPU{uuid: "GPU-a", model: "NVIDIA A100-SXM4-80GB", total: 81920, util: -1}, true},
		{"0, GPU-a, Tesla K80, 11441, 0, [Not Supported]", smiGPU{uuid: "GPU-a", model: "Tesla K80", total: 11441, util: -1}, true},
		// Sick, or not for us to see.
		{"0, GPU-a, T4, 15360, ERR!, 0", smiGPU{uuid: "GPU-a", model: "T4", total: 15360, used: -1, unreliable: "nvidia-smi says ERR! of its memory.used"}, true},
		{"0, GPU-a, T4, [Unknown Error], 0, 0", smiGPU{uuid: "GPU-a", model: "T4", total: -1, unreliable: "nvidia-smi says [Unknown Error] of its memory.total"}, true},
		{"0, GPU-a, T4, [GPU is lost], [GPU is lost], [GPU is lost]", smiGPU{uuid: "GPU-a", model: "T4", total: -1, used: -1, util: -1, unreliable: "nvidia-smi says [GPU is lost] of its memory.total"}, true},
		{"0, GPU-a, T4, 15360, [Insufficient Permissions], 0", smiGPU{uuid: "GPU-a", model: "T4", total: 15360, used: -1, unreliable: "nvidia-smi says [Insufficient Permissions] of its memory.used"}, true},
		{"0, GPU-a, T4, 15360, 3, [Insufficient Permissions]", smiGPU{uuid: "GPU-a", model: "T4", total: 15360, used: 3, util: -1}, true},
		{"0, [Unknown Error], [Unknown Error], 15360, 3, 0", smiGPU{uuid: "[Unknown Error]", model: "unknown model", total: 15360, used: 3, unreliable: "nvidia-smi says [Unknown Error] of its uuid"}, true},
		{"No devices were found", smiGPU{}, false},
		{"Unable to determine the device handle for GPU0000:17:00.0: Unknown Error", smiGPU{}, false},
		{"x, GPU-a, T4, 1, 2, 3", smiGPU{}, false},
	} {
		got, odd := parseGPUs(tc.line + "\r\n\n")
		if !tc.ok {
			if len(got) > 0 || len(odd) != 1 {
				t.Errorf("%s: %+v", tc.line, got)
			}
			continue
		}
		if len(got) != 1 || len(odd) > 0 {
			t.Errorf("%s: no GPU, %q", tc.line, odd)
		} else if got[0] != tc.want {
			t.Errorf("%s:\ngot  %+v\nwant %+v", tc.line, got[0], tc.want)
		}
	}
}

func TestRowsOfProcesses(t *testing.T) {
	got := parseApps("GPU-a, 17, python, 40000\nGPU-a, 18, /usr/bin/a, b, [N/A]\nGPU-b, 19, [Not Found], 5\n[Not Supported]\nGPU-b, [N/A], x, 5\n\n")
	want := []smiApp{{"GPU-a", 17, "python", 40000}, {"GPU-a", 18, "/usr/bin/a, b", -1}, {"GPU-b", 19, "[Not Found]", 5}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(smiApp{})); diff != "" {
		t.Error(diff)
	}
}

func TestSlicesOfBothForms(t *testing.T) {
	got := parseSlices(`GPU 0: NVIDIA A100 80GB PCIe (UUID: GPU-932bfb2c-849a-2a22-1e84-9eff6bc02b39)
  MIG 3g.40gb     Device  0: (UUID: MIG-0929581a-2be6-5dec-bf34-0954c6c529a6)
  MIG 1g.10gb+me  Device  1: (UUID: MIG-3adbed3a-d03d-549f-a016-ba1fd7359f23)
GPU 1: NVIDIA T4 (UUID: GPU-11111111-849a-2a22-1e84-9eff6bc02b39)
GPU 2: A100-SXM4-40GB (UUID: GPU-2ac434d3-1aca-57a0-597d-1d2effdba9f3)
  MIG 3g.20gb Device 0: (UUID: MIG-GPU-2ac434d3-1aca-57a0-597d-1d2effdba9f3/1/0)
`)
	want := []slice{
		{"GPU-932bfb2c-849a-2a22-1e84-9eff6bc02b39", "MIG-0929581a-2be6-5dec-bf34-0954c6c529a6", "3g.40gb", 40 * 1024},
		{"GPU-932bfb2c-849a-2a22-1e84-9eff6bc02b39", "MIG-3adbed3a-d03d-549f-a016-ba1fd7359f23", "1g.10gb+me", 10 * 1024},
		{"GPU-2ac434d3-1aca-57a0-597d-1d2effdba9f3", "MIG-GPU-2ac434d3-1aca-57a0-597d-1d2effdba9f3/1/0", "3g.20gb", 20 * 1024},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(slice{})); diff != "" {
		t.Error(diff)
	}
}

// No GPU is one thing, no answer another, and a GPU that is lost a third.
func TestRefusalsOfNvidiaSMI(t *testing.T) {
	for _, tc := range []struct {
		out  string
		exit int
		want error // nil: it could not be asked
		text string
	}{
		{"No devices were found\n", 6, errNoGPU, "No devices were found"},
		{"Failed to initialize NVML: No supported GPUs were found\n", 255, errNoGPU, "No supported GPUs"},
		{"Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 550.144\n", 18, nil, `"Failed to initialize NVML: Driver/library version mismatch" (exit status 18)`},
		{"NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA driver is installed and running.\n\n", 9, nil, "couldn't communicate"},
		{"Unable to determine the number of GPUs\n", 255, nil, "number of GPUs"},
		{"Failed to initialize NVML: Unknown Error\n", 255, nil, "Unknown Error"},
		{"Unable to determine the device handle for GPU0000:17:00.0: Unknown Error\n", 255, nil, "GPU0000:17:00.0"},
		{"Unable to determine the device handle for GPU 0000:02:00.0: GPU is lost.  Reboot the system to recover this GPU\n", 15, errGPULost, "Reboot"},
		{"Field \"foo\" is not a valid field to query.\n\n", 2, nil, "not a valid field"},
		{"", 0, nil, "printed nothing"},
		{"", 127, nil, "exit status 127"},
		{strings.Repeat("x", 5000), 1, nil, "…"},
	} {
		err := refusal(tc.out, tc.exit)
		for _, kind := range []error{errNoGPU, errGPULost} {
			if errors.Is(err, kind) != (tc.want == kind) {
				t.Errorf("%q: %v", tc.out, err)
			}
		}
		if !strings.Contains(err.Error(), tc.text) || len(err.Error()) > 400 {
			t.Errorf("%q: %v, want %q in it", tc.out, err, tc.text)
		}
	}
}

func TestWhatIsDeclaredIsFound(t *testing.T) {
	found := []GPUInfo{
		{GPU: GPU{"GPU-aaaa0000-1", "A"}, Index: 0}, {GPU: GPU{"GPU-bbbb0000-1", "B"}, Index: 1}, {GPU: GPU{"GPU-bbbb0000-2", "B"}, Index: 2},
	}
	for _, tc := range []struct {
		choice GPUChoice
		want   string // indexes, or part of the error
	}{
		{GPUChoice{}, ""},
		{GPUChoice{Auto: true}, "012"},
		{GPUChoice{Count: 2}, "01"},
		{GPUChoice{Count: 4}, "4 GPUs are declared, found: 0 GPU-aaaa0000-1 (A), 1 "},
		{GPUChoice{List: []string{"2", "GPU-aaaa0000-1"}}, "02"},
		{GPUChoice{List: []string{"GPU-aaaa"}}, "0"},
		{GPUChoice{List: []string{"GPU-bbbb0000"}}, "GPU GPU-bbbb0000 could be 2 of them"},
		{GPUChoice{List: []string{"3"}}, "GPU 3 is declared, found: 0 GPU-aaaa0000-1"},
	} {
		got, err := tc.choice.pick(found)
		if text := indexes(got); err == nil && text != tc.want || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%+v: %s, %v; want %s", tc.choice, text, err, tc.want)
		}
	}
	// What we were given is never widened, and read as CUDA reads it.
	for list, want := range map[string]string{"": "", "1": "1", "2, 0": "02", "0,-1,1": "0", "GPU-bbbb0000-2,0": "02", "NoDevFiles": "", "7,0": ""} {
		if got := indexes(visible(found, list)); got != want {
			t.Errorf("CUDA_VISIBLE_DEVICES=%q: %s, want %s", list, got, want)
		}
	}
}

func indexes(gpus []GPUInfo) string {
	var b strings.Builder
	for _, g := range gpus {
		b.WriteByte(byte('0' + g.Index))
	}
	return b.String()
}

// Memory is met within 5 %, models by parts of their names; what is not known is taken to do.
func TestNeedsAreMet(t *testing.T) {
	a100 := GPUInfo{GPU: GPU{Model: "NVIDIA A100-SXM4-80GB"}, MemoryMB: 81920 - 1000}
	for _, tc := range []struct {
		need GPUNeed
		gpu  GPUInfo
		want bool
	}{
		{GPUNeed{Memory: 80e9}, a100, true},
		{GPUNeed{Memory: 80 << 30}, a100, true},
		{GPUNeed{Memory: 94e9}, a100, false},
		{GPUNeed{Memory: 94e9}, GPUInfo{}, true},
		{GPUNeed{Models: []string{"H100", "a100"}}, a100, true},
		{GPUNeed{Models: []string{"H100"}}, a100, false},
		{GPUNeed{Only: "NVIDIA A100"}, a100, false},
		{GPUNeed{Only: a100.Model}, a100, true},
	} {
		if got := tc.need.Meets(tc.gpu); got != tc.want {
			t.Errorf("%+v by %+v: %v", tc.need, tc.gpu, got)
		}
	}
}

// The least is wasted: memory first, then the models stay together, and nobody is passed by for ever.
func TestGPUsAreChosen(t *testing.T) {
	small := func(i int) *localGPU {
		return &localGPU{GPUInfo: GPUInfo{Index: i, MemoryMB: 24000, GPU: GPU{Model: "RTX"}, State: GPUFree}}
	}
	big := func(i int) *localGPU {
		return &localGPU{GPUInfo: GPUInfo{Index: i, MemoryMB: 80000, GPU: GPU{Model: "A100"}, State: GPUFree}}
	}
	one, two := &entry{need: &GPUNeed{Count: 1}}, &entry{need: &GPUNeed{Count: 2}}
	pick := func(gpus []*localGPU, e *entry, reserved map[*localGPU]bool) string {
		s := inventory{gpus: gpus}
		var infos []GPUInfo
		for _, g := range s.choose(e, testStart, reserved) {
			infos = append(infos, g.GPUInfo)
		}
		return indexes(infos)
	}
	if got := pick([]*localGPU{big(0), small(1)}, one, nil); got != "1" {
		t.Errorf("small jobs take large GPUs: %s", got)
	}
	if got := pick([]*localGPU{small(0), big(1), big(2)}, two, nil); got != "12" {
		t.Errorf("two models for one job: %s", got)
	}
	if got := pick([]*localGPU{small(0), big(1)}, two, nil); got != "01" {
		t.Errorf("two models are better than none: %s", got)
	}
	busy, unknown, out := small(0), small(1), small(2)
	busy.until, unknown.State, out.broken = testStart.Add(1), GPUUnknown, "link"
	if got := pick([]*localGPU{busy, unknown, out}, one, nil); got != "" {
		t.Errorf("GPU %s was chosen", got)
	}
	// Shared: spread first, then filled, never beyond what each of them allows.
	share := &entry{need: &GPUNeed{Count: 1, PerGPU: 2}}
	a, b := small(0), small(1)
	got := ""
	for range 5 {
		chosen := (&inventory{gpus: []*localGPU{a, b}}).choose(share, testStart, nil)
		for _, g := range chosen {
			g.jobs = append(g.jobs, share)
			got += indexes([]GPUInfo{g.GPUInfo})
		}
	}
	if got != "0101" || pick([]*localGPU{a, b}, one, nil) != "" {
		t.Errorf("shared: %s", got)
	}
	// A job that waits for two keeps one free GPU from those behind it, but not where it could never have two.
	c, d := small(0), small(1)
	c.jobs = []*entry{one}
	reserved := map[*localGPU]bool{}
	(&inventory{gpus: []*localGPU{c, d}}).reserve(two, testStart, reserved)
	if pick([]*localGPU{c, d}, one, reserved) != "" {
		t.Error("a small job passes a large one by")
	}
	c.until = testStart.Add(1)
	reserved = map[*localGPU]bool{}
	(&inventory{gpus: []*localGPU{c, d}}).reserve(two, testStart, reserved)
	if pick([]*localGPU{c, d}, one, reserved) != "1" {
		t.Error("a GPU stands idle for a job that cannot run")
	}
}
