package report_test

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/xrun-dev/xrun/internal/ledger"
	"github.com/xrun-dev/xrun/internal/report"
)

// A ledger may come from a colleague, and a host's clock may be anything.
func TestNumbersAndTimesThatJSONDoesNotHoldAreNull(t *testing.T) {
	b := newRun("odd").sweep("lr", 1, "minimize val_loss", "lr=1")
	a := b.start("lr", "lr=1 seed=0")
	f := b.wait(1).outcome(a, 1)
	f.Started = ptr(time.Date(9999, 12, 31, 23, 59, 59, 0, time.FixedZone("", -20*3600)))
	b.add(f)
	for range 2 {
		b.add(ledger.TurnFinished{Usage: ledger.Usage{USD: ptr(1e308)}})
	}
	r := report.Fold(b.events).Report(report.Options{})
	if !json.Valid(r.JSON()) {
		t.Error("not JSON")
	}
	if tr := r.Experiments[0].Trials[0]; tr.Started != nil || tr.Attempts[0].Started != nil || r.Totals.Agent.USD != nil {
		t.Errorf("%v %v %v", tr.Started, tr.Attempts[0].Started, r.Totals.Agent.USD)
	}
}

func TestInterruptionAfterTheEndSaysNothingMore(t *testing.T) {
	l := report.NewLive(io.Discard, false)
	for _, e := range reused().add(ledger.RunInterrupted{}).events {
		e.Run = ""
		l.Handle(e)
	}
}

// An id says nothing of the experiment: two of them may plan the same trial.
func TestTrialOfTwoExperimentsFailsInEachByItself(t *testing.T) {
	b := newRun("twins").sweep("lr", 1, "minimize val_loss", "lr=1").sweep("lxx", 1, "minimize val_loss", "lr=1")
	b.fail("lr", "lr=1 seed=0", "exit", "exit 1", "boom")
	b.ok("lxx", "lr=1 seed=0", 1)
	r := report.Fold(b.events).Report(report.Options{})
	if f := r.Failures[0]; f.Count != 1 || len(f.Trials) != 1 {
		t.Errorf("%+v", f)
	}
	if md := string(r.Markdown()); !strings.Contains(md, "\n\nIn **lr**: `lr=1 seed=0`, on gpu-a.") {
		t.Errorf("it names a trial that did not fail:\n%s", md)
	}
}

func TestSkippedRunIsNotToBeResumed(t *testing.T) {
	e := ledger.New("20260110-aaaa", newRun("").at, ledger.RunSkipped{Command: []string{"xrun", "run"}, Holder: "20260109-aaaa"})
	md := string(report.Fold([]ledger.Event{e}).Report(report.Options{}).Markdown())
	if !strings.HasPrefix(md, "# Skipped: run 20260109-aaaa was active\n") || strings.Contains(md, "resume") {
		t.Error(md)
	}
}

// A start that is skipped while another xrun is just starting finds nobody's name.
func TestSkippedBecauseOfSomebodyWithoutAName(t *testing.T) {
	e := ledger.New("20260110-aaaa", newRun("").at, ledger.RunSkipped{Command: []string{"xrun", "run"}})
	r := report.Fold([]ledger.Event{e}).Report(report.Options{})
	if md := string(r.Markdown()); !strings.HasPrefix(md, "# Skipped: another xrun was active\n") || strings.Contains(md, "xrun status ''") {
		t.Error(md)
	}
	md := string(report.Fold(newRun("r").done("done", 0).events).Report(report.Options{Skipped: []ledger.Event{e}}).Markdown())
	if !strings.Contains(md, "found another run active and did nothing") || strings.Contains(md, " was active)") {
		t.Error(md)
	}
}

func TestTextThatMarkdownCouldReadIsCode(t *testing.T) {
	for _, s := range []string{"- x", "1. x", "2) x", "--- x", "=== x", ":tada: x", "x $a_b$ y", "$x$"} {
		b := newRun("text").add(ledger.Warning{Message: s})
		md := string(report.Fold(b.events).Report(report.Options{}).Markdown())
		_, line, _ := strings.Cut(md, "## Worth knowing\n\n- ")
		line, _, _ = strings.Cut(line, "\n")
		if !strings.Contains(line, "`") {
			t.Errorf("%q stands as it is: %s", s, line)
		}
	}
	for _, s := range []string{"half-done", "Took 1.5 s: 3 of 4", "it's (a) b; c"} {
		b := newRun("text").add(ledger.Warning{Message: s})
		if md := string(report.Fold(b.events).Report(report.Options{}).Markdown()); strings.Contains(md, "`"+s) {
			t.Errorf("%q is code for nothing", s)
		}
	}
}

