package report_test

import (
	"bytes"
	"io"
	"runtime"
	"testing"

	"github.com/xrun-dev/xrun/internal/ledger"
	"github.com/xrun-dev/xrun/internal/plan"
	"github.com/xrun-dev/xrun/internal/report"
)

// What a report of a sweep allocates grows with the sweep, not with its square.
func TestLargeSweepCostsInProportion(t *testing.T) {
	small, large := allocated(250), allocated(1000)
	if ratio := float64(large) / float64(small); ratio > 6 {
		t.Errorf("4 times the points took %.1f times the memory (%d KiB)", ratio, large>>10)
	}
}

// allocated is how many bytes a report of so many points, with four seeds each, takes in all its forms.
func allocated(n int) uint64 {
	var points []plan.Params
	for i := range n {
		points = append(points, plan.Params{{Name: "lr", Value: plan.IntValue(int64(i))}})
	}
	b := newRun("large").plan("lr", 4, "minimize val_loss", []ledger.Axis{{Name: "lr", Ordered: true}}, points)
	for i, key := range b.specs["lr"].order {
		b.reuse("lr", key, "earlier", float64(i%977))
	}
	b.done("done", 0)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	s := report.Fold(b.events)
	r := s.Report(report.Options{Previous: s})
	r.JSON()
	r.Markdown()
	l := report.NewLive(io.Discard, false)
	for _, e := range b.events {
		l.Handle(e)
	}
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestLiveSaysWhatHappensBetweenTheTrials(t *testing.T) {
	b := newRun("20260111-aaaa").sweep("lr", 1, "minimize val_loss", "lr=0.1,0.2,0.3")
	b.reuse("lr", "lr=0.3 seed=0", "20260110-aaaa", 0.3)
	a := b.start("lr", "lr=0.1 seed=0")
	f := b.wait(5).outcome(a, 5)
	f.State, f.Cause, f.Message = ledger.Failed, "disk_full", "no space left on gpu-a"
	b.add(f)
	b.ok("lr", "lr=0.1 seed=0", 0.25)
	a = b.start("lr", "lr=0.2 seed=0")
	b.wait(60).add(ledger.AttemptState{Attempt: a, State: ledger.Unknown, Reason: "connection timed out"})
	b.wait(5).add(ledger.RunInterrupted{Reason: "SIGINT", ExitCode: 130, Running: 1})
	b.wait(3600).add(ledger.RunResumed{Accepted: []string{"1 trial added"}})
	b.add(ledger.AttemptState{Attempt: a, State: ledger.Running})
	b.wait(60).add(b.outcome(a, 3725)).add(ledger.TrialFinished{Key: a.Key, State: ledger.StoppedEarly, Attempt: 1})
	b.done("done", 0)
	var out bytes.Buffer
	l := report.NewLive(&out, false)
	for _, e := range b.events {
		l.Handle(e)
	}
	golden(t, "between.live", out.Bytes())
	golden(t, "between.md", report.Fold(b.events).Report(report.Options{}).Markdown())
}

// A deadline or a fuse leaves thousands of trials at once: the first is told with the reason, the rest is counted.
func TestTrialsThatWereNotRunAreToldOnce(t *testing.T) {
	b := newRun("20260112-aaaa").sweep("lr", 1, "minimize val_loss", "lr=1,2,3,4,5,6")
	b.fail("lr", "lr=1 seed=0", "exit", "exit 1: KeyError", "KeyError\n")
	b.skip("lr", "lr=2 seed=0", "fuse", "as lr=1").skip("lr", "lr=3 seed=0", "fuse", "as lr=1").skip("lr", "lr=4 seed=0", "fuse", "as lr=1")
	b.skip("lr", "lr=5 seed=0", "deadline", "07:30").skip("lr", "lr=6 seed=0", "deadline", "07:30")
	b.done("partial", 3)
	var out bytes.Buffer
	l := report.NewLive(&out, false).In("/lab/.xrun")
	for _, e := range b.events {
		l.Handle(e)
	}
	golden(t, "alike.live", out.Bytes())
}
