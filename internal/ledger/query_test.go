package ledger

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRunsAreFoundByIDPrefixAndLast(t *testing.T) {
	l := open(t, t.TempDir())
	if _, err := l.Find(t.Context(), "last"); err == nil || err.Error() != "there is no run yet" {
		t.Errorf("last of nothing: %v", err)
	}
	add(t, l, "20260101-aa", RunStarted{Command: []string{"xrun", "run"}, PlanDigest: "d"}, ExperimentPlanned{Name: "z"}, ExperimentPlanned{Name: "a"}, RunFinished{Outcome: "done"})
	add(t, l, "20260101-ab", RunStarted{})
	add(t, l, "20260102-xx", RunStarted{}, RunInterrupted{ExitCode: 130})
	add(t, l, "20260103-yy", RunSkipped{Holder: "20260102-xx"})
	for arg, want := range map[string]string{
		"20260101-aa": "20260101-aa", "20260102": "20260102-xx", "last": "20260102-xx", "20260103": "20260103-yy",
		"20260101-a": "several", "2026": "several", "x": "no run", "": "no run", "20260101-aaa": "no run",
	} {
		r, err := l.Find(t.Context(), arg)
		switch {
		case want == "several" || want == "no run":
			e, ok := errors.AsType[*NoRunError](err)
			if !ok || (len(e.Many) > 0) != (want == "several") || !strings.Contains(e.Error(), want) || e.Hint() == "" {
				t.Errorf("%q: %v, %v", arg, r.ID, err)
			}
		case err != nil || r.ID != want:
			t.Errorf("%q is %q, %v", arg, r.ID, err)
		}
	}
	runs := must[[]Run](t)(l.Runs(t.Context()))
	var got []string
	for _, r := range runs {
		got = append(got, fmt.Sprintf("%s %s %t", r.ID, r.Outcome, r.Unfinished()))
	}
	if diff := cmp.Diff([]string{"20260103-yy skipped false", "20260102-xx interrupted true", "20260101-ab running true", "20260101-aa done false"}, got); diff != "" {
		t.Error(diff)
	}
	first := runs[3]
	if diff := cmp.Diff([]string{"z", "a"}, first.Experiments); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"xrun", "run"}, first.Command); diff != "" || first.PlanDigest != "d" || first.ExitCode == nil || *first.ExitCode != 0 {
		t.Errorf("%+v", first)
	}
}

func TestAResumedRunIsUnfinishedAgain(t *testing.T) {
	l := open(t, t.TempDir())
	add(t, l, "r", RunStarted{PlanDigest: "1"}, RunInterrupted{ExitCode: 130}, RunResumed{PlanDigest: "2"})
	r := must[Run](t)(l.Find(t.Context(), "r"))
	if r.Outcome != "running" || r.ExitCode != nil || r.PlanDigest != "2" || !r.Unfinished() {
		t.Errorf("%+v", r)
	}
	add(t, l, "r", RunFinished{Outcome: "some_failed", ExitCode: 3})
	if r = must[Run](t)(l.Find(t.Context(), "r")); r.Unfinished() || *r.ExitCode != 3 || r.Outcome != "some_failed" {
		t.Errorf("%+v", r)
	}
}

func TestASuccessStaysOverLaterFailures(t *testing.T) {
	l := open(t, t.TempDir())
	k := trialKey("e", 1)
	state := func() State {
		rs := results(t, l)
		if len(rs) != 1 {
			t.Fatalf("%+v", rs)
		}
		return rs[0].State
	}
	night := func(run string, s State) {
		add(t, l, run, RunStarted{})
		add(t, l, run, attempted(k, "p", s)...)
	}
	night("1", Failed)
	if state() != Failed || must[*ReusedFrom](t)(l.Reusable(t.Context(), k.Trial)) != nil {
		t.Error("a failure can be reused")
	}
	night("2", Succeeded)
	night("3", Failed)
	if r := results(t, l)[0]; r.State != Succeeded || r.Run != "2" || r.Code != "c" || r.DurationS != 1 {
		t.Errorf("%+v", r)
	}
	night("4", Succeeded)
	night("5", Cancelled)
	add(t, l, "6", RunStarted{}, planned(k, "p"), TrialFinished{Key: k, State: Reused, Reused: must[*ReusedFrom](t)(l.Reusable(t.Context(), k.Trial))})
	twin := ended(k, 2, Superseded)
	twin.Twin = true
	add(t, l, "6", intended(k, 2), twin)
	if from := must[*ReusedFrom](t)(l.Reusable(t.Context(), k.Trial)); from.Run != "4" || state() != Succeeded {
		t.Errorf("reused from run %s", from.Run)
	}
}

