package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func idsOf(t *testing.T, in Basis) []string {
	t.Helper()
	return ids(build(t, in).Experiments[0].Trials)
}

func TestWhatCanChangeAResultChangesTheID(t *testing.T) {
	base := experiment(func(e *Experiment) { e.Env = map[string]string{"A": "1"} })
	before := idsOf(t, Basis{Spec: specOf(base), Code: map[string]*Manifest{"lr": {ID: "code1"}}})
	for name, edit := range map[string]func(*Experiment){
		"an argument":                 func(e *Experiment) { e.Command = append(e.Command, "-v") },
		"arguments cut elsewhere":     func(e *Experiment) { e.Command = []string{"train", "--lr {lr}", "--seed={seed}"} },
		"a host placeholder's name":   func(e *Experiment) { e.Command = append(e.Command, "{xrun.out}") },
		"a variable":                  func(e *Experiment) { e.Env = map[string]string{"A": "2"} },
		"a further variable":          func(e *Experiment) { e.Env = map[string]string{"A": "1", "B": ""} },
		"a parameter nobody mentions": func(e *Experiment) { e.Params = map[string]Value{"hidden": val(1)} },
		"the kind of a value":         func(e *Experiment) { e.Sweep.Grid = Axes{list("lr", "0.1", "0.01")} },
		"the seed":                    func(e *Experiment) { e.Seeds, e.Set["seeds"] = Seeds{1}, true },
		"the number of GPUs":          func(e *Experiment) { e.Needs.GPUs = 1; e.Limits.Trial = 1; e.Set["limits.trial"] = true },
		"the container":               func(e *Experiment) { e.Container = &Container{Image: "a"} },
		"the evaluator":               func(e *Experiment) { e.Evaluate = &Evaluate{Command: []string{"eval"}} },
		"the objective":               func(e *Experiment) { e.Objective.Metric = "acc" },
		"how the objective is picked": func(e *Experiment) { e.Objective.Pick = "min"; e.Set["objective.pick"] = true },
		"where the objective stands":  func(e *Experiment) { e.Objective.From = &Source{Kind: "json", File: "m.json"} },
		"the setup":                   func(e *Experiment) { e.Setup = &Setup{Command: []string{"pip"}} },
		"the data's version":          func(e *Experiment) { e.Data = map[string]string{"corpus": "v2"} },
		"an input":                    func(e *Experiment) { e.Inputs = map[string]Input{"w": {Experiment: "x", Path: "p"}} },
	} {
		e := experiment(func(e *Experiment) { e.Env = map[string]string{"A": "1"} }, edit)
		after := idsOf(t, Basis{Spec: specOf(e), Code: map[string]*Manifest{"lr": {ID: "code1"}}})
		for _, id := range after {
			if id == before[0] || id == before[1] {
				t.Errorf("%s does not change the id", name)
				break
			}
		}
	}
	if diff := cmp.Diff(before, idsOf(t, Basis{Spec: specOf(base), Code: map[string]*Manifest{"lr": {ID: "code2"}}})); diff == "" {
		t.Error("the code does not change the id")
	}
}

