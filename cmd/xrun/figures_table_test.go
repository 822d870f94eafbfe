package main

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// median is that of each quantity by itself.
func median(ss []sample) sample {
	return sample{
		wall: middle(ss, func(s sample) time.Duration { return s.wall }),
		cpu:  middle(ss, func(s sample) time.Duration { return s.cpu }),
		mib:  middle(ss, func(s sample) float64 { return s.mib }),
		gap:  middle(ss, func(s sample) time.Duration { return s.gap }),
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
		switch {
		case f.peer.name == "":
			fmt.Fprint(w, "\t\t")
		case f.peer.missing != "":
			fmt.Fprintf(w, "%s: %s\t\t", f.peer.name, f.peer.missing)
		default:
			peer := median(f.other)
			cpu, wall := own.cpu.Seconds()/peer.cpu.Seconds(), own.wall.Seconds()/peer.wall.Seconds()
			if ratio = cpu; f.peer.byWall {
				ratio = wall
			}
			fmt.Fprintf(w, "%s: %s, %s, %+.0f MiB\t×%.2f (×%.2f)\t", f.peer.name, seconds(peer.wall), seconds(peer.cpu), peer.mib-idle, cpu, wall)
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
	if f.ratio > 0 && len(f.other) > 0 {
		what := ""
		if f.peer.byWall {
			what = " of wall-clock time"
		}
		add(ratio <= f.ratio, "≤ ×%.1f%s", f.ratio, what)
	}
	if f.between > 0 {
		add(own.gap <= f.between, "%.1f ms between attempts ≤ %s", own.gap.Seconds()*1000, seconds(f.between))
	}
	if f.speed > 0 {
		speed := f.bytes / 1e6 / own.wall.Seconds()
		add(speed >= f.speed, "%.0f MB/s ≥ %.0f", speed, f.speed)
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
		if len(large.other) > 0 {
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