func TestAReusedResultBringsItsSeries(t *testing.T) {
	l := open(t, t.TempDir())
	k, twin := trialKey("e", 1), Key{"other", "t1"}
	one, five := Number(1), Number(5)
	series := func(k Key, n int, metric string, v Number) MetricValues {
		return MetricValues{Attempt: Attempt{k, n}, Metric: metric, Values: []MetricValue{{Value: v, Step: &one, Line: 3}}}
	}
	add(t, l, "1", RunStarted{}, planned(k, "p"), planned(twin, "q"))
	add(t, l, "1", intended(k, 1), series(k, 1, "loss", 9), ended(k, 1, Failed))
	add(t, l, "1", intended(k, 2), series(k, 2, "loss", 2), series(twin, 2, "loss", 7), series(k, 2, "acc", 3), series(k, 2, "loss", 1))
	add(t, l, "1", ended(k, 2, Succeeded), TrialFinished{Key: k, State: Succeeded, Attempt: 2})
	add(t, l, "2", RunStarted{}, planned(k, "p"), series(k, 2, "loss", five))
	from := must[*ReusedFrom](t)(l.Reusable(t.Context(), k.Trial))
	want := &ReusedFrom{Run: "1", Outcome: ended(k, 2, Succeeded), Series: []MetricValues{series(k, 2, "loss", 2), series(k, 2, "acc", 3), series(k, 2, "loss", 1)}}
	if diff := cmp.Diff(want, from); diff != "" {
		t.Error(diff)
	}
	if from := must[*ReusedFrom](t)(l.Reusable(t.Context(), "unknown")); from != nil {
		t.Errorf("%+v", from)
	}
}

func TestPointsNameTheNewestTrialThere(t *testing.T) {
	l := open(t, t.TempDir())
	add(t, l, "1", RunStarted{})
	add(t, l, "1", attempted(trialKey("e", 1), "p", Succeeded)...)
	add(t, l, "2", RunStarted{})
	add(t, l, "2", attempted(trialKey("e", 2), "p", Failed)...)
	add(t, l, "2", planned(trialKey("e", 3), "q"), TrialFinished{Key: trialKey("e", 3), State: NotRun})
	add(t, l, "3", RunStarted{}, planned(trialKey("e", 4), "p"), intended(trialKey("e", 4), 1))
	got := collect(t, l.Points(t.Context()))
	if len(got) != 1 || got[0].Point != "p" || got[0].Trial != "t2" || got[0].State != Failed || got[0].Code != "c" || got[0].DurationS != 1 {
		t.Fatalf("%+v", got)
	}
	if parts := must[map[string]string](t)(got[0].Parts()); parts["seed"] != "0" {
		t.Errorf("parts %v", parts)
	}
	for r, err := range l.Points(t.Context()) {
		if err != nil || r.Point == "" {
			t.Errorf("%+v, %v", r, err)
		}
		break // whoever has read enough may stop
	}
}

func TestCodesAreKeptOnce(t *testing.T) {
	l := open(t, t.TempDir())
	files := []CodeFile{{Path: "a", Mode: "100644", SHA256: "1", Size: 3}, {Path: "b", Ignored: true}}
	add(t, l, "1", CodeStored{ID: "c", Files: files}, CodeStored{ID: "empty"})
	add(t, l, "2", CodeStored{ID: "c"})
	for id, want := range map[string][]CodeFile{"c": files, "empty": {}, "unknown": nil} {
		if diff := cmp.Diff(want, must[[]CodeFile](t)(l.Code(t.Context(), id))); diff != "" {
			t.Errorf("%s:\n%s", id, diff)
		}
	}
}

