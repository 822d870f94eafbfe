package engine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/xrun-dev/xrun/internal/hosts"
	"github.com/xrun-dev/xrun/internal/hosts/hosttest"
	"github.com/xrun-dev/xrun/internal/ledger"
)

// steps is a trial that prints a step each minute, ten of them.
func steps(job) hosttest.Script {
	s := hosttest.Script{Took: 10 * time.Minute}
	for i := range 10 {
		s.Later = append(s.Later, hosttest.Line{After: time.Duration(i)*time.Minute + time.Second, Text: "step: " + string('0'+rune(i)) + " loss: 0." + string('0'+rune(9-i)) + "\n"})
	}
	return s
}

// lines are the lines of the log that the recorded series of each trial hold.
func (l *lab) lines(run string) map[string][]int64 {
	l.t.Helper()
	out := map[string][]int64{}
	for _, m := range bodies[ledger.MetricValues](l, run) {
		for _, v := range m.Values {
			out[m.Trial] = append(out[m.Trial], v.Line)
		}
	}
	return out
}

func (l *lab) wantWholeSeries(run string) {
	l.t.Helper()
	for trial, lines := range l.lines(run) {
		if diff := cmp.Diff([]int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, lines); diff != "" {
			l.t.Errorf("series of %s: %s", trial, diff)
		}
	}
}

func TestAnInterruptedRunIsTakenUpAndNothingRunsTwice(t *testing.T) {
	inLab(t, 6, nil, func(l *lab) {
		h := l.host("a", 2, steps)
		out := l.interrupted("r", 15*time.Minute)
		if !out.Interrupted || len(out.Left["a"]) != 2 {
			t.Errorf("%+v", out)
		}
		if got := bodies[ledger.RunInterrupted](l, "r"); len(got) != 1 || got[0].ExitCode != 130 || got[0].Running != 2 || got[0].Reason == "" {
			t.Errorf("%+v", got)
		}
		if n := len(bodies[ledger.RunFinished](l, "r")); n != 0 {
			t.Error("the run is finished")
		}
		l.want("r", "1: succeeded on a", "2: succeeded on a", "3:  on a ?", "4:  on a ?", "5:  on a", "6:  on a")
		for _, f := range bodies[ledger.AttemptFinished](l, "r")[2:] {
			if f.State != ledger.Cancelled {
				t.Errorf("what waited is %+v", f)
			}
		}
		time.Sleep(time.Minute)
		wantOutcome(t, l.resume("r"), "done", 0)
		l.want("r", "1: succeeded on a", "2: succeeded on a", "3: succeeded on a", "4: succeeded on a", "5: succeeded on a a", "6: succeeded on a a")
		ran := map[string]int{}
		for _, s := range bodies[ledger.AttemptStarted](l, "r") {
			ran[s.Trial+string('0'+rune(s.Attempt.Attempt))] = 1
		}
		if len(ran) != 6 {
			t.Errorf("%d attempts ran: %v", len(ran), started(h))
		}
		l.wantWholeSeries("r")
		if n := len(bodies[ledger.ExperimentFinished](l, "r")); n != 1 {
			t.Errorf("the experiment ends %d times", n)
		}
	})
}

func TestARunWhoseTrialsAllRunIsNotFinishedByAnInterrupt(t *testing.T) {
	inLab(t, 2, nil, func(l *lab) {
		l.host("a", 2, steps)
		out := l.interrupted("r", time.Minute)
		if !out.Interrupted || len(bodies[ledger.RunFinished](l, "r")) != 0 {
			t.Errorf("%+v", out)
		}
		wantOutcome(t, l.resume("r"), "done", 0)
		l.wantWholeSeries("r")
	})
}

func TestAnInterruptAfterTheLastTrialChangesNothing(t *testing.T) {
	inLab(t, 2, nil, func(l *lab) {
		l.host("a", 2, ok)
		wantOutcome(t, l.interrupted("r", time.Hour), "done", 0)
	})
}

func TestResumingTwiceIsResumingOnce(t *testing.T) {
	inLab(t, 4, nil, func(l *lab) {
		h := l.host("a", 2, ok)
		l.interrupted("r", 30*time.Second)
		l.resume("r")
		before := l.story("r")
		wantOutcome(t, l.resume("r"), "done", 0)
		if diff := cmp.Diff(before, l.story("r")); diff != "" {
			t.Error(diff)
		}
		if n := len(h.Jobs()); n != 6 { // two were taken back
			t.Errorf("%d jobs", n)
		}
	})
}

