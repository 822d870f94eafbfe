package main

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/xrun-dev/xrun/internal/ledger"
)

// runFigures are those of running: what a trial costs beside its own work, how long a slot waits, and what a log costs.
func runFigures(b *testing.B, dir string) []figure {
	b.Helper()
	quietly := []string{"-q", "run"}
	state := func(dir string) []string { return []string{"--state", filepath.Join(dir, "state")} }
	alone := func(dir string) (own, peer []string) { return state(dir), nil }
	noop := noopSpec(b, dir, 2000)
	write(b, dir, "numbers", numbers(2000)) // not beside the spec: there it would be code
	figures := []figure{
		{
			args: quietly, what: "run, 2,000 trials that do nothing", dir: noop, peer: parallel(filepath.Join(dir, "numbers")), ratio: 0.5,
			anew: func(dir string) (own, peer []string) {
				return state(dir), []string{"--joblog", filepath.Join(dir, "jobs"), "--results", filepath.Join(dir, "results"), "/bin/echo", "acc=0.{}"}
			},
		},
		{
			args: quietly, what: "run, 20 trials of 1 s on 4 slots", dir: runSpec(b, dir, "sleep", 4, "sleep 1; echo acc={i}", 20),
			anew: alone, gap: slotGap(4), between: 6 * time.Millisecond,
		},
	}
	log, line := filepath.Join(dir, "log"), filepath.Join(dir, "line")
	write(b, dir, "log", manyLines(100_000_000))
	write(b, dir, "line", progressBars(20_000_000))
	return append(
		figures,
		figure{
			args: quietly, what: "run, one trial with a log of 1 GB", dir: runSpec(b, dir, "gigabyte", 1, "cat"+strings.Repeat(" "+log, 10), 1),
			anew: alone, extra: 20, bytes: 1e9, speed: 1000,
		},
		figure{
			args: quietly, what: "run, one trial with a line of 20 MB", dir: runSpec(b, dir, "line", 1, "cat "+line, 1),
			anew: alone, extra: 20,
		},
	)
}

// parallel is GNU parallel at the same: eight at once, a log of the jobs, and a file for what each one prints. It does
// not wait for the disk.
func parallel(numbers string) peer {
	p := peer{name: "parallel", byWall: true}
	path, err := exec.LookPath("parallel")
	if err != nil {
		p.missing = "not installed"
		return p
	}
	if out, err := exec.Command(path, "--version").Output(); err != nil || !bytes.HasPrefix(out, []byte("GNU parallel")) {
		p.missing = "another program of that name"
		return p
	}
	p.argv = []string{path, "--will-cite", "-j8", "-a", numbers}
	return p
}

func numbers(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintln(&b, i+1)
	}
	return b.String()
}

// runSpec is a sweep of n trials of a script on slots.
func runSpec(b *testing.B, dir, name string, slots int, script string, n int) string {
	b.Helper()
	dir = filepath.Join(dir, "run-"+name)
	write(b, dir, "exp.cue", fmt.Sprintf(`package exp

hosts: local: {kind: "local", slots: %d}
experiments: %s: {
	command: ["sh", "-c", %q]
	objective: {metric: "acc", direction: "maximize"}
	sweep: {grid: i: {from: 1, to: %d, step: 1}, canary: false}
}
`, slots, name, script, n))
	return dir
}

// manyLines is a log that says the metric in every hundredth line.
func manyLines(size int) string {
	var b strings.Builder
	for i := 0; b.Len() < size-100; i++ {
		if i%100 == 99 {
			fmt.Fprintf(&b, "epoch %d: acc=0.%d\n", i/100, i)
		} else {
			fmt.Fprintf(&b, "%08d loading shard %d of the training data, %d samples left\n", i, i%512, i*7)
		}
	}
	return b.String() + "acc=0.5\n"
}

// progressBars is what a progress bar prints into a file.
func progressBars(size int) string {
	var b strings.Builder
	for i := 0; b.Len() < size-100; i++ {
		fmt.Fprintf(&b, "\r%3d%%|%-40s| %d/100000", i%101, strings.Repeat("#", i%41), i)
	}
	return b.String() + "\racc=0.5"
}

// slotGap is the median time between the end of an attempt and the start of the one that took its place. Which that was
// is not recorded; but the first end frees a slot for the first that starts when all slots were taken, and so on.
func slotGap(slots int) func(*testing.B, string) time.Duration {
	return func(b *testing.B, dir string) time.Duration {
		b.Helper()
		l, err := ledger.OpenReader(b.Context(), filepath.Join(dir, "state"))
		if err != nil {
			b.Fatal(err)
		}
		defer l.Close()
		var starts, ends []time.Time
		runs, err := l.Runs(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		for e, err := range l.Events(b.Context(), runs[0].ID) {
			if err != nil {
				b.Fatal(err)
			}
			if f, ok := e.Body.(ledger.AttemptFinished); ok {
				starts = append(starts, *f.Started)
				ends = append(ends, f.Started.Add(time.Duration(f.DurationS*float64(time.Second))))
			}
		}
		slices.SortFunc(starts, time.Time.Compare)
		slices.SortFunc(ends, time.Time.Compare)
		var gaps []time.Duration
		for i, start := range starts[min(slots, len(starts)):] {
			gaps = append(gaps, start.Sub(ends[i]))
		}
		slices.Sort(gaps)
		return gaps[len(gaps)/2]
	}
}
