package engine

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/xrun-dev/xrun/internal/hosts"
	"github.com/xrun-dev/xrun/internal/hosts/hosttest"
	"github.com/xrun-dev/xrun/internal/ledger"
	"github.com/xrun-dev/xrun/internal/plan"
)

// gpus makes GPUs of so many GB: those of 24 are of one model, those of 80 of another.
func gpus(gb ...int64) []hosts.GPUInfo {
	var out []hosts.GPUInfo
	for i, n := range gb {
		out = append(out, hosts.GPUInfo{
			GPU: hosts.GPU{UUID: fmt.Sprint("GPU-", i), Model: map[int64]string{24: "RTX 4090", 80: "A100"}[n]}, Index: i, MemoryMB: n * 1024, State: hosts.GPUFree,
		})
	}
	return out
}

func needs(n plan.Needs) func(*plan.Experiment) {
	return func(e *plan.Experiment) {
		e.Needs = n
		e.Set["needs.per_gpu"], e.Set["needs.match_hardware"] = n.PerGPU > 0, n.MatchHardware != ""
	}
}

// had is which GPU each attempt had, in the order in which they started.
func had(l *lab) string {
	var words []string
	for _, b := range bodies[ledger.AttemptStarted](l, "r1") {
		var uuids []string
		for _, g := range b.GPUs {
			uuids = append(uuids, strings.TrimPrefix(g.UUID, "GPU-"))
		}
		words = append(words, strings.Join(uuids, "+"))
	}
	return strings.Join(words, " ")
}

func TestGPUTrialsRunOnAllGPUsAndTakeNoSlots(t *testing.T) {
	inLab(t, 8, needs(plan.Needs{GPUs: 1}), func(l *lab) {
		l.add(sweepOf("cpu", 2, nil))
		l.host("a", 1, ok).GPUs(gpus(24, 24, 24, 24)...)
		begun := time.Now()
		wantOutcome(t, l.run("r1"), "done", 0)
		if took := time.Since(begun); took != 2*time.Minute { // 8 on 4 GPUs, and 2 on one slot beside them
			t.Errorf("it took %s", took)
		}
		h := bodies[ledger.HostState](l, "r1")
		if len(h) != 1 || len(h[0].GPUs) != 4 || h[0].Slots != 5 || h[0].Reason != "" {
			t.Errorf("%+v", h)
		}
	})
}

func TestTrialsShareGPUs(t *testing.T) {
	inLab(t, 8, needs(plan.Needs{GPUs: 1, PerGPU: 4}), func(l *lab) {
		l.host("a", 1, ok).GPUs(gpus(24, 24)...)
		begun := time.Now()
		wantOutcome(t, l.run("r1"), "done", 0)
		if took := time.Since(begun); took != time.Minute {
			t.Errorf("it took %s", took)
		}
	})
}

// Trials that only one GPU can take do not keep the others from those that any can.
func TestNoGPUIdlesBehindAnother(t *testing.T) {
	inLab(t, 9, needs(plan.Needs{GPUs: 1, GPUMemory: 80e9}), func(l *lab) {
		l.add(sweepOf("small", 9, needs(plan.Needs{GPUs: 1})))
		l.host("a", 1, ok).GPUs(gpus(24, 24, 24, 80)...)
		begun := time.Now()
		wantOutcome(t, l.run("r1"), "done", 0)
		if took := time.Since(begun); took > 10*time.Minute {
			t.Errorf("it took %s", took)
		}
	})
}

func TestWhatAHostLacksOfGPUsIsSaid(t *testing.T) {
	capacity := hosts.Capacity{GPUs: gpus(24, 80, 24)}
	sick := hosts.Capacity{GPUs: []hosts.GPUInfo{{GPU: hosts.GPU{UUID: "GPU-x", Model: "T4"}, Index: 3, State: hosts.GPUUnknown, Why: "nvidia-smi says ERR! of its memory.used"}}}
	for _, tc := range []struct {
		need plan.Needs
		cap  hosts.Capacity
		want string
	}{
		{plan.Needs{GPUs: 3}, capacity, ""},
		{plan.Needs{GPUs: 1, GPUMemory: 80e9}, capacity, ""},
		{plan.Needs{GPUs: 1, GPUModel: []string{"H100", "a100"}}, capacity, ""},
		{plan.Needs{GPUs: 4}, capacity, "has 2 GPUs of 24 GB (RTX 4090), 1 GPU of 80 GB (A100), 4 are needed"},
		{plan.Needs{GPUs: 2, GPUMemory: 80e9}, capacity, "has 2 GPUs of 24 GB (RTX 4090), 1 GPU of 80 GB (A100), 2 of 80 GB are needed"},
		{plan.Needs{GPUs: 1, GPUModel: []string{"H100", "H200"}}, capacity, "has 2 GPUs of 24 GB (RTX 4090), 1 GPU of 80 GB (A100), one of model H100 or H200 is needed"},
		{plan.Needs{GPUs: 1}, hosts.Capacity{Note: "no GPU: there is no nvidia-smi on PATH"}, "has no GPU (there is no nvidia-smi on PATH), one is needed"},
		{plan.Needs{GPUs: 1}, sick, "has no GPU of use; GPU 3 (T4, GPU-x): nvidia-smi says ERR! of its memory.used, one is needed"},
	} {
		if got := lacks(tc.need, tc.cap); got != tc.want {
			t.Errorf("%+v:\ngot  %s\nwant %s", tc.need, got, tc.want)
		}
	}
	inLab(t, 1, needs(plan.Needs{GPUs: 1, GPUMemory: 80e9}), func(l *lab) {
		l.host("a", 1, ok).GPUs(gpus(24, 24)...)
		wantOutcome(t, l.run("r1"), "no_host", ExitNoHost)
		if fin := bodies[ledger.TrialFinished](l, "r1"); len(fin) != 1 || !strings.Contains(fin[0].Message, "a: has 2 GPUs of 24 GB") {
			t.Errorf("%+v", fin)
		}
	})
}

