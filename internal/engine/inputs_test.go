package engine

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/xrun-dev/xrun/internal/hosts"
	"github.com/xrun-dev/xrun/internal/hosts/hosttest"
	"github.com/xrun-dev/xrun/internal/ledger"
	"github.com/xrun-dev/xrun/internal/plan"
)

// chained adds an experiment f of n trials that starts from which trial of e.
func (l *lab) chained(n int, which, path string) {
	l.add(sweepOf("f", n, func(e *plan.Experiment) {
		e.Command = []string{"tune", "{params}", "init={inputs.base}"}
		e.Inputs = map[string]plan.Input{"base": {Experiment: "e", Path: path, Trial: which}}
	}))
}

// trains is a script whose trial x leaves model.pt and has the loss 1/x, and of f just ends well.
func trains(j job) hosttest.Script {
	if j.Argv[0] == "tune" {
		return ok(j)
	}
	return hosttest.Script{Took: time.Minute, Log: "loss: 0." + strings.Repeat("0", len(j.x())) + "9" + "\n", Artifacts: map[string]string{"model.pt": "weights of " + j.x()}}
}

// starts are what the jobs of f started from, by x.
func starts(t *testing.T, h *hosttest.Fake) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, j := range h.Jobs() {
		for _, a := range j.Argv {
			if file, ok := strings.CutPrefix(a, "init="); ok {
				b, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				out[job{j}.x()] = string(b)
			}
		}
	}
	return out
}

func TestAnExperimentWaitsForWhatItStartsFrom(t *testing.T) {
	for which, want := range map[string]map[string]string{
		"best": {"1": "weights of 1", "2": "weights of 1"}, // all are alike: the first of the plan
		"same": {"1": "weights of 1", "2": "weights of 2"},
	} {
		t.Run(which, func(t *testing.T) {
			inLab(t, 3, nil, func(l *lab) {
				l.chained(2, which, "model.pt")
				h := l.host("a", 4, trains)
				wantOutcome(t, l.run("r1"), "done", 0)
				if got := starts(t, h); got["1"] != want["1"] || got["2"] != want["2"] {
					t.Errorf("%v", got)
				}
				var last, first time.Time
				for _, ev := range l.events("r1") {
					switch b := ev.Body.(type) {
					case ledger.TrialFinished:
						if b.Experiment == "e" {
							last = ev.At
						}
					case ledger.AttemptIntended:
						if b.Experiment == "f" && first.IsZero() {
							first = ev.At
						}
					}
				}
				if first.Before(last) {
					t.Errorf("f began at %s, e ended at %s", first, last)
				}
			})
		})
	}
}

func TestWhatCannotStartIsNotRun(t *testing.T) {
	for name, c := range map[string]struct {
		which, path string
		behave      func(job) hosttest.Script
		message     string
	}{
		"no result":      {"best", "model.pt", fails(2, "no\n"), "input base: no trial of e has a result"},
		"no artifact":    {"best", "modle.pt", trains, "has no artifact modle.pt"},
		"more than only": {"only", "model.pt", trains, "e has 3 results, and can have only one"},
	} {
		t.Run(name, func(t *testing.T) {
			inLab(t, 3, nil, func(l *lab) {
				l.chained(1, c.which, c.path)
				l.host("a", 4, c.behave)
				l.run("r1")
				for _, f := range bodies[ledger.TrialFinished](l, "r1") {
					if f.Experiment == "f" && (f.State != ledger.NotRun || Cause(f.Cause) != CauseUpstream || !strings.Contains(f.Message, c.message)) {
						t.Errorf("%+v", f)
					}
				}
			})
		})
	}
}

func TestWhatIsThereAlreadyIsStartedFrom(t *testing.T) {
	inLab(t, 2, nil, func(l *lab) {
		h := l.host("a", 4, trains)
		wantOutcome(t, l.run("r1"), "done", 0)
		l.chained(1, "best", "model.pt") // its inputs are reused
		wantOutcome(t, l.run("r2"), "done", 0)
		if got := starts(t, h); got["1"] != "weights of 1" {
			t.Errorf("%v", got)
		}
	})
}

func TestAResumedRunKnowsWhatItReused(t *testing.T) {
	inLab(t, 2, nil, func(l *lab) {
		h := l.host("a", 1, trains)
		wantOutcome(t, l.run("r1"), "done", 0)
		l.chained(3, "best", "model.pt")
		l.interrupted("r2", 30*time.Second) // e is reused, f is at work
		wantOutcome(t, l.resume("r2"), "done", 0)
		if got := starts(t, h); got["1"] != "weights of 1" || got["3"] != "weights of 1" {
			t.Errorf("%v", got)
		}
	})
}

func TestWhatRunsIsNotGivenUpForWhatItStartedFrom(t *testing.T) {
	inLab(t, 1, nil, func(l *lab) {
		l.chained(1, "best", "model.pt")
		h := l.host("a", 1, trains)
		l.interrupted("r1", 90*time.Second) // e is over, f is at work
		l.say("r2", ledger.RunStarted{})
		cfg := l.config("r2")
		cfg.Adopt, cfg.Plan.Experiments = l.adopt(), cfg.Plan.Experiments[1:] // without what it started from
		wantOutcome(t, l.start(l.t.Context(), cfg), "done", 0)
		if n := len(h.Jobs()); n != 2 {
			t.Errorf("%d jobs", n)
		}
	})
}

func TestAResumedRunKnowsWhatItStartsFrom(t *testing.T) {
	inLab(t, 2, nil, func(l *lab) {
		l.chained(2, "best", "model.pt")
		h := l.host("a", 1, trains)
		l.interrupted("r1", 150*time.Second) // e is over, f is at work
		wantOutcome(t, l.resume("r1"), "done", 0)
		if got := starts(t, h); got["2"] != "weights of 1" {
			t.Errorf("%v", got)
		}
	})
}

// What was brought home may be deleted before it is needed: the trial is not started to find that out.
func TestAnInputThatIsGoneIsSaid(t *testing.T) {
	inLab(t, 1, nil, func(l *lab) {
		l.chained(1, "best", "model.pt")
		h := l.host("a", 1, trains)
		l.hosts["a"] = afterFetch{h, func(dir string) {
			if err := os.Remove(dir + "/artifacts/model.pt"); err != nil && !os.IsNotExist(err) {
				t.Error(err)
			}
		}}
		l.run("r1")
		for _, f := range bodies[ledger.TrialFinished](l, "r1") {
			want := f.Experiment != "f" || f.State == ledger.NotRun && Cause(f.Cause) == CauseUpstream && strings.Contains(f.Message, "is gone: it was "+l.dir)
			if !want {
				t.Errorf("%+v", f)
			}
		}
	})
}

// afterFetch is a host after whose Fetch something happens to what it brought.
type afterFetch struct {
	*hosttest.Fake
	then func(dir string)
}

func (h afterFetch) Fetch(ctx context.Context, id, dir string, want hosts.Want) (hosts.Brought, error) {
	b, err := h.Fake.Fetch(ctx, id, dir, want)
	h.then(dir)
	return b, err
}
