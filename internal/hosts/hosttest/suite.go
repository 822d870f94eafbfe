package hosttest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/xrun-dev/xrun/internal/hosts"
)

// A deed is what a job of the suite does, as a script for real hosts and as a Script for a Fake.
type deed struct {
	sh     string
	script Script
}

var deeds = map[string]deed{
	"says and fails": {`echo out; echo err >&2; exit 3`, Script{Log: "out\nerr\n", Code: 3}},
	"is quiet":       {`exit 0`, Script{}},
	"runs for ever":  {`echo up; while :; do sleep 1; done`, Script{Log: "up\n", Forever: true}},
	"leaves files": {
		`mkdir -p "$OUT/a"; echo 1 >"$OUT/a/b"; echo 22 >"$OUT/c"; head -c 5000 /dev/zero >"$OUT/big"`,
		Script{Artifacts: map[string]string{"a/b": "1\n", "c": "22\n", "big": strings.Repeat("\x00", 5000)}},
	},
	"is killed": {`kill -9 $$`, Script{Code: 137}},
}

// Behave makes a Fake do what the jobs of the suite ask for.
func Behave(j hosts.Job) Script {
	for _, d := range deeds {
		if len(j.Argv) == 3 && j.Argv[2] == d.sh {
			return d.script
		}
	}
	return Script{Code: 127}
}

// Run checks that newHost makes hosts that keep what the engine relies on. Each is asked for at least one slot, has never
// been used before, and is closed by newHost's own cleanup.
func Run(t *testing.T, newHost func(*testing.T) Host) {
	t.Run("exit status and log come through", func(t *testing.T) { testExit(t, newHost(t)) })
	t.Run("news come in order", func(t *testing.T) { testNews(t, newHost(t)) })
	t.Run("a job starts once", func(t *testing.T) { testOnce(t, newHost(t)) })
	t.Run("a running job is stopped", func(t *testing.T) { testStop(t, newHost(t)) })
	t.Run("a queued job is taken out", func(t *testing.T) { testQueue(t, newHost(t)) })
	t.Run("the time limit holds", func(t *testing.T) { testLimit(t, newHost(t)) })
	t.Run("Watch ends with its context", func(t *testing.T) { testContext(t, newHost(t)) })
	t.Run("unknown jobs never started", func(t *testing.T) { testUnknown(t, newHost(t)) })
	t.Run("files come back", func(t *testing.T) { testFetch(t, newHost(t)) })
	t.Run("places are apart", func(t *testing.T) { testPlace(t, newHost(t)) })
}

// An ear is an Observer that remembers.
type ear struct {
	mu     sync.Mutex
	phases []hosts.Phase
	over   bool // it was said to run when it was over
	log    strings.Builder
	heard  chan struct{}
}

func (e *ear) Status(s hosts.Status) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.phases = append(e.phases, s.Phase)
	e.over = e.over || s.Phase == hosts.Running && s.Over
	e.ring()
}

func (e *ear) Log(p []byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.log.Write(p)
	e.ring()
}

func (e *ear) ring() {
	select {
	case e.heard <- struct{}{}:
	default:
	}
}

func (e *ear) until(t *testing.T, what string, done func() bool) {
	t.Helper()
	timeout := time.After(time.Minute)
	for {
		e.mu.Lock()
		ok := done()
		e.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-e.heard:
		case <-timeout:
			t.Fatalf("never heard of %s; phases %v, log %q", what, e.phases, e.log.String())
		}
	}
}

