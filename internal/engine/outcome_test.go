package engine

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/xrun-dev/xrun/internal/hosts/hosttest"
	"github.com/xrun-dev/xrun/internal/ledger"
	"github.com/xrun-dev/xrun/internal/plan"
	"github.com/xrun-dev/xrun/internal/report"
)

func TestNoHostIsAnOutcomeOfItsOwn(t *testing.T) {
	for name, prepare := range map[string]func(*lab){
		"no host at all":         func(*lab) {},
		"none that is eligible":  func(l *lab) { l.host("a", 1, ok); l.spec.Experiments[0].Needs.Labels = map[string]string{"gpu": "yes"} },
		"one that is down":       func(l *lab) { l.host("a", 1, ok).Unreachable(true) },
		"one that is not served": func(l *lab) { l.host("a", 1, ok); delete(l.hosts, "a") },
	} {
		inLab(t, 2, nil, func(l *lab) {
			prepare(l)
			out := l.run("r")
			wantOutcome(t, out, "no_host", 6)
			l.want("r", "1: not_run host_down", "2: not_run host_down")
			if name == "none that is eligible" {
				if m := bodies[ledger.TrialFinished](l, "r")[0].Message; m != `no host could be used (a: its label gpu is not "yes")` {
					t.Errorf("%s", m)
				}
			}
		})
	}
}

func TestOutcomesAndExitCodes(t *testing.T) {
	for _, c := range []struct {
		out  Outcome
		want string
		code int
	}{
		{Outcome{}, "done", 0},
		{Outcome{Counts: map[ledger.State]int{ledger.Succeeded: 2, ledger.Reused: 1, ledger.StoppedEarly: 1}, Results: 1}, "done", 0},
		{Outcome{Counts: map[ledger.State]int{ledger.Succeeded: 1, ledger.Failed: 1}, Results: 1}, "some_failed", 3},
		{Outcome{Counts: map[ledger.State]int{ledger.Reused: 1, ledger.Lost: 1}, Results: 1}, "some_failed", 3},
		{Outcome{Counts: map[ledger.State]int{ledger.Succeeded: 1, ledger.NotRun: 1}, Results: 1}, "some_failed", 3},
		{Outcome{Counts: map[ledger.State]int{ledger.Failed: 3}}, "nothing_usable", 4},
		{Outcome{Counts: map[ledger.State]int{ledger.NotRun: 3}, NoHost: true}, "no_host", 6},
	} {
		wantOutcome(t, c.out, c.want, c.code)
	}
}

func TestALiveReportIsTheReplayedOne(t *testing.T) {
	inLab(t, 6, func(e *plan.Experiment) { e.Sweep.Canary = &plan.Canary{For: plan.Duration(time.Minute)} }, func(l *lab) {
		l.host("a", 2, func(j job) hosttest.Script {
			switch j.x() {
			case "3":
				return fails(1, "boom\n")(j)
			case "4":
				return hosttest.Script{Took: time.Minute, Log: "loss: nan\n"}
			}
			return ok(j)
		})
		live := new(report.State)
		l.ledger.Listen(func(e ledger.Event) { live.Apply(e) })
		l.run("r")
		opt := report.Options{XrunVersion: "test"}
		if diff := cmp.Diff(string(live.Report(opt).JSON()), string(report.Fold(l.events("r")).Report(opt).JSON())); diff != "" {
			t.Error(diff)
		}
	})
}
