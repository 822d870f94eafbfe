package engine

import (
	"fmt"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/xrun-dev/xrun/internal/hosts"
	"github.com/xrun-dev/xrun/internal/hosts/hosttest"
	"github.com/xrun-dev/xrun/internal/ledger"
	"github.com/xrun-dev/xrun/internal/plan"
)

// What xrun itself needs for a trial, ledger and files included; the trials take no time. It must not grow with the
// length of the queue.
func BenchmarkRun(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				benchmarkRun(b, n)
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(n), "µs/trial")
		})
	}
}

func benchmarkRun(b *testing.B, n int) {
	b.Helper()
	dir := b.TempDir()
	l, err := ledger.Open(b.Context(), dir)
	if err != nil {
		b.Fatal(err)
	}
	spec := &plan.Spec{Experiments: []plan.Experiment{sweepOf("e", n, nil)}, Hosts: []plan.Host{{Name: "a", Kind: "local"}}}
	spec.Fill()
	p, err := plan.Build(plan.Basis{Spec: spec, Code: map[string]*plan.Manifest{"e": {ID: "code"}}})
	if err != nil {
		b.Fatal(err)
	}
	h := hosttest.NewFake("a", 16, func(hosts.Job) hosttest.Script { return hosttest.Script{Log: "loss: 1\n"} })
	if err := l.Append(b.Context(), ledger.New("r", time.Now(), ledger.RunStarted{})); err != nil {
		b.Fatal(err)
	}
	out, err := Run(b.Context(), Config{
		Run: "r", Plan: p, Spec: spec, Trees: map[string]hosts.Tree{"code": {}}, Hosts: map[string]Host{"a": h}, Reusable: l.Reusable,
		State: dir, Record: l, Now: time.Now, Log: hclog.NewNullLogger(),
	})
	if err != nil || out.Counts[ledger.Succeeded] != n {
		b.Fatal(out, err)
	}
	if err := l.Close(); err != nil {
		b.Fatal(err)
	}
}
