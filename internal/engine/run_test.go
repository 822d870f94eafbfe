package engine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/xrun-dev/xrun/internal/hosts"
	"github.com/xrun-dev/xrun/internal/hosts/hosttest"
	"github.com/xrun-dev/xrun/internal/ledger"
	"github.com/xrun-dev/xrun/internal/plan"
)

func TestASweepRunsEveryTrialOnce(t *testing.T) {
	inLab(t, 5, nil, func(l *lab) {
		h := l.host("a", 2, func(j job) hosttest.Script {
			s := ok(j)
			s.Artifacts = map[string]string{"model.txt": "weights of " + j.x()}
			return s
		})
		begun := time.Now()
		out := l.run("r1")
		wantOutcome(t, out, "done", 0)
		if took := time.Since(begun); took != 3*time.Minute {
			t.Errorf("5 minutes on 2 slots took %s", took)
		}
		l.want("r1", times(5, "%d: succeeded on a")...)
		if got := started(h); got != "1 2 3 4 5" {
			t.Errorf("started %s", got)
		}
		fin := bodies[ledger.AttemptFinished](l, "r1")
		if f := fin[0]; f.Objective == nil || *f.Objective != 0.5 || f.ExitCode == nil || *f.ExitCode != 0 || f.DurationS != 60 || len(f.Artifacts) != 1 {
			t.Errorf("%+v", f)
		}
		for _, f := range fin {
			for _, name := range []string{"log", "result.json", "artifacts/model.txt"} {
				if _, err := os.Stat(filepath.Join(l.dir, filepath.Dir(f.Log), name)); err != nil {
					t.Error(err)
				}
			}
		}
		if n := len(bodies[ledger.MetricValues](l, "r1")); n != 5 {
			t.Errorf("%d pieces of series", n)
		}
		if e := bodies[ledger.ExperimentFinished](l, "r1"); len(e) != 1 || e[0].StopReason != StopComplete {
			t.Errorf("%+v", e)
		}
		if f := bodies[ledger.RunFinished](l, "r1"); len(f) != 1 || f[0].ExitCode != 0 {
			t.Errorf("%+v", f)
		}
		again := l.run("r2")
		wantOutcome(t, again, "done", 0)
		l.want("r2", times(5, "%d: reused")...)
		if n := len(h.Jobs()); n != 5 {
			t.Errorf("%d jobs", n)
		}
		if f := bodies[ledger.TrialFinished](l, "r2")[0]; f.Reused == nil || f.Reused.Run != "r1" || len(f.Reused.Series) != 1 {
			t.Errorf("%+v", f)
		}
		l.fresh = true
		l.run("r3")
		l.want("r3", times(5, "%d: succeeded on a")...)
	})
}

func TestAMetricThatIsNewIsReadFromTheLogOfAReusedTrial(t *testing.T) {
	inLab(t, 2, nil, func(l *lab) {
		l.host("a", 1, func(job) hosttest.Script { return hosttest.Script{Log: "acc: 0.7\nloss: 0.5\nacc: 0.9\n"} })
		l.run("r1")
		second := bodies[ledger.TrialPlanned](l, "r1")[1].Trial
		for _, f := range bodies[ledger.AttemptFinished](l, "r1") {
			if f.Trial == second {
				if err := os.Remove(filepath.Join(l.dir, f.Log)); err != nil {
					t.Fatal(err)
				}
			}
		}
		l.spec.Experiments[0] = sweepOf("e", 2, func(e *plan.Experiment) { e.Metrics = map[string]plan.Metric{"acc": {Pick: "first"}} })
		l.spec.Fill()
		l.run("r2")
		l.want("r2", "1: reused", "2: reused")
		got := bodies[ledger.TrialFinished](l, "r2")
		with, without := got[0].Reused, got[1].Reused
		if with.Outcome.Metrics["acc"] != 0.7 || *with.Outcome.Objective != 0.5 || len(with.Series) != 2 {
			t.Errorf("%+v", with)
		}
		if _, ok := without.Outcome.Metrics["acc"]; ok || len(without.Outcome.Notes) != 1 || !strings.Contains(without.Outcome.Notes[0], "is gone") {
			t.Errorf("%+v", without)
		}
	})
}

