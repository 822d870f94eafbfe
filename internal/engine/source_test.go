package engine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/xrun-dev/xrun/internal/hosts/hosttest"
	"github.com/xrun-dev/xrun/internal/ledger"
	"github.com/xrun-dev/xrun/internal/plan"
)

// leaves is a script that leaves these files and prints log.
func leaves(files map[string]string, log string) func(job) hosttest.Script {
	return func(job) hosttest.Script {
		return hosttest.Script{Took: time.Minute, Artifacts: files, Log: log}
	}
}

func TestAnObjectiveFromAFile(t *testing.T) {
	for name, c := range map[string]struct {
		from    plan.Source
		files   map[string]string
		log     string
		want    float64 // of the objective
		cause   Cause
		message string
	}{
		"json":              {plan.Source{Kind: "json", File: "metrics.json", Pointer: "/test/acc"}, map[string]string{"metrics.json": `{"test": {"acc": 0.91}}`}, "loss: 7\n", 0.91, "", ""},
		"csv by a glob":     {plan.Source{Kind: "csv", File: "logs/**/*.csv", Column: "loss"}, map[string]string{"logs/a/v.csv": "epoch,loss\n1,3\n2,2.5\n"}, "", 2.5, "", ""},
		"regex":             {plan.Source{Kind: "regex", Pattern: `Top-1 (?P<value>[\d.]+)%`}, nil, "loss: 7\nTop-1 71.5%\n", 71.5, "", ""},
		"log said outright": {plan.Source{Kind: "log"}, nil, "loss: 7\n", 7, "", ""},
		"no file":           {plan.Source{Kind: "json", File: "metrics.json", Pointer: "/acc"}, map[string]string{"metric.json": "{}"}, "loss: 7\n", 0, CauseNoMetric, "left no metrics.json, where loss is read; it left metric.json"},
		"another place":     {plan.Source{Kind: "json", File: "m.json", Pointer: "/acc"}, map[string]string{"m.json": `{"val": {"acc": 1}}`}, "", 0, CauseNoMetric, "left m.json without /acc; it has /val/acc = 1, line 1"},
		"no such column":    {plan.Source{Kind: "csv", File: "m.csv", Column: "acc"}, map[string]string{"m.csv": "epoch,val_acc\n1,0.5\n"}, "", 0, CauseNoMetric, "left m.csv without column acc; it has val_acc = 0.5, line 2"},
		"no number":         {plan.Source{Kind: "json", File: "m.json", Pointer: "/acc"}, map[string]string{"m.json": `{"acc": "9%"}`}, "", 0, CauseMetricError, "m.json: line 1, column 9"},
		"decimal comma":     {plan.Source{Kind: "csv", File: "m.csv", Column: "loss"}, map[string]string{"m.csv": "epoch,loss\n1,0,3\n"}, "", 0, CauseMetricError, `m.csv: line 2, column 3: loss is printed as "0,3"`},
		"row names":         {plan.Source{Kind: "csv", File: "m.csv", Column: "loss"}, map[string]string{"m.csv": "loss\trate\n1\t0.5\t0.1\n"}, "", 0, CauseMetricError, "m.csv: line 2, column 1"},
		"empty cell at end": {plan.Source{Kind: "csv", File: "m.csv", Column: "loss"}, map[string]string{"m.csv": "epoch,loss\n1,0.5,\n"}, "", 0.5, "", ""},
		"several files":     {plan.Source{Kind: "json", File: "*.json", Pointer: "/acc"}, map[string]string{"a.json": "{}", "b.json": "{}"}, "", 0, CauseMetricError, "*.json is 2 files, and can be only one: a.json, b.json"},
		"diverged":          {plan.Source{Kind: "json", File: "m.json", Pointer: "/acc"}, map[string]string{"m.json": `{"acc": NaN}`}, "", 0, CauseDiverged, "not finite (line 1 of m.json)"},
		"no match":          {plan.Source{Kind: "regex", Pattern: `Top-1 (?P<value>[\d.]+)%`}, nil, "loss: 7\n", 0, CauseNoMetric, "never printed anything that matches the pattern of loss"},
		"no group":          {plan.Source{Kind: "regex", Pattern: `\(?P<value>7`}, nil, "loss: 7\nP<value>7\n", 0, CauseNoMetric, "never printed anything that matches the pattern of loss"},
		"no pattern":        {plan.Source{Kind: "regex", Pattern: `(?P<value>`}, nil, "loss: 7\n", 0, CauseNoMetric, "never printed anything that matches the pattern of loss"},
		"part of a number":  {plan.Source{Kind: "regex", Pattern: `loss: (?P<value>\d+)`}, nil, "loss: 7.5\n", 0, CauseMetricError, `printed as "7.5"`},
	} {
		t.Run(name, func(t *testing.T) {
			inLab(t, 1, func(e *plan.Experiment) { e.Objective.From = &c.from }, func(l *lab) {
				l.host("a", 1, leaves(c.files, c.log))
				l.run("r1")
				f := bodies[ledger.AttemptFinished](l, "r1")[0]
				if Cause(f.Cause) != c.cause || !strings.Contains(f.Message, c.message) {
					t.Errorf("cause %q: %s", f.Cause, f.Message)
				}
				if c.cause == "" && (f.Objective == nil || float64(*f.Objective) != c.want) {
					t.Errorf("objective %v", f.Objective)
				}
			})
		})
	}
}

