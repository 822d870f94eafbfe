package main

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/xrun-dev/xrun/internal/citest"
)

// newGPULabs are two users of one machine with four GPUs: each has his own state and his own cache, and they share the
// leases.
func newGPULabs(t *testing.T) (labs []*lab, leases string) {
	t.Helper()
	if _, err := exec.LookPath("flock"); err != nil {
		citest.Skip(t, "the programs need flock (util-linux)")
	}
	first := newLab(t, "gpus")
	root := filepath.Dir(first.dir)
	fake, err := filepath.Abs(filepath.Join("..", "..", "internal", "hosts", "testdata", "fakegpu"))
	if err != nil {
		t.Fatal(err)
	}
	leases = filepath.Join(root, "leases")
	first.write("../fake/gpus", "")
	var lines strings.Builder
	for i, name := range []string{"a", "b", "c", "d"} {
		first.write(fmt.Sprintf("../root/dev/nvidia%d", i), "")
		fmt.Fprintf(&lines, "%d|GPU-%s%s|NVIDIA RTX 4090|24564|4|80\n", i, name, strings.ReplaceAll(filepath.Base(root), "-", ""))
	}
	first.write("../fake/gpus", lines.String())
	first.env = []string{
		"PATH=" + fake + string(os.PathListSeparator) + os.Getenv("PATH"),
		"FAKE_GPU=" + filepath.Join(root, "fake"), "XRUN_TEST_ROOT=" + filepath.Join(root, "root"),
	}
	for i := range 2 {
		l := *first
		l.rng = rand.New(rand.NewPCG(first.rng.Uint64(), 0))
		l.state, l.cache = filepath.Join(root, fmt.Sprint("state", i)), filepath.Join(root, fmt.Sprint("cache", i))
		l.hurt = map[string]int{}
		l.tags = []string{"-t", "lease=" + leases, "-t", fmt.Sprint("user=", i)}
		labs = append(labs, &l)
	}
	return labs, leases
}

// TestNoGPUIsEverHeldTwice lets two xrun processes with two state directories work on one machine with four GPUs, while
// they and their supervisors are killed with -9. The programs themselves say what they held: no two of them the same GPU
// at one time. At the end all GPUs are free.
func TestNoGPUIsEverHeldTwice(t *testing.T) {
	t.Parallel()
	for range soaking(1, 10) {
		labs, leases := newGPULabs(t)
		t.Run("users", func(t *testing.T) {
			for i, l := range labs {
				t.Run(fmt.Sprint(i), func(t *testing.T) {
					t.Parallel()
					l := *l
					l.T = t
					l.throughGPUKills(soaking(2, 6))
				})
			}
		})
		if t.Failed() {
			return
		}
		labs[0].noneTwice()
		labs[0].allFree(leases)
	}
}

// throughGPUKills starts xrun until every trial has a result; so often it is killed on the way. Where there is one host
// a trial whose supervisor was killed has failed: another run tries it again.
func (l *lab) throughGPUKills(kills int) {
	for range 40 {
		args := []string{"run", "-q"}
		if l.lives > 0 && l.rng.IntN(2) == 0 {
			args = []string{"resume", "-q"}
		}
		var befall []func(int)
		if l.lives < kills {
			before, after := time.Duration(l.rng.IntN(1200))*time.Millisecond, time.Duration(l.rng.IntN(1000))*time.Millisecond
			befall = append(befall, func(pid int) {
				time.Sleep(before)
				l.killSupervisor()
				killAfter(after)(pid)
			})
		}
		e := l.life(l.xrun(args...), befall...)
		l.lives++
		if e.code == 0 && args[0] == "run" {
			return
		}
		if e.code == 1 || e.code == 2 && args[0] == "run" || e.code > 7 {
			l.Fatalf("xrun %v: exit code %d\n%s", args, e.code, e.said)
		}
	}
	l.Error("xrun does not come to an end")
}

// noneTwice reads what the programs held.
func (l *lab) noneTwice() {
	l.Helper()
	if b, err := os.ReadFile(filepath.Join(l.ran, "twice")); err == nil {
		l.Errorf("%s", b)
	}
	b, err := os.ReadFile(filepath.Join(l.ran, "log"))
	if err != nil {
		l.Fatal(err)
	}
	type span struct{ from, to int64 }
	held := map[string][]span{}
	for line := range strings.Lines(string(b)) {
		var gpu string
		var s span
		if _, err := fmt.Sscanf(line, "held %s %d %d", &gpu, &s.from, &s.to); err == nil {
			held[gpu] = append(held[gpu], s)
		}
	}
	for gpu, spans := range held {
		slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
		for i := range len(spans) - 1 {
			if spans[i].to > spans[i+1].from {
				l.Errorf("%s was held from %d to %d, and from %d", gpu, spans[i].from, spans[i].to, spans[i+1].from)
			}
		}
	}
	if len(held) != 4 {
		l.Errorf("GPUs that were used: %v", slices.Sorted(maps.Keys(held)))
	}
}

// allFree waits until no lease is held: what was killed may be ending.
func (l *lab) allFree(leases string) {
	l.Helper()
	files, err := os.ReadDir(leases)
	if err != nil {
		l.Fatal(err)
	}
	for _, file := range files {
		f, err := os.Open(filepath.Join(leases, file.Name()))
		if err != nil {
			l.Fatal(err)
		}
		defer f.Close()
		for deadline := time.Now().Add(patience); syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				l.Fatalf("%s stays leased", file.Name())
			}
		}
	}
	if len(files) < 4 {
		l.Errorf("%d leases", len(files))
	}
}
