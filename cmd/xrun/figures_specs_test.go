package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/xrun-dev/xrun/internal/ledger"
	"github.com/xrun-dev/xrun/internal/plan"
	"github.com/xrun-dev/xrun/internal/plan/specfile"
)

// allFigures makes what is measured, below dir. The first is the idle process.
func allFigures(b *testing.B, dir string) []figure {
	b.Helper()
	figures := []figure{
		{what: "version", args: []string{"version"}, wall: 30 * time.Millisecond},
		{what: "--help", args: []string{"--help"}, wall: 30 * time.Millisecond},
	}
	small, large := noopSpec(b, dir, 10_000), noopSpec(b, dir, 100_000)
	state, edited := knownState(b, dir, large), filepath.Join(dir, "edited")
	write(b, edited, "noop.cue", noopText(100_000))
	write(b, edited, "train.py", "print('more')\n")
	for _, f := range []figure{
		{what: "plan, 10,000 trials", dir: small, wall: 250 * time.Millisecond},
		{what: "plan -o json, 10,000 trials", dir: small, args: []string{"-o", "json"}, wall: 250 * time.Millisecond},
		{what: "plan, 100,000 trials", dir: large, wall: 1500 * time.Millisecond},
		{what: "plan -o json, 100,000 trials", dir: large, args: []string{"-o", "json"}, wall: 1500 * time.Millisecond},
		{what: "plan, 100,000 trials of 5 parameters", dir: wideSpec(b, dir), wall: 1500 * time.Millisecond},
		{what: "plan, 100,000 trials with results", dir: large, args: []string{"--state", state}, wall: 3 * time.Second},
		{what: "plan, 100,000 trials with results of other code", dir: edited, args: []string{"--state", state}, wall: 3 * time.Second},
	} {
		f.args = append([]string{"plan"}, f.args...)
		f.extra = 100
		figures = append(figures, f)
	}
	cue := filepath.Join(dir, "cue")
	for _, n := range []int{1, 100, 1000} {
		what := fmt.Sprintf("vet, %s experiments", thousands(n))
		if n == 1 {
			what = "vet, 1 experiment"
		}
		figures = append(figures, figure{what: what, dir: experimentSpec(b, dir, n), args: []string{"vet"}, peer: peer{name: "cue vet", argv: []string{cue, "vet", "-c", "."}}})
	}
	for _, n := range []int{100, 1000} {
		figures = append(figures, figure{what: fmt.Sprintf("vet, %s packages", thousands(n)), dir: packageSpec(b, dir, n), args: []string{"vet", "./..."}, peer: peer{name: "cue vet", argv: []string{cue, "vet", "-c", "./..."}}})
	}
	figures = append(figures, ledgerFigures(b, dir)...)
	for i := range figures {
		if figures[i].dir == "" {
			figures[i].dir = dir
		}
		if figures[i].peer.name != "" && !strings.Contains(figures[i].what, " 1 ") {
			figures[i].ratio = 1.5
		}
	}
	return append(append(figures, startFigure(large)), runFigures(b, dir)...)
}

func thousands(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%d,%03d", n/1000, n%1000)
}

func write(b *testing.B, dir, name, text string) {
	b.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
}

// noopSpec is a sweep of n trials of one parameter that do nothing.
func noopSpec(b *testing.B, dir string, n int) string {
	b.Helper()
	dir = filepath.Join(dir, fmt.Sprintf("noop-%d", n))
	write(b, dir, "noop.cue", noopText(n))
	return dir
}

func noopText(n int) string {
	return fmt.Sprintf(`package noop

hosts: local: {kind: "local", slots: 8}
experiments: noop: {
	command: ["/bin/echo", "acc=0.{i}"]
	objective: {metric: "acc", direction: "maximize"}
	sweep: {grid: i: {from: 1, to: %d, step: 1}, max_trials: 1000000}
}
`, n)
}

// wideSpec is a sweep of 100,000 trials as people write them.
func wideSpec(b *testing.B, dir string) string {
	b.Helper()
	dir = filepath.Join(dir, "wide")
	write(b, dir, "wide.cue", `package wide

hosts: local: {kind: "local", slots: 8}
experiments: wide: {
	command: ["python", "train.py", "{params:--}", "--out={xrun.out}"]
	env: OMP_NUM_THREADS: "{depth}"
	params: {batch: 32, model: "base"}
	objective: {metric: "acc", direction: "maximize"}
	seeds: 4
	sweep: {
		grid: {lr: {from: 0.0001, to: 0.1, points: 50, log: true}, depth: {from: 1, to: 100, step: 1}, optimizer: ["sgd", "adam", "lion", "muon", "adagrad"]}
		max_trials: 1000000
	}
}
`)
	return dir
}