func TestAnExtendedSweepRunsOnlyWhatIsNew(t *testing.T) {
	inLab(t, 3, nil, func(l *lab) {
		h := l.host("a", 1, ok)
		l.run("r1")
		l.spec.Experiments[0] = sweepOf("e", 5, nil)
		l.spec.Fill()
		l.run("r2")
		l.want("r2", "1: reused", "2: reused", "3: reused", "4: succeeded on a", "5: succeeded on a")
		if got := started(h); got != "1 2 3 4 5" {
			t.Errorf("started %s", got)
		}
	})
}

func TestHowAnAttemptEndedDecidesItsCause(t *testing.T) {
	traceback := "Traceback (most recent call last):\n  File \"/w/t.py\", line 3, in main\nValueError: bad\n"
	for name, c := range map[string]struct {
		script hosttest.Script
		cause  Cause
		says   string
	}{
		"exit":            {hosttest.Script{Code: 3, Log: traceback}, CauseExit, "exit status 3: ValueError: bad"},
		"signal":          {hosttest.Script{Code: 139}, CauseExit, "killed by signal 11"},
		"no metric":       {hosttest.Script{Log: "val/loss: 3\n"}, CauseNoMetric, "ended well, but never printed loss; it printed val/loss"},
		"traceback, 0":    {hosttest.Script{Log: traceback}, CauseNoMetric, "never printed"},
		"metric error":    {hosttest.Script{Log: "loss: 1,234.5\n"}, CauseMetricError, "line 1"},
		"diverged":        {hosttest.Script{Log: "loss: 1\nloss: nan\n"}, CauseDiverged, "not finite (line 2)"},
		"timeout":         {hosttest.Script{Forever: true, Log: "loss: 1\n"}, CauseTimeout, "limits.trial (1h, the default; set it in the experiment)"},
		"silence":         {hosttest.Script{End: hosts.Silent, Code: 143}, CauseSilence, "printed nothing"},
		"killed":          {hosttest.Script{Code: 137}, CauseKilled, "memory is the usual cause"},
		"not found":       {hosttest.Script{Code: 127, Log: "/c/work/jobs/r.e.t.1/job: 6: exec: train: not found\n"}, CauseNotFound, "could not be run on a: train: not found"},
		"not executable":  {hosttest.Script{Code: 126}, CauseNotFound, "could not be run on a"},
		"a module":        {hosttest.Script{Code: 1, Log: "/usr/bin/python: Error while finding module specification for 'a.b' (ModuleNotFoundError: No module named 'a')\n"}, CauseMissingDependency, "ModuleNotFoundError: No module named 'a'"},
		"a library":       {hosttest.Script{Code: 1, Log: "x: error while loading shared libraries: libcudart.so.12: cannot open\n"}, CauseMissingDependency, "libcudart"},
		"GPU memory":      {hosttest.Script{Code: 1, Log: "torch.OutOfMemoryError: CUDA out of memory. Tried\n"}, CauseOOMGPU, "out of GPU memory"},
		"disk":            {hosttest.Script{Code: 1, Log: "OSError: [Errno 28] No space left on device\n"}, CauseDiskFull, "no space left on a"},
		"vanished":        {hosttest.Script{End: hosts.Vanished, Code: -1, Reason: "reboot"}, CauseVanished, "reboot"},
		"never started":   {hosttest.Script{End: hosts.NeverStarted, Code: -1}, CauseNeverStarted, "never started"},
		"not handed over": {hosttest.Script{Refuse: errors.New("no such tree")}, CauseSync, "no such tree"},
	} {
		inLab(t, 1, nil, func(l *lab) {
			l.host("a", 1, func(job) hosttest.Script { return c.script })
			out := l.run("r")
			wantOutcome(t, out, "nothing_usable", 4)
			f := bodies[ledger.AttemptFinished](l, "r")
			if len(f) != 1 || f[0].State != ledger.Failed || f[0].Cause != string(c.cause) || !strings.Contains(f[0].Message, c.says) || f[0].Objective != nil {
				t.Errorf("%s: %+v", name, f)
			}
			if f[0].Signature == "" || !strings.HasPrefix(f[0].Signature, string(c.cause)) {
				t.Errorf("%s: signature %q", name, f[0].Signature)
			}
			tr := bodies[ledger.TrialFinished](l, "r")
			if len(tr) != 1 || tr[0].State != ledger.Failed || tr[0].Cause != string(c.cause) || tr[0].Message != f[0].Message {
				t.Errorf("%s: %+v", name, tr)
			}
		})
	}
}

