package plan

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// everything is a spec that uses most of the schema.
func everything(t testing.TB) *Spec {
	t.Helper()
	wall, n, f := Duration(8e9), 5, 0.5
	loop := experiment(func(e *Experiment) {
		e.Name, e.Sweep = "tune", nil
		e.Command = []string{"train", "{params}"}
		e.Loop = &Loop{Agent: "codex", Hypothesis: Hypothesis{Name: "h"}, Tests: &Tests{Command: []string{"pytest"}}, Stop: Stop{Budget: Budget{Wall: &wall, Runs: &n}}, Bootstrap: &Bootstrap{Path: "m.py"}}
		e.Criteria = &Criteria{Solid: &f}
		e.Metrics = map[string]Metric{"acc": {Pick: "max", AtLeast: ptr(val(0.5))}}
	})
	single := experiment(func(e *Experiment) {
		e.Name, e.Sweep, e.Command, e.Params = "once", nil, []string{"true", "{params:--}"}, map[string]Value{"b": val("x y"), "a": val(1)}
		e.Inputs = map[string]Input{"w": {Experiment: "lr", Path: "model.pt"}}
	})
	full := experiment(sweep(Sweep{
		Grid: Axes{list("lr", 0.1, "a<b>&"), points(t, "wd", "1e-5", "1e-3", 3, true)}, Zip: Axes{list("x", 1, 2), list("y", true, false)},
		Exclude: []Match{{list("x", 1), list("lr", 0.1)}}, Include: []Params{params("lr", num(t, "9007199254740993"))},
	}), func(e *Experiment) {
		e.Env, e.Labels = map[string]string{"B": "{seed}", "A": "{xrun.out}"}, map[string]string{"team": "x"}
		e.Metrics = map[string]Metric{"acc": {Pick: "max"}}
	})
	s := &Spec{
		Experiments: []Experiment{full, loop, single},
		Hosts:       []Host{{Name: "gpu-box", Kind: "ssh", Address: "box"}, {Name: "local", Kind: "local", Slots: 4}},
		Agents:      []Agent{{Name: "codex", Kind: "codex"}},
		Settings:    Settings{Notify: []Notify{{On: []string{"failed"}, Kind: "command", Command: []string{"mail"}}}},
		Files:       []SourceFile{{"x.cue", "abc"}},
	}
	s.Fill()
	return s
}

func TestTheSameSpecGivesTheSameBytes(t *testing.T) {
	var first []byte
	for range 20 {
		in := Basis{Spec: everything(t), Code: map[string]*Manifest{"lr": {ID: "c", Files: []CodeFile{{Path: "a", Size: 3}, {Path: "b", Size: 4}}}}}
		b, err := json.Marshal(build(t, in))
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = b
		}
		if diff := cmp.Diff(string(first), string(b)); diff != "" {
			t.Fatal(diff)
		}
	}
}

func TestAPlanComesBackFromJSON(t *testing.T) {
	p := build(t, Basis{Spec: everything(t)})
	b, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	var back Plan
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(&back)
	if err != nil || string(again) != string(b) {
		t.Errorf("%v\n%s", err, cmp.Diff(string(b), string(again)))
	}
	if d := Compare(p, &back); !d.Empty() || d.Same == 0 {
		t.Errorf("it differs from itself: %+v", d)
	}
}

func TestAResolvedSpecComesBackFromJSON(t *testing.T) {
	s := everything(t)
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var back Spec
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}
	if SpecDigest(s) != SpecDigest(&back) {
		again, _ := json.Marshal(&back)
		t.Errorf("the digest is another:\n%s", cmp.Diff(string(b), string(again)))
	}
	if diff := cmp.Diff(build(t, Basis{Spec: s}).Digest, build(t, Basis{Spec: &back}).Digest); diff != "" {
		t.Errorf("the plan's digest is another:\n%s", diff)
	}
}

func TestEveryKeyOfThePlanIsThere(t *testing.T) {
	b, err := json.Marshal(build(t, Basis{Spec: everything(t)}))
	if err != nil {
		t.Fatal(err)
	}
	var p map[string]any
	if err := json.Unmarshal(b, &p); err != nil {
		t.Fatal(err)
	}
	keys := func(v any) []string { return sortedKeys(v.(map[string]any)) }
	es := p["experiments"].([]any)
	first, loop := es[0].(map[string]any), es[1].(map[string]any)
	for _, c := range []struct {
		of   any
		want string
	}{
		{p, "commit digest dirty estimate experiments schema_version spec warnings xrun_version"},
		{first, "code estimate hosts kind name phases trials"},
		{first["code"], "bytes files id"},
		{first["hosts"].([]any)[0], "eligible name why_not"},
		{first["trials"].([]any)[0], "changed code command est_s id params seed why"},
		{first["estimate"], "agent_turns gpu_hours_max trials wall_s"},
		{loop["phases"].([]any)[0], "phase trials_max"},
	} {
		if diff := cmp.Diff(strings.Fields(c.want), keys(c.of)); diff != "" {
			t.Error(diff)
		}
	}
	if first["phases"] != nil || len(loop["trials"].([]any)) != 0 || p["commit"] != nil || len(p["warnings"].([]any)) != 0 {
		t.Errorf("phases %v, trials of a loop %v, commit %v, warnings %v", first["phases"], loop["trials"], p["commit"], p["warnings"])
	}
}

