package report_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/xrun-dev/xrun/internal/citest"
	"github.com/xrun-dev/xrun/internal/ledger"
	"github.com/xrun-dev/xrun/internal/plan"
	"github.com/xrun-dev/xrun/internal/report"
)

func TestReportsOfOneLedgerAreByteEqual(t *testing.T) {
	for name, b := range worlds() {
		first := report.Fold(b.events).Report(report.Options{Previous: report.Fold(good("older").events)})
		for range 10 {
			r := report.Fold(b.events).Report(report.Options{Previous: report.Fold(good("older").events)})
			if !bytes.Equal(first.JSON(), r.JSON()) || !bytes.Equal(first.Markdown(), r.Markdown()) {
				t.Errorf("%s: two reports of one ledger differ", name)
			}
		}
	}
}

func TestReplayedEventsGiveTheSameReport(t *testing.T) {
	for name, b := range worlds() {
		var lines bytes.Buffer
		for _, e := range b.events {
			if err := report.WriteEvent(&lines, e); err != nil {
				t.Fatal(err)
			}
		}
		var replayed []ledger.Event
		for line := range bytes.Lines(lines.Bytes()) {
			if !bytes.HasPrefix(line, []byte(`{"schema_version":1,`)) {
				t.Fatalf("%s: %s", name, line)
			}
			var e ledger.Event
			if err := json.Unmarshal(line, &e); err != nil {
				t.Fatal(err)
			}
			replayed = append(replayed, e)
		}
		want := report.Fold(b.events).Report(report.Options{})
		got := report.Fold(replayed).Report(report.Options{})
		if name == "failures" {
			continue // nan is null in JSON: which of nan and inf it was is lost, as the report then says
		}
		if diff := cmp.Diff(string(want.Markdown()), string(got.Markdown())); diff != "" {
			t.Errorf("%s (-live +replayed):\n%s", name, diff)
		}
	}
}

// keys are those of report.json in the contract.
var keys = map[string]string{
	"":                                     "schema_version xrun_version run totals experiments failures hosts skipped_runs warnings",
	"run":                                  "id command started finished outcome exit_code plan_digest spec commit dirty host_user",
	"run.spec[]":                           "file sha256",
	"totals":                               "experiments trials gpu_hours wall_s agent",
	"totals.trials":                        "planned succeeded reused failed stopped_early cancelled lost not_run",
	"totals.agent":                         "turns tokens usd",
	"experiments[]":                        "name kind objective verdict verdict_reason baseline best effect points iterations trials stop_reason",
	"experiments[].objective":              "metric direction unit",
	"experiments[].best":                   "trial iteration n mean sd values commit command artifacts",
	"experiments[].points[]":               "params n mean sd min max ci_low ci_high rank tied_with_best trials",
	"experiments[].trials[]":               "id params seed state cause message objective metrics host gpus peak_gpu_mb gpu_util_mean attempts started duration_s exit_code log artifacts",
	"experiments[].iterations[]":           "n phase decision reason candidate tests trials metric best_before best_after agent",
	"experiments[].iterations[].candidate": "commit diff files summary",
	"failures[]":                           "cause signature count trials hosts excerpt",
	"hosts[]":                              "name kind gpus trials failed busy_s idle_s idle_why quarantined note",
}

func TestEveryKeyIsAlwaysThereAndNoListIsNull(t *testing.T) {
	lists := strings.Fields("spec command experiments points iterations trials values artifacts gpus attempts failures hosts skipped_runs warnings files notes")
	for name, b := range worlds() {
		b.add(ledger.IterationFinished{Experiment: "loop", Iteration: 1, Decision: "kept"})
		var doc any
		out := report.Fold(b.events).Report(report.Options{}).JSON()
		if err := json.Unmarshal(out, &doc); err != nil {
			t.Fatal(err)
		}
		var walk func(at string, v any)
		walk = func(at string, v any) {
			switch v := v.(type) {
			case map[string]any:
				for _, k := range strings.Fields(keys[at]) {
					if _, ok := v[k]; !ok {
						t.Errorf("%s: %s has no %s", name, at, k)
					}
				}
				for k, x := range v {
					if x == nil && slices.Contains(lists, k) {
						t.Errorf("%s: %s.%s is null", name, at, k)
					}
					walk(strings.TrimPrefix(at+"."+k, "."), x)
				}
			case []any:
				for _, x := range v {
					walk(at+"[]", x)
				}
			}
		}
		walk("", doc)
	}
}

