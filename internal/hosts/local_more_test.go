package hosts_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/xrun-dev/xrun/internal/hosts"
)

func errorsIs(err, target error) bool { return errors.Is(err, target) }

func TestSecondStartOnlyReportsTheFirst(t *testing.T) {
	t.Parallel()
	l := newLocal(t, nil)
	file := t.TempDir() + "/count"
	job := sh("job", "echo x >>"+file+"; sleep 0.1")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if err := l.Start(t.Context(), []hosts.Job{job, job})[1]; err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	_, wait := watch(t, l, "job")
	wait()
	if err := l.Start(t.Context(), []hosts.Job{job})[0]; err != nil {
		t.Error(err)
	}
	_, wait = watch(t, l, "job")
	if exit := wait(); exit.End != hosts.Exited {
		t.Errorf("got %+v", exit)
	}
	if b, _ := os.ReadFile(file); string(b) != "x\n" {
		t.Errorf("it ran %d times", strings.Count(string(b), "x"))
	}
}

func TestManyQuickJobs(t *testing.T) {
	t.Parallel()
	l := newLocal(t, func(c *hosts.LocalConfig) { c.Slots = 4 })
	var jobs []hosts.Job
	for i := range 200 {
		jobs = append(jobs, sh(fmt.Sprintf("job%d", i), fmt.Sprintf("echo out %d; exit %d", i, i%7)))
	}
	for i, err := range l.Start(t.Context(), jobs) {
		if err != nil {
			t.Fatal(i, err)
		}
	}
	var wg sync.WaitGroup
	for i := range jobs {
		wg.Go(func() {
			r := newRecorder()
			exit, err := l.Watch(t.Context(), jobs[i].ID, r)
			if err != nil || exit.Code != i%7 || r.text() != fmt.Sprintf("out %d\n", i) {
				t.Errorf("%s: %+v, %v, log %q", jobs[i].ID, exit, err, r.text())
			}
		})
	}
	wg.Wait()
}

func TestQueuedJobIsTakenOut(t *testing.T) {
	t.Parallel()
	l := newLocal(t, func(c *hosts.LocalConfig) { c.Slots = 1 })
	first, waitFirst := begin(t, l, sh("first", "echo up; sleep 300"))
	r, wait := begin(t, l, sh("second", "echo never"))
	first.waitFor(t, "up")
	if err := l.Stop(t.Context(), "second", "not needed"); err != nil {
		t.Fatal(err)
	}
	if exit := wait(); exit.End != hosts.Stopped || exit.Reason != "not needed" || exit.Code != -1 || r.text() != "" {
		t.Errorf("got %+v, log %q", exit, r.text())
	}
	if diff := cmp.Diff([]hosts.Phase{hosts.Queued, hosts.Ended}, r.phases); diff != "" {
		t.Error(diff)
	}
	_ = l.Stop(t.Context(), "first", "done")
	waitFirst()
}

// A long job does not hold up those behind it while another slot is idle.
func TestNoJobWaitsBesideAnIdleSlot(t *testing.T) {
	t.Parallel()
	l := newLocal(t, nil)
	_, waitLong := begin(t, l, sh("long", "sleep 300"))
	for i := range 5 {
		run(t, l, sh(fmt.Sprint("short", i), "true"))
	}
	_ = l.Stop(t.Context(), "long", "done")
	waitLong()
}

