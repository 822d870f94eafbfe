package main

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/xrun-dev/xrun/internal/ledger"
)

// A lab is where xrun is ill-treated: a copy of testdata/kill, whose forty trials each leave a line when they start and
// when they are done.
type lab struct {
	*testing.T
	rng   *rand.Rand
	dir   string // of the spec
	state string
	cache string
	ran   string // where the programs leave their lines
	env   []string
	tags  []string
	hurt  map[string]int // by trial: how many of its supervisors were killed
	runs  int            // started with `xrun run`
	lives int            // processes that were ended
}

// newLab logs the seed, with which a failure can be repeated: XRUN_TEST_SEED.
func newLab(t *testing.T, fixture string) *lab {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("XRUN_TEST_SEED"); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("XRUN_TEST_SEED=%d", seed)
	dir, err := os.MkdirTemp(t.ArtifactDir(), "lab-") // kept by `go test -artifacts`
	if err != nil {
		t.Fatal(err)
	}
	l := &lab{
		T: t, rng: rand.New(rand.NewPCG(seed, 0)), dir: filepath.Join(dir, "spec"), state: filepath.Join(dir, "state"),
		cache: filepath.Join(dir, "cache"), ran: filepath.Join(dir, "ran"), hurt: map[string]int{},
	}
	if err := errors.Join(os.Mkdir(l.ran, 0o700), os.CopyFS(l.dir, os.DirFS(filepath.Join("testdata", fixture)))); err != nil {
		t.Fatal(err)
	}
	return l
}

// soaking says how often to do what a check does few times.
func soaking(few, all int) int {
	if os.Getenv("XRUN_SOAK") != "" {
		return all
	}
	return few
}

// xrun is a command of its own process.
func (l *lab) xrun(args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], slices.Concat([]string{"--state", l.state}, l.tags, args)...)
	cmd.Args[0], cmd.Dir = "xrun", l.dir
	cmd.Env = append(os.Environ(), "RAN="+l.ran, "XDG_CACHE_HOME="+l.cache, "XDG_CONFIG_HOME="+filepath.Join(l.dir, "none"), "CUE_REGISTRY=none", "HOME="+l.dir)
	cmd.Env = append(cmd.Env, l.env...)
	return cmd
}

// An end is how a process ended, and what it said on stderr and stdout.
type end struct {
	code   int // -1: it was killed
	said   string
	stdout []byte
}

// life runs cmd to its end, and lets befall happen to it meanwhile. One that hangs is made to tell where.
func (l *lab) life(cmd *exec.Cmd, befall ...func(pid int)) end {
	l.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		l.Fatal(err)
	}
	quit := time.AfterFunc(2*time.Minute, func() { _ = cmd.Process.Signal(syscall.SIGQUIT) }) // it is no matter if it ended meanwhile
	defer quit.Stop()
	var all sync.WaitGroup
	for _, f := range befall {
		all.Go(func() { f(cmd.Process.Pid) })
	}
	all.Wait()
	err := cmd.Wait()
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		l.Fatal(err)
	} else if ok && !exit.Exited() && exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		l.Fatalf("%v: %v\n%s", cmd.Args, err, stderr.Bytes())
	}
	l.Logf("xrun %s: exit code %d", strings.Join(cmd.Args[3+len(l.tags):], " "), cmd.ProcessState.ExitCode())
	e := end{cmd.ProcessState.ExitCode(), stderr.String(), stdout.Bytes()}
	if strings.Contains(e.said, "a bug in xrun") || strings.Contains(e.said, "goroutine ") {
		l.Fatalf("%v: exit code %d\n%s", cmd.Args, e.code, e.said)
	}
	return e
}

// good runs a command that has to end with one of these exit codes.
func (l *lab) good(codes []int, args ...string) end {
	l.Helper()
	e := l.life(l.xrun(args...))
	if !slices.Contains(codes, e.code) {
		l.Fatalf("xrun %s: exit code %d\n%s", strings.Join(args, " "), e.code, e.said)
	}
	return e
}

// killAfter ends a process with SIGKILL. It is the child of this one and not waited for yet: the pid is its own.
func killAfter(d time.Duration) func(pid int) {
	return func(pid int) {
		time.Sleep(d)
		_ = syscall.Kill(pid, syscall.SIGKILL) // one that ended meanwhile is no matter
	}
}