// C02, kubeflow/katib#2723.
func TestNoWinnerWhereEverythingDiverged(t *testing.T) {
	b := newRun("nan").sweep("lr", 1, "minimize val_loss", "lr=1,2,3")
	for _, lr := range []string{"1", "2", "3"} {
		b.fail("lr", "lr="+lr+" seed=0", "diverged", "val_loss is nan", "", func(f *ledger.AttemptFinished) {
			f.Objective = ptr(ledger.Number(math.NaN()))
			f.Metrics = map[string]ledger.Number{"val_loss": ledger.Number(math.NaN())}
		})
	}
	s := report.Fold(b.done("nothing_usable", 4).events)
	r := s.Report(report.Options{})
	if x := r.Experiments[0]; x.Best != nil || x.Note == nil {
		t.Errorf("best %v, note %v", x.Best, x.Note)
	}
	if tr := r.Experiments[0].Trials[0]; tr.Objective != nil || tr.ObjectiveReason == nil || tr.MetricsReason["val_loss"] == "" {
		t.Errorf("trial %+v", tr)
	}
	if c := s.Counts(); c.WithResult != 0 || c.Trials.Failed != 3 {
		t.Errorf("counts %+v", c)
	}
}

// C52.
func TestNothingFromALogCommandsTheReader(t *testing.T) {
	b := nasty()
	var out bytes.Buffer
	r := report.Fold(b.events).Report(report.Options{})
	out.Write(r.Markdown())
	out.Write(r.JSON())
	l := report.NewLive(&out, false)
	for _, e := range b.events {
		l.Handle(e)
		if err := report.WriteEvent(&out, e); err != nil {
			t.Fatal(err)
		}
	}
	s := report.Fold(b.events)
	if err := s.Show(&out, "", ""); err != nil {
		t.Fatal(err)
	}
	for _, tr := range r.Experiments[0].Trials {
		if err := s.Show(&out, "names", tr.ID); err != nil {
			t.Fatal(err)
		}
	}
	for i, c := range out.String() {
		if c != '\n' && !unicode.IsPrint(c) && c != unicode.ReplacementChar {
			t.Fatalf("%U at %d: %q", c, i, out.String()[max(0, i-40):i])
		}
	}
}

// C52, dorny/test-reporter#795 and microsoft/markitdown#2266: whatever stands in a cell.
func TestTablesKeepTheirColumns(t *testing.T) {
	separator := regexp.MustCompile(`(?:^|[^\\])\|`)
	for name, b := range worlds() {
		want := 0
		for line := range strings.Lines(string(report.Fold(b.events).Report(report.Options{}).Markdown())) {
			if !strings.HasPrefix(line, "|") {
				want = 0
				continue
			}
			n := len(separator.FindAllString(line, -1))
			if want == 0 {
				want = n
			}
			if n != want {
				t.Errorf("%s: %d separators, not %d: %s", name, n, want, line)
			}
		}
	}
}

func TestShellReadsTheCommandBack(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		citest.Skip(t, err.Error())
	}
	var all []byte
	for c := 1; c < 256; c++ {
		all = append(all, byte(c))
	}
	argv := append([]string{"printf", `%s\n`, string(all), `it's "quoted" \ $HOME`, "~", "a=b"}, nastyStrings...)
	b := newRun("shell").sweep("train", 1, "maximize acc").ok("train", "seed=0", 1)
	for i := range b.events {
		if p, ok := b.events[i].Body.(ledger.TrialPlanned); ok {
			p.Command = argv
			b.events[i].Body = p
		}
	}
	md := string(report.Fold(b.events).Report(report.Options{}).Markdown())
	before, md, _ := strings.Cut(md, "sh\n")
	before = before[strings.LastIndex(before, "\n"):]
	line, _, _ := strings.Cut(md, before+"\n")
	line = strings.ReplaceAll(strings.TrimPrefix(line, "  "), "\n  ", "\n") // as the list item that it stands in is read
	got, err := exec.Command(bash, "-c", line).Output()
	if err != nil {
		t.Fatalf("%v: %s", err, line)
	}
	want := strings.Join(argv[2:], "\n") + "\n"
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
}

func TestUnfinishedAttemptCostsItsTime(t *testing.T) {
	got := report.Fold(interrupted().events).Counts()
	if want := round((600 + 600 + 30) / 3600.0); round(got.GPUHours) != want {
		t.Errorf("%v GPU-hours, want %v", got.GPUHours, want)
	}
	if n := got.Trials; n.Planned != 6 || n.Succeeded != 2 || n.Lost != 1 || n.NotRun != 3 {
		t.Errorf("%+v", n)
	}
}

