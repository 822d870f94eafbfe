package hosts

import (
	"strings"
	"testing"
)

// What stands in the way of giving a GPU away, by what nvidia-smi says.
func TestAGPUIsProvenFree(t *testing.T) {
	const uuid = "GPU-a"
	app := func(pid int, name string) smiApp { return smiApp{uuid, pid, name, 100} }
	const nobody = 1 << 30 // a pid that no process has
	for name, tc := range map[string]struct {
		row    smiGPU
		apps   []smiApp
		shared bool
		want   string // part of it; "" is free
	}{
		"empty":                     {row: smiGPU{used: 4, total: 24564}},
		"what its driver needs":     {row: smiGPU{used: 600, total: 24564}},
		"more than that":            {row: smiGPU{used: 601, total: 24564}, want: "601 MB of its memory are in use, by no process that can be seen"},
		"a large one, 1 %":          {row: smiGPU{used: 1400, total: 143771}},
		"a large one, more":         {row: smiGPU{used: 1500, total: 143771}, want: "1500 MB"},
		"memory that is not known":  {row: smiGPU{used: -1, memoryUnknown: true}},
		"a process":                 {row: smiGPU{used: 4}, apps: []smiApp{app(nobody, "/opt/a b/python")}, want: "used by pid 1073741824 (python)"},
		"one that cannot be seen":   {row: smiGPU{used: 4}, apps: []smiApp{app(nobody, "[Not Found]")}, want: "(unknown program)"},
		"many":                      {row: smiGPU{used: 4}, apps: []smiApp{app(nobody, "a"), app(nobody+1, "b"), app(nobody+2, "c"), app(nobody+3, "d"), app(nobody+4, "e")}, want: "(c) and 2 more"},
		"on another":                {row: smiGPU{used: 4}, apps: []smiApp{{"GPU-b", nobody, "x", 5}}},
		"the server of MPS":         {row: smiGPU{used: 30}, apps: []smiApp{app(nobody, "/usr/bin/nvidia-cuda-mps-server")}},
		"one that may":              {row: smiGPU{used: 4}, apps: []smiApp{app(7, "ours")}},
		"memory of those who share": {row: smiGPU{used: 9000}, apps: []smiApp{app(7, "ours")}, shared: true},
		"a stranger among them":     {row: smiGPU{used: 9000}, apps: []smiApp{app(7, "ours"), app(nobody, "theirs")}, shared: true, want: "(theirs)"},
		"sick":                      {row: smiGPU{used: -1, unreliable: "nvidia-smi says ERR! of its memory.used"}, want: "ERR!"},
	} {
		tc.row.uuid = uuid
		got := look{gpus: []smiGPU{tc.row}, apps: tc.apps}.occupied(uuid, tc.shared, func(pid int) bool { return pid == 7 })
		if (tc.want == "") != (got == "") || !strings.Contains(got, tc.want) {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
	if got := (look{gpus: []smiGPU{{uuid: "GPU-b"}}}).occupied(uuid, false, nil); !strings.Contains(got, "does not list it") {
		t.Errorf("one that is gone: %q", got)
	}
}

// A MIG instance serves instead of what it is a part of, with the memory that its profile names.
func TestInstancesOfMIGServe(t *testing.T) {
	l := look{
		gpus:   []smiGPU{{uuid: "GPU-a", model: "A100", total: 81920, used: 5000, util: -1}, {index: 1, uuid: "GPU-b", model: "T4", total: 15360, used: 3}},
		slices: []slice{{"GPU-a", "MIG-1", "3g.40gb", 40 * 1024}, {"GPU-a", "MIG-2", "3g.40gb", 40 * 1024}},
		apps:   []smiApp{{"MIG-2", 1 << 30, "python", 100}},
	}
	var got []string
	for _, g := range l.infos() {
		got = append(got, g.UUID+" "+g.Model+" "+string(g.State))
	}
	if want := "MIG-1 A100 MIG 3g.40gb free, MIG-2 A100 MIG 3g.40gb busy, GPU-b T4 free"; strings.Join(got, ", ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, ", "), want)
	}
	if l.lost("MIG-1") || !l.lost("MIG-3") {
		t.Error("an instance is there as long as it is listed")
	}
}

// Of a GPU that is shared, a trial used what its own processes used.
func TestMemoryOfAShare(t *testing.T) {
	l := look{apps: []smiApp{{"GPU-a", 1, "x", 100}, {"GPU-a", 2, "y", 200}, {"GPU-a", 3, "z", 400}, {"GPU-b", 1, "x", 800}, {"GPU-b", 2, "y", -1}}}
	for _, tc := range []struct {
		uuid string
		pids map[int]bool
		want float64
	}{{"GPU-a", map[int]bool{1: true, 3: true}, 500}, {"GPU-b", map[int]bool{2: true}, -1}, {"GPU-a", map[int]bool{9: true}, -1}} {
		if got := l.usedBy(tc.uuid, tc.pids); got != tc.want {
			t.Errorf("%s by %v: %v, want %v", tc.uuid, tc.pids, got, tc.want)
		}
	}
}
