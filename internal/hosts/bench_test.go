package hosts_test

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"testing"

	"github.com/xrun-dev/xrun/internal/hosts"
)

// BenchmarkLocalNoop is the whole way of a job that does nothing: start, watch, fetch, discard, at 8 slots.
func BenchmarkLocalNoop(b *testing.B) {
	l := newLocal(b, func(c *hosts.LocalConfig) { c.Slots = 8 })
	dir := b.TempDir()
	var n atomic.Int64
	b.SetParallelism(8) // times GOMAXPROCS: 16 at once on two cores, slots and one ahead for each
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			id := fmt.Sprintf("j%d", n.Add(1))
			job := hosts.Job{ID: id, Argv: []string{"true"}, Env: []string{"XRUN_TRIAL=" + id}}
			if err := l.Start(context.Background(), []hosts.Job{job})[0]; err != nil {
				b.Error(err)
				return
			}
			if exit, err := l.Watch(context.Background(), id, newRecorder()); err != nil || exit.Code != 0 {
				b.Error(exit, err)
				return
			}
			if _, err := l.Fetch(context.Background(), id, dir+"/"+id, hosts.Want{}); err != nil {
				b.Error(err)
				return
			}
			if os.Getenv("ND") == "" {
				l.Discard(id)
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
}
