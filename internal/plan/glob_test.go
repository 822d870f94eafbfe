package plan

import (
	"slices"
	"strings"
	"testing"
)

func globbed(on string) *Spec {
	e := Experiment{Name: "e", Command: []string{"eval", "{ckpt}"}, Seeds: Seeds{0}, Set: map[string]bool{}}
	e.Sweep = &Sweep{Grid: Axes{{Name: "ckpt", Glob: &Glob{Glob: "/d/*.pt", On: on}}}, MaxTrials: 10}
	return &Spec{Experiments: []Experiment{e}, Hosts: []Host{{Name: "a", Slots: 1}, {Name: "b", Slots: 1}}}
}

func TestTheFilesOfAGlobAreTrialsKnownByTheirContent(t *testing.T) {
	s := globbed("a")
	key := s.Globs()[0]
	build := func(files ...FoundFile) *PlannedExperiment {
		t.Helper()
		p, err := Build(Basis{Spec: s, Globs: Globs{key: files}})
		if err != nil {
			t.Fatal(err)
		}
		return &p.Experiments[0]
	}
	one, two := FoundFile{"/d/s_2.pt", 5, 7}, FoundFile{"/d/s_10.pt", 5, 7}
	pe := build(two, one)
	if len(pe.Trials) != 2 || pe.Trials[0].Command()[1] != "/d/s_2.pt" || *pe.Estimate.Trials != 2 {
		t.Fatalf("%+v", pe)
	}
	if !pe.Hosts[0].Eligible || pe.Hosts[1].Eligible || !strings.Contains(*pe.Hosts[1].WhyNot, "the files of ckpt are on a") {
		t.Errorf("%+v", pe.Hosts)
	}
	again := build(FoundFile{"/d/s_2.pt", 5, 8}, two)
	if again.Trials[0].ID == pe.Trials[0].ID || again.Trials[1].ID != pe.Trials[1].ID {
		t.Error("a file that was written again is another trial, and no other is")
	}
	if parts := pe.Trials[0].Parts(); parts["file: ckpt"] == "" {
		t.Errorf("%v", parts)
	}
	if _, err := Build(Basis{Spec: s, Globs: Globs{key: nil}}); err == nil || !strings.Contains(err.Error(), "no file matches") {
		t.Error(err)
	}
	p, err := Build(Basis{Spec: s})
	if err != nil || len(p.Experiments[0].Trials) != 0 || p.Experiments[0].Estimate.Trials != nil || len(p.Warnings) != 1 {
		t.Errorf("%+v, %v", p, err)
	}
	if s.Experiments[0].Sweep.Grid[0].Values != nil {
		t.Error("the spec was changed")
	}
}

func TestNamesAreSortedAsPeopleCount(t *testing.T) {
	want := []string{"", "a", "a1", "a01", "a2", "a10", "a10b", "a11", "b", "step_2.pt", "step_10.pt", "step_99999999999999999999.pt", "step_100000000000000000000.pt"}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, natural)
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestAGlobIsAbsolute(t *testing.T) {
	for glob, bad := range map[string]bool{"/d/*.pt": false, "~/d/*.pt": false, "ckpt/*.pt": true, "./x": true} {
		s := globbed("a")
		s.Experiments[0].Sweep.Grid[0].Glob.Glob = glob
		found := slices.ContainsFunc(Check(s), func(f Finding) bool { return strings.Join(f.Path, ".") == "experiments.e.sweep.grid.ckpt.glob" })
		if found != bad {
			t.Errorf("%s: %v", glob, found)
		}
	}
}
