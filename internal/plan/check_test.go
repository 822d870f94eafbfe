package plan

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// lines are findings as text: path: message (suggestion); a ? ends those of warnings.
func lines(found []Finding) []string {
	var out []string
	for _, f := range found {
		s := strings.Join(f.Path, ".") + ": " + f.Message
		if f.Suggestion != "" {
			s += " (" + f.Suggestion + ")"
		}
		if f.Warning {
			s += "?"
		}
		out = append(out, s)
	}
	return out
}

func TestAGoodSpecHasNoFindings(t *testing.T) {
	if diff := cmp.Diff([]string(nil), lines(Check(everything(t)))); diff != "" {
		t.Error(diff)
	}
}

// findings are specs that are wrong, by what is wrong with them.
type findings map[string]struct {
	edit func(*Experiment)
	want []string
}

func (fs findings) check(t *testing.T) {
	t.Helper()
	for name, c := range fs {
		s := specOf(experiment(c.edit))
		s.Hosts[0].Data = s.Experiments[0].Data // that no host has data is shown by a test of its own
		if diff := cmp.Diff(c.want, lines(Check(s))); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

func grid(axes ...Axis) func(*Experiment) { return sweep(Sweep{Grid: axes}) }

func TestPlaceholdersThatCannotBeFilledAreNamed(t *testing.T) {
	findings{
		"an unknown placeholder that is nearly one": {
			func(e *Experiment) { e.Command = []string{"p", "{lr}", "--b={lrr}"} },
			[]string{"experiments.lr.command.2: unknown placeholder {lrr} (did you mean {lr}? A brace that is meant as one is written {{)"},
		},
		"an unknown placeholder that is like none": {
			func(e *Experiment) { e.Env = map[string]string{"A": "{HOMEDIRECTORY}"} },
			[]string{"experiments.lr.env.A: unknown placeholder {HOMEDIRECTORY} (placeholders here: {lr}, {seed}, {xrun.run}, {xrun.experiment}, {xrun.trial}, {xrun.attempt}; a brace that is meant as one is written {{)"},
		},
		"data that was not declared": {
			func(e *Experiment) {
				e.Data, e.Command = map[string]string{"corpus": "v1"}, []string{"p", "{data.corpus}", "{data.corpse}"}
			},
			[]string{"experiments.lr.command.2: unknown placeholder {data.corpse} (did you mean {data.corpus}? A brace that is meant as one is written {{)"},
		},
		"params within an argument": {
			func(e *Experiment) { e.Command = []string{"p", "--{params}", "{params:--} "} },
			[]string{
				"experiments.lr.command.1: {params} stands for several arguments (make it an element of its own)",
				"experiments.lr.command.2: {params:--} stands for several arguments (make it an element of its own)",
			},
		},
		"braces that are meant as such": {
			func(e *Experiment) {
				e.Command = []string{"awk", "{print $1}", "{{lr}}", "{", `{"a": 1}`, "{params}", "{xrun.port}", "{seed}"}
			},
			nil,
		},
		"evaluator, tests and setup": {
			func(e *Experiment) {
				e.Evaluate = &Evaluate{Command: []string{"e", "{lr}", "{params}", "{lt}"}, Env: map[string]string{"X": "{oh}"}}
				e.Setup = &Setup{Command: []string{"s", "{xrun.setup}", "{lr}", "{params}"}}
				e.Loop = &Loop{Candidates: []Candidate{{Ref: "x"}}, Tests: &Tests{Command: []string{"{xrun.oot}"}}}
			},
			[]string{
				"experiments.lr.evaluate.command.3: unknown placeholder {lt} (did you mean {lr}? A brace that is meant as one is written {{)",
				"experiments.lr.evaluate.env.X: unknown placeholder {oh} (placeholders here: {lr}, {seed}, {xrun.run}, {xrun.experiment}, {xrun.trial}, {xrun.attempt}; a brace that is meant as one is written {{)",
				"experiments.lr.loop.tests.command.0: unknown placeholder {xrun.oot} (did you mean {xrun.out}? A brace that is meant as one is written {{)",
				"experiments.lr.setup.command.2: unknown placeholder {lr} (placeholders here: {xrun.setup}; a brace that is meant as one is written {{)",
				"experiments.lr.setup.command.3: unknown placeholder {params} (placeholders here: {xrun.setup}; a brace that is meant as one is written {{)",
			},
		},
		"a parameter that some points lack": {
			func(e *Experiment) {
				e.Sweep = &Sweep{Cases: []Axes{{list("opt", "sgd"), list("momentum", 0.9)}, {list("opt", "adam")}}, Include: []Params{params("opt", "lion")}}
				e.Command = []string{"p", "{opt}", "{momentum}", "{params}"}
			},
			[]string{"experiments.lr.command.2: not every point has the parameter momentum (write {params}, which leaves out what a point does not have)"},
		},
		"an included point that lacks an axis": {
			func(e *Experiment) {
				e.Sweep = &Sweep{Grid: Axes{list("lr", 1)}, Include: []Params{params("wd", 1)}}
				e.Command = []string{"sh", "-c", "p $0 $XRUN_PARAM_WD", "{lr}"}
			},
			[]string{"experiments.lr.command.3: not every point has the parameter lr (write {params}, which leaves out what a point does not have)"},
		},
		"a fixed value makes up for what points lack": {
			func(e *Experiment) {
				e.Sweep = &Sweep{Cases: []Axes{{list("momentum", 0.9)}, {list("lr", 1)}}}
				e.Params, e.Command = map[string]Value{"momentum": val(0), "lr": val(1)}, []string{"p", "{momentum}", "{lr}"}
			},
			nil,
		},
	}.check(t)
}

func TestFieldsThatDoNotGoTogetherAreNamed(t *testing.T) {
	findings{
		"names with a meaning of their own": {
			grid(list("seed", 1), list("params", 1), list("xrun.out", 1)),
			[]string{
				"experiments.lr.sweep.grid.seed: {seed} has a meaning of its own (give it another name)",
				"experiments.lr.sweep.grid.params: {params} has a meaning of its own (give it another name)",
				"experiments.lr.sweep.grid.xrun.out: names that begin with xrun. are reserved (give it another name)",
			},
		},
		"a parameter named like data": {
			func(e *Experiment) {
				e.Data, e.Params, e.Inputs = map[string]string{"x": "1"}, map[string]Value{"data.x": val(1), "data.y": val(1), "inputs.z": val(1)}, map[string]Input{"z": {Experiment: "y", Path: "x"}}
				e.Command = []string{"p", "{params}"}
			},
			[]string{
				"experiments.lr.params.data.x: {data.x} could be the parameter or the entry of data (rename one of them)",
				"experiments.lr.params.inputs.z: {inputs.z} could be the parameter or the entry of inputs (rename one of them)",
				`experiments.lr.inputs.z.experiment: no experiment is called "y" (there is no other experiment; give its file too)`,
			},
		},
		"two parameters with one variable": {
			grid(list("model.lr", 1), list("model_lr", 1), list("Model-LR", 2)),
			[]string{
				"experiments.lr.sweep.grid.model_lr: parameters model.lr and model_lr would both be XRUN_PARAM_MODEL_LR (rename one of them)",
				"experiments.lr.sweep.grid.Model-LR: parameters model_lr and Model-LR would both be XRUN_PARAM_MODEL_LR (rename one of them)",
			},
		},
		"variables that are ours": {
			func(e *Experiment) {
				e.Env = map[string]string{"XRUN_X": "1", "CUDA_VISIBLE_DEVICES": "0", "OK": ""}
			},
			[]string{
				"experiments.lr.env.CUDA_VISIBLE_DEVICES: xrun itself gives each trial its GPUs (say needs: gpus: 1)",
				"experiments.lr.env.XRUN_X: names that begin with XRUN_ are reserved (give it another name)",
			},
		},
		"a host nobody knows": {
			func(e *Experiment) { e.Needs.Hosts = []string{"local", "locla", "mars"} },
			[]string{
				`experiments.lr.needs.hosts.1: no host called "locla" is loaded (did you mean "local"?)?`,
				`experiments.lr.needs.hosts.2: no host called "mars" is loaded (none is declared; --inventory gives some)?`,
			},
		},
		"GPUs without a time limit": {
			func(e *Experiment) { e.Needs.GPUs = 1 },
			[]string{`experiments.lr.needs.gpus: a trial that needs GPUs needs a time limit (add limits: trial: "6h")`},
		},
		"a seed twice": {
			func(e *Experiment) { e.Seeds, e.Set["seeds"] = Seeds{1, 2, 1}, true },
			[]string{"experiments.lr.seeds.2: seed 1 stands there twice"},
		},
	}.check(t)
}

func TestSweepsThatMakeNoSenseAreNamed(t *testing.T) {
	findings{
		"an empty sweep": {
			sweep(Sweep{}),
			[]string{"experiments.lr.sweep: the sweep is empty (add grid, zip, cases, random or include, or leave the sweep out)"},
		},
		"an axis in two groups": {
			sweep(Sweep{Grid: Axes{list("a", 1)}, Zip: Axes{list("a", 1)}, Cases: []Axes{{list("b", 1)}, {list("b", 2)}}, Random: &Random{N: 1, Params: []Dist{{Name: "b", Dist: "choice", Values: []Value{val(1)}}}}}),
			[]string{"experiments.lr.sweep.zip: parameter a is also an axis of grid", "experiments.lr.sweep.random: parameter b is also an axis of cases"},
		},
		"a zip of two lengths": {
			sweep(Sweep{Zip: Axes{list("a", 1, 2), list("b", 1, 2, 3)}}),
			[]string{"experiments.lr.sweep.zip.b: the axes of zip move together: a has 2 values, b has 3"},
		},
		"axes that cannot be": {
			sweep(Sweep{Grid: Axes{{Name: "e"}, steps(t, "s", "2", "1", "1")}, Zip: Axes{points(t, "z", "0", "1", 3, true), list("y", 1)}, Cases: []Axes{{list("a", 1)}, {steps(t, "c", "0", "1", "1e-9")}}}),
			[]string{
				"experiments.lr.sweep.grid.e: has no values",
				"experiments.lr.sweep.grid.s: from 2 is above to 1 (swap them, or say points instead of step: such a range may fall)",
				"experiments.lr.sweep.zip.z: a log range needs from and to above 0",
				"experiments.lr.sweep.cases.1.c: from 0 to 1 in steps of 1e-09 is more than 1000000 values",
			},
		},
		"exclude": {
			sweep(Sweep{Grid: Axes{list("lr", 1, 2), list("batch", 1)}, Exclude: []Match{{list("bach", 1)}, {}, {list("lr", 1, 2)}}}),
			[]string{
				`experiments.lr.sweep.exclude.0.bach: no parameter is called "bach" (did you mean "batch"?)`,
				"experiments.lr.sweep.exclude.1: this would drop every point (name a parameter in it)",
				"experiments.lr.sweep.exclude: every point is excluded: nothing would run",
			},
		},
	}.check(t)
}

func eight(name string) Axis { return list(name, 1, 2, 3, 4, 5, 6, 7, 8) }

func TestASweepThatIsTooLargeIsCountedNotMade(t *testing.T) {
	var seven Axes
	for _, n := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		seven = append(seven, eight(n))
	}
	wide := points(t, "wide", "0", "1", 5000, false)
	for name, c := range map[string]struct {
		sweep Sweep
		seeds int
		want  string
	}{
		"grid":     {Sweep{Grid: seven}, 1, "experiments.lr.sweep: the sweep has 2097152 trials, the limit is 10000 (the widest axes: a (8), b (8), c (8); raise sweep.max_trials if they are meant)"},
		"a case":   {Sweep{Cases: []Axes{seven, {list("h", 1)}}}, 1, "experiments.lr.sweep: the sweep has 2097153 trials, the limit is 10000 (the widest axes: cases (2097153); raise sweep.max_trials if they are meant)"},
		"seeds":    {Sweep{Grid: Axes{eight("a"), wide}}, 3, "experiments.lr.sweep: the sweep has 120000 trials, the limit is 10000 (the widest axes: wide (5000), a (8); raise sweep.max_trials if they are meant)"},
		"random":   {Sweep{Random: ptr(search(t, 100_000, 0))}, 1, "experiments.lr.sweep: the sweep has 100000 trials, the limit is 10000 (the widest axes: random (100000); raise sweep.max_trials if they are meant)"},
		"includes": {Sweep{Include: make([]Params, 10_001)}, 1, "experiments.lr.sweep: the sweep has 10001 trials, the limit is 10000 (the widest axes: ; raise sweep.max_trials if they are meant)"},
		"overflow": {Sweep{Grid: Axes{wide, wide, wide, wide, wide, wide}}, 9, "experiments.lr.sweep: the sweep has 9223372036854775807 or more trials, the limit is 10000 (the widest axes: wide (5000), wide (5000), wide (5000); raise sweep.max_trials if they are meant)"},
		"steps":    {Sweep{Grid: Axes{steps(t, "s", "0", "0.999999", "1e-6")}}, 1, "experiments.lr.sweep: the sweep has 1000000 trials, the limit is 10000 (the widest axes: s (1000000); raise sweep.max_trials if they are meant)"},
	} {
		s := specOf(experiment(sweep(c.sweep), func(e *Experiment) {
			e.Seeds, e.Set["seeds"] = make(Seeds, c.seeds), true
			e.Command = append(e.Command, "{seed}")
		}))
		for i := range s.Experiments[0].Seeds {
			s.Experiments[0].Seeds[i] = int64(i)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start := time.Now()
		found := Check(s)
		took := time.Since(start)
		runtime.ReadMemStats(&after)
		if diff := cmp.Diff([]string{c.want}, lines(found)); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
		if mb := (after.TotalAlloc - before.TotalAlloc) >> 20; mb > 16 || took > 10*time.Second {
			t.Errorf("%s: took %s and %d MiB to count", name, took, mb)
		}
	}
}

func TestASweepAtItsLimitIsAllowed(t *testing.T) {
	e := experiment(sweep(Sweep{Grid: Axes{eight("a"), eight("b")}, MaxTrials: 128}), func(e *Experiment) {
		e.Seeds, e.Set["seeds"], e.Set["sweep.max_trials"] = Seeds{0, 1}, true, true
		e.Command = append(e.Command, "{seed}")
	})
	if found := Check(specOf(e)); len(found) != 0 {
		t.Errorf("%q", lines(found))
	}
	e.Sweep.MaxTrials = 127
	if found := Check(specOf(e)); len(found) != 1 {
		t.Errorf("%q", lines(found))
	}
}

func TestAFindingWithoutItsFileIsAProblemWithItsPath(t *testing.T) {
	s := specOf(experiment(func(e *Experiment) { e.Needs.Hosts = []string{"mars"} }))
	p := s.Problem(Check(s)[0])
	if p.Path != "experiments.lr.needs.hosts.0" || p.Suggestion == nil || *p.Suggestion != "none is declared; --inventory gives some" || p.Line != 0 {
		t.Errorf("%+v", p)
	}
	s.Place = func(f Finding) Problem { return Problem{File: "x.cue", Message: f.Message} }
	if p := s.Problem(Finding{Message: "m"}); p.File != "x.cue" || p.Message != "m" {
		t.Errorf("%+v", p)
	}
}

func TestNearestFindsSlipsOfTheFinger(t *testing.T) {
	names := []string{"batch_size", "lr", "weight_decay", "momentum"}
	for in, want := range map[string]string{
		"batchsize": "batch_size", "bacth_size": "batch_size", "wieght_decay": "weight_decay", "l": "", "x": "", "momentun": "momentum", "": "", "rl": "lr", "completely": "",
		"LR": "lr", "lr": "", "momentum_": "momentum",
	} {
		if got := Nearest(in, names); got != want {
			t.Errorf("nearest to %q is %q, want %q", in, got, want)
		}
	}
	if got := Nearest("tpus", []string{"gpus", "tp"}); got != "gpus" {
		t.Errorf("the closer one is meant, not %q", got)
	}
	if got := Nearest("cpux", []string{"gpux", "cpus"}); got != "cpus" {
		t.Errorf("of two that are equally close the one with the same first letter is meant, not %q", got)
	}
}

func TestNULCharactersAreNamedWhereTheyWouldReachTheKernel(t *testing.T) {
	const said = `: this text holds a NUL byte, which no program can be given (remove the \u0000)`
	bad := []Value{StringValue("good"), StringValue("a\x00b")}
	findings{
		"texts": {
			func(e *Experiment) {
				e.Command, e.Env = []string{"p", "a\x00", "{params}"}, map[string]string{"A": "\x00"}
				e.Code.Path, e.Code.Include, e.Artifacts.Paths = "\x00", []string{"\x00"}, []string{"\x00"}
				e.Params = map[string]Value{"opt": StringValue("\x00")}
			},
			[]string{
				"experiments.lr.command.1" + said, "experiments.lr.env.A" + said, "experiments.lr.code.path" + said,
				"experiments.lr.code.include.0" + said, "experiments.lr.artifacts.paths.0" + said, "experiments.lr.params.opt" + said,
			},
		},
		"an axis": {grid(Axis{Name: "opt", Values: bad}), []string{"experiments.lr.sweep.grid.opt.1" + said}},
		"a distribution": {
			sweep(Sweep{Random: &Random{N: 1, Params: []Dist{{Name: "opt", Dist: "choice", Values: bad}}}}),
			[]string{"experiments.lr.sweep.random.params.opt.values.1" + said},
		},
		"a text that only people read": {func(e *Experiment) { e.Description = "\x00" }, nil},
	}.check(t)
	h := Host{Name: "here", Kind: "local", Env: map[string]string{"A": "\x00"}, Prelude: []string{"\x00"}, Workdir: "/\x00"}
	want := []string{"hosts.here.env.A" + said, "hosts.here.prelude.0" + said, "hosts.here.workdir" + said}
	if diff := cmp.Diff(want, lines(Check(&Spec{Hosts: []Host{h}}))); diff != "" {
		t.Error(diff)
	}
}
