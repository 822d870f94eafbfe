package hosts_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/xrun-dev/xrun/internal/hosts"
	"github.com/xrun-dev/xrun/internal/hosts/hosttest"
)

// A fakeGPUs is the directory that the nvidia-smi of testdata reads.
type fakeGPUs struct {
	t      testing.TB
	dir    string
	leases string
	uuids  []string
}

// fakeMachine puts an nvidia-smi with n GPUs on PATH, each of 24 GB but the last, which has 80.
func fakeMachine(t testing.TB, n int) *fakeGPUs {
	t.Helper()
	bin, err := filepath.Abs("testdata/fakegpu")
	if err != nil {
		t.Fatal(err)
	}
	f := &fakeGPUs{t: t, dir: t.TempDir(), leases: filepath.Join(t.TempDir(), "leases")}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	t.Setenv("FAKE_GPU", f.dir)
	var lines []string
	for i := range n {
		model, memory := "NVIDIA RTX 4090", 24564
		if i == n-1 {
			model, memory = "NVIDIA A100-SXM4-80GB", 81920
		}
		f.uuids = append(f.uuids, fmt.Sprintf("GPU-%08x-%d-%d", os.Getpid(), time.Now().UnixNano(), i))
		lines = append(lines, fmt.Sprintf("%d|%s|%s|%d|4|50", i, f.uuids[i], model, memory))
	}
	f.set("gpus", lines...)
	f.set("apps")
	return f
}

func (f *fakeGPUs) set(file string, lines ...string) {
	f.t.Helper()
	tmp := filepath.Join(f.dir, "."+file)
	if err := os.WriteFile(tmp, []byte(strings.Join(append(lines, ""), "\n")), 0o600); err != nil {
		f.t.Fatal(err)
	}
	if err := os.Rename(tmp, filepath.Join(f.dir, file)); err != nil { // whole or not at all
		f.t.Fatal(err)
	}
}

func (f *fakeGPUs) local(change func(*hosts.LocalConfig)) *hosts.Local {
	f.t.Helper()
	return newLocal(f.t, func(c *hosts.LocalConfig) {
		c.GPUs, c.LeaseDir, c.GPUPause = hosts.GPUChoice{Auto: true}, f.leases, 200*time.Millisecond
		if change != nil {
			change(c)
		}
	})
}

func onGPUs(job hosts.Job, need hosts.GPUNeed) hosts.Job {
	job.GPUs = &need
	return job
}

// foreign is a process that is not ours on a GPU.
func (f *fakeGPUs) foreign(gpu int) *exec.Cmd {
	f.t.Helper()
	cmd := exec.Command("sleep", "100")
	if err := cmd.Start(); err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
	f.set("apps", fmt.Sprintf("%s|%d|/usr/bin/sleep|3000", f.uuids[gpu], cmd.Process.Pid))
	return cmd
}

// A GPU job is a job like any other.
func TestLocalWithGPUsIsAHost(t *testing.T) {
	f := fakeMachine(t, 2)
	hosttest.Run(t, func(t *testing.T) hosttest.Host {
		return onlyGPUs{newLocal(t, func(c *hosts.LocalConfig) {
			c.GPUs, c.LeaseDir, c.GPUPause = hosts.GPUChoice{Auto: true}, f.leases, 100*time.Millisecond
		})}
	})
}

// onlyGPUs makes every job one that needs a GPU.
type onlyGPUs struct{ *hosts.Local }

func (o onlyGPUs) Start(ctx context.Context, jobs []hosts.Job) []error {
	for i := range jobs {
		jobs[i].GPUs = &hosts.GPUNeed{Count: 1}
	}
	return o.Local.Start(ctx, jobs)
}

func (o onlyGPUs) Capacity(ctx context.Context) (hosts.Capacity, error) {
	c, err := o.Local.Capacity(ctx)
	c.Slots = len(c.GPUs)
	return c, err
}