const schemaImport = "package exp\n\nimport \"github.com/xrun-dev/xrun/schema\"\n\n"

func experimentText(name string) string {
	return fmt.Sprintf(`experiments: "%s": schema.#Experiment & {
	command: ["python", "train.py", "--lr={lr}", "--batch={batch}", "--seed={seed}"]
	objective: {metric: "loss", direction: "minimize"}
	sweep: grid: {lr: [1e-2, 1e-3, 1e-4], batch: [32, 64]}
	seeds: 3
	needs: gpus: 1
	limits: trial: "2h"
}
`, name)
}

const machineText = "hosts: box: schema.#Host & {kind: \"local\", gpus: 4}\n"

// module makes a module with the schema in it, so that plain cue finds it too.
func module(b *testing.B, dir string) {
	b.Helper()
	write(b, dir, "cue.mod/module.cue", "module: \"example.com/figures@v0\"\nlanguage: version: \"v0.17.0\"\n")
	if _, err := specfile.Vendor(dir); err != nil {
		b.Fatal(err)
	}
}

// experimentSpec is one file of n experiments.
func experimentSpec(b *testing.B, dir string, n int) string {
	b.Helper()
	dir = filepath.Join(dir, fmt.Sprintf("experiments-%d", n))
	module(b, dir)
	var text strings.Builder
	text.WriteString(schemaImport + machineText)
	for i := range n {
		text.WriteString(experimentText(fmt.Sprintf("e-%d", i)))
	}
	write(b, dir, "exp.cue", text.String())
	return dir
}

// packageSpec is n packages of one experiment each.
func packageSpec(b *testing.B, dir string, n int) string {
	b.Helper()
	dir = filepath.Join(dir, fmt.Sprintf("packages-%d", n))
	module(b, dir)
	for i := range n {
		text := schemaImport + experimentText(fmt.Sprintf("e-%d", i))
		if i == 0 {
			text += machineText
		}
		write(b, dir, fmt.Sprintf("p%d/exp.cue", i), text)
	}
	return dir
}

// knownState is a state directory in which every trial of a spec has a result.
func knownState(b *testing.B, dir, spec string) string {
	b.Helper()
	state := filepath.Join(dir, "state")
	if err := makeState(state); err != nil {
		b.Fatal(err)
	}
	a := &app{now: time.Now, globals: globals{Dir: spec, State: state}}
	j, err := a.load(b.Context(), nil)
	if err != nil {
		b.Fatal(err)
	}
	p, err := buildPlan(j.basis(plan.History{}))
	if err != nil {
		b.Fatal(err)
	}
	l, err := ledger.Open(b.Context(), state)
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	add := func(bodies ...ledger.Body) {
		events := make([]ledger.Event, len(bodies))
		for i, body := range bodies {
			events[i] = ledger.New("20260101-aaaa", time.Unix(0, 0), body)
		}
		if err := l.Append(b.Context(), events...); err != nil {
			b.Fatal(err)
		}
	}
	add(ledger.RunStarted{})
	for _, pe := range p.Experiments {
		add(ledger.CodeStored{ID: pe.Code.ID})
		var bodies []ledger.Body
		for i := range pe.Trials {
			bodies = append(bodies, succeeded(b, pe.Name, &pe.Trials[i])...)
			if len(bodies) >= 4000 || i == len(pe.Trials)-1 {
				add(bodies...)
				bodies = bodies[:0]
			}
		}
	}
	return state
}

// succeeded are the events of a trial that did.
func succeeded(b *testing.B, experiment string, t *plan.Trial) []ledger.Body {
	b.Helper()
	params, err := json.Marshal(t.Params)
	if err != nil {
		b.Fatal(err)
	}
	k := ledger.Key{Experiment: experiment, Trial: t.ID}
	return []ledger.Body{
		ledger.TrialPlanned{
			Key: k, Params: params, Seed: t.Seed, Point: plan.PointKey(experiment, t.Params, t.Seed),
			Code: t.Code, Command: t.Command(), Parts: t.Parts(), Why: "new",
		},
		ledger.AttemptIntended{Attempt: ledger.Attempt{Key: k, Attempt: 1}, Host: "local"},
		ledger.AttemptFinished{Attempt: ledger.Attempt{Key: k, Attempt: 1}, State: ledger.Succeeded, DurationS: 1},
		ledger.TrialFinished{Key: k, State: ledger.Succeeded, Attempt: 1},
	}
}
