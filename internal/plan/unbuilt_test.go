package plan

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWhatIsNotBuiltIsNamed(t *testing.T) {
	experiments := map[string]func(*Experiment){
		"code.ref":           func(e *Experiment) { e.Code.Ref = "v1" },
		"container":          func(e *Experiment) { e.Container = &Container{} },
		"loop":               func(e *Experiment) { e.Sweep, e.Loop = nil, &Loop{Agent: "a"} },
		"claim":              func(e *Experiment) { e.Claim = &Claim{} },
		"artifacts.keep_for": func(e *Experiment) { e.Artifacts.KeepFor = new(Duration) },
	}
	for want, edit := range experiments {
		path, _, _ := strings.Cut(want, " ")
		got := lines(Unbuilt(specOf(experiment(edit))))
		if diff := cmp.Diff([]string{"experiments.lr." + path + ": " + path + " is not built yet"}, got); diff != "" {
			t.Errorf("%s:\n%s", want, diff)
		}
	}
	for want, edit := range map[string]func(*Spec){
		"settings.notify: notify is not built yet":                   func(s *Spec) { s.Settings.Notify = []Notify{{}} },
		"hosts.local.kind: hosts of kind ssh are not built yet":      func(s *Spec) { s.Hosts[0].Kind = "ssh" },
		"hosts.local.kind: hosts of kind slurm are not built yet":    func(s *Spec) { s.Hosts[0].Kind = "slurm" },
		"experiments.lr.code.ref: code.ref is not built yet, always": func(s *Spec) { s.Experiments[0].Code.Ref = "x" },
	} {
		s := specOf(experiment())
		edit(s)
		if diff := cmp.Diff([]string{strings.TrimSuffix(want, ", always")}, lines(Unbuilt(s))); diff != "" {
			t.Error(diff)
		}
	}
}

func TestWhatIsBuiltIsNotRefused(t *testing.T) {
	n := 2
	s := specOf(experiment(func(e *Experiment) {
		e.Sweep.Canary, e.Set["sweep.canary"] = &Canary{For: 5}, true
		e.Objective.From, e.Retry = &Source{Kind: "log"}, &Retry{Max: 1}
		e.Metrics = map[string]Metric{"acc": {}}
		e.Needs.GPUs, e.Needs.PerGPU, e.Needs.MatchHardware = 2, 2, "point"
		e.Needs.Hosts, e.Needs.Labels, e.Limits.MaxParallel, e.Priority = []string{"local"}, map[string]string{"a": "b"}, &n, 3
		e.Reuse, e.Set["reuse"] = "never", true
		e.Env, e.Params, e.Code.Include = map[string]string{"A": "b"}, map[string]Value{"x": val(1)}, []string{"x"}
	}))
	s.Agents = []Agent{{Name: "codex", Kind: "codex"}} // promises nothing before a loop names it
	s.Settings.Overlap, s.Settings.KeepRuns = "wait", &n
	if got := lines(Unbuilt(s)); got != nil {
		t.Errorf("%q", got)
	}
}