// C10: the job sees its GPUs and no other, in every way of starting it, and jobs without see none.
func TestJobSeesItsGPUs(t *testing.T) {
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			f := fakeMachine(t, 3)
			l := f.local(func(c *hosts.LocalConfig) {
				c.Env = []string{"CUDA_VISIBLE_DEVICES=7"}
				if way != nil {
					way(c)
				}
			})
			job := onGPUs(sh("job", `echo $CUDA_VISIBLE_DEVICES`), hosts.GPUNeed{Count: 2})
			job.Env = []string{"CUDA_VISIBLE_DEVICES=8"}
			job.Setup = &hosts.Setup{Key: "k", Step: hosts.Step{Argv: []string{"sh", "-c", "echo $CUDA_VISIBLE_DEVICES"}}}
			exit, log := run(t, l, job)
			want := f.uuids[0] + "," + f.uuids[1] + "\n"
			if exit.Code != 0 || log != want || len(exit.GPUs) != 2 || exit.GPUs[0] != (hosts.GPU{UUID: f.uuids[0], Model: "NVIDIA RTX 4090"}) {
				t.Errorf("%+v, log %q, want %q", exit, log, want)
			}
			if b, err := os.ReadFile(place(t, l, "job").Dir + "/setup.log"); string(b) != want {
				t.Errorf("setup sees %q, %v", b, err)
			}
			exit, log = run(t, l, onGPUs(sh("big", `echo $CUDA_VISIBLE_DEVICES; exit 7`), hosts.GPUNeed{Count: 1, Memory: 80e9}))
			if exit.Code != 7 || log != f.uuids[2]+"\n" {
				t.Errorf("%+v, log %q", exit, log)
			}
		})
	}
}

func TestCapacityNamesGPUs(t *testing.T) {
	f := fakeMachine(t, 3)
	pid := f.foreign(1).Process.Pid
	f.set("gpus", fmt.Sprintf("0|%s|A|24564|4|0", f.uuids[0]), fmt.Sprintf("1|%s|A|24564|4|0", f.uuids[1]), fmt.Sprintf("2|%s|A|ERR!|ERR!|0", f.uuids[2]))
	c, err := f.local(nil).Capacity(t.Context())
	if err != nil || len(c.GPUs) != 3 {
		t.Fatalf("%+v, %v", c, err)
	}
	if c.GPUs[0].State != hosts.GPUFree || c.GPUs[0].MemoryMB != 24564 {
		t.Errorf("%+v", c.GPUs[0])
	}
	if g := c.GPUs[1]; g.State != hosts.GPUBusy || !strings.Contains(g.Why, fmt.Sprintf("pid %d (", pid)) || !strings.Contains(g.Why, ": sleep") {
		t.Errorf("%+v", g)
	}
	if g := c.GPUs[2]; g.State != hosts.GPUUnknown || !strings.Contains(g.Why, "ERR!") {
		t.Errorf("%+v", g)
	}
	// An unreadable one is given to nobody; the others serve.
	l := f.local(nil)
	if err := l.Start(t.Context(), []hosts.Job{onGPUs(sh("three", "true"), hosts.GPUNeed{Count: 3})})[0]; err == nil || !strings.Contains(err.Error(), "ERR!") {
		t.Errorf("got %v", err)
	}
	// What we were given is not widened.
	t.Setenv("CUDA_VISIBLE_DEVICES", "1")
	if c, err := f.local(nil).Capacity(t.Context()); err != nil || len(c.GPUs) != 1 || c.GPUs[0].Index != 1 {
		t.Errorf("%+v, %v", c, err)
	}
}

// Moods in which nvidia-smi has no GPU, or no answer.
func TestMachineWithoutGPUs(t *testing.T) {
	for mood, want := range map[string]string{
		"nodevices": "no GPU", "unsupported": "no GPU", "mismatch": "exit status 18", "nodriver": "exit status 9",
		"unknown": "Unknown Error", "handle": "GPU0000:17:00.0", "lost": "GPU is lost", "hang": "no answer within",
	} {
		t.Run(mood, func(t *testing.T) {
			f := fakeMachine(t, 1)
			f.set("mood", mood)
			began := time.Now()
			l := f.local(nil)
			c, err := l.Capacity(t.Context())
			if err != nil || len(c.GPUs) > 0 || !strings.Contains(c.Note, want) {
				t.Errorf("auto: %+v, %v", c, err)
			}
			if took := time.Since(began); took > 8*time.Second {
				t.Errorf("it took %v", took)
			}
			if err := l.Start(t.Context(), []hosts.Job{onGPUs(sh("job", "true"), hosts.GPUNeed{Count: 1})})[0]; err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("start: %v", err)
			}
			if exit, _ := run(t, l, sh("cpu", "true")); exit.Code != 0 {
				t.Errorf("a job without GPUs: %+v", exit)
			}
			if mood == "hang" {
				return // once is enough
			}
			declared := f.local(func(c *hosts.LocalConfig) { c.GPUs = hosts.GPUChoice{Count: 1} })
			if _, err := declared.Capacity(t.Context()); err == nil {
				t.Error("declared: no error")
			}
		})
	}
	t.Setenv("PATH", "/usr/bin:/bin")
	l := newLocal(t, func(c *hosts.LocalConfig) { c.GPUs = hosts.GPUChoice{Count: 2} })
	if _, err := l.Capacity(t.Context()); err == nil || !strings.Contains(err.Error(), "2 GPUs are declared, found: none") {
		t.Errorf("got %v", err)
	}
}

