package hosts_test

import (
	"context"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/xrun-dev/xrun/internal/hosts"
)

// TestMain lets the test binary be its own supervisor and controller, as xrun is.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "supervise":
			os.Exit(hosts.Supervise(os.Stdin, os.Stdout, os.Stderr))
		case "controller":
			os.Exit(controller(os.Args[2:]))
		case "gpu-controller":
			os.Exit(gpuController(os.Args[2:]))
		}
	}
	_ = os.Setenv("GORACE", "atexit_sleep_ms=0") // the supervisors of a race test would each take a second to end
	os.Exit(m.Run())
}

// supervisor is the command of a supervisor in tests.
var supervisor = []string{"/proc/self/exe", "supervise"}

func newLocal(t testing.TB, change func(*hosts.LocalConfig)) *hosts.Local {
	t.Helper()
	cfg := hosts.LocalConfig{Name: "here", Workdir: t.TempDir() + "/work", Slots: 2, Supervisor: supervisor}
	if change != nil {
		change(&cfg)
	}
	l, err := hosts.NewLocal(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := l.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return l
}

func sh(id, script string) hosts.Job {
	return hosts.Job{ID: id, Argv: []string{"sh", "-c", script}}
}

// A recorder remembers what an observer hears.
type recorder struct {
	mu     sync.Mutex
	phases []hosts.Phase
	log    strings.Builder
	pid    int
	heard  chan struct{} // one for each piece of news, if there is room
}

func newRecorder() *recorder { return &recorder{heard: make(chan struct{}, 1)} }

func (r *recorder) Status(s hosts.Status) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.phases = append(r.phases, s.Phase)
	if s.PID != 0 {
		r.pid = s.PID
	}
	r.ring()
}

func (r *recorder) Log(p []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log.Write(p)
	r.ring()
}

func (r *recorder) ring() {
	select {
	case r.heard <- struct{}{}:
	default:
	}
}

func (r *recorder) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.log.String()
}

// waitFor returns when the log has what is wanted.
func (r *recorder) waitFor(t testing.TB, want string) {
	t.Helper()
	timeout := time.After(20 * time.Second)
	for !strings.Contains(r.text(), want) {
		select {
		case <-r.heard:
		case <-timeout:
			t.Fatalf("log %q never had %q", r.text(), want)
		}
	}
}

// begin starts a job and watches it; the function returned waits for its end.
func begin(t testing.TB, l *hosts.Local, job hosts.Job) (*recorder, func() hosts.Exit) {
	t.Helper()
	if err := l.Start(t.Context(), []hosts.Job{job})[0]; err != nil {
		t.Fatal(err)
	}
	return watch(t, l, job.ID)
}

func watch(t testing.TB, l *hosts.Local, id string) (*recorder, func() hosts.Exit) {
	t.Helper()
	r := newRecorder()
	type result struct {
		exit hosts.Exit
		err  error
	}
	done := make(chan result, 1)
	ctx := t.Context()
	go func() { // ends with the test's context at the latest
		exit, err := l.Watch(ctx, id, r)
		done <- result{exit, err}
	}()
	return r, func() hosts.Exit {
		t.Helper()
		select {
		case x := <-done:
			if x.err != nil {
				t.Fatal(x.err)
			}
			return x.exit
		case <-time.After(30 * time.Second):
			t.Fatalf("job %s does not end; log so far: %q", id, r.text())
			panic("unreachable")
		}
	}
}

func run(t testing.TB, l *hosts.Local, job hosts.Job) (hosts.Exit, string) {
	t.Helper()
	r, wait := begin(t, l, job)
	exit := wait()
	return exit, r.text()
}

func TestJobRuns(t *testing.T) {
	l := newLocal(t, nil)
	exit, log := run(t, l, sh("one", "echo hello; echo oops >&2; exit 3"))
	if exit.End != hosts.Exited || exit.Code != 3 || log != "hello\noops\n" || exit.LogBytes != 11 {
		t.Errorf("got %+v, log %q", exit, log)
	}
	dir := t.TempDir()
	if _, err := l.Fetch(t.Context(), "one", dir, hosts.Want{}); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(dir + "/log"); string(b) != log {
		t.Errorf("fetched log %q, %v", b, err)
	}
	l.Discard("one")
}

func TestStopEndsJob(t *testing.T) {
	l := newLocal(t, nil)
	r, wait := begin(t, l, sh("one", "echo up; sleep 100"))
	r.waitFor(t, "up")
	if err := l.Stop(t.Context(), "one", "enough"); err != nil {
		t.Fatal(err)
	}
	if exit := wait(); exit.End != hosts.Stopped || exit.Reason != "enough" || exit.Code != 143 {
		t.Errorf("got %+v", exit)
	}
}
