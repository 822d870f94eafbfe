package hosts_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/xrun-dev/xrun/internal/citest"
	"github.com/xrun-dev/xrun/internal/hosts"
)

// controller is another process with a Local of one slot: it starts jobs, says so, and then waits for its end. Its
// arguments are the Workdir, then id and script of each job.
func controller(args []string) int {
	l, err := hosts.NewLocal(hosts.LocalConfig{Name: "other", Workdir: args[0], Slots: 1, Supervisor: supervisor})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	for args = args[1:]; len(args) > 1; args = args[2:] {
		if err := l.Start(context.Background(), []hosts.Job{sh(args[0], args[1])})[0]; err != nil {
			fmt.Println(err)
			return 1
		}
	}
	fmt.Println("started")
	time.Sleep(time.Minute)
	return 0
}

// otherController runs controller in a process group of its own and returns when its jobs are started.
func otherController(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", append([]string{"controller"}, args...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
	if line, _ := bufio.NewReader(out).ReadString('\n'); line != "started\n" {
		t.Fatalf("controller says %q", line)
	}
	return cmd
}

// until waits for something that another process does.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for range 2000 {
		if done() {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("never came to be: %s", what)
}

func place(t *testing.T, l *hosts.Local, id string) hosts.Place {
	t.Helper()
	p, err := l.Place(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// supervisorOf reads who runs a job.
func supervisorOf(t *testing.T, p hosts.Place) int {
	t.Helper()
	var pid int
	until(t, "a pid file in "+p.Dir, func() bool {
		b, _ := os.ReadFile(p.Dir + "/pid")
		f := strings.Fields(string(b))
		if len(f) < 5 {
			return false
		}
		pid, _ = strconv.Atoi(f[0])
		return true
	})
	return pid
}

func onWorkdir(dir string) func(*hosts.LocalConfig) {
	return func(c *hosts.LocalConfig) { c.Workdir = dir }
}

// C07: xrun is killed, the job ends while nobody is there, and then somebody is.
func TestJobSurvivesItsController(t *testing.T) {
	t.Parallel()
	work := t.TempDir()
	l := newLocal(t, onWorkdir(work))
	goOn := t.TempDir() + "/go"
	script := `echo one; while ! [ -e ` + goOn + ` ]; do sleep 0.02; done; echo two; exit 6`
	cmd := otherController(t, work, "running", script, "waiting", "echo never")
	super := supervisorOf(t, place(t, l, "running"))

	// While the other lives, what waits in its queue is neither ours to judge nor lost.
	r, wait := watch(t, l, "waiting")
	until(t, "its place in the queue", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return len(r.phases) == 1 && r.phases[0] == hosts.Queued
	})
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if exit := wait(); exit.End != hosts.NeverStarted {
		t.Errorf("waiting job: %+v", exit)
	}
	adopted, waitAdopted := watch(t, l, "running")
	adopted.waitFor(t, "one\n")
	if err := os.WriteFile(goOn, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	exit := waitAdopted()
	if exit.End != hosts.Exited || exit.Code != 6 || adopted.text() != "one\ntwo\n" || exit.Started.IsZero() {
		t.Errorf("adopted: %+v, log %q", exit, adopted.text())
	}
	until(t, "the end of the supervisor", func() bool { return syscall.Kill(super, 0) != nil })
	again, waitAgain := watch(t, l, "running") // resume twice = once
	if second := waitAgain(); !cmp.Equal(second, exit) || again.text() != "one\ntwo\n" {
		t.Errorf("second look: %+v, log %q", second, again.text())
	}
}

func TestAdoptedJobCanBeStopped(t *testing.T) {
	t.Parallel()
	work := t.TempDir()
	l := newLocal(t, onWorkdir(work))
	cmd := otherController(t, work, "job", stubbornAlone)
	supervisorOf(t, place(t, l, "job"))
	_ = cmd.Process.Kill()
	r, wait := watch(t, l, "job")
	r.waitFor(t, "pid")
	if err := l.Stop(t.Context(), "job", "no longer wanted"); err != nil {
		t.Fatal(err)
	}
	if exit := wait(); exit.End != hosts.Stopped || exit.Reason != "no longer wanted" {
		t.Errorf("got %+v", exit)
	}
	wantGone(t, r.text(), 1)
}

const stubbornAlone = `setsid sh -c 'echo pid $$; exec sleep 300' & wait`

// Limits hold without a controller.
func TestLimitsHoldWithoutController(t *testing.T) {
	t.Parallel()
	l := newLocal(t, nil)
	job := sh("job", stubbornAlone)
	job.Limits = hosts.Limits{Time: 3 * time.Second}
	r, wait := begin(t, l, job)
	r.waitFor(t, "pid")
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if err := l.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(place(t, l, "job").Dir + "/exit"); err == nil {
		t.Error("Close waited for what runs")
	}
	if exit := wait(); exit.End != hosts.TimedOut {
		t.Errorf("got %+v", exit)
	}
	wantGone(t, r.text(), 1)
}

func TestKilledSupervisorMeansVanished(t *testing.T) {
	t.Parallel()
	l := newLocal(t, func(c *hosts.LocalConfig) { c.Slots = 1 })
	r, wait := begin(t, l, sh("job", stubbornAlone))
	_, waitNext := begin(t, l, sh("next", "echo fine"))
	r.waitFor(t, "pid")
	if err := syscall.Kill(supervisorOf(t, place(t, l, "job")), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	exit := wait()
	if exit.End != hosts.Vanished || !strings.Contains(exit.Reason, "killed from outside") || exit.Code != -1 {
		t.Errorf("got %+v", exit)
	}
	wantGone(t, r.text(), 1)
	if next := waitNext(); next.End != hosts.Exited || next.Code != 0 {
		t.Errorf("what was queued: %+v", next)
	}
	if err := l.Stop(t.Context(), "job", "late"); err != nil {
		t.Error(err)
	}
	if again, _ := l.Watch(t.Context(), "job", newRecorder()); again.End != hosts.Vanished {
		t.Errorf("second look: %+v", again)
	}
}

// Signals that a terminal or a hasty user sends do not end a supervisor, nor the job.
func TestSignalsDoNotReachJobs(t *testing.T) {
	t.Parallel()
	work := t.TempDir()
	l := newLocal(t, onWorkdir(work))
	goOn := t.TempDir() + "/go"
	cmd := otherController(t, work, "job", `echo up; while ! [ -e `+goOn+` ]; do sleep 0.02; done; exit 9`)
	super := supervisorOf(t, place(t, l, "job"))
	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGINT); err != nil { // Ctrl-C
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Fatal("the controller survived SIGINT: the test shows nothing")
	}
	for _, sig := range []syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM, syscall.SIGPIPE, syscall.SIGUSR1} {
		if err := syscall.Kill(super, sig); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(goOn, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, wait := watch(t, l, "job")
	if exit := wait(); exit.End != hosts.Exited || exit.Code != 9 {
		t.Errorf("got %+v", exit)
	}
}

// C24: whoever reads from our caller's pipe must not have to wait for the jobs.
func TestJobsKeepNoDescriptorsOfOurs(t *testing.T) {
	t.Parallel()
	work := t.TempDir()
	l := newLocal(t, onWorkdir(work))
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/proc/self/exe", "controller", work, "job", "ls /proc/self/fd; sleep 300")
	cmd.ExtraFiles = []*os.File{nil, nil, in} // the fifth is inherited by everyone, as a shell's >(…) is
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = in.Close()
	supervisorOf(t, place(t, l, "job"))
	r, wait := watch(t, l, "job")
	_, _ = cmd.Process.Kill(), cmd.Wait()
	if n, err := out.Read(make([]byte, 1)); n != 0 || err == nil { // returns when all have closed it
		t.Errorf("read %d, %v", n, err)
	}
	r.waitFor(t, "3\n")
	if got := r.text(); got != "0\n1\n2\n3\n" { // the last is of ls
		t.Errorf("descriptors of a job: %q", got)
	}
	if err := l.Stop(t.Context(), "job", "done"); err != nil {
		t.Fatal(err)
	}
	wait()
}

// C21: what is half written does not exist.
func TestHalfWrittenFilesDoNotCount(t *testing.T) {
	t.Parallel()
	l := newLocal(t, nil)
	for i, tc := range []struct {
		pid, exit string
		want      hosts.End
	}{
		{"", "", hosts.NeverStarted},
		{"4194304 17 " + boot(t) + " 1700000000000000000\n", "0 1.5 17", hosts.Vanished},
		{"4194304 17 " + boot(t) + " 1700000000000000000\n", "\x00\x00\x00\x00\x00\x00\x00", hosts.Vanished},
		{"4194304 17 " + boot(t) + " 1700000000000000000\n", "0 1.5 17 en", hosts.Vanished},
		{"4194304 17 " + boot(t) + " 1700000000000000000\n", "0 1.5 17 end", hosts.Exited},
		{fmt.Sprintf("%d 17 %s 1700000000000000000\n", os.Getpid(), boot(t)), "", hosts.Vanished}, // the pid is somebody else now
		{"4194304", "", hosts.Vanished},
		{"4194304 17 another-boot 1700000000000000000\n", "", hosts.Vanished},
	} {
		id := fmt.Sprintf("job%d", i)
		p := place(t, l, id)
		if err := os.MkdirAll(p.Dir, 0o700); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{"pid": tc.pid, "exit": tc.exit, "lock": "x"} {
			if text != "" {
				if err := os.WriteFile(p.Dir+"/"+name, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
		exit, err := l.Watch(t.Context(), id, newRecorder())
		if err != nil || exit.End != tc.want {
			t.Errorf("pid %q, exit %q: %+v, %v; want %s", tc.pid, tc.exit, exit, err, tc.want)
		}
		if strings.Contains(tc.pid, "another-boot") && exit.Reason != "the machine was rebooted" {
			t.Errorf("reason %q", exit.Reason)
		}
		if err := l.Start(t.Context(), []hosts.Job{sh(id, "echo again")})[0]; err != nil {
			t.Error(err)
		}
		if again, _ := l.Watch(t.Context(), id, newRecorder()); again.End != tc.want {
			t.Errorf("started again: %+v", again)
		}
	}
	if exit, err := l.Watch(t.Context(), "unheard-of", newRecorder()); err != nil || exit.End != hosts.NeverStarted {
		t.Errorf("unknown job: %+v, %v", exit, err)
	}
}

func boot(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		citest.Skip(t, err.Error())
	}
	return strings.TrimSpace(string(b))
}

// A home directory is often shared: what another machine has is unknown here, not lost, and stays.
func TestOtherMachinesJobsAreLeftAlone(t *testing.T) {
	t.Parallel()
	work := t.TempDir()
	l := newLocal(t, onWorkdir(work))
	foreign := filepath.Join(work, "0123456789ab", "jobs", "job")
	if err := os.MkdirAll(foreign, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Watch(t.Context(), "job", newRecorder()); !errorsIs(err, hosts.ErrUnreachable) {
		t.Errorf("watch: %v", err)
	}
	if err := l.Stop(t.Context(), "job", "x"); !errorsIs(err, hosts.ErrUnreachable) {
		t.Errorf("stop: %v", err)
	}
	if err := l.Start(t.Context(), []hosts.Job{sh("job", "true")})[0]; !errorsIs(err, hosts.ErrUnreachable) {
		t.Errorf("start: %v", err)
	}
	l.Discard("job")
	if _, err := os.Stat(foreign); err != nil {
		t.Error(err)
	}
}