// A GPU that somebody else uses is left alone, named, and looked at again.
func TestForeignProcessKeepsAGPU(t *testing.T) {
	f := fakeMachine(t, 2)
	theirs := f.foreign(0)
	l := f.local(nil)
	if exit, log := run(t, l, onGPUs(sh("other", "echo $CUDA_VISIBLE_DEVICES"), hosts.GPUNeed{Count: 1})); exit.Code != 0 || log != f.uuids[1]+"\n" {
		t.Errorf("%+v, log %q", exit, log)
	}
	r := &whys{recorder: newRecorder()}
	if err := l.Start(t.Context(), []hosts.Job{onGPUs(sh("both", "echo $CUDA_VISIBLE_DEVICES"), hosts.GPUNeed{Count: 2})})[0]; err != nil {
		t.Fatal(err)
	}
	done := make(chan hosts.Exit, 1)
	ctx := t.Context()
	go func() { // ends with the test
		exit, _ := l.Watch(ctx, "both", r)
		done <- exit
	}()
	until(t, "why it waits", func() bool { return strings.Contains(r.last(), fmt.Sprintf("pid %d (", theirs.Process.Pid)) })
	_, _ = theirs.Process.Kill(), theirs.Wait()
	if exit := <-done; exit.Code != 0 || len(exit.GPUs) != 2 {
		t.Errorf("%+v", exit)
	}
	// Memory that nobody seems to use is used all the same: the process may be in a container.
	f.set("gpus", fmt.Sprintf("0|%s|A|24564|1500|0", f.uuids[0]))
	c, err := f.local(nil).Capacity(t.Context())
	if err != nil || c.GPUs[0].State != hosts.GPUBusy || !strings.Contains(c.GPUs[0].Why, "1500 MB") {
		t.Errorf("%+v, %v", c.GPUs, err)
	}
}

// whys remembers what a queued job waits for.
type whys struct {
	*recorder
	mu  sync.Mutex
	why string
}

func (w *whys) Status(s hosts.Status) {
	if s.Why != "" {
		w.mu.Lock()
		w.why = s.Why
		w.mu.Unlock()
	}
	w.recorder.Status(s)
}

func (w *whys) last() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.why
}

// A job that waits for a GPU can be stopped, and one for which there is none takes no slot from others.
func TestWaitingForAGPU(t *testing.T) {
	f := fakeMachine(t, 1)
	f.foreign(0)
	l := f.local(func(c *hosts.LocalConfig) { c.Slots, c.GPUPause = 1, 20*time.Millisecond })
	for i := range 12 { // at different moments of its tries
		id := fmt.Sprint("wait", i)
		_, wait := begin(t, l, onGPUs(sh(id, "true"), hosts.GPUNeed{Count: 1}))
		time.Sleep(time.Duration(i) * 17 * time.Millisecond)
		if exit, log := run(t, l, sh(fmt.Sprint("cpu", i), "echo $CUDA_VISIBLE_DEVICES.")); exit.Code != 0 || log != ".\n" && log != os.Getenv("CUDA_VISIBLE_DEVICES")+".\n" {
			t.Errorf("%+v, log %q", exit, log)
		}
		if i%2 == 0 {
			if err := l.Stop(t.Context(), id, "enough"); err != nil {
				t.Fatal(err)
			}
		} else if taken, err := l.Withdraw(t.Context(), id, "enough"); !taken || err != nil {
			t.Fatalf("a job that waits was not withdrawn: %v, %v", taken, err)
		}
		if exit := wait(); exit.End != hosts.Stopped || exit.Reason != "enough" {
			t.Errorf("%s: %+v", id, exit)
		}
	}
}

