package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fleet is a spec with one experiment and hosts that a file declares.
func fleet(edit func(*Experiment), hosts ...Host) *Spec {
	s := &Spec{Experiments: []Experiment{experiment(edit)}}
	for _, h := range hosts {
		h.Kind, h.From = or(h.Kind, "ssh"), "hosts.cue"
		s.Hosts = append(s.Hosts, h)
	}
	s.Fill()
	return s
}

func counted(name string, n int) Host { return Host{Name: name, GPUs: GPUs{Count: &n}} }

func TestNeedsThatNoHostMeetsAreNamed(t *testing.T) {
	needs := func(n Needs, data ...string) func(*Experiment) {
		return func(e *Experiment) {
			e.Needs, e.Limits.Trial = n, 1
			e.Set["needs.gpus"], e.Set["limits.trial"] = true, true
			for _, d := range data {
				if e.Data == nil {
					e.Data = map[string]string{}
				}
				e.Data[d] = "v1"
			}
		}
	}
	two := Host{Name: "b", GPUs: GPUs{List: []Value{val(0), val("GPU-x")}}, Labels: map[string]string{"site": "lab"}, Data: map[string]string{"corpus": "/c"}}
	unknown := Host{Name: "auto"}
	for name, c := range map[string]struct {
		spec *Spec
		want []string
	}{
		"as many GPUs as there are": {fleet(needs(Needs{GPUs: 2}), counted("a", 1), two), nil},
		"a GPU too many": {
			fleet(needs(Needs{GPUs: 4}), counted("a", 1), two),
			[]string{"experiments.lr.needs.gpus: no host can run this: a: has 1 GPU, 4 are needed; b: has 2 GPUs, 4 are needed (ask for less, or declare a host that has it)"},
		},
		"one host": {
			fleet(needs(Needs{GPUs: 4}), counted("a", 0)),
			[]string{"experiments.lr.needs.gpus: no host can run this: a: has 0 GPUs, 4 are needed (ask for less, or declare a host that has it)"},
		},
		"what only the host can tell": {fleet(needs(Needs{GPUs: 64}), counted("a", 1), unknown), nil},
		"a label": {
			fleet(needs(Needs{Labels: map[string]string{"site": "roof"}}), two),
			[]string{`experiments.lr.needs.labels.site: no host can run this: b: its label site is not "roof" (ask for less, or declare a host that has it)`},
		},
		"each by another host, none by one": {
			fleet(needs(Needs{GPUs: 3, Labels: map[string]string{"site": "lab"}}, "corpus"), counted("a", 8), two),
			[]string{`experiments.lr.needs.gpus: no host can run this: b: has 2 GPUs, 3 are needed; a: its label site is not "lab" (b comes closest; ask for less, or declare a host that has it)`},
		},
		"all that the closest lacks, and a few of many": {
			fleet(needs(Needs{GPUs: 9, Labels: map[string]string{"site": "roof"}}), counted("a", 1), counted("c", 1), counted("d", 1), counted("e", 1), counted("f", 1)),
			[]string{`experiments.lr.needs.labels.site: no host can run this: a: its label site is not "roof", has 1 GPU, 9 are needed; c: its label site is not "roof"; d: its label site is not "roof"; and 2 more (ask for less, or declare a host that has it)`},
		},
		"of the hosts that are named": {
			fleet(needs(Needs{GPUs: 4, Hosts: []string{"b"}}), counted("a", 8), two),
			[]string{"experiments.lr.needs.gpus: no host can run this: b: has 2 GPUs, 4 are needed (ask for less, or declare a host that has it)"},
		},
		"a host that is not loaded may have it": {
			fleet(needs(Needs{GPUs: 4, Hosts: []string{"b", "away"}}, "moon"), two),
			[]string{`experiments.lr.needs.hosts.1: no host called "away" is loaded (hosts: b; --inventory gives others)?`},
		},
		"only hosts that are not loaded": {
			fleet(needs(Needs{Hosts: []string{"awau"}}), Host{Name: "away"}),
			[]string{`experiments.lr.needs.hosts.0: no host called "awau" is loaded (did you mean "away"?)?`},
		},
		"a host that could not be read may have it": {
			func() *Spec {
				s := fleet(needs(Needs{GPUs: 4}, "moon"), two, Host{Name: "c"})
				s.Hosts[1] = Host{Name: "c"}
				return s
			}(),
			nil,
		},
		"data of no host": {
			fleet(needs(Needs{}, "corpus", "moon", "a-b"), two),
			[]string{
				`experiments.lr.data.a-b: no host says where data a-b lies (hosts: b: data: "a-b": "/path")`,
				`experiments.lr.data.moon: no host says where data moon lies (hosts: b: data: moon: "/path")`,
			},
		},
		"data of no host, and a need": {
			fleet(needs(Needs{GPUs: 3}, "moon"), two),
			[]string{
				`experiments.lr.data.moon: no host says where data moon lies (hosts: b: data: moon: "/path")`,
				"experiments.lr.needs.gpus: no host can run this: b: has 2 GPUs, 3 are needed (ask for less, or declare a host that has it)",
			},
		},
		"data and no host at all": {
			specOf(experiment(needs(Needs{}, "moon"))),
			[]string{`experiments.lr.data.moon: no host says where data moon lies (declare a host that has it: hosts: local: {kind: "local", data: moon: "/path"})`},
		},
		"a need and no host at all": {
			specOf(experiment(needs(Needs{Labels: map[string]string{"site": "lab"}}))),
			[]string{`experiments.lr.needs.labels.site: no host that is loaded can run this: local: its label site is not "lab" (no host is declared; --inventory gives some)?`},
		},
		"the host of a glob, named twice": {
			fleet(func(e *Experiment) {
				sweep(Sweep{Grid: Axes{{Name: "lr", Glob: &Glob{Glob: "/d/*", On: "mras"}}}})(e)
				e.Needs.Hosts = []string{"mras"}
			}, Host{Name: "mars"}),
			[]string{`experiments.lr.needs.hosts.0: no host called "mras" is loaded (did you mean "mars"?)?`},
		},
		"the host of a glob": {
			fleet(sweep(Sweep{Grid: Axes{{Name: "lr", Glob: &Glob{Glob: "/d/*", On: "mras"}}}}), Host{Name: "mars"}),
			[]string{`experiments.lr.sweep.grid.lr.on: no host called "mras" is loaded (did you mean "mars"?)?`},
		},
	} {
		if diff := cmp.Diff(c.want, lines(Check(c.spec))); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

func TestAnExperimentWithoutGPUsAmongHostsThatHaveSomeIsNamed(t *testing.T) {
	const said = "experiments.lr.needs.gpus: the trial sees no GPU, and every host it may run on has some (add needs: gpus: 1, or needs: gpus: 0 if it uses none)?"
	listed := Host{Name: "b", GPUs: GPUs{List: []Value{val(3)}}}
	nothing := func(*Experiment) {}
	for name, c := range map[string]struct {
		spec *Spec
		want []string
	}{
		"a count and a list":    {fleet(nothing, counted("a", 2), listed), []string{said}},
		"a host that has none":  {fleet(nothing, counted("a", 0), listed), nil},
		"a host that may":       {fleet(nothing, Host{Name: "a"}, listed), nil},
		"it is meant":           {fleet(given(nothing, "needs.gpus"), listed), nil},
		"no host is declared":   {specOf(experiment()), nil},
		"a host for others":     {fleet(func(e *Experiment) { e.Needs.Labels = map[string]string{"x": "y"} }, Host{Name: "a", Labels: map[string]string{"x": "y"}, GPUs: listed.GPUs}, Host{Name: "c"}), []string{said}},
		"one that is not known": {fleet(func(e *Experiment) { e.Needs.Hosts = []string{"b", "b2"} }, listed), []string{`experiments.lr.needs.hosts.1: no host called "b2" is loaded (did you mean "b"?)?`}},
	} {
		if diff := cmp.Diff(c.want, lines(Check(c.spec))); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

func TestGPUsThatStandThereTwiceAreNamed(t *testing.T) {
	s := fleet(func(*Experiment) {}, Host{Name: "a", GPUs: GPUs{List: []Value{val(0), val(1), val(0), val("1"), val("GPU-Ab"), val("gpu-aB"), val(-1), val("")}}}, Host{Name: "b"})
	want := []string{
		"hosts.a.gpus.2: GPU 0 stands there twice",
		"hosts.a.gpus.3: GPU 1 stands there twice",
		"hosts.a.gpus.5: GPU gpu-aB stands there twice",
		"hosts.a.gpus.6: -1 is no index of a GPU: they count from 0",
		"hosts.a.gpus.7: this names no GPU",
	}
	if diff := cmp.Diff(want, lines(Check(s))); diff != "" {
		t.Error(diff)
	}
}