// Trials that share a GPU are charged their part of it.
func TestSharedGPUsCostTheirPart(t *testing.T) {
	events := interrupted().events
	for i := range events {
		if p, ok := events[i].Body.(ledger.ExperimentPlanned); ok {
			p.Spec = json.RawMessage(`{"needs": {"gpus": 1, "per_gpu": 2}}`)
			events[i].Body = p
		}
	}
	if got, want := report.Fold(events).Counts().GPUHours, round((600+600+30)/3600.0/2); round(got) != want {
		t.Errorf("%v GPU-hours, want %v", got, want)
	}
}

func round(f float64) float64 { return math.Round(f*1e4) / 1e4 }

func TestTimeBetweenInterruptionAndResumeIsNobodysWork(t *testing.T) {
	b := interrupted()
	before := report.Fold(b.events).Counts().WallS
	b.wait(8*3600).add(ledger.RunResumed{PlanDigest: "p"}).wait(10).done("done", 0)
	s := report.Fold(b.events)
	if got := s.Counts().WallS; got != before+12 {
		t.Errorf("%v s, want %v", got, before+12)
	}
	if r := s.Report(report.Options{}); r.Run.Outcome != "done" || r.Hosts[0].IdleS == nil || *r.Hosts[0].IdleS > 2*r.Totals.WallS {
		t.Errorf("%+v %+v", r.Run, r.Hosts)
	}
}

func TestEventsInAnyOrderAndInPartMakeAReport(t *testing.T) {
	for name, b := range worlds() {
		for n := range b.events {
			for _, events := range [][]ledger.Event{b.events[:n], b.events[n:]} {
				r := report.Fold(events).Report(report.Options{})
				if !json.Valid(r.JSON()) || len(r.Markdown()) == 0 {
					t.Errorf("%s cut at %d", name, n)
				}
				c := r.Totals.Trials
				if sum := c.Succeeded + c.Reused + c.Failed + c.StoppedEarly + c.Cancelled + c.Lost + c.NotRun; sum != c.Planned {
					t.Errorf("%s cut at %d: %d of %d trials have a state", name, n, sum, c.Planned)
				}
			}
		}
	}
}

func TestChangesSinceTheRunBefore(t *testing.T) {
	then := newRun("20260101-aaaa").sweep("lr", 3, "minimize val_loss", "lr=0.1,0.2,0.3,0.4")
	now := newRun("20260102-aaaa").sweep("lr", 3, "minimize val_loss", "lr=0.2,0.3,0.4,0.5")
	for seed := range 3 {
		wobble := 0.001 * float64(seed)
		for i, lr := range []string{"0.1", "0.2", "0.3"} {
			then.ok("lr", fmt.Sprintf("lr=%s seed=%d", lr, seed), 0.3+0.05*float64(i)+wobble)
		}
		then.fail("lr", fmt.Sprintf("lr=0.4 seed=%d", seed), "exit", "exit 1", "")
		now.ok("lr", fmt.Sprintf("lr=0.2 seed=%d", seed), 0.32+wobble)
		now.ok("lr", fmt.Sprintf("lr=0.3 seed=%d", seed), 0.4002+wobble)
		now.ok("lr", fmt.Sprintf("lr=0.4 seed=%d", seed), 0.5+wobble)
		now.ok("lr", fmt.Sprintf("lr=0.5 seed=%d", seed), 0.6+wobble)
	}
	then.sweep("train", 1, "maximize acc").ok("train", "seed=0", 1)
	now.sweep("names", 1, "maximize acc").ok("names", "seed=0", 1)
	prev := report.Fold(then.done("some_failed", 3).events)
	skipped := ledger.New("20260101-bbbb", then.at, ledger.RunSkipped{Command: []string{"xrun", "run"}, Holder: "20260101-aaaa"})
	golden(t, "changes.md", report.Fold(now.done("done", 0).events).Report(report.Options{Previous: prev, Skipped: []ledger.Event{skipped}}).Markdown())
	md := report.Fold(then.events).Report(report.Options{Previous: prev}).Markdown()
	if !bytes.Contains(md, []byte("Nothing changed: the results are the same ones.")) {
		t.Errorf("against itself:\n%s", md)
	}
}

