package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// noops is a spec of n trials that do nothing.
func noops(b *testing.B, n int) string {
	b.Helper()
	dir := b.TempDir()
	b.Setenv("XDG_CACHE_HOME", filepath.Join(dir, "cache"))
	b.Setenv("XDG_CONFIG_HOME", filepath.Join(dir, "config"))
	return noopSpec(b, dir, n)
}

func xrun(b *testing.B, args ...string) {
	b.Helper()
	if code := run(context.Background(), args, nil, io.Discard, os.Stderr); code != 0 {
		b.Fatalf("xrun %q: exit %d", args, code)
	}
}

// BenchmarkRun runs n trials that do nothing on eight slots of this machine, durably recorded.
func BenchmarkRun(b *testing.B) {
	for _, n := range []int{100, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			dir := noops(b, n)
			for b.Loop() {
				xrun(b, "-q", "-C", dir, "run", "--fresh")
			}
			b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "trials/s")
		})
	}
}

// BenchmarkReport writes the report of a run of 10,000 trials from the ledger.
func BenchmarkReport(b *testing.B) {
	dir := noops(b, 10_000)
	xrun(b, "-q", "-C", dir, "run")
	for b.Loop() {
		xrun(b, "-q", "-C", dir, "report")
	}
}