// killAt ends this process at a moment of its ledger: "committed 3" right after the third commit.
func killAt(at string) func(string) {
	name, text, _ := strings.Cut(at, " ")
	left, err := strconv.Atoi(text)
	if err != nil {
		panic(fmt.Sprintf("XRUN_TEST_KILL=%s: %v", at, err))
	}
	return func(moment string) { // called by one goroutine
		if moment != name {
			return
		}
		if left--; left == 0 {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
}

// jobs are the directories of the jobs on this machine that have not ended.
func (l *lab) jobs() []string {
	var out []string
	dirs, _ := filepath.Glob(filepath.Join(l.cache, "xrun", "*", "work", "*", "jobs", "*"))
	for _, dir := range dirs {
		if _, err := os.Stat(filepath.Join(dir, "exit")); err != nil {
			out = append(out, dir)
		}
	}
	return out
}

// killSupervisor kills the supervisor of a job that runs, if there is one whose trial may try another host. It may be
// killed after the program is done and before its end is on disk: then the trial is run again, and rightly so.
func (l *lab) killSupervisor(spare ...string) {
	jobs := l.jobs()
	l.rng.Shuffle(len(jobs), func(i, j int) { jobs[i], jobs[j] = jobs[j], jobs[i] })
	for _, dir := range jobs {
		name := strings.Split(filepath.Base(dir), ".")
		if slices.Contains(spare, name[1]) {
			continue
		}
		b, _ := os.ReadFile(filepath.Join(dir, "pid"))
		params, _ := os.ReadFile(filepath.Join(dir, "params.json"))
		m := regexp.MustCompile(`"i":\s*(\d+)`).FindSubmatch(params)
		f := strings.Fields(string(b))
		if len(f) < 4 || m == nil {
			continue
		}
		trial := name[1] + "." + string(m[1])
		pid, err := strconv.Atoi(f[0])
		if err != nil || l.hurt[trial] > 0 || startOf(pid) != f[1] {
			continue
		}
		// A supervisor lasts longer than its job, and the next one may be of a trial that is to be spared: it is looked at
		// again while it stands still.
		_ = syscall.Kill(pid, syscall.SIGSTOP)
		now, _ := os.ReadFile(filepath.Join(dir, "pid"))
		if _, err := os.Stat(filepath.Join(dir, "exit")); err == nil || !bytes.Equal(now, b) {
			_ = syscall.Kill(pid, syscall.SIGCONT)
			continue
		}
		l.hurt[trial]++
		_ = syscall.Kill(pid, syscall.SIGKILL)
		return
	}
}

// startOf is when a process started, in the kernel's words: with its pid that names it for ever.
func startOf(pid int) string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	return f[19]
}

// starts counts the lines of the programs, by trial.
func (l *lab) starts(word string) map[string]int {
	l.Helper()
	b, err := os.ReadFile(filepath.Join(l.ran, "log"))
	if err != nil {
		l.Fatal(err)
	}
	out := map[string]int{}
	for line := range strings.Lines(string(b)) {
		if what, trial, _ := strings.Cut(strings.TrimSpace(line), " "); what == word {
			out[trial]++
		}
	}
	return out
}

// onceEach checks how often the program of each trial was started.
func (l *lab) onceEach() {
	l.Helper()
	starts := l.starts("start")
	hurt := 0
	for _, n := range l.hurt {
		hurt += n
	}
	for trial, n := range starts {
		least, most := 1, 1+l.hurt[trial]
		switch kind, _, _ := strings.Cut(trial, "."); kind {
		case "fails": // each new run tries it again
			most += l.runs - 1
		case "flaky":
			least, most = 2, most+1
		case "steps": // a new run has a checkpoint of its own
			least, most = 2, most+l.runs
		case "setup":
			most += hurt
		}
		if n < least || n > most {
			l.Errorf("the program of trial %s was started %d times, in %d runs, after %d kills", trial, n, l.runs, l.lives)
		}
	}
	if len(starts) != 41 { // with the setup
		l.Errorf("%d of 40 trials ran", len(starts)-1)
	}
}

// oneResultEach checks what the ledger says of each trial, and that its projections say the same as its events.
func (l *lab) oneResultEach(trials int) {
	l.Helper()
	led, err := ledger.Open(l.Context(), l.state)
	if err != nil {
		l.Fatal(err)
	}
	defer led.Close()
	if open, err := led.OpenAttempts(l.Context()); err != nil || len(open) > 0 {
		l.Errorf("attempts without an end: %v, %v", open, err)
	}
	before, err := led.Runs(l.Context())
	if err != nil {
		l.Fatal(err)
	}
	for i, r := range before {
		results, ends := map[ledger.Key]int{}, map[ledger.Attempt]int{}
		for e, err := range led.Events(l.Context(), r.ID) {
			if err != nil {
				l.Fatal(err)
			}
			switch b := e.Body.(type) {
			case ledger.TrialFinished:
				if results[b.Key]++; results[b.Key] > 1 {
					l.Errorf("run %s: trial %v has %d results", r.ID, b.Key, results[b.Key])
				}
			case ledger.AttemptFinished:
				if ends[b.Attempt]++; ends[b.Attempt] > 1 {
					l.Errorf("run %s: attempt %v has %d ends", r.ID, b.Attempt, ends[b.Attempt])
				}
			}
		}
		if i == 0 && len(results) != trials {
			l.Errorf("run %s: %d of %d trials have a result", r.ID, len(results), trials)
		}
	}
	if err := led.Rebuild(l.Context()); err != nil {
		l.Fatal(err)
	}
	after, err := led.Runs(l.Context())
	if err != nil {
		l.Fatal(err)
	}
	if diff := cmp.Diff(before, after); diff != "" {
		l.Errorf("the projections are not those of the events (-were +made again):\n%s", diff)
	}
}