func TestWhatEndedMeanwhileIsSettled(t *testing.T) {
	inLab(t, 4, nil, func(l *lab) {
		h := l.host("a", 4, func(j job) hosttest.Script {
			switch j.x() {
			case "2":
				return fails(3, "boom\n")(j)
			case "3":
				return hosttest.Script{Took: time.Minute, End: hosts.Vanished, Code: -1}
			case "4":
				return hosttest.Script{Took: 50 * time.Minute, Log: "loss: 1\n"}
			}
			return steps(j)
		})
		l.die("r", 500*time.Millisecond)
		if n := len(l.openAttempts()); n != 4 {
			t.Fatalf("%d attempts are open", n)
		}
		time.Sleep(30 * time.Minute)
		running := l.settle()
		if len(running) != 1 || running[0].Run != "r" {
			t.Fatalf("%+v", running)
		}
		l.want("r", "1: succeeded on a", "2: failed exit on a", "3:  on a", "4:  on a ?")
		l.wantWholeSeriesOf("r", "1")
		var states []string
		for _, f := range bodies[ledger.AttemptFinished](l, "r") {
			states = append(states, string(f.State)+" "+f.Cause)
			if f.Log == "" {
				t.Errorf("no log: %+v", f)
			} else if _, err := os.Stat(filepath.Join(l.dir, f.Log)); err != nil {
				t.Error(err)
			}
		}
		slices.Sort(states)
		if diff := cmp.Diff([]string{"failed exit", "failed vanished", "succeeded "}, states); diff != "" {
			t.Error(diff)
		}
		if again := l.settle(); len(again) != 1 || len(bodies[ledger.AttemptFinished](l, "r")) != 3 {
			t.Error("settling twice is not settling once")
		}
		if err := l.settlement().Stop(l.t.Context(), running[0], "not wanted"); err != nil {
			t.Fatal(err)
		}
		fin := bodies[ledger.AttemptFinished](l, "r")
		if f := fin[len(fin)-1]; f.State != ledger.Cancelled || f.Message != "stopped: not wanted" {
			t.Errorf("%+v", f)
		}
		if n := len(l.settle()); n != 0 {
			t.Errorf("%d still run", n)
		}
		h.Unreachable(true)
		delete(l.hosts, "a")
		if err := l.settlement().Stop(l.t.Context(), running[0], "x"); err == nil || !strings.Contains(err.Error(), "host a cannot be reached") {
			t.Errorf("%v", err)
		}
	})
}

func TestWhatNobodyCanTellAboutStaysOpen(t *testing.T) {
	inLab(t, 1, nil, func(l *lab) {
		h := l.host("a", 1, ok)
		l.die("r", time.Second)
		time.Sleep(time.Hour)
		h.Unreachable(true)
		if n := len(l.settle()); n != 1 {
			t.Errorf("%d attempts are open while the host is down", n)
		}
		delete(l.hosts, "a")
		if n := len(l.settle()); n != 1 {
			t.Errorf("%d attempts are open while the host is unknown", n)
		}
		h.Unreachable(false)
		l.hosts["a"] = h
		if n := len(l.settle()); n != 0 {
			t.Errorf("%d attempts are open", n)
		}
		l.want("r", "1: succeeded on a")
	})
}

func TestAnAttemptThatWasNeverHandedOverIsOpenAgain(t *testing.T) {
	inLab(t, 1, nil, func(l *lab) {
		l.host("a", 1, ok)
		cfg := l.config("r")
		l.say("r", ledger.RunStarted{})
		e := cfg.Plan.Experiments[0]
		k := ledger.Key{Experiment: "e", Trial: e.Trials[0].ID}
		b, err := planned(&l.spec.Experiments[0], &e, []string{"a"})
		if err != nil {
			t.Fatal(err)
		}
		// Killed between the intent and the start.
		l.say("r", b, ledger.TrialPlanned{Key: k, Params: []byte(`{"x":1}`), Code: "code"}, ledger.AttemptIntended{Attempt: ledger.Attempt{Key: k, Attempt: 1}, Host: "a", Job: "j"})
		wantOutcome(t, l.resume("r"), "done", 0)
		l.want("r", "1: succeeded on a a")
	})
}

func TestAnotherRunTakesOverWhatADeadOneLeft(t *testing.T) {
	inLab(t, 3, nil, func(l *lab) {
		h := l.host("a", 2, steps)
		l.die("r1", 5*time.Minute)
		cfg := l.config("r2")
		cfg.Adopt = l.adopt()
		l.say("r2", ledger.RunStarted{})
		wantOutcome(t, l.start(l.t.Context(), cfg), "done", 0)
		l.want("r2", "1: succeeded on a", "2: succeeded on a", "3: succeeded on a")
		l.wantWholeSeries("r2")
		if got := sortedWords(started(h)); got != "1 2 3 3" && got != "1 2 3" {
			t.Errorf("started %s", got)
		}
		for i, a := range bodies[ledger.AttemptIntended](l, "r2") {
			if (a.Adopted == "r1") != (i < 2 || strings.HasPrefix(a.Job, "r1")) {
				t.Errorf("%+v", a)
			}
		}
		superseded := 0
		for _, f := range bodies[ledger.AttemptFinished](l, "r1") {
			if f.State == ledger.Superseded {
				superseded++
				if !f.Twin || f.Message != "goes on in run r2" {
					t.Errorf("%+v", f)
				}
			}
		}
		if superseded != len(cfg.Adopt) || superseded < 2 {
			t.Errorf("%d attempts of the old run are superseded, %d were adopted", superseded, len(cfg.Adopt))
		}
		if n := len(l.openAttempts()); n != 0 {
			t.Errorf("%d attempts are open", n)
		}
	})
}