func TestANumberThatCannotBeReadDoesNotSpoilALaterOne(t *testing.T) {
	inLab(t, 1, nil, func(l *lab) {
		l.host("a", 1, func(job) hosttest.Script { return hosttest.Script{Log: "loss: 1,234.5\nloss: 0.5\n"} })
		wantOutcome(t, l.run("r"), "done", 0)
		if f := bodies[ledger.AttemptFinished](l, "r")[0]; *f.Objective != 0.5 || len(f.Notes) == 0 {
			t.Errorf("%+v", f)
		}
	})
}

func TestTheSeriesOfAFastPrinterIsThinned(t *testing.T) {
	inLab(t, 1, nil, func(l *lab) {
		l.host("a", 1, func(job) hosttest.Script {
			s := hosttest.Script{Took: 10 * time.Minute}
			for i := range 600 {
				s.Later = append(s.Later, hosttest.Line{After: time.Duration(i) * time.Second, Text: strings.Repeat("loss: 1\n", 40)})
			}
			return s
		})
		l.run("r")
		ms := bodies[ledger.MetricValues](l, "r")
		if len(ms) > 30 || len(ms) < 10 {
			t.Errorf("%d pieces", len(ms))
		}
		for _, m := range ms {
			if len(m.Values) > maxPerFlush {
				t.Errorf("a piece of %d values", len(m.Values))
			}
		}
		if last := ms[len(ms)-1].Values; last[len(last)-1].Line != 24000 {
			t.Errorf("the last value is of line %d", last[len(last)-1].Line)
		}
	})
}

func TestArtifactsThatAreTooLargeAreNamed(t *testing.T) {
	inLab(t, 1, func(e *plan.Experiment) { e.Artifacts.MaxSize, e.Set["artifacts.max_size"] = 5, true }, func(l *lab) {
		l.host("a", 1, func(j job) hosttest.Script {
			s := ok(j)
			s.Artifacts = map[string]string{"a": "123", "b": "1234567"}
			return s
		})
		l.run("r")
		f := bodies[ledger.AttemptFinished](l, "r")[0]
		if diff := cmp.Diff([]string{"a"}, f.Artifacts); diff != "" || len(f.Notes) != 1 || !strings.HasPrefix(f.Notes[0], "artifact b stayed on the host") {
			t.Errorf("%s %q", diff, f.Notes)
		}
	})
}

func TestAFailedTrialDoesNotStopTheOthers(t *testing.T) {
	inLab(t, 4, nil, func(l *lab) {
		l.host("a", 1, func(j job) hosttest.Script {
			if j.x() == "2" {
				return fails(1, "boom\n")(j)
			}
			return ok(j)
		})
		wantOutcome(t, l.run("r"), "some_failed", 3)
		l.want("r", "1: succeeded on a", "2: failed exit on a", "3: succeeded on a", "4: succeeded on a")
		l.run("r2") // failed ones are tried again, the others are not
		l.want("r2", "1: reused", "2: failed exit on a", "3: reused", "4: reused")
	})
}

func TestAProgramThatIsNotThereRefusesTheHost(t *testing.T) {
	inLab(t, 6, nil, func(l *lab) {
		l.host("a", 1, fails(127, "train: not found\n"))
		l.host("b", 1, ok)
		wantOutcome(t, l.run("r"), "some_failed", 3)
		if got := started(l.fakes["a"]); len(strings.Fields(got)) > 2 {
			t.Errorf("started on a: %s", got)
		}
		if got := len(l.fakes["b"].Jobs()); got < 4 {
			t.Errorf("%d on b", got)
		}
	})
	inLab(t, 4, nil, func(l *lab) {
		l.host("a", 1, fails(1, "ModuleNotFoundError: No module named 'torch'\n"))
		wantOutcome(t, l.run("r"), "nothing_usable", 4)
		// The second was queued behind the first when it failed.
		l.want("r", "1: failed missing_dependency on a", "2: failed missing_dependency on a", "3: not_run missing_dependency", "4: not_run missing_dependency")
	})
}