func TestStateDirectoryIsPartOfTheNextCommand(t *testing.T) {
	b := interrupted()
	s := b.events[0].Body.(ledger.RunStarted)
	s.Command = []string{"xrun", "-C", "model", "run", "--state=/data/x y", "exp/"}
	b.events[0].Body = s
	_, argv := report.Fold(b.events).Next()
	if got := strings.Join(argv, "|"); got != "xrun|-C|model|--state=/data/x y|resume|20260105-aaaa" {
		t.Error(got)
	}
}

func TestLargeCountsOfAMetricStayWhole(t *testing.T) {
	b := newRun("tokens").sweep("lr", 1, "minimize val_loss", "lr=1,2,3")
	for i, lr := range []string{"1", "2", "3"} {
		b.ok("lr", "lr="+lr+" seed=0", float64(i))
		for j := range b.events {
			if f, ok := b.events[j].Body.(ledger.AttemptFinished); ok {
				f.Metrics["acc"] = 1234567
				b.events[j].Body = f
			}
		}
	}
	if md := string(report.Fold(b.events).Report(report.Options{}).Markdown()); !strings.Contains(md, "| 1234567 |") {
		t.Error(md)
	}
}

// Of a hundred thousand trials that ended it keeps how, not what each attempt found.
func TestLiveForgetsTheTrialsThatEnded(t *testing.T) {
	b := newRun("long").sweep("lr", 1, "minimize val_loss", "lr=1")
	b.ok("lr", "lr=1 seed=0", 0.5)
	l := report.NewLive(io.Discard, false)
	for _, e := range b.events {
		l.Handle(e)
	}
	d, err := l.State().ShowJSON("lr", "tl00")
	if err != nil {
		t.Fatal(err)
	}
	if d := d.(report.TrialDetail); len(d.Series) != 0 || len(d.Attempts) != 0 {
		t.Errorf("%d series, %d attempts", len(d.Series), len(d.Attempts))
	}
}

// The commit that mends the cause makes every trial a new one: nothing would be left for --rerun failed.
func TestNextAfterFailuresSurvivesAChangeOfTheCode(t *testing.T) {
	_, argv := report.Fold(failures().events).Next()
	if got := strings.Join(argv, " "); got != "xrun run exp/" {
		t.Error(got)
	}
}

func TestLongValuesKeepTheirEndsAndTheSeed(t *testing.T) {
	long := "facebook/opt-1.3b-some-very-long-model-identifier-with-suffix-2024-11-"
	b := newRun("names").sweep("lr", 2, "minimize val_loss", "model="+long+"29,"+long+"30", "depth=3")
	b.ok("lr", "model="+long+"29 depth=3 seed=0", 0.5)
	b.fail("lr", "model="+long+"30 depth=3 seed=1", "exit", "exit 1", "")
	md := string(report.Fold(b.events).Report(report.Options{}).Markdown())
	for _, want := range []string{"2024-11-29 | ", "2024-11-30 | ", "Values with … in them are whole in report.json.", "seed=1`, on gpu-a"} {
		if !strings.Contains(md, want) {
			t.Errorf("no %q in\n%s", want, md)
		}
	}
}

func TestRunOfNothingLostNothing(t *testing.T) {
	now := newRun("20260103-aaaa").plan("lr", 0, "minimize val_loss", nil, nil).done("done", 0)
	md := string(report.Fold(now.events).Report(report.Options{Previous: report.Fold(good("20260102-aaaa").events)}).Markdown())
	if !strings.HasPrefix(md, "# No trials: nothing was run\n") || strings.Contains(md, "gone") || strings.Contains(md, "any more") {
		t.Error(md)
	}
}

func TestFurtherMetricsAreAFew(t *testing.T) {
	b := newRun("wide").sweep("lr", 1, "minimize val_loss", "lr=1,2")
	b.ok("lr", "lr=1 seed=0", 1)
	for i := range b.events {
		switch e := b.events[i].Body.(type) {
		case ledger.ExperimentPlanned:
			e.Metrics = []string{"m1", "m2", "m3", "m4", "m5", "m6"}
			b.events[i].Body = e
		case ledger.AttemptFinished:
			e.Metrics = map[string]ledger.Number{"m2": 1, "m3": 2, "m4": 3, "m5": 4, "m6": 5}
			b.events[i].Body = e
		}
	}
	md := string(report.Fold(b.events).Report(report.Options{}).Markdown())
	if !strings.Contains(md, "| val_loss | m2 | m3 | m4 | m5 |  |") {
		t.Errorf("not the first four that were measured:\n%s", md)
	}
}