func TestAnAdoptedAttemptDoesNotHoldUpTheOthers(t *testing.T) {
	inLab(t, 3, nil, func(l *lab) {
		l.host("a", 2, func(j job) hosttest.Script {
			if j.x() == "1" {
				return hosttest.Script{Took: 50 * time.Minute, Log: "loss: 1\n"}
			}
			return ok(j)
		})
		l.spec.Experiments[0].Limits.MaxParallel = ptr(1)
		l.die("r", 10*time.Second)
		l.spec.Experiments[0].Limits.MaxParallel = nil
		begun := time.Now()
		wantOutcome(t, l.resume("r"), "done", 0)
		for _, e := range l.events("r") {
			if s, is := e.Body.(ledger.AttemptStarted); is && e.At.Sub(begun) > 5*time.Minute {
				t.Errorf("attempt of %s starts %s after the resume", s.Trial, e.At.Sub(begun))
			}
		}
	})
}

func TestTwoExperimentsWithOneTrialDoNotShareAJob(t *testing.T) {
	inLab(t, 1, nil, func(l *lab) {
		l.add(sweepOf("f", 1, nil)) // the same trial under another name
		l.host("a", 2, steps)
		l.die("r", time.Minute)
		wantOutcome(t, l.resume("r"), "done", 0)
		if s := l.story("r"); s[0] != "1: succeeded on a" && s[1] != "1: succeeded on a" || !strings.HasSuffix(s[0]+s[1], " a") {
			t.Errorf("%q", s)
		}
		if n := len(l.openAttempts()); n != 0 {
			t.Errorf("%d attempts are open", n)
		}
	})
}

// die does a run whose process is killed after a while: what it appends later does not reach the ledger.
func (l *lab) die(id string, after time.Duration) {
	l.t.Helper()
	l.say(id, ledger.RunStarted{})
	ctx, cancel := context.WithCancel(l.t.Context())
	defer cancel()
	cfg := l.config(id)
	dead := &fullDisk{Recorder: l.ledger}
	cfg.Record = dead
	hosts := map[string]Host{}
	for name, h := range l.hosts {
		hosts[name] = &orphaned{Host: h, dead: dead}
	}
	cfg.Hosts = hosts
	time.AfterFunc(after, func() { dead.full.Store(true); cancel() })
	if _, err := Run(ctx, cfg); err == nil {
		l.t.Error("a dead run ends well")
	}
}

// orphaned is a host as a dead process sees it: nothing it asks for reaches it any more.
type orphaned struct {
	Host
	dead *fullDisk
}

func (o *orphaned) Withdraw(ctx context.Context, id, reason string) (bool, error) {
	if o.dead.full.Load() {
		return false, errors.New("dead")
	}
	return o.Host.Withdraw(ctx, id, reason)
}

func (l *lab) openAttempts() []ledger.OpenAttempt {
	l.t.Helper()
	open, err := l.ledger.OpenAttempts(l.t.Context())
	if err != nil {
		l.t.Fatal(err)
	}
	return open
}

func (l *lab) wantWholeSeriesOf(run, x string) {
	l.t.Helper()
	for _, p := range bodies[ledger.TrialPlanned](l, run) {
		if string(p.Params) == `{"x":`+x+`}` {
			if diff := cmp.Diff([]int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, l.lines(run)[p.Trial]); diff != "" {
				l.t.Errorf("series of x=%s: %s", x, diff)
			}
		}
	}
}

func ptr[T any](v T) *T { return &v }

// leaving is a host that does not answer who is leaving.
type leaving struct{ Host }

func (leaving) Capacity(ctx context.Context) (hosts.Capacity, error) {
	return hosts.Capacity{}, ctx.Err()
}

func TestAnInterruptBeforeTheHostsAnswerGivesUpNoTrial(t *testing.T) {
	inLab(t, 2, nil, func(l *lab) {
		h := l.host("a", 1, ok)
		l.hosts["a"] = leaving{h}
		ctx, cancel := context.WithCancel(l.t.Context())
		cancel()
		l.say("r", ledger.RunStarted{})
		if out := l.start(ctx, l.config("r")); !out.Interrupted {
			t.Errorf("%+v", out)
		}
		if f := bodies[ledger.TrialFinished](l, "r"); len(f) > 0 {
			t.Errorf("%+v", f)
		}
		l.hosts["a"] = h
		wantOutcome(t, l.resume("r"), "done", 0)
	})
}
