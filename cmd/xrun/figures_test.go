package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"
)

// repetitions is how often each figure is measured; the median counts.
const repetitions = 5

// A figure is one command that is measured, with its peer or its goals.
type figure struct {
	what string
	dir  string
	args []string // of xrun
	peer peer
	// anew adds to the arguments of both what is another directory each time; nil: nothing is.
	anew func(dir string) (own, peer []string)
	// gap reads out of that directory how long a slot waited for the next attempt; nil: it is not looked at.
	gap func(b *testing.B, dir string) time.Duration
	// until measures the process up to something that it does, in place of up to its end; nil: up to its end.
	until func(b *testing.B, dir, work string, argv []string) sample

	wall    time.Duration // goals; 0: none
	extra   float64       // MiB above idle
	ratio   float64       // to the peer
	between time.Duration // attempts on a slot
	bytes   float64       // that go through it, for a speed
	speed   float64       // MB/s

	own, other []sample
}

// A peer is a program that does the same.
type peer struct {
	name    string // "": there is none
	argv    []string
	missing string // why it cannot take part
	byWall  bool   // the ratio that counts is of wall-clock time, not of processor time
}

// A sample is what one process took.
type sample struct {
	wall, cpu time.Duration
	mib       float64       // resident at its peak
	gap       time.Duration // between attempts
}

// BenchmarkFigures measures what was promised, in processes of their own, and prints a table. Peers run in between, so
// that a busy machine slows both.
func BenchmarkFigures(b *testing.B) {
	dir := b.TempDir()
	p := programs{filepath.Join(dir, "xrun"), filepath.Join(dir, "measure"), dir}
	build(b, p.xrun, ".")
	build(b, filepath.Join(dir, "cue"), "cuelang.org/go/cmd/cue")
	build(b, p.measurer, "./testdata/measure")
	b.Setenv("XDG_CACHE_HOME", filepath.Join(dir, "cache"))
	b.Setenv("XDG_CONFIG_HOME", filepath.Join(dir, "config"))
	b.Setenv("CUE_CACHE_DIR", filepath.Join(dir, "cue-cache"))
	b.Setenv("CUE_REGISTRY", "none")
	figures := allFigures(b, dir)
	for b.Loop() {
		before := load()
		for range repetitions {
			for i := range figures {
				figures[i].repeat(b, p)
			}
		}
		fmt.Printf("\nload average %s before, %s after, on %d processors: wall-clock times are those of an idle machine only if it is below 1\n", before, load(), runtime.NumCPU())
		fmt.Print(figureTable(figures))
	}
}

// repeat measures both once more.
func (f *figure) repeat(b *testing.B, p programs) {
	b.Helper()
	own, other := append([]string{p.xrun}, f.args...), f.peer.argv
	dir := ""
	if f.anew != nil {
		var err error
		if dir, err = os.MkdirTemp(p.dir, "run-"); err != nil {
			b.Fatal(err)
		}
		if f.bytes > 0 { // the rest stays to the end: ext4 is slow to make files where many were deleted a moment ago
			defer os.RemoveAll(dir)
		}
		b.Setenv("XDG_CACHE_HOME", filepath.Join(dir, "cache"))
		more, peers := f.anew(dir)
		own, other = append(own, more...), append(slices.Clone(other), peers...)
	}
	var s sample
	if f.until != nil {
		s = f.until(b, dir, f.dir, own)
	} else {
		s = p.measure(b, f.dir, own...)
	}
	if f.gap != nil {
		s.gap = f.gap(b, dir)
	}
	f.own = append(f.own, s)
	if f.peer.name != "" && f.peer.missing == "" {
		f.other = append(f.other, p.measure(b, f.dir, other...))
	}
}

// programs are those that take part.
type programs struct {
	xrun, measurer string
	dir            string // for what is made anew each time
}

func build(b *testing.B, to, pkg string) {
	b.Helper()
	if out, err := exec.CommandContext(b.Context(), "go", "build", "-trimpath", "-o", to, pkg).CombinedOutput(); err != nil {
		b.Fatalf("build %s: %v\n%s", pkg, err, out)
	}
}

// measure runs one command to its end, by way of a program that is small.
func (p programs) measure(b *testing.B, dir string, argv ...string) sample {
	b.Helper()
	c := exec.CommandContext(b.Context(), p.measurer, argv...)
	var out, problems bytes.Buffer
	c.Dir, c.Stdout, c.Stderr = dir, &out, &problems
	if err := c.Run(); err != nil {
		b.Fatalf("measure %q: %v\n%.2000s", argv, err, problems.String())
	}
	var took struct {
		Exit      int
		Wall, CPU time.Duration
		Peak      float64
	}
	if err := json.Unmarshal(out.Bytes(), &took); err != nil || took.Exit != 0 {
		b.Fatalf("%q in %s: exit %d, %v\n%.2000s", argv, dir, took.Exit, err, problems.String())
	}
	return sample{wall: took.Wall, cpu: took.CPU, mib: took.Peak / (1 << 20)}
}
