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

// BenchmarkFetchMany brings 5,000 small artifacts home: what each needs on disk is asked for once for all of them.
func BenchmarkFetchMany(b *testing.B) {
	l := newLocal(b, nil)
	if exit, log := run(b, l, sh("job", `cd ../out; i=0; while [ $i -lt 5000 ]; do echo $i >$i; i=$((i+1)); done`)); exit.Code != 0 {
		b.Fatalf("%+v, %q", exit, log)
	}
	for b.Loop() {
		if got, err := l.Fetch(b.Context(), "job", b.TempDir(), hosts.Want{}); len(got.Artifacts) != 5000 || err != nil {
			b.Fatal(len(got.Artifacts), err)
		}
	}
}