func TestTheDigestDoesNotDependOnWhatWasDoneBefore(t *testing.T) {
	s := specOf(experiment())
	before := build(t, Basis{Spec: s})
	h := remembered(PastPoint{Past: Past{ID: before.Experiments[0].Trials[0].ID, State: "succeeded", DurationS: 5}})
	yes, commit := true, "abc"
	after := build(t, Basis{Spec: s, History: h, XrunVersion: "2", Commit: &commit, Dirty: &yes, Hosts: []string{"nowhere"}, Warnings: []string{"w"}})
	if after.Experiments[0].Trials[0].Why != Reused {
		t.Fatalf("why: %s", after.Experiments[0].Trials[0].Why)
	}
	if before.Digest != after.Digest {
		t.Error("the digest depends on history, version, commit or hosts asked for")
	}
	s.Experiments[0].Limits.Trial++
	if build(t, Basis{Spec: s}).Digest == before.Digest {
		t.Error("the digest does not cover the limits")
	}
	if build(t, Basis{Spec: specOf(experiment()), Code: map[string]*Manifest{"lr": {ID: "c"}}}).Digest == before.Digest {
		t.Error("the digest does not cover the code")
	}
}

func TestAnExperimentThatCannotBeExpandedIsNamed(t *testing.T) {
	bad := experiment(sweep(Sweep{Zip: Axes{list("a", 1, 2), list("b", 1)}}))
	also := experiment(sweep(Sweep{Grid: Axes{steps(t, "a", "1", "0", "1")}}))
	also.Name = "also"
	_, err := Build(Basis{Spec: specOf(bad, experiment(), also)})
	if err == nil || !strings.Contains(err.Error(), "experiment lr: zip: a has 2 values and b has 1") || !strings.Contains(err.Error(), "experiment also: a: from 1 is above to 0") {
		t.Errorf("%v", err)
	}
}

func TestAGlobIsLeftToTheHost(t *testing.T) {
	for name, s := range map[string]Sweep{
		"grid":  {Grid: Axes{{Name: "f", Glob: &Glob{Glob: "/d/*.yaml", On: "local"}}}},
		"cases": {Cases: []Axes{{list("a", 1)}, {{Name: "f", Glob: &Glob{Glob: "/d/*.yaml", On: "local"}}}}},
	} {
		spec := specOf(experiment(sweep(s)))
		p := build(t, Basis{Spec: spec})
		e := p.Experiments[0]
		if len(e.Trials) != 0 || e.Estimate.Trials != nil || p.Estimate.Trials != nil || len(p.Warnings) != 1 || !strings.Contains(p.Warnings[0], "values of f") {
			t.Errorf("%s: %+v, warnings %q", name, e, p.Warnings)
		}
		if n := p.ToRun(); n != 1 {
			t.Errorf("%s: %d to run; a plan that may run something is not empty", name, n)
		}
		if found := Check(spec); len(found) != 0 {
			t.Errorf("%s: %+v", name, found)
		}
	}
}

func TestHostsAreChosenWithAReason(t *testing.T) {
	two := 2
	hosts := []Host{
		{Name: "a", Kind: "local", Labels: map[string]string{"site": "x"}, Data: map[string]string{"corpus": "/d"}, GPUs: GPUs{Count: &two}},
		{Name: "b", Kind: "local", GPUs: GPUs{Auto: true}, Labels: map[string]string{"site": "x"}, Data: map[string]string{"corpus": ""}},
		{Name: "c", Kind: "local", GPUs: GPUs{List: []Value{val(0)}}, Labels: map[string]string{"site": "y"}},
	}
	for _, c := range []struct {
		name string
		edit func(*Experiment)
		only []string
		want map[string]string
	}{
		{"nothing asked", func(*Experiment) {}, nil, map[string]string{}},
		{"hosts asked for", func(*Experiment) {}, []string{"b"}, map[string]string{"a": "not among the hosts asked for", "c": "not among the hosts asked for"}},
		{"needs.hosts", func(e *Experiment) { e.Needs.Hosts = []string{"a", "c"} }, nil, map[string]string{"b": "needs.hosts names a, c"}},
		{"labels", func(e *Experiment) { e.Needs.Labels = map[string]string{"site": "x"} }, nil, map[string]string{"c": `its label site is not "x"`}},
		{"data", func(e *Experiment) { e.Data = map[string]string{"corpus": "v1"} }, nil, map[string]string{"c": "does not say where data corpus lies"}},
		{"GPUs", func(e *Experiment) { e.Needs.GPUs = 2 }, nil, map[string]string{"c": "has 1 GPU, 2 are needed"}},
		{"more GPUs", func(e *Experiment) { e.Needs.GPUs = 3 }, nil, map[string]string{"a": "has 2 GPUs, 3 are needed", "c": "has 1 GPU, 3 are needed"}},
	} {
		s := &Spec{Experiments: []Experiment{experiment(c.edit)}, Hosts: hosts}
		s.Fill()
		got := map[string]string{}
		for _, h := range build(t, Basis{Spec: s, Hosts: c.only}).Experiments[0].Hosts {
			if h.Eligible != (h.WhyNot == nil) {
				t.Errorf("%s: %s is eligible: %t, why not: %v", c.name, h.Name, h.Eligible, h.WhyNot)
			}
			if h.WhyNot != nil {
				got[h.Name] = *h.WhyNot
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s:\n%s", c.name, diff)
		}
	}
}
