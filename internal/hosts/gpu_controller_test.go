package hosts_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/xrun-dev/xrun/internal/hosts"
)

// beating writes its GPUs and the time, again and again, for a while: what a job says itself of what it had and when.
const beating = `for i in 1 2 3 4 5 6 7 8 9 10; do echo "$CUDA_VISIBLE_DEVICES $(date +%s%N)" >>"$0"; sleep 0.02; done`

// shares reports whether a job of a gpuController shares its GPU with others of its kind.
func shares(id string) bool {
	_, n, _ := strings.Cut(id[1:], "-")
	_, i, _ := strings.Cut(n, "-")
	number, err := strconv.Atoi(i)
	return err == nil && number%2 == 1
}

// gpuController is another process with GPUs: it starts jobs of one and of two of them, alone and shared, and waits until they have ended.
// Its arguments are Workdir, directory of leases, directory of records, a prefix for its jobs, how many, and a umask.
func gpuController(args []string) int {
	n, _ := strconv.Atoi(args[4])
	mask, _ := strconv.ParseInt(args[5], 8, 0)
	syscall.Umask(int(mask))
	l, err := hosts.NewLocal(hosts.LocalConfig{
		Name: args[3], Workdir: args[0], Slots: 1, Supervisor: supervisor,
		GPUs: hosts.GPUChoice{Auto: true}, LeaseDir: args[1], GPUPause: 50 * time.Millisecond,
	})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	var wg sync.WaitGroup
	for i := range n {
		id := fmt.Sprintf("%s-%d", args[3], i)
		job := hosts.Job{ID: id, Argv: []string{"sh", "-c", beating, filepath.Join(args[2], id)}, GPUs: &hosts.GPUNeed{Count: 1 + i%4/2}}
		if shares(id) {
			job.GPUs = &hosts.GPUNeed{Count: 1, PerGPU: 2}
		}
		if err := l.Start(context.Background(), []hosts.Job{job})[0]; err != nil {
			fmt.Println(err)
			return 1
		}
		wg.Go(func() {
			if _, err := l.Watch(context.Background(), id, newRecorder()); err != nil {
				fmt.Println(err)
			}
		})
	}
	wg.Wait()
	_ = l.Close(context.Background())
	return 0
}
