package hosts_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/xrun-dev/xrun/internal/hosts"
)

// stubborn starts, beside itself, what is hard to get rid of: a child in a session of its own that ignores TERM, one that
// was forked twice, and one without our marker. Each says its pid.
const stubborn = `
setsid sh -c 'trap "" TERM HUP; echo pid $$; while :; do sleep 1; done' &
( setsid sh -c 'echo pid $$; exec sleep 300' & ) &
env -i /bin/sh -c 'trap "" TERM; echo pid $$; while :; do /bin/sleep 1; done' &
while [ "$(grep -c pid "$LOG")" -lt 3 ]; do sleep 0.01; done
`

// pids are the processes that a log names.
func pids(t *testing.T, log string) []int {
	t.Helper()
	var all []int
	for line := range strings.Lines(log) {
		if n, ok := strings.CutPrefix(strings.TrimSpace(line), "pid "); ok {
			pid, err := strconv.Atoi(n)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, pid)
		}
	}
	return all
}

func wantGone(t *testing.T, log string, n int) {
	t.Helper()
	all := pids(t, log)
	if len(all) != n {
		t.Errorf("log %q names %d processes, want %d", log, len(all), n)
	}
	for _, pid := range all {
		if err := syscall.Kill(pid, 0); err != syscall.ESRCH && !zombie(pid) {
			t.Errorf("process %d is still there: %v", pid, err)
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// zombie says whether a process is over and only waits for its parent: init, if its supervisor was killed.
func zombie(pid int) bool {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, after, _ := strings.Cut(string(b), ") ")
	return strings.HasPrefix(after, "Z")
}

func withLog(t *testing.T, l *hosts.Local, job hosts.Job) hosts.Job {
	t.Helper()
	p, err := l.Place(t.Context(), job.ID)
	if err != nil {
		t.Fatal(err)
	}
	job.Env = append(job.Env, "LOG="+p.Log)
	return job
}

func TestNothingIsLeftAfterJob(t *testing.T) {
	for _, tc := range []struct {
		name, script string
		limits       hosts.Limits
		stop         bool
		end          hosts.End
		code         int
	}{
		{"normal end", stubborn + "exit 4", hosts.Limits{Grace: 200 * time.Millisecond}, false, hosts.Exited, 4},
		{"timeout", stubborn + "sleep 300", hosts.Limits{Time: time.Second, Grace: 200 * time.Millisecond}, false, hosts.TimedOut, 143},
		{"stop", stubborn + "echo ready; sleep 300", hosts.Limits{Grace: 200 * time.Millisecond}, true, hosts.Stopped, 143},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			l := newLocal(t, nil)
			job := withLog(t, l, sh("job", tc.script))
			job.Limits = tc.limits
			r, wait := begin(t, l, job)
			if tc.stop {
				r.waitFor(t, "ready")
				if err := l.Stop(t.Context(), "job", "enough"); err != nil {
					t.Fatal(err)
				}
			}
			exit := wait()
			if exit.End != tc.end || exit.Code != tc.code {
				t.Errorf("got %+v, want %s %d", exit, tc.end, tc.code)
			}
			wantGone(t, r.text(), 3)
			// The slot is good for the next one.
			if exit, log := run(t, l, sh("next", "echo fine")); exit.Code != 0 || log != "fine\n" {
				t.Errorf("next job: %+v, %q", exit, log)
			}
		})
	}
}

func TestSilentJobEnds(t *testing.T) {
	t.Parallel()
	l := newLocal(t, nil)
	job := sh("job", "for i in 1 2 3 4 5 6; do echo $i; sleep 0.1; done; sleep 300")
	job.Limits = hosts.Limits{Silence: 400 * time.Millisecond}
	exit, log := run(t, l, job)
	if exit.End != hosts.Silent || !strings.HasPrefix(log, "1\n2\n3\n4\n5\n6\n") {
		t.Errorf("got %+v, log %q", exit, log)
	}
	if exit.Duration < 900*time.Millisecond || exit.Duration > 5*time.Second {
		t.Errorf("took %v", exit.Duration)
	}
}

// A job that cleans up on TERM has its grace for it, and its own exit status counts.
func TestGraceIsForCleaningUp(t *testing.T) {
	t.Parallel()
	l := newLocal(t, nil)
	job := sh("job", `trap 'echo saving; sleep 0.2; echo saved; exit 7' TERM; echo up; while :; do sleep 0.05; done`)
	r, wait := begin(t, l, job)
	r.waitFor(t, "up")
	if err := l.Stop(t.Context(), "job", "enough"); err != nil {
		t.Fatal(err)
	}
	if err := l.Stop(t.Context(), "job", "again"); err != nil {
		t.Fatal(err)
	}
	exit := wait()
	if exit.End != hosts.Stopped || exit.Code != 7 || exit.Reason != "enough" || !strings.HasSuffix(r.text(), "saving\nsaved\n") {
		t.Errorf("got %+v, log %q", exit, r.text())
	}
	if err := l.Stop(t.Context(), "job", "late"); err != nil {
		t.Error(err)
	}
}

func TestSuspendedJobCanBeStopped(t *testing.T) {
	t.Parallel()
	l := newLocal(t, nil)
	r, wait := begin(t, l, sh("job", "echo up; kill -STOP $$; echo woke"))
	r.waitFor(t, "up")
	if err := l.Stop(t.Context(), "job", "enough"); err != nil {
		t.Fatal(err)
	}
	if exit := wait(); exit.End != hosts.Stopped || exit.Duration > 5*time.Second {
		t.Errorf("got %+v", exit)
	}
}

func TestExitStatusComesThrough(t *testing.T) {
	t.Parallel()
	l := newLocal(t, nil)
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/plain", []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/noshebang", []byte("echo by sh; exit 5\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for i, tc := range []struct {
		argv []string
		code int
		log  string
	}{
		{[]string{"sh", "-c", "exit 255"}, 255, ""},
		{[]string{"sh", "-c", "kill -9 $$"}, 137, ""},
		{[]string{"sh", "-c", "false; true"}, 0, ""},
		{[]string{"no-such-program", "x"}, 127, "no-such-program: not found"},
		{[]string{dir + "/missing"}, 127, "not found"},
		{[]string{dir + "/plain"}, 126, "Permission denied"},
		{[]string{dir}, 126, "Permission denied"},
		{[]string{dir + "/noshebang"}, 5, "by sh\n"},
		{[]string{""}, 126, "denied"},
		{[]string{"-x"}, 127, "not found"},
		{[]string{"cat"}, 0, ""}, // stdin is empty, not the terminal
	} {
		exit, log := run(t, l, hosts.Job{ID: fmt.Sprintf("job%d", i), Argv: tc.argv})
		if exit.End != hosts.Exited || exit.Code != tc.code || !strings.Contains(strings.ToLower(log), strings.ToLower(tc.log)) {
			t.Errorf("%q: %+v, log %q; want %d and %q", tc.argv, exit, log, tc.code, tc.log)
		}
	}
}

// What a supervisor ignores, jobs must not inherit: a program that expects to die of a closed pipe would go on for ever.
func TestJobsHaveDefaultSignals(t *testing.T) {
	t.Parallel()
	l := newLocal(t, nil)
	_, log := run(t, l, hosts.Job{ID: "job", Argv: []string{"grep", "-E", "SigIgn|SigBlk", "/proc/self/status"}})
	for line := range strings.Lines(log) {
		if f := strings.Fields(line); len(f) != 2 || strings.Trim(f[1], "0") != "" {
			t.Errorf("%q", line)
		}
	}
}