func TestWhatCannotChangeAResultKeepsTheID(t *testing.T) {
	code := map[string]*Manifest{"lr": {ID: "c", Files: []CodeFile{{Path: "train.py", SHA256: "1"}, {Path: "README.md", SHA256: "2", Ignored: true}}}}
	before := idsOf(t, Basis{Spec: specOf(experiment()), Code: code})
	for name, edit := range map[string]func(*Experiment){
		"the name":           func(e *Experiment) { e.Name = "other" },
		"the description":    func(e *Experiment) { e.Description = "x" },
		"the direction":      func(e *Experiment) { e.Objective.Direction = "maximize" },
		"the unit":           func(e *Experiment) { e.Objective.Unit = "nats" },
		"limits":             func(e *Experiment) { e.Limits.Trial = 5; e.Set["limits.trial"] = true },
		"parallelism":        func(e *Experiment) { n := 1; e.Limits.MaxParallel = &n },
		"secrets":            func(e *Experiment) { e.Secrets = map[string]Secret{"K": {From: "env", Name: "K"}} },
		"retry":              func(e *Experiment) { e.Retry = &Retry{Max: 3} },
		"artifacts":          func(e *Experiment) { e.Artifacts.Keep = []string{"*.pt"} },
		"priority":           func(e *Experiment) { e.Priority = 5 },
		"another metric":     func(e *Experiment) { e.Metrics = map[string]Metric{"acc": {}} },
		"reuse":              func(e *Experiment) { e.Reuse = "never"; e.Set["reuse"] = true },
		"the canary":         func(e *Experiment) { e.Sweep.Canary = &Canary{Off: true}; e.Set["sweep.canary"] = true },
		"hosts and labels":   func(e *Experiment) { e.Needs.Hosts = []string{"local"} },
		"setup's time limit": func(e *Experiment) { e.Limits.Grace = 7; e.Set["limits.grace"] = true },
		"a number's spelling": func(e *Experiment) {
			e.Sweep.Grid = Axes{list("lr", num(t, "1e-1"), num(t, "0.010"))}
		},
		"an axis spelled as a range": func(e *Experiment) { e.Sweep.Grid = Axes{points(t, "lr", "0.1", "0.01", 2, true)} },
		"a placeholder for a value":  func(e *Experiment) { e.Command = []string{"train", "--lr", "{lr}", "--seed=0"} },
	} {
		e := experiment(edit)
		m := map[string]*Manifest{e.Name: code["lr"]}
		if diff := cmp.Diff(before, idsOf(t, Basis{Spec: specOf(e), Code: m})); diff != "" {
			t.Errorf("%s changes the id:\n%s", name, diff)
		}
	}
	s := specOf(experiment())
	s.Hosts[0].Env, s.Hosts[0].Workdir = map[string]string{"A": "1"}, "/scratch"
	s.Hosts[0].Data = map[string]string{"corpus": "/d"}
	if diff := cmp.Diff(before, idsOf(t, Basis{Spec: s, Code: code})); diff != "" {
		t.Errorf("the host changes the id:\n%s", diff)
	}
}

func TestTheOrderOfParametersIsNoPartOfTheID(t *testing.T) {
	a := trials(t, sweep(Sweep{Grid: Axes{list("a", 1), list("b", 2)}}))
	b := trials(t, sweep(Sweep{Grid: Axes{list("b", 2), list("a", 1)}}))
	c := trials(t, sweep(Sweep{Grid: Axes{list("b", 2)}}), func(e *Experiment) { e.Params = map[string]Value{"a": val(1)} })
	if a[0].ID != b[0].ID || a[0].ID != c[0].ID {
		t.Errorf("ids %s, %s, %s", a[0].ID, b[0].ID, c[0].ID)
	}
	if x, y := PointKey("e", a[0].Params, 0), PointKey("e", b[0].Params, 0); x != y {
		t.Errorf("points %s, %s", x, y)
	}
}

func TestLiteralBracesAreNotTakenForAPlaceholder(t *testing.T) {
	a := trials(t, func(e *Experiment) { e.Command = []string{"p", "{xrun.out}"} })
	b := trials(t, func(e *Experiment) { e.Command = []string{"p", "{{xrun.out}}"} })
	if a[0].Command()[1] != b[0].Command()[1] {
		t.Fatalf("%q, %q", a[0].Command(), b[0].Command())
	}
	if a[0].ID == b[0].ID {
		t.Error("a placeholder and the same text in braces have one id")
	}
	v := trials(t, func(e *Experiment) {
		e.Command, e.Sweep.Grid = []string{"p", "{lr}"}, Axes{list("lr", "{xrun.out}")}
	})
	w := trials(t, func(e *Experiment) {
		e.Command, e.Sweep.Grid = []string{"p", "{xrun.out}"}, Axes{list("lr", "{xrun.out}")}
	})
	if v[0].ID == w[0].ID {
		t.Error("a value that looks like a placeholder and the placeholder have one id")
	}
}

func TestNoValueCanLookLikeAnotherPoint(t *testing.T) {
	points := []Params{
		params("a", "x", "b", "y"), params("a", "x\x00b\x001y"), params("a", "x\x00b\x0011:y"), params("a", "x1:", "b", "y"),
		params("a", "1"), params("a", 1), params("a", true), params("a", "true"), params("a", ""), params(), params("a", "x", "b", "y", "c", ""),
	}
	seen := map[string]Params{}
	for _, p := range points {
		key := PointKey("e", p, 0)
		if q, ok := seen[key]; ok {
			t.Errorf("%q and %q are one point", p, q)
		}
		seen[key] = p
	}
	if PointKey("e", points[0], 0) == PointKey("e", points[0], 1) || PointKey("e", points[0], 0) == PointKey("f", points[0], 0) {
		t.Error("seed or experiment is no part of the point")
	}
}

