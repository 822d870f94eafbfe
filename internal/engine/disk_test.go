package engine

import (
	"errors"
	"testing"
	"time"

	"github.com/xrun-dev/xrun/internal/hosts"
	"github.com/xrun-dev/xrun/internal/hosts/hosttest"
	"github.com/xrun-dev/xrun/internal/ledger"
)

// A full disk says nothing about a trial: nothing more is started, what runs is left alone, and a resume tries again.
func TestAFullDiskEndsTheRunAndNoTrial(t *testing.T) {
	for name, bad := range map[string]hosttest.Script{
		"not started":   {Refuse: hosts.ErrDiskFull},
		"it fails":      {Took: time.Second, Code: 2, DiskFull: true},
		"it says less":  {Took: time.Second, DiskFull: true},
		"setup fails":   {Took: time.Second, Code: 1, Step: "setup", DiskFull: true},
		"never started": {End: hosts.NeverStarted, Code: -1, DiskFull: true},
		"half a number": {Took: time.Second, Log: "loss: 1,", DiskFull: true},
	} {
		t.Run(name, func(t *testing.T) {
			inLab(t, 4, nil, func(l *lab) {
				full := true
				h := l.host("a", 2, func(j job) hosttest.Script {
					if full && j.x() == "2" {
						return bad
					}
					return ok(j)
				})
				l.say("r", ledger.RunStarted{})
				if _, err := Run(l.t.Context(), l.config("r")); !errors.Is(err, hosts.ErrDiskFull) {
					t.Fatalf("got %v", err)
				}
				if n := len(bodies[ledger.TrialFinished](l, "r")); n != 0 {
					t.Errorf("%d trials have an end: %v", n, l.story("r"))
				}
				if f := bodies[ledger.AttemptFinished](l, "r"); len(f) == 0 || Cause(f[0].Cause) != CauseDiskFull {
					t.Errorf("%+v", f)
				}
				full = false
				wantOutcome(t, l.resume("r"), "done", 0)
				first := 0
				for _, j := range h.Jobs() {
					if (job{j}).x() == "1" {
						first++
					}
				}
				if first != 1 {
					t.Errorf("what ran was started %d times", first)
				}
			})
		})
	}
}

func TestAResultCountsWhateverTheDiskSays(t *testing.T) {
	inLab(t, 2, nil, func(l *lab) {
		l.host("a", 1, func(j job) hosttest.Script {
			s := ok(j)
			s.DiskFull = true
			return s
		})
		wantOutcome(t, l.run("r"), "done", 0)
	})
}

func TestWhatTheDiskOfOneHostFailsIsTriedOnAnother(t *testing.T) {
	inLab(t, 2, nil, func(l *lab) {
		l.host("a", 1, func(job) hosttest.Script { return hosttest.Script{Refuse: hosts.ErrDiskFull} })
		l.host("b", 1, ok)
		wantOutcome(t, l.run("r"), "done", 0)
	})
}
