package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"
)

// repetitions is how often each figure is measured; the median counts.
const repetitions = 5

// A figure is one command that is measured, with its peer or its goals.
type figure struct {
	what string
	dir  string
	args []string // of xrun
	peer []string // of cue; nil: none

	wall  time.Duration // goals; 0: none
	extra float64       // MiB above idle
	ratio float64       // to the peer

	own, other []sample
}

// A sample is what one process took.
type sample struct {
	wall, cpu time.Duration
	mib       float64 // resident at its peak
}

// BenchmarkFigures measures what was promised, in processes of their own, and prints a table. Peers run in between, so
// that a busy machine slows both.
func BenchmarkFigures(b *testing.B) {
	dir := b.TempDir()
	p := programs{filepath.Join(dir, "xrun"), filepath.Join(dir, "cue"), filepath.Join(dir, "measure")}
	build(b, p.xrun, ".")
	build(b, p.cue, "cuelang.org/go/cmd/cue")
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
				f := &figures[i]
				f.own = append(f.own, p.measure(b, f.dir, append([]string{p.xrun}, f.args...)...))
				if f.peer != nil {
					f.other = append(f.other, p.measure(b, f.dir, append([]string{p.cue}, f.peer...)...))
				}
			}
		}
		fmt.Printf("\nload average %s before, %s after, on %d processors: wall-clock times are those of an idle machine only if it is below 1\n", before, load(), runtime.NumCPU())
		fmt.Print(figureTable(figures))
	}
}

// programs are those that take part.
type programs struct{ xrun, cue, measurer string }

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
	return sample{took.Wall, took.CPU, took.Peak / (1 << 20)}
}

// median is that of each quantity by itself.
func median(ss []sample) sample {
	return sample{
		wall: middle(ss, func(s sample) time.Duration { return s.wall }),
		cpu:  middle(ss, func(s sample) time.Duration { return s.cpu }),
		mib:  middle(ss, func(s sample) float64 { return s.mib }),
	}
}

func middle[T cmp.Ordered](ss []sample, of func(sample) T) T {
	var list []T
	for _, s := range ss {
		list = append(list, of(s))
	}
	slices.Sort(list)
	return list[len(list)/2]
}

// figureTable shows the medians beside the goals. The first figure is the idle process, above which memory is counted.
func figureTable(figures []figure) string {
	var b strings.Builder
	idle := median(figures[0].own).mib
	fmt.Fprintf(&b, "medians of %d processes each, run in turn; memory is the peak, above the %.0f MiB of `xrun version`; a ratio is of processor time, and in brackets of wall-clock time\n\n", repetitions, idle)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "command\twall\tprocessor\tmemory\tpeer\tratio\tgoal\t")
	for _, f := range figures {
		own := median(f.own)
		fmt.Fprintf(w, "%s\t%s\t%s\t+%.0f MiB\t", f.what, seconds(own.wall), seconds(own.cpu), own.mib-idle)
		ratio := 0.0
		if f.peer == nil {
			fmt.Fprint(w, "\t\t")
		} else {
			peer := median(f.other)
			ratio = own.cpu.Seconds() / peer.cpu.Seconds()
			fmt.Fprintf(w, "cue vet: %s, %s, +%.0f MiB\t×%.2f (×%.2f)\t", seconds(peer.wall), seconds(peer.cpu), peer.mib-idle, ratio, own.wall.Seconds()/peer.wall.Seconds())
		}
		fmt.Fprintf(w, "%s\t\n", f.verdict(own, own.mib-idle, ratio))
	}
	w.Flush()
	b.WriteString(growth(figures))
	return b.String()
}

// verdict is the goals of a figure, each with whether it was reached.
func (f figure) verdict(own sample, extra, ratio float64) string {
	var goals []string
	add := func(reached bool, format string, args ...any) {
		goal := fmt.Sprintf(format, args...)
		if !reached {
			goal += " MISSED"
		}
		goals = append(goals, goal)
	}
	if f.wall > 0 {
		add(own.wall <= f.wall, "≤ %s", seconds(f.wall))
	}
	if f.extra > 0 {
		add(extra <= f.extra, "≤ +%.0f MiB", f.extra)
	}
	if f.ratio > 0 {
		add(ratio <= f.ratio, "≤ ×%.1f", f.ratio)
	}
	return strings.Join(goals, ", ")
}

// growth says how time grows with size: 1 is linear.
func growth(figures []figure) string {
	var b strings.Builder
	find := func(what string) *figure {
		i := slices.IndexFunc(figures, func(f figure) bool { return f.what == what })
		if i < 0 {
			panic("no figure of " + what)
		}
		return &figures[i]
	}
	start := median(figures[0].own).cpu
	for _, pair := range [][2]string{{"plan, 10,000 trials", "plan, 100,000 trials"}, {"vet, 100 experiments", "vet, 1,000 experiments"}, {"vet, 100 packages", "vet, 1,000 packages"}} {
		small, large := find(pair[0]), find(pair[1])
		of := func(ss []sample) float64 { return (median(ss).cpu - start).Seconds() }
		fmt.Fprintf(&b, "\n%s: ten times as many take %.1f times as long", large.what, of(large.own)/of(small.own))
		if large.peer != nil {
			fmt.Fprintf(&b, " (cue vet: %.1f)", of(large.other)/of(small.other))
		}
	}
	return b.String() + "\n"
}

func seconds(d time.Duration) string {
	if s := d.Seconds(); s >= 0.1 {
		return fmt.Sprintf("%.2f s", s)
	}
	return fmt.Sprintf("%.0f ms", math.Ceil(float64(d)/float64(time.Millisecond)))
}

// load is the load average of the last minute, where it can be told.
func load() string {
	b, err := os.ReadFile("/proc/loadavg")
	if fields := strings.Fields(string(b)); err == nil && len(fields) > 0 {
		return fields[0]
	}
	return "unknown"
}
