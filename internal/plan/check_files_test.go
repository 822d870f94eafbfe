package plan

import "testing"

func TestPathsThatLeadElsewhereAreNamed(t *testing.T) {
	const found, shipped = " (it is looked for below XRUN_OUT, then below code.path)", " (it starts at code.path)"
	findings{
		"of what a trial leaves": {
			func(e *Experiment) {
				e.Artifacts.Paths = []string{"a", "./b/../c", "..d/x", "/abs", "../up", "a/../../b", ""}
				e.Artifacts.Keep = []string{".."}
				e.Evaluate = &Evaluate{Command: []string{"e"}, Files: []string{"ok", "/x"}}
				e.Objective.From = &Source{Kind: "json", File: "/m.json"}
				e.Metrics = map[string]Metric{"acc": {From: &Source{Kind: "csv", File: "../m.csv", Column: "x"}}, "log": {From: &Source{Kind: "log"}}}
			},
			[]string{
				`experiments.lr.objective.from.file: "/m.json" is not relative` + found,
				`experiments.lr.metrics.acc.from.file: "../m.csv" leads out of where it is looked for` + found,
				`experiments.lr.artifacts.paths.3: "/abs" is not relative` + found,
				`experiments.lr.artifacts.paths.4: "../up" leads out of where it is looked for` + found,
				`experiments.lr.artifacts.paths.5: "a/../../b" leads out of where it is looked for` + found,
				`experiments.lr.artifacts.paths.6: this names no file` + found,
				`experiments.lr.artifacts.keep.0: ".." leads out of where it is looked for` + found,
				`experiments.lr.evaluate.files.1: "/x" is not relative` + found,
			},
		},
		"with a placeholder": {
			func(e *Experiment) {
				e.Artifacts.Paths = []string{"{xrun.out}/a", "{a}.pt", "{x,y}/*", "{{seed}}"}
				e.Objective.From = &Source{Kind: "json", File: "m-{seed}.json"}
			},
			[]string{
				`experiments.lr.objective.from.file: {seed} is not filled in here, only in commands and in env` + found + "?",
				`experiments.lr.artifacts.paths.0: {xrun.out} is not filled in here, only in commands and in env` + found + "?",
			},
		},
		"of the code": {
			given(func(e *Experiment) {
				e.Setup = &Setup{Command: []string{"s"}, Key: []string{"/etc/passwd"}}
				e.Sweep, e.Command = nil, []string{"p"}
				e.Loop = &Loop{Agent: "a", Editable: []string{"**", "/a"}, Protected: []string{"../b"}, Deliver: []string{"/c"}, Bootstrap: &Bootstrap{Path: "/d"}}
			}, "loop.editable"),
			[]string{
				`experiments.lr.setup.key.0: "/etc/passwd" is not relative` + shipped,
				`experiments.lr.loop.editable.1: "/a" is not relative` + shipped,
				`experiments.lr.loop.protected.0: "../b" leads out of where it is looked for` + shipped,
				`experiments.lr.loop.deliver.0: "/c" is not relative` + shipped,
				`experiments.lr.loop.bootstrap.path: "/d" is not relative` + shipped,
				`experiments.lr.loop.agent: no agent is called "a" (declare it: agents: a: kind: "codex")`,
			},
		},
	}.check(t)
}

func TestDataOfTheEvaluatorIsThatOfTheExperiment(t *testing.T) {
	evaluate := func(data ...string) *Evaluate { return &Evaluate{Command: []string{"e"}, Data: data} }
	findings{
		"a slip": {
			func(e *Experiment) {
				e.Data, e.Evaluate = map[string]string{"holdout": "v3"}, evaluate("holdout", "holdot")
			},
			[]string{`experiments.lr.evaluate.data.1: the experiment has no data called "holdot" (did you mean "holdout"?)`},
		},
		"another name": {
			func(e *Experiment) { e.Data, e.Evaluate = map[string]string{"holdout": "v3"}, evaluate("x") },
			[]string{`experiments.lr.evaluate.data.0: the experiment has no data called "x" (data: holdout)`},
		},
		"no data": {
			func(e *Experiment) { e.Evaluate = evaluate("a-b") },
			[]string{`experiments.lr.evaluate.data.0: the experiment has no data called "a-b" (declare it: data: "a-b": "v1")`},
		},
	}.check(t)
}

func TestMetricsThatContradictAreNamed(t *testing.T) {
	loop := func(e *Experiment) {
		e.Sweep, e.Command, e.Loop = nil, []string{"p"}, &Loop{Candidates: []Candidate{{Ref: "x"}}}
	}
	findings{
		"limits that nothing is within": {
			func(e *Experiment) {
				loop(e)
				e.Metrics = map[string]Metric{"a": {AtMost: ptr(val(1)), AtLeast: ptr(num(t, "1.5"))}, "b": {AtMost: ptr(val(1)), AtLeast: ptr(val(1))}}
			},
			[]string{"experiments.lr.metrics.a.at_least: at_least 1.5 is above at_most 1: no value is within"},
		},
		"the objective again": {
			func(e *Experiment) {
				e.Objective.Pick, e.Metrics = "min", map[string]Metric{"loss": {}}
				e.Set["objective.pick"] = true
			},
			nil,
		},
		"the objective, picked otherwise": {
			given(func(e *Experiment) { e.Metrics = map[string]Metric{"loss": {Pick: "min"}} }, "metrics.loss.pick"),
			[]string{"experiments.lr.metrics.loss.pick: loss is the objective, which takes the last value, and not the min (say it in objective, or leave it out here)"},
		},
		"the objective, read elsewhere": {
			func(e *Experiment) { e.Metrics = map[string]Metric{"loss": {From: &Source{Kind: "json", File: "m"}}} },
			[]string{"experiments.lr.metrics.loss.from: loss is the objective, which is read elsewhere (say it in objective, or leave it out here)"},
		},
	}.check(t)
}