func TestShow(t *testing.T) {
	var out bytes.Buffer
	for _, c := range []struct {
		b                 *builder
		experiment, trial string
	}{{failures(), "", ""}, {good("20260102-aaaa"), "lr", ""}, {good("20260102-aaaa"), "lr", "tl00"}, {failures(), "lr", failures().id("lr", "lr=1 seed=0")}, {interrupted(), "lr", interrupted().id("lr", "lr=0.01 seed=0")}} {
		s := report.Fold(c.b.events)
		if err := s.Show(&out, c.experiment, c.trial); err != nil {
			t.Fatal(err)
		}
		out.WriteString("----\n")
		if v, err := s.ShowJSON(c.experiment, c.trial); err != nil {
			t.Fatal(err)
		} else if _, err := json.Marshal(v); err != nil {
			t.Fatal(err)
		}
	}
	golden(t, "show", out.Bytes())
}

func TestTrialsThatWereNotAskedForAreNotGone(t *testing.T) {
	all := newRun("20260101-aaaa").sweep("lr", 1, "minimize val_loss", "lr=1,2,3").
		ok("lr", "lr=1 seed=0", 0.1).ok("lr", "lr=2 seed=0", 0.2).fail("lr", "lr=3 seed=0", "exit", "exit status 1", "").done("some_failed", 3)
	again := newRun("20260102-aaaa").sweep("lr", 1, "minimize val_loss", "lr=3").ok("lr", "lr=3 seed=0", 0.3).done("done", 0)
	for i := range again.events {
		if e, ok := again.events[i].Body.(ledger.ExperimentPlanned); ok {
			e.Left = 2
			again.events[i].Body = e
		}
	}
	for name, c := range map[string]struct {
		now, then *builder
		want      string
	}{
		"after all":  {again, all, "1 of its 3 trials were asked for: the winners are not compared"},
		"all after":  {all, again, "1 of its 3 trials were asked for before: the winners are not compared"},
		"both a few": {again, again, "1 of its 3 trials were asked for: the winners are not compared"},
	} {
		md := string(report.Fold(c.now.events).Report(report.Options{Previous: report.Fold(c.then.events)}).Markdown())
		_, part, _ := strings.Cut(md, "## Since the run before")
		part, _, _ = strings.Cut(part, "\n## ")
		if !strings.Contains(part, c.want) || strings.Contains(part, "gone") || strings.Contains(part, " new") || strings.Contains(part, "the winner was") {
			t.Errorf("%s:\n%s", name, part)
		}
	}
}

func TestShowSaysWhichFileAValueStandsIn(t *testing.T) {
	b := newRun("20260102-aaaa").sweep("lr", 1, "minimize val_loss", "lr=1").ok("lr", "lr=1 seed=0", 0.25).done("done", 0)
	b.resolved("lr", `{"objective": {"from": {"kind": "csv", "file": "m.csv", "column": "val_loss"}}}`)
	var out bytes.Buffer
	if err := report.Fold(b.events).Show(&out, "lr", b.id("lr", "lr=1 seed=0")); err != nil {
		t.Fatal(err)
	}
	if s := out.String(); !strings.Contains(s, " of m.csv)") || strings.Contains(s, "of the log)") {
		t.Errorf("the place of the objective:\n%s", s)
	}
}

func TestRunsTable(t *testing.T) {
	var out bytes.Buffer
	skipped := []ledger.Event{ledger.New("20260110-aaaa", newRun("").at, ledger.RunSkipped{Command: []string{"xrun", "run"}, Holder: "x"})}
	rows := []report.RunRow{report.Fold(skipped).Row()}
	for _, b := range []*builder{single(), interrupted(), failures(), reused()} {
		rows = append(rows, report.Fold(b.events).Row())
	}
	rows[1].Experiments = []string{"日本語", "é"}
	if err := report.RunsTable(&out, rows); err != nil {
		t.Fatal(err)
	}
	golden(t, "runs", out.Bytes())
}

func TestLongSweepIsCutWithAPointer(t *testing.T) {
	var points []plan.Params
	for i := range 100 {
		points = append(points, plan.Params{{Name: "lr", Value: plan.IntValue(int64(i))}})
	}
	b := newRun("long").plan("lr", 1, "minimize val_loss", []ledger.Axis{{Name: "lr", Ordered: true}}, points)
	for _, key := range b.specs["lr"].order {
		b.ok("lr", key, float64(len(b.events)))
	}
	md := string(report.Fold(b.events).Report(report.Options{}).Markdown())
	if n := strings.Count(md, "\n| "); n > 40 || !strings.Contains(md, "The first 30 of 100 points") {
		t.Errorf("%d rows:\n%s", n, md)
	}
}