func TestLogComesWhileJobRuns(t *testing.T) {
	t.Parallel()
	l := newLocal(t, nil)
	goOn := t.TempDir() + "/go"
	r, wait := begin(t, l, sh("job", `printf 'half a line'; while ! [ -e `+goOn+` ]; do sleep 0.02; done; echo; head -c 3000000 /dev/zero`))
	r.waitFor(t, "half a line")
	until(t, "its pid", func() bool { // news of it may come after the first of the log
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.pid != 0 && syscall.Kill(r.pid, 0) == nil
	})
	if err := os.WriteFile(goOn, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if exit := wait(); exit.LogBytes != 3000012 || len(r.text()) != 3000012 {
		t.Errorf("got %+v, %d bytes", exit, len(r.text()))
	}
	if diff := cmp.Diff([]hosts.Phase{hosts.Running, hosts.Ended}, r.phases[len(r.phases)-2:]); diff != "" {
		t.Error(diff)
	}
}

func TestWatchEndsWithItsContext(t *testing.T) {
	t.Parallel()
	l := newLocal(t, nil)
	_, wait := begin(t, l, sh("job", "sleep 0.3; exit 2"))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := l.Watch(ctx, "job", newRecorder()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if exit := wait(); exit.Code != 2 {
		t.Errorf("got %+v", exit)
	}
}

func TestPortsAreNotGivenTwice(t *testing.T) {
	t.Parallel()
	l := newLocal(t, nil)
	seen := make(map[int]bool)
	for range 200 {
		p := place(t, l, "job")
		if seen[p.Port] || p.Port < 1024 {
			t.Fatalf("port %d", p.Port)
		}
		seen[p.Port] = true
	}
}

// The directories that a job is told of beyond its own are there, and stay when it is discarded.
func TestCheckpointDirectoryIsThere(t *testing.T) {
	t.Parallel()
	l := newLocal(t, nil)
	p := place(t, l, "job")
	job := sh("job", `echo state >"$CHECKPOINT/state"`)
	job.Env = []string{"CHECKPOINT=" + p.Checkpoint}
	if exit, log := run(t, l, job); exit.Code != 0 {
		t.Errorf("%+v, %q", exit, log)
	}
	l.Discard("job")
	if _, err := os.Stat(p.Checkpoint + "/state"); err != nil {
		t.Error(err)
	}
}

func TestDirectoriesArePrivate(t *testing.T) {
	t.Parallel()
	l := newLocal(t, func(c *hosts.LocalConfig) { c.Shell = "sh" })
	job := sh("job", "ls -ld .. ../log ../job ../pid ../lock; test ! -e ../env")
	job.Env = []string{"SECRET=x"}
	exit, log := run(t, l, job)
	if exit.Code != 0 {
		t.Errorf("%+v, %q", exit, log)
	}
	for line := range strings.Lines(log) {
		if !strings.HasPrefix(line[1:], "rwx------") && !strings.HasPrefix(line[1:], "rw-------") {
			t.Errorf("%q", line)
		}
	}
}

// A directory is used again only when nothing can leak from one job to the next.
func TestNothingLeaksThroughSpareDirectories(t *testing.T) {
	t.Parallel()
	l := newLocal(t, func(c *hosts.LocalConfig) { c.Slots = 1 })
	dirty := []string{
		"echo secret; echo secret >../out/f", "echo secret >f", "echo secret >../extra", "chmod 755 ../out", "rmdir ../out; ln -s / ../out",
		"rm ../lock; ln -s /etc/passwd ../lock", "kill -9 $PPID", "echo harmless", "exit 3", "echo secret >../beat; touch ../stop.ask",
	}
	look := `ls -A . ../out; cat ../log ../params.json ../beat ../stop ../stop.ask 2>/dev/null; ls -ld .. . ../out | cut -c1-10`
	for i, mess := range dirty {
		id := fmt.Sprint("mess", i)
		job := sh(id, mess)
		job.Params = []byte("secret")
		run(t, l, job)
		l.Discard(id)
		for j := range 3 { // the trash is emptied in the background: one of these may get the directory
			id := fmt.Sprintf("look%d-%d", i, j)
			exit, log := run(t, l, sh(id, look))
			if want := ".:\n\n../out:\ndrwx------\ndrwx------\ndrwx------\n"; exit.End != hosts.Exited || exit.Code != 0 || log != want {
				t.Errorf("after %q: %+v\n%s", mess, exit, cmp.Diff(want, log))
			}
			l.Discard(id)
			time.Sleep(5 * time.Millisecond)
		}
	}
	if exit, err := l.Watch(t.Context(), "mess0", newRecorder()); err != nil || exit.End != hosts.NeverStarted {
		t.Errorf("a discarded job: %+v, %v", exit, err)
	}
}

// Close ends what is idle, and what waits never runs.
func TestCloseStartsNothingMore(t *testing.T) {
	t.Parallel()
	l := newLocal(t, func(c *hosts.LocalConfig) { c.Slots = 1 })
	goOn := t.TempDir() + "/go"
	_, wait := begin(t, l, sh("runs", "while ! [ -e "+goOn+" ]; do sleep 0.02; done; exit 5"))
	_, waitNext := begin(t, l, sh("waits", "echo never"))
	super := supervisorOf(t, place(t, l, "runs"))
	if err := l.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if exit := waitNext(); exit.End != hosts.NeverStarted {
		t.Errorf("what waited: %+v", exit)
	}
	if err := l.Start(t.Context(), []hosts.Job{sh("new", "true")})[0]; err == nil {
		t.Error("a closed host takes jobs")
	}
	if err := os.WriteFile(goOn, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if exit := wait(); exit.End != hosts.Exited || exit.Code != 5 {
		t.Errorf("what ran: %+v", exit)
	}
	until(t, "the end of the supervisor", func() bool { return syscall.Kill(super, 0) != nil || zombie(super) })
}

// The last supervisor dies and no other can be started: what waits must not wait for ever.
func TestQueueDoesNotOutliveTheLastSupervisor(t *testing.T) {
	t.Parallel()
	file := t.TempDir() + "/xrun"
	if err := os.Symlink("/proc/self/exe", file); err != nil {
		t.Fatal(err)
	}
	l := newLocal(t, func(c *hosts.LocalConfig) { c.Slots, c.Supervisor = 1, []string{file, "supervise"} })
	_, wait := begin(t, l, sh("runs", "sleep 300"))
	_, waitNext := begin(t, l, sh("waits", "echo never"))
	super := supervisorOf(t, place(t, l, "runs"))
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(super, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if exit := waitNext(); exit.End != hosts.NeverStarted || !strings.Contains(exit.Reason, "start a supervisor") {
		t.Errorf("what waited: %+v", exit)
	}
	if exit := wait(); exit.End != hosts.Vanished {
		t.Errorf("what ran: %+v", exit)
	}
}

// A supervisor that cannot be started is an error now, not a job that never ends.
func TestNoSupervisor(t *testing.T) {
	t.Parallel()
	l := newLocal(t, func(c *hosts.LocalConfig) { c.Supervisor = []string{"/no/such/program"} })
	if err := l.Start(t.Context(), []hosts.Job{sh("job", "true")})[0]; err == nil {
		t.Error("started")
	}
	broken := newLocal(t, func(c *hosts.LocalConfig) { c.Supervisor = []string{"/bin/false"} })
	_, wait := begin(t, broken, sh("job", "true"))
	if exit := wait(); exit.End != hosts.NeverStarted {
		t.Errorf("got %+v", exit)
	}
}

// What was not found is told with where it was looked for, whatever way the program was started.
func TestAProgramThatIsNotFoundIsToldWithThePath(t *testing.T) {
	t.Parallel()
	for name, way := range map[string]func(*hosts.LocalConfig){
		"direct":  nil,
		"script":  func(c *hosts.LocalConfig) { c.Shell = "sh" },
		"prelude": func(c *hosts.LocalConfig) { c.Prelude = []string{`PATH="/of/the/prelude:$PATH"`} },
	} {
		l := newLocal(t, way)
		job := hosts.Job{ID: "job", Argv: []string{"no-such-program"}, Env: []string{"PATH=/nowhere:/usr/bin:/bin"}}
		if name == "prelude" {
			job.Env = nil
		}
		exit, log := run(t, l, job)
		if exit.Code != 127 || !strings.Contains(log, "no-such-program") {
			t.Errorf("%s: %+v, %q", name, exit, log)
		}
		if want := map[bool]string{true: "/of/the/prelude:", false: "/nowhere:/usr/bin:/bin"}[name == "prelude"]; !strings.HasPrefix(exit.Path, want) {
			t.Errorf("%s: PATH %q", name, exit.Path)
		}
		if exit, _ := run(t, l, sh("fine", "exit 0")); exit.Path != "" {
			t.Errorf("%s: %+v", name, exit)
		}
	}
	l := newLocal(t, nil) // in a shell of its own
	if exit, _ := run(t, l, sh("inner", "no-such-program")); exit.Code != 127 || exit.Path != os.Getenv("PATH") {
		t.Errorf("%+v", exit)
	}
}

// Two hosts of one spec may share a directory, and so their trash. What one of them deletes must not be taken by the other
// for a directory that can be used again, while it is being emptied.
func TestTwoControllersDeleteNothingOfANewJob(t *testing.T) {
	t.Parallel()
	work := t.TempDir()
	var users sync.WaitGroup
	for u := range 2 {
		l := newLocal(t, onWorkdir(work))
		users.Go(func() {
			for n := range 150 {
				id := fmt.Sprintf("job%d.%d", u, n)
				if err := l.Start(t.Context(), []hosts.Job{sh(id, "for i in 1 2 3 4 5 6 7 8; do : >$i; done; exit 0")})[0]; err != nil {
					t.Errorf("%s: %v", id, err)
					return
				}
				if exit, err := l.Watch(t.Context(), id, newRecorder()); err != nil || exit.Code != 0 {
					t.Errorf("%s: %+v, %v", id, exit, err)
				}
				l.Discard(id)
			}
		})
	}
	users.Wait()
}