func TestAFileGivesASeriesToo(t *testing.T) {
	inLab(t, 1, func(e *plan.Experiment) {
		e.Objective.From = &plan.Source{Kind: "csv", File: "m.csv", Column: "loss"}
	}, func(l *lab) {
		l.host("a", 1, leaves(map[string]string{"m.csv": "epoch,loss\n1,3\n2,2.5\n"}, ""))
		l.run("r1")
		s := bodies[ledger.MetricValues](l, "r1")
		if len(s) != 1 || len(s[0].Values) != 2 || *s[0].Values[1].Step != 2 || s[0].Values[1].Value != 2.5 {
			t.Errorf("%+v", s)
		}
	})
}

func TestAMetricThatIsReadFromAFileNowIsReadAgain(t *testing.T) {
	inLab(t, 1, func(e *plan.Experiment) {
		e.Metrics = map[string]plan.Metric{"acc": {Pick: "last"}}
	}, func(l *lab) {
		l.host("a", 1, leaves(map[string]string{"m.json": `{"acc": 0.75}`}, "loss: 1\nacc: 0.5\n"))
		l.run("r1")
		l.spec.Experiments[0].Metrics["acc"] = plan.Metric{Pick: "last", From: &plan.Source{Kind: "json", File: "m.json", Pointer: "/acc"}}
		l.run("r2")
		reused := bodies[ledger.TrialFinished](l, "r2")
		if len(reused) != 1 || reused[0].State != ledger.Reused || reused[0].Reused.Outcome.Metrics["acc"] != 0.75 {
			t.Errorf("%+v", reused)
		}
	})
}

func TestALinkThatIsNoFileIsAboutTheResult(t *testing.T) {
	dir := t.TempDir()
	for link, to := range map[string]string{"dir.json": "d", "loop.json": "loop.json", "through.json": "file/x", "gone.json": "none"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "d"), 0o700); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		"dir.json": "dir.json leads to a directory and not to a file", "loop.json": "loop.json is a link that leads nowhere",
		"through.json": "through.json is a link that leads nowhere", "gone.json": "left gone.json, where acc is read, but it is gone",
	} {
		w := newWanted("acc", "last", &plan.Source{Kind: "json", File: file, Pointer: "/acc"})
		f, err := w.read(dir, []string{file}, nil, nil)
		if got := f.Problem + f.missing; err != nil || f.Found || got != want {
			t.Errorf("%s: %q, %v", file, got, err)
		}
	}
}