// Everything that holds a lease of a job is the job's: it left the session, lost its parent and cleared its environment.
func TestLeaseHoldersEndWithTheJob(t *testing.T) {
	f := fakeMachine(t, 1)
	l := f.local(nil)
	script := `setsid env -i PATH="$PATH" sh -c 'echo pid $$; exec sleep 300' & echo up; sleep 300`
	r, _ := begin(t, l, onGPUs(sh("job", script), hosts.GPUNeed{Count: 1}))
	r.waitFor(t, "pid")
	// With its supervisor gone, nobody knows its descendants.
	if err := syscall.Kill(supervisorOf(t, place(t, l, "job")), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_, wait := watch(t, l, "job")
	if exit := wait(); exit.End != hosts.Vanished || len(exit.GPUs) != 1 {
		t.Errorf("%+v", exit)
	}
	wantGone(t, r.text(), 1)
	if exit, _ := run(t, l, onGPUs(sh("next", "true"), hosts.GPUNeed{Count: 1})); exit.Code != 0 {
		t.Errorf("next: %+v", exit)
	}
}

// Memory and utilisation are seen while the job runs; looking is no part of the job, and does not end it.
func TestGPUsAreSampled(t *testing.T) {
	f := fakeMachine(t, 1)
	l := f.local(nil)
	script := `echo "$CUDA_VISIBLE_DEVICES|$$|python|5000" >"$FAKE_GPU/apps"; sleep 3; exit 3`
	exit, _ := run(t, l, onGPUs(sh("job", script), hosts.GPUNeed{Count: 1}))
	if exit.End != hosts.Exited || exit.Code != 3 || exit.PeakGPUMB == nil || *exit.PeakGPUMB != 5004 || exit.GPUUtilMean == nil || *exit.GPUUtilMean != 50 {
		t.Errorf("%+v", exit)
	}
	// A job that is over while nvidia-smi hangs is over, and evaluated.
	f.set("apps")
	job := onGPUs(sh("hung", `sleep 1; echo hang >"$FAKE_GPU/mood"; sleep 2.5; rm "$FAKE_GPU/mood"`), hosts.GPUNeed{Count: 1})
	job.Evaluate = &hosts.Evaluation{Step: hosts.Step{Argv: []string{"sh", "-c", "echo $CUDA_VISIBLE_DEVICES"}}}
	began := time.Now()
	exit, _ = run(t, l, job)
	if took := time.Since(began); exit.End != hosts.Exited || exit.Code != 0 || took > 8*time.Second {
		t.Errorf("%+v after %v", exit, took)
	}
	if b, err := os.ReadFile(place(t, l, "hung").Dir + "/evaluate.log"); string(b) != f.uuids[0]+"\n" {
		t.Errorf("the evaluation says %q, %v", b, err)
	}
}

// A GPU that the driver loses ends its job, whether the job notices or not.
func TestLostGPU(t *testing.T) {
	f := fakeMachine(t, 3)
	l := f.local(nil)
	gone := fmt.Sprintf(`sed -i /%s/d "$FAKE_GPU/gpus"; `, f.uuids[0])
	exit, _ := run(t, l, onGPUs(sh("fails", gone+"exit 1"), hosts.GPUNeed{Count: 1}))
	if exit.End != hosts.GPULost || exit.Code != 1 {
		t.Errorf("%+v", exit)
	}
	gone = fmt.Sprintf(`sed -i /%s/d "$FAKE_GPU/gpus"; `, f.uuids[1])
	exit, _ = run(t, l, onGPUs(sh("hangs", gone+"sleep 100"), hosts.GPUNeed{Count: 1}))
	if exit.End != hosts.GPULost {
		t.Errorf("%+v", exit)
	}
	exit, _ = run(t, l, onGPUs(sh("last", `echo nodevices >"$FAKE_GPU/mood"; sleep 100`), hosts.GPUNeed{Count: 1}))
	if exit.End != hosts.GPULost {
		t.Errorf("%+v", exit)
	}
}

// Jobs of one controller share a GPU, those of another do not get in.
func TestShare(t *testing.T) {
	f := fakeMachine(t, 1)
	l, other := f.local(nil), f.local(nil)
	need := hosts.GPUNeed{Count: 1, PerGPU: 2}
	goOn := filepath.Join(t.TempDir(), "go")
	script := `echo $CUDA_VISIBLE_DEVICES; while ! [ -e ` + goOn + ` ]; do sleep 0.02; done`
	a, waitA := begin(t, l, onGPUs(sh("a", script), need))
	a.waitFor(t, f.uuids[0])
	b, waitB := begin(t, l, onGPUs(sh("b", script), need))
	b.waitFor(t, f.uuids[0])
	c, waitC := begin(t, l, onGPUs(sh("c", script), need))
	d, waitD := begin(t, other, onGPUs(sh("d", script), need))
	time.Sleep(500 * time.Millisecond)
	if c.text() != "" || d.text() != "" {
		t.Errorf("a third and a stranger: %q, %q", c.text(), d.text())
	}
	if err := os.WriteFile(goOn, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, wait := range []func() hosts.Exit{waitA, waitB, waitC, waitD} {
		if exit := wait(); exit.Code != 0 {
			t.Errorf("%+v", exit)
		}
	}
}