func job(t *testing.T, h Host, id, what string) hosts.Job {
	t.Helper()
	p, err := h.Place(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return hosts.Job{ID: id, Argv: []string{"sh", "-c", deeds[what].sh}, Env: []string{"OUT=" + p.Out}}
}

func start(t *testing.T, h Host, jobs ...hosts.Job) {
	t.Helper()
	for i, err := range h.Start(t.Context(), jobs) {
		if err != nil {
			t.Fatalf("start %s: %v", jobs[i].ID, err)
		}
	}
}

type result struct {
	exit hosts.Exit
	err  error
}

func watch(ctx context.Context, h Host, id string) (*ear, <-chan result) {
	e, done := &ear{heard: make(chan struct{}, 1)}, make(chan result, 1)
	go func() { // ends with ctx
		exit, err := h.Watch(ctx, id, e)
		done <- result{exit, err}
	}()
	return e, done
}

func ended(t *testing.T, h Host, id string) (hosts.Exit, *ear) {
	t.Helper()
	e, done := watch(t.Context(), h, id)
	r := <-done
	if r.err != nil {
		t.Fatalf("watch %s: %v", id, r.err)
	}
	return r.exit, e
}

func testExit(t *testing.T, h Host) {
	for _, tc := range []struct {
		what, log string
		code      int
	}{{"says and fails", "out\nerr\n", 3}, {"is quiet", "", 0}, {"is killed", "", 137}} {
		id := strings.ReplaceAll(tc.what, " ", "-")
		start(t, h, job(t, h, id, tc.what))
		exit, e := ended(t, h, id)
		if exit.End != hosts.Exited || exit.Code != tc.code || exit.LogBytes != int64(len(tc.log)) || e.log.String() != tc.log {
			t.Errorf("%s: %+v, log %q", tc.what, exit, e.log.String())
		}
		if n := len(e.phases); n < 2 || e.phases[n-2] != hosts.Running || e.phases[n-1] != hosts.Ended {
			t.Errorf("%s: phases %v", tc.what, e.phases)
		}
		again, e := ended(t, h, id)
		if !cmp.Equal(again, exit) || e.log.String() != tc.log || !e.over {
			t.Errorf("%s, watched again: %+v after %+v, log %q, over: %v", tc.what, again, exit, e.log.String(), e.over)
		}
	}
}

func testNews(t *testing.T, h Host) {
	start(t, h, job(t, h, "job", "runs for ever"))
	e, done := watch(t.Context(), h, "job")
	e.until(t, "running", func() bool { return len(e.phases) > 0 && e.phases[len(e.phases)-1] == hosts.Running })
	e.until(t, "its log", func() bool { return e.log.String() == "up\n" })
	if err := h.Stop(t.Context(), "job", "enough"); err != nil {
		t.Fatal(err)
	}
	<-done
	order := map[hosts.Phase]int{hosts.Queued: 1, hosts.Running: 2, hosts.Ended: 3}
	for i := 1; i < len(e.phases); i++ {
		if order[e.phases[i]] <= order[e.phases[i-1]] {
			t.Errorf("phases %v", e.phases)
		}
	}
	if e.phases[len(e.phases)-1] != hosts.Ended {
		t.Errorf("phases %v", e.phases)
	}
}

func testOnce(t *testing.T, h Host) {
	first := job(t, h, "job", "says and fails")
	start(t, h, first, first)
	before, _ := ended(t, h, "job")
	start(t, h, job(t, h, "job", "is quiet"))
	if after, _ := ended(t, h, "job"); !cmp.Equal(after, before) {
		t.Errorf("a second start changed %+v to %+v", before, after)
	}
}

func testStop(t *testing.T, h Host) {
	j := job(t, h, "job", "runs for ever")
	j.Limits.Grace = time.Second
	start(t, h, j)
	e, done := watch(t.Context(), h, "job")
	e.until(t, "its log", func() bool { return e.log.Len() > 0 })
	for _, reason := range []string{"enough", "again"} {
		if err := h.Stop(t.Context(), "job", reason); err != nil {
			t.Fatal(err)
		}
	}
	if r := <-done; r.err != nil || r.exit.End != hosts.Stopped || r.exit.Reason != "enough" {
		t.Errorf("got %+v", r)
	}
	if err := h.Stop(t.Context(), "job", "late"); err != nil {
		t.Errorf("stop of an ended job: %v", err)
	}
}

func testQueue(t *testing.T, h Host) {
	c, err := h.Capacity(t.Context())
	if err != nil || c.Slots < 1 {
		t.Fatalf("capacity %+v, %v", c, err)
	}
	var busy []string
	for i := range c.Slots {
		busy = append(busy, "busy"+string(rune('a'+i)))
		start(t, h, job(t, h, busy[i], "runs for ever"))
	}
	start(t, h, job(t, h, "queued", "says and fails"))
	e, done := watch(t.Context(), h, "queued")
	e.until(t, "its place in the queue", func() bool { return len(e.phases) == 1 && e.phases[0] == hosts.Queued })
	first, _ := watch(t.Context(), h, busy[0])
	first.until(t, "running", func() bool { return len(first.phases) > 0 && first.phases[len(first.phases)-1] == hosts.Running })
	if taken, err := h.Withdraw(t.Context(), busy[0], "not needed"); taken || err != nil {
		t.Fatalf("a running job was withdrawn: %v, %v", taken, err)
	}
	if taken, err := h.Withdraw(t.Context(), "queued", "not needed"); !taken || err != nil {
		t.Fatalf("a queued job was not withdrawn: %v, %v", taken, err)
	}
	if r := <-done; r.err != nil || r.exit.End != hosts.Stopped || r.exit.Reason != "not needed" || e.log.Len() > 0 {
		t.Errorf("got %+v, log %q", r, e.log.String())
	}
	for _, id := range busy {
		if err := h.Stop(t.Context(), id, "done"); err != nil {
			t.Error(err)
		}
		ended(t, h, id)
	}
}

func testLimit(t *testing.T, h Host) {
	j := job(t, h, "job", "runs for ever")
	j.Limits = hosts.Limits{Time: 300 * time.Millisecond, Grace: time.Second}
	start(t, h, j)
	if exit, _ := ended(t, h, "job"); exit.End != hosts.TimedOut || exit.Duration < 300*time.Millisecond {
		t.Errorf("got %+v", exit)
	}
}

func testContext(t *testing.T, h Host) {
	start(t, h, job(t, h, "job", "runs for ever"))
	ctx, cancel := context.WithCancel(t.Context())
	e, done := watch(ctx, h, "job")
	e.until(t, "its log", func() bool { return e.log.Len() > 0 })
	cancel()
	if r := <-done; !errors.Is(r.err, context.Canceled) {
		t.Errorf("got %+v", r)
	}
	if err := h.Stop(t.Context(), "job", "enough"); err != nil {
		t.Fatal(err)
	}
	if exit, _ := ended(t, h, "job"); exit.End != hosts.Stopped {
		t.Errorf("got %+v", exit)
	}
}

func testUnknown(t *testing.T, h Host) {
	if exit, _ := ended(t, h, "unheard-of"); exit.End != hosts.NeverStarted {
		t.Errorf("got %+v", exit)
	}
	if err := h.Stop(t.Context(), "unheard-of", "x"); err != nil {
		t.Error(err)
	}
	h.Discard("unheard-of")
}

func testFetch(t *testing.T, h Host) {
	start(t, h, job(t, h, "job", "leaves files"))
	if exit, e := ended(t, h, "job"); exit.Code != 0 {
		t.Fatalf("got %+v, log %q", exit, e.log.String())
	}
	dir := filepath.Join(t.TempDir(), "results")
	for range 2 { // what was fetched before is no obstacle
		b, err := h.Fetch(t.Context(), "job", dir, hosts.Want{Limit: 100})
		taken, left := b.Artifacts, b.Left
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([][]string{{"a/b", "c"}, {"big"}}, [][]string{taken, left}); diff != "" {
			t.Error(diff)
		}
	}
	for name, want := range map[string]string{"log": "", "artifacts/a/b": "1\n", "artifacts/c": "22\n"} {
		if b, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(b) != want {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
	b, err := h.Fetch(t.Context(), "job", filepath.Join(t.TempDir(), "all"), hosts.Want{})
	taken, left := b.Artifacts, b.Left
	if err != nil || len(taken) != 3 || len(left) != 0 {
		t.Errorf("no limit: %q, %q, %v", taken, left, err)
	}
	h.Discard("job")
}

func testPlace(t *testing.T, h Host) {
	seen := make(map[string]bool)
	ports := make(map[int]bool)
	for _, id := range []string{"a", "b"} {
		p, err := h.Place(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{p.Dir, p.Tree, p.Out, p.Log, p.Params} {
			if !filepath.IsAbs(path) || seen[path] {
				t.Errorf("%s: %q", id, path)
			}
			seen[path] = true
		}
		if p.Port == 0 || ports[p.Port] {
			t.Errorf("%s: port %d", id, p.Port)
		}
		ports[p.Port] = true
	}
}