// C33: out of GPU memory is tried again where there is more of it.
func TestOutOfGPUMemoryGoesToALargerGPU(t *testing.T) {
	inLab(t, 1, func(e *plan.Experiment) {
		retry(2, "oom_gpu")(e)
		needs(plan.Needs{GPUs: 1})(e)
	}, func(l *lab) {
		l.host("a", 1, failing(1, 1, "torch.cuda.OutOfMemoryError: CUDA out of memory.\n")).GPUs(gpus(24, 24, 80)...)
		wantOutcome(t, l.run("r1"), "done", 0)
		if got := had(l); got != "0 2" {
			t.Errorf("on GPUs %s", got)
		}
	})
}

// The seeds of a point are compared, so they run on one model; points may differ.
func TestSeedsOfAPointRunOnOneModel(t *testing.T) {
	inLab(t, 4, func(e *plan.Experiment) {
		e.Seeds, e.Set["seeds"] = []int64{1, 2, 3}, true
		needs(plan.Needs{GPUs: 1})(e) // point is the default of sweeps
	}, func(l *lab) {
		l.host("a", 1, ok).GPUs(gpus(24, 80)...)
		wantOutcome(t, l.run("r1"), "done", 0)
		params := map[string]string{}
		for _, b := range bodies[ledger.TrialPlanned](l, "r1") {
			params[b.Trial] = string(b.Params)
		}
		models, all := map[string][]string{}, map[string]bool{}
		for _, b := range bodies[ledger.AttemptStarted](l, "r1") {
			p := params[b.Trial]
			models[p] = append(models[p], b.GPUs[0].Model)
			all[b.GPUs[0].Model] = true
		}
		for p, ms := range models {
			if len(ms) != 3 || ms[0] != ms[1] || ms[0] != ms[2] {
				t.Errorf("%s ran on %v", p, ms)
			}
		}
		if len(all) != 2 {
			t.Errorf("only on %v", all)
		}
	})
}

func TestTrialsOfAnExperimentRunOnTheModelThatMostFitOn(t *testing.T) {
	inLab(t, 4, needs(plan.Needs{GPUs: 1, MatchHardware: "experiment"}), func(l *lab) {
		l.host("a", 1, ok).GPUs(gpus(24, 80, 80)...)
		wantOutcome(t, l.run("r1"), "done", 0)
		if got := had(l); strings.Contains(got, "0") {
			t.Errorf("on GPUs %s", got)
		}
		w := bodies[ledger.Warning](l, "r1")
		if len(w) != 1 || !strings.Contains(w[0].Message, "runs on A100 only (2 trials at once), not on RTX 4090") {
			t.Errorf("%+v", w)
		}
	})
}

func TestCausesOfGPUs(t *testing.T) {
	for _, tc := range []struct {
		script hosttest.Script
		want   Cause
	}{
		{hosttest.Script{Took: time.Second, End: hosts.GPULost, Code: 1}, CauseGPULost},
		{hosttest.Script{Took: time.Second, Code: 1, Log: "RuntimeError: No CUDA GPUs are available\n"}, CauseNoGPUSeen},
	} {
		inLab(t, 1, needs(plan.Needs{GPUs: 1}), func(l *lab) {
			l.host("a", 1, func(job) hosttest.Script { return tc.script }).GPUs(gpus(24)...)
			l.run("r1")
			if fin := bodies[ledger.AttemptFinished](l, "r1"); len(fin) != 1 || Cause(fin[0].Cause) != tc.want {
				t.Errorf("%+v, want %s", fin, tc.want)
			}
		})
	}
}

func TestWhatWasSeenOfAGPUIsRecorded(t *testing.T) {
	inLab(t, 1, needs(plan.Needs{GPUs: 1}), func(l *lab) {
		h := l.host("a", 1, ok).GPUs(gpus(24)...)
		time.AfterFunc(30*time.Second, func() {
			h.Finish(h.Jobs()[0].ID, hosts.Exit{End: hosts.Exited, PeakGPUMB: ptr(4000.0), GPUUtilMean: ptr(75.5)})
		})
		l.run("r1")
		fin := bodies[ledger.AttemptFinished](l, "r1")
		if len(fin) != 1 || fin[0].PeakGPUMB == nil || *fin[0].PeakGPUMB != 4000 || fin[0].GPUUtilMean == nil || *fin[0].GPUUtilMean != 75.5 {
			t.Errorf("%+v", fin)
		}
	})
}
