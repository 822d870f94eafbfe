package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"
)

// startFigure is how long the first of 100,000 trials waits for the others to be declared, and what they cost until then.
func startFigure(dir string) figure {
	return figure{
		what: "run, the first of 100,000 trials", dir: dir, args: []string{"-q", "run"}, wall: 1500 * time.Millisecond, extra: 93, // 120 MB in all
		anew: func(dir string) (own, peer []string) {
			return []string{"--state", filepath.Join(dir, "state")}, nil
		},
		until: firstTrial,
	}
}

// firstTrial measures a run until the log of its first trial is there, and interrupts it then.
func firstTrial(b *testing.B, dir, work string, argv []string) sample {
	b.Helper()
	c := exec.CommandContext(b.Context(), argv[0], argv[1:]...)
	var problems bytes.Buffer
	c.Dir, c.Stderr = work, &problems
	start := time.Now()
	if err := c.Start(); err != nil {
		b.Fatal(err)
	}
	defer func() {
		_ = c.Process.Signal(os.Interrupt)
		_ = c.Wait() // it says that it was interrupted
	}()
	for logs := filepath.Join(dir, "state", "runs", "*", "*", "*", "attempt-1", "log"); ; time.Sleep(2 * time.Millisecond) {
		if found, _ := filepath.Glob(logs); len(found) > 0 {
			return sample{wall: time.Since(start), cpu: cpuOf(b, c.Process.Pid), mib: peakOf(b, c.Process.Pid)}
		}
		if time.Since(start) > time.Minute {
			b.Fatalf("no trial started\n%.2000s", problems.String())
		}
	}
}

// peakOf is the most that a process had resident so far, in MiB.
func peakOf(b *testing.B, pid int) float64 {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Fatal(err)
	}
	m := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(text)
	if m == nil {
		b.Fatalf("no peak in\n%s", text)
	}
	kib, err := strconv.ParseFloat(string(m[1]), 64)
	if err != nil {
		b.Fatal(err)
	}
	return kib / 1024
}

// cpuOf is the processor time of a process so far, without its children.
func cpuOf(b *testing.B, pid int) time.Duration {
	b.Helper()
	var all int64
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil || len(tasks) == 0 {
		b.Fatalf("no threads of process %d: %v", pid, err)
	}
	for _, task := range tasks {
		text, err := os.ReadFile(task)
		if err != nil {
			continue // a thread that has ended
		}
		ns, _, _ := bytes.Cut(text, []byte(" "))
		n, err := strconv.ParseInt(string(ns), 10, 64)
		if err != nil {
			b.Fatal(err)
		}
		all += n
	}
	return time.Duration(all)
}