func TestTheHostsFaultIsTriedElsewhere(t *testing.T) {
	gone := func(job) hosttest.Script {
		return hosttest.Script{Took: time.Second, End: hosts.Vanished, Code: -1}
	}
	inLab(t, 1, nil, func(l *lab) {
		l.host("a", 1, gone)
		l.host("b", 1, gone)
		l.host("c", 1, ok)
		wantOutcome(t, l.run("r"), "done", 0)
		if s := l.story("r"); !strings.HasSuffix(s[0], " c") || !strings.HasPrefix(s[0], "1: succeeded on ") {
			t.Errorf("%q", s)
		}
	})
	inLab(t, 1, nil, func(l *lab) {
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			l.host(name, 1, gone)
		}
		wantOutcome(t, l.run("r"), "nothing_usable", 4)
		fs := bodies[ledger.AttemptFinished](l, "r")
		seen := map[string]bool{}
		for _, f := range fs {
			seen[f.Host] = true
		}
		if len(fs) != 3 || len(seen) != 3 {
			t.Errorf("%d attempts on %d hosts", len(fs), len(seen))
		}
		if s := l.story("r"); !strings.HasPrefix(s[0], "1: failed vanished on ") {
			t.Errorf("%q", s)
		}
	})
}

func TestPriorityGoesBeforePlanOrder(t *testing.T) {
	inLab(t, 2, nil, func(l *lab) {
		l.add(sweepOf("urgent", 2, func(e *plan.Experiment) { e.Priority = 5; e.Command = []string{"u", "{params}"} }))
		h := l.host("a", 1, ok)
		l.run("r")
		var got []string
		for _, j := range h.Jobs() {
			got = append(got, j.Argv[0]+j.Argv[1])
		}
		if diff := cmp.Diff([]string{"ux=1", "ux=2", "trainx=1", "trainx=2"}, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestNeverMoreAtOnceThanAllowed(t *testing.T) {
	inLab(t, 12, func(e *plan.Experiment) { n := 3; e.Limits.MaxParallel = &n }, func(l *lab) {
		l.add(sweepOf("f", 12, func(e *plan.Experiment) { e.Command = []string{"f", "{params}"} }))
		l.host("a", 4, ok)
		l.host("b", 4, ok)
		l.say("r", ledger.RunStarted{})
		cfg := l.config("r")
		cfg.MaxParallel = 5
		wantOutcome(t, l.start(l.t.Context(), cfg), "done", 0)
		if n := l.most("r", func(ledger.Attempt) bool { return true }); n != 5 {
			t.Errorf("%d at once, 5 are allowed", n)
		}
		if n := l.most("r", func(a ledger.Attempt) bool { return a.Experiment == "e" }); n != 3 {
			t.Errorf("%d of e at once, 3 are allowed", n)
		}
	})
}

func TestNothingWaitsOnAHostWhileAnotherIsIdle(t *testing.T) {
	for range 4 {
		inLab(t, 4, nil, func(l *lab) {
			l.host("a", 2, ok)
			l.host("b", 2, ok)
			begun := time.Now()
			l.run("r")
			if took := time.Since(begun); took != time.Minute {
				t.Errorf("4 minutes on 4 slots took %s", took)
			}
		})
	}
}

func TestAPanicOfOursIsABugAndLeavesTheOthersRunning(t *testing.T) {
	inLab(t, 2, nil, func(l *lab) {
		h := l.host("a", 2, func(j job) hosttest.Script {
			s := ok(j)
			if j.x() == "2" {
				s.Took *= 2
			}
			return s
		})
		l.hosts["a"] = panics{h}
		l.say("r", ledger.RunStarted{})
		_, err := Run(l.t.Context(), l.config("r"))
		bug, is := errors.AsType[*BugError](err)
		if !is || bug.Value != "index out of range" || len(bug.Stack) == 0 || !strings.HasPrefix(bug.Error(), "a bug in xrun: ") {
			t.Fatalf("%v", err)
		}
		l.hosts["a"] = h
		if n := len(l.settle()); n != 1 {
			t.Errorf("%d attempts still run, want 1", n)
		}
	})
}

// panics is a host whose Fetch has a bug.
type panics struct{ *hosttest.Fake }

func (p panics) Fetch(_ context.Context, _, _ string, _ hosts.Want) (hosts.Brought, error) {
	panic("index out of range")
}