// An id that changes makes everything that was ever measured look new.
func TestIDsAreTheSameForEver(t *testing.T) {
	e := experiment(func(e *Experiment) { e.Env = map[string]string{"A": "{lr}", "B": "{xrun.out}"} })
	got := build(t, Basis{Spec: specOf(e), Code: map[string]*Manifest{"lr": {ID: "c0de"}}}).Experiments[0].Trials
	if diff := cmp.Diff([]string{"3hvhozwhldnv", "pspe3md5phxg"}, ids(got)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"code", "command", "env", "objective", "params", "seed"}, sortedKeys(got[0].Parts())); diff != "" {
		t.Error(diff)
	}
}

func TestExtendingAnAxisKeepsTheIDs(t *testing.T) {
	small := Sweep{Grid: Axes{list("lr", 0.1, 0.01)}, Random: ptr(search(t, 3, 0))}
	large := Sweep{Grid: Axes{list("lr", 1, 0.1, 0.03, 0.01)}, Random: ptr(search(t, 9, 0))}
	small.Random.Params, large.Random.Params = small.Random.Params[1:], large.Random.Params[1:]
	now := map[string]bool{}
	for _, id := range ids(trials(t, sweep(large), func(e *Experiment) { e.Seeds, e.Set["seeds"] = Seeds{0, 1}, true })) {
		now[id] = true
	}
	for _, id := range ids(trials(t, sweep(small))) {
		if !now[id] {
			t.Errorf("trial %s is gone", id)
		}
	}
}

func ptr[T any](v T) *T { return &v }

func TestSetupAndItsKeyFilesArePartOfTheID(t *testing.T) {
	files := func(fs ...CodeFile) Basis {
		e := experiment(func(e *Experiment) { e.Setup = &Setup{Command: []string{"pip"}, Key: []string{"*.lock"}} })
		return Basis{Spec: specOf(e), SetupFiles: map[string][]CodeFile{"lr": fs}}
	}
	lock := CodeFile{Path: "uv.lock", Mode: "100644", SHA256: "1", Ignored: true}
	before := idsOf(t, files(lock))
	edit := func(f func(*CodeFile)) CodeFile {
		other := lock
		f(&other)
		return other
	}
	for name, in := range map[string]Basis{
		"its bytes":    files(edit(func(f *CodeFile) { f.SHA256 = "2" })),
		"its mode":     files(edit(func(f *CodeFile) { f.Mode = "100755" })),
		"its name":     files(edit(func(f *CodeFile) { f.Path = "pip.lock" })),
		"another file": files(lock, edit(func(f *CodeFile) { f.Path = "pip.lock" })),
		"no file":      files(),
		// A file may be called like the line of another part.
		"a hostile name": files(edit(func(f *CodeFile) { f.Path = "uv.lock=" + hashJSON([]string{"100644", "1"}) + "\nsetup: x" })),
	} {
		if idsOf(t, in)[0] == before[0] {
			t.Errorf("%s of a key file does not change the id", name)
		}
	}
	in := files(lock)
	in.Spec.Experiments[0].Setup.Key = []string{"uv.*"}
	in.Spec.Experiments[0].Setup.Timeout = 5
	if diff := cmp.Diff(before, idsOf(t, in)); diff != "" {
		t.Errorf("the spelling of a glob or the time limit changes the id:\n%s", diff)
	}
}

func TestAllThatMeasuresIsPartOfTheID(t *testing.T) {
	with := func(edit func(*Evaluate)) string {
		ev := &Evaluate{Command: []string{"eval", "{xrun.out}"}, Files: []string{"model.pt"}, Data: []string{"test"}, Env: map[string]string{"A": "1"}}
		edit(ev)
		return idsOf(t, Basis{Spec: specOf(experiment(func(e *Experiment) { e.Evaluate = ev }))})[0]
	}
	before := with(func(*Evaluate) {})
	for name, edit := range map[string]func(*Evaluate){
		"command": func(ev *Evaluate) { ev.Command = append(ev.Command, "-v") },
		"files":   func(ev *Evaluate) { ev.Files = nil },
		"data":    func(ev *Evaluate) { ev.Data = nil },
		"env":     func(ev *Evaluate) { ev.Env["A"] = "2" },
	} {
		if with(edit) == before {
			t.Errorf("evaluate.%s does not change the id", name)
		}
	}
	if with(func(ev *Evaluate) { ev.Secrets = map[string]Secret{"K": {From: "env", Name: "K"}} }) != before {
		t.Error("where a secret of the evaluator lies changes the id")
	}
}
