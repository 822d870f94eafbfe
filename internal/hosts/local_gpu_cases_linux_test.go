package hosts_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/xrun-dev/xrun/internal/hosts"
)

// C05, pytorch/pytorch#5736: children of a killed run hold the GPU. They are ended, whatever they do, and the next job
// has the GPU when nothing of them is left on it.
func TestC05ChildrenOfATimedOutJobDoNotHoldItsGPU(t *testing.T) {
	f := fakeMachine(t, 1)
	l := f.local(func(c *hosts.LocalConfig) { c.GPUPause = 50 * time.Millisecond })
	script := `setsid sleep 600 & echo pid $!
		sh -c 'trap "" TERM; echo "$CUDA_VISIBLE_DEVICES|$$|python|9000" >>"$FAKE_GPU/apps"; echo pid $$; while :; do sleep 0.1; done' &
		wait`
	job := onGPUs(sh("job", script), hosts.GPUNeed{Count: 1})
	job.Limits = hosts.Limits{Time: time.Second, Grace: 300 * time.Millisecond}
	r, wait := begin(t, l, job)
	_, next := begin(t, l, onGPUs(sh("next", "nvidia-smi --query-compute-apps=gpu_uuid,pid,process_name,used_memory --format=csv,noheader,nounits; echo done"), hosts.GPUNeed{Count: 1}))
	if exit := wait(); exit.End != hosts.TimedOut {
		t.Errorf("%+v", exit)
	}
	wantGone(t, r.text(), 2)
	if exit := next(); exit.Code != 0 {
		t.Errorf("%+v", exit)
	}
	if log := read(t, place(t, l, "next").Log); log != "done\n" {
		t.Errorf("on the GPU beside the next job: %q", log)
	}
}

// C05, second variant: what nvidia-smi lists is no process here, or not ours. It is named, and nothing is killed.
func TestC05WhatIsNotOursKeepsAGPUAndLives(t *testing.T) {
	f := fakeMachine(t, 2)
	l := f.local(nil)
	f.set("apps", fmt.Sprintf("%s|!4194000|[Not Found]|900", f.uuids[0]), fmt.Sprintf("%s|1|init|900", f.uuids[1]))
	c, err := l.Capacity(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i, pid := range []string{"pid 4194000", "pid 1 "} {
		if g := c.GPUs[i]; g.State != hosts.GPUBusy || !strings.Contains(g.Why, pid) {
			t.Errorf("%+v", g)
		}
	}
	_, wait := begin(t, l, onGPUs(sh("job", "true"), hosts.GPUNeed{Count: 1}))
	time.Sleep(200 * time.Millisecond)
	if err := l.Stop(t.Context(), "job", "enough"); err != nil {
		t.Fatal(err)
	}
	if exit := wait(); exit.End != hosts.Stopped || !exit.Started.IsZero() {
		t.Errorf("%+v", exit)
	}
	if err := syscall.Kill(1, 0); err != nil {
		t.Error(err)
	}
}

// C12, gpustack/gpustack#1633: a GPU is its UUID. The order of the rows may change between any two looks, and the job
// has the card that it was given.
func TestC12TheOrderOfRowsMeansNothing(t *testing.T) {
	f := fakeMachine(t, 2)
	l := f.local(nil)
	rows := []string{fmt.Sprintf("0|%s|NVIDIA RTX 4090|24564|4|0", f.uuids[0]), fmt.Sprintf("1|%s|NVIDIA A100|81920|4|0", f.uuids[1])}
	f.set("gpus", rows...)
	if _, err := l.Capacity(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.set("gpus", strings.Replace(rows[1], "1|", "0|", 1), strings.Replace(rows[0], "0|", "1|", 1))
	exit, log := run(t, l, onGPUs(sh("big", "env | grep CUDA_VISIBLE"), hosts.GPUNeed{Count: 1, Memory: 80e9}))
	if exit.Code != 0 || log != "CUDA_VISIBLE_DEVICES="+f.uuids[1]+"\n" || exit.GPUs[0] != (hosts.GPU{UUID: f.uuids[1], Model: "NVIDIA A100"}) {
		t.Errorf("%+v, %q", exit, log)
	}
}

// C12, C13: what is true when the GPUs were counted need not be when one is leased: its row is gone, or somebody else
// uses it. The job has the other one.
func TestC13TheGPUIsLookedAtAgainWhenItIsLeased(t *testing.T) {
	for name, happens := range map[string]func(*fakeGPUs){
		"gone": func(f *fakeGPUs) { f.set("gpus", fmt.Sprintf("1|%s|NVIDIA RTX 4090|24564|4|0", f.uuids[1])) },
		"used": func(f *fakeGPUs) { f.foreign(0) },
		"filling": func(f *fakeGPUs) {
			f.set("gpus", fmt.Sprintf("0|%s|A|24564|9000|0", f.uuids[0]), fmt.Sprintf("1|%s|A|24564|4|0", f.uuids[1]))
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := fakeMachine(t, 2)
			l := f.local(func(c *hosts.LocalConfig) { c.GPUPause = 50 * time.Millisecond })
			if c, err := l.Capacity(t.Context()); err != nil || c.GPUs[0].State != hosts.GPUFree {
				t.Fatalf("%+v, %v", c, err)
			}
			happens(f)
			exit, log := run(t, l, onGPUs(sh("job", "echo $CUDA_VISIBLE_DEVICES"), hosts.GPUNeed{Count: 1}))
			if exit.Code != 0 || log != f.uuids[1]+"\n" {
				t.Errorf("%+v, %q", exit, log)
			}
		})
	}
}

// A job without GPUs sees none on purpose, and one with GPUs never an empty list.
func TestC12NoGPUIsNoneOnPurpose(t *testing.T) {
	f := fakeMachine(t, 1)
	t.Setenv("CUDA_VISIBLE_DEVICES", f.uuids[0])
	l := f.local(nil)
	job := sh("cpu", `echo "[$CUDA_VISIBLE_DEVICES]"`)
	job.Env = []string{"CUDA_VISIBLE_DEVICES="} // as the engine gives it
	if exit, log := run(t, l, job); exit.Code != 0 || log != "[]\n" {
		t.Errorf("%+v, %q", exit, log)
	}
	if _, log := run(t, l, onGPUs(sh("gpu", `echo "[$CUDA_VISIBLE_DEVICES]"`), hosts.GPUNeed{Count: 1})); log != "["+f.uuids[0]+"]\n" {
		t.Errorf("%q", log)
	}
}