func TestPreviousIsTheNewestRunWithAllTheExperiments(t *testing.T) {
	l := open(t, t.TempDir())
	for id, experiments := range map[string]string{"1": "a b", "2": "a", "3": "b a c", "4": "", "6": "c", "7": "a b"} {
		add(t, l, id, RunStarted{})
		for _, e := range strings.Fields(experiments) {
			add(t, l, id, ExperimentPlanned{Name: e})
		}
	}
	add(t, l, "5", RunSkipped{})
	for _, c := range []struct{ run, experiments, want string }{
		{"7", "a b", "3"}, {"7", "c", "6"}, {"7", "a c", "3"}, {"3", "a", "2"}, {"3", "a b", "1"}, {"3", "c", ""}, {"1", "a", ""}, {"7", "", ""}, {"7", "a d", ""},
	} {
		if got := must[string](t)(l.Previous(t.Context(), c.run, strings.Fields(c.experiments))); got != c.want {
			t.Errorf("before %s with %q: %q, want %q", c.run, c.experiments, got, c.want)
		}
	}
}

func TestSkippedStartsBelongToTheRunBeforeThem(t *testing.T) {
	l := open(t, t.TempDir())
	add(t, l, "1", RunStarted{})
	add(t, l, "2", RunSkipped{Holder: "1"})
	add(t, l, "3", RunSkipped{Holder: "1"})
	add(t, l, "4", RunStarted{})
	add(t, l, "5", RunSkipped{Holder: "4"})
	for run, want := range map[string]string{"1": "2 3", "4": "5", "5": ""} {
		var got []string
		for _, e := range must[[]Event](t)(l.Skipped(t.Context(), run)) {
			got = append(got, e.Run)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("because of %s: %q, want %q", run, got, want)
		}
	}
}

func TestAttemptsWithoutAnOutcomeAreOpen(t *testing.T) {
	l := open(t, t.TempDir())
	a, b, c := trialKey("e", 1), trialKey("e", 2), trialKey("f", 1)
	add(t, l, "1", RunStarted{}, planned(a, "p"), planned(b, "q"), planned(c, "r"))
	add(t, l, "1", intended(b, 1), intended(a, 1), ended(a, 1, Failed), intended(a, 2), AttemptStarted{Attempt: Attempt{a, 2}}, intended(c, 1))
	add(t, l, "2", RunStarted{}, planned(a, "p"), intended(a, 1), ended(a, 1, Succeeded), intended(a, 2))
	open := func() []string {
		var got []string
		for _, o := range must[[]OpenAttempt](t)(l.OpenAttempts(t.Context())) {
			got = append(got, fmt.Sprintf("%s/%s/%s/%d on %s as %s", o.Run, o.Experiment, o.Trial, o.Attempt.Attempt, o.Host, o.Job))
		}
		return got
	}
	if diff := cmp.Diff([]string{"1/e/t2/1 on h as e.t2.1", "1/e/t1/2 on h as e.t1.2", "1/f/t1/1 on h as f.t1.1", "2/e/t1/2 on h as e.t1.2"}, open()); diff != "" {
		t.Error(diff)
	}
	add(t, l, "1", ended(b, 1, Cancelled), ended(c, 1, Lost))
	add(t, l, "2", ended(a, 2, Superseded))
	if diff := cmp.Diff([]string{"1/e/t1/2 on h as e.t1.2"}, open()); diff != "" {
		t.Error(diff)
	}
}

func TestAnEmptyReaderKnowsNothing(t *testing.T) {
	l := openReader(t, t.TempDir())
	ctx := t.Context()
	if n := len(must[[]Run](t)(l.Runs(ctx))) + len(results(t, l)) + len(collect(t, l.Points(ctx))) +
		len(must[[]CodeFile](t)(l.Code(ctx, "c"))) + len(must[[]OpenAttempt](t)(l.OpenAttempts(ctx))) + len(must[[]Event](t)(l.Skipped(ctx, "r"))) + len(all(t, l, "r")); n != 0 {
		t.Errorf("it knows %d things", n)
	}
	if must[string](t)(l.Previous(ctx, "r", []string{"e"})) != "" || must[*ReusedFrom](t)(l.Reusable(ctx, "t")) != nil {
		t.Error("it has a past")
	}
	if _, err := l.Find(ctx, "last"); err == nil {
		t.Error("it has a run")
	}
}
