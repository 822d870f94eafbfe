package hosts_test

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Two controllers with directories of their own, killed at random instants and started again, their supervisors killed
// too, and a cleaner that unlinks leases: no GPU is ever held twice. Judged by what the jobs say.
func TestNoGPUIsHeldTwice(t *testing.T) {
	f := fakeMachine(t, 4)
	records, works := t.TempDir(), []string{t.TempDir(), t.TempDir()}
	long := 4 * time.Second
	if os.Getenv("XRUN_SOAK") != "" {
		long = 60 * time.Second
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	end := time.Now().Add(long)
	var wg sync.WaitGroup
	for c, work := range works {
		rng := rand.New(rand.NewPCG(seed, uint64(c)))
		wg.Go(func() {
			for round := 0; ; round++ {
				last := time.Now().After(end)
				args := []string{"gpu-controller", work, f.leases, records, fmt.Sprintf("c%d-%d", c, round), "12", []string{"022", "077"}[c]}
				var out bytes.Buffer
				cmd := exec.Command("/proc/self/exe", args...)
				cmd.Stdout, cmd.Stderr = &out, &out
				if err := cmd.Start(); err != nil {
					t.Error(err)
					return
				}
				if !last {
					time.Sleep(time.Duration(rng.IntN(1500)) * time.Millisecond)
					_ = cmd.Process.Kill() // it may have ended
				}
				if err := cmd.Wait(); last && err != nil || out.Len() > 0 {
					t.Errorf("%v: %v\n%s", args, err, out.Bytes())
				}
				if last {
					return
				}
			}
		})
	}
	wg.Go(func() {
		rng := rand.New(rand.NewPCG(seed, 9))
		for time.Now().Before(end) {
			time.Sleep(time.Duration(rng.IntN(300)) * time.Millisecond)
			if files, _ := filepath.Glob(f.leases + "/*"); len(files) > 0 && rng.IntN(2) == 0 {
				_ = os.Remove(files[rng.IntN(len(files))])
			}
			killSupervisor(rng, works)
		}
	})
	wg.Wait()
	judge(t, records)
}

// killSupervisor ends one of those that have a job now.
func killSupervisor(rng *rand.Rand, works []string) {
	files, _ := filepath.Glob(works[rng.IntN(len(works))] + "/*/jobs/*/pid")
	rng.Shuffle(len(files), func(i, j int) { files[i], files[j] = files[j], files[i] })
	for _, file := range files {
		b, _ := os.ReadFile(file)
		f := strings.Fields(string(b))
		if _, err := os.Stat(filepath.Dir(file) + "/exit"); err == nil || len(f) < 4 {
			continue
		}
		pid, _ := strconv.Atoi(f[0])
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if words := strings.Fields(string(stat)); len(words) > 21 && words[21] == f[1] { // else it is somebody else by now
			_ = syscall.Kill(pid, syscall.SIGKILL)
			return
		}
	}
}

func controllerOf(job string) string { return job[:strings.LastIndexByte(job, '-')] }

// judge reads when each job had which GPU.
func judge(t *testing.T, records string) {
	t.Helper()
	type interval struct {
		job         string
		first, last int64
	}
	had := map[string][]interval{}
	files, _ := filepath.Glob(records + "/*")
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		x := interval{job: filepath.Base(file)}
		gpus := ""
		for _, line := range strings.SplitAfter(string(b), "\n") {
			f := strings.Fields(line)
			if len(f) != 2 || !strings.HasSuffix(line, "\n") {
				continue
			}
			at, _ := strconv.ParseInt(f[1], 10, 64)
			x.first = cmp.Or(x.first, at)
			gpus, x.last = f[0], at
		}
		for uuid := range strings.SplitSeq(gpus, ",") {
			had[uuid] = append(had[uuid], x)
		}
	}
	n, together := 0, 0
	for uuid, list := range had {
		for i, a := range list {
			for _, b := range list[:i] {
				if a.first > b.last || b.first > a.last {
					continue
				}
				if !shares(a.job) || !shares(b.job) || controllerOf(a.job) != controllerOf(b.job) {
					t.Errorf("GPU %s was held twice: %+v and %+v", uuid, a, b)
				}
				together++
			}
		}
		n += len(list)
	}
	if len(had) < 4 || n < 12 {
		t.Errorf("only %d times, %d GPUs", n, len(had))
	}
	t.Logf("%d jobs, %d times a GPU, %d times together", len(files), n, together)
}
