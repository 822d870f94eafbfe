package plan

import (
	"strings"
	"time"
)

// A Default is one row of the table of defaults: the schema path and the value that an absent field gets. The schema
// itself has no defaults; its comments name these.
type Default struct {
	Path  string // "experiments.limits.trial"; the name of the entry is left out
	Value string // as a user would write it
	set   func(s *Spec, e *Experiment, h *Host, a *Agent)
	when  func(e *Experiment, h *Host) bool
}

func experimentDefault(path, value string, set func(*Experiment), when func(*Experiment) bool) Default {
	d := Default{Path: "experiments." + path, Value: value, set: func(_ *Spec, e *Experiment, _ *Host, _ *Agent) { set(e) }}
	if when != nil {
		d.when = func(e *Experiment, _ *Host) bool { return when(e) }
	}
	return d
}

func hostDefault(path, value string, set func(*Host), when func(*Host) bool) Default {
	d := Default{Path: "hosts." + path, Value: value, set: func(_ *Spec, _ *Experiment, h *Host, _ *Agent) { set(h) }}
	if when != nil {
		d.when = func(_ *Experiment, h *Host) bool { return when(h) }
	}
	return d
}

func agentDefault(path, value string, set func(*Agent)) Default {
	return Default{Path: "agents." + path, Value: value, set: func(_ *Spec, _ *Experiment, _ *Host, a *Agent) { set(a) }}
}

func settingsDefault(path, value string, set func(*Settings)) Default {
	return Default{Path: "settings." + path, Value: value, set: func(s *Spec, _ *Experiment, _ *Host, _ *Agent) { set(&s.Settings) }}
}

func hasLoop(e *Experiment) bool     { return e.Loop != nil }
func hasSweep(e *Experiment) bool    { return e.Sweep != nil }
func hasRetry(e *Experiment) bool    { return e.Retry != nil }
func hasTests(e *Experiment) bool    { return e.Loop != nil && e.Loop.Tests != nil }
func hasCriteria(e *Experiment) bool { return e.Criteria != nil }

// compared reports whether all trials of e are compared with each other for a verdict.
func compared(e *Experiment) bool { return e.Loop != nil || e.Claim != nil }

// Defaults is the one table of defaults, in the order of the schema.
var Defaults = []Default{
	experimentDefault("mode", "formal", func(e *Experiment) { e.Mode = "formal" }, nil),
	experimentDefault("code.ignore", `["**/*.md", "LICENSE*", ".github/**"]`, func(e *Experiment) { e.Code.Ignore = []string{"**/*.md", "LICENSE*", ".github/**"} }, nil),
	experimentDefault("code.max_size", "512MiB", func(e *Experiment) { e.Code.MaxSize = 512 << 20 }, nil),
	experimentDefault("setup.timeout", "30m", func(e *Experiment) { e.Setup.Timeout = Duration(30 * time.Minute) }, func(e *Experiment) bool { return e.Setup != nil }),
	experimentDefault("checkpoint.resume_on", `["host_down", "killed", "preempted"]`, func(e *Experiment) { e.Checkpoint.ResumeOn = []string{"host_down", "killed", "preempted"} }, func(e *Experiment) bool { return e.Checkpoint != nil }),
	experimentDefault("objective.pick", "last", func(e *Experiment) { e.Objective.Pick = "last" }, nil),
	experimentDefault("seeds", "1", func(e *Experiment) { e.Seeds = Seeds{0} }, func(e *Experiment) bool { return e.Loop == nil }),
	experimentDefault("sweep.max_trials", "10000", func(e *Experiment) { e.Sweep.MaxTrials = 10_000 }, hasSweep),
	experimentDefault("sweep.canary", "5m", func(e *Experiment) { e.Sweep.Canary = &Canary{For: Duration(5 * time.Minute)} }, hasSweep),
	experimentDefault("sweep.early_stop.factor", "3", func(e *Experiment) { e.Sweep.EarlyStop.Factor = new(3) }, func(e *Experiment) bool { return e.Sweep != nil && e.Sweep.EarlyStop != nil }),
	experimentDefault("loop.iterations", "20", func(e *Experiment) {
		e.Loop.Iterations = 20
		if n := len(e.Loop.Candidates); n > 0 {
			e.Loop.Iterations = n
		}
	}, hasLoop),
	experimentDefault("loop.reproduce", "3", func(e *Experiment) { e.Loop.Reproduce = 3 }, hasLoop),
	experimentDefault("loop.confirm", "8", func(e *Experiment) { e.Loop.Confirm = 8 }, hasLoop),
	experimentDefault("loop.refute_after", "the smaller of 8 and iterations", func(e *Experiment) { e.Loop.RefuteAfter = min(8, e.Loop.Iterations) }, hasLoop),
	experimentDefault("loop.keep", "noise", func(e *Experiment) { e.Loop.Keep = "noise" }, hasLoop),
	experimentDefault("loop.editable", `["**"]`, func(e *Experiment) { e.Loop.Editable = []string{"**"} }, hasLoop),
	experimentDefault("loop.tests.where", "host", func(e *Experiment) { e.Loop.Tests.Where = "host" }, hasTests),
	experimentDefault("loop.tests.timeout", "10m", func(e *Experiment) { e.Loop.Tests.Timeout = Duration(10 * time.Minute) }, hasTests),
	experimentDefault("loop.repair", "1", func(e *Experiment) { e.Loop.Repair = 1 }, hasLoop),
	experimentDefault("loop.stop.crashes", "3", func(e *Experiment) { e.Loop.Stop.Crashes = 3 }, hasLoop),
	experimentDefault("loop.stop.no_change", "3", func(e *Experiment) { e.Loop.Stop.NoChange = 3 }, hasLoop),
	experimentDefault("criteria.confidence", "0.95", func(e *Experiment) { e.Criteria.Confidence = 0.95 }, hasCriteria),
	experimentDefault("needs.per_gpu", "1", func(e *Experiment) { e.Needs.PerGPU = 1 }, nil),
	experimentDefault("needs.match_hardware", "experiment (loops and claims)", func(e *Experiment) { e.Needs.MatchHardware = "experiment" }, compared),
	experimentDefault("needs.match_hardware", "point (sweeps)", func(e *Experiment) { e.Needs.MatchHardware = "point" }, func(e *Experiment) bool { return !compared(e) }),
	experimentDefault("limits.trial", "1h", func(e *Experiment) { e.Limits.Trial = Duration(time.Hour) }, func(e *Experiment) bool { return e.Needs.GPUs == 0 }),
	experimentDefault("limits.evaluate", "10m", func(e *Experiment) { e.Limits.Evaluate = Duration(10 * time.Minute) }, nil),
	experimentDefault("limits.grace", "30s", func(e *Experiment) { e.Limits.Grace = Duration(30 * time.Second) }, nil),
	experimentDefault("retry.on", `["oom_gpu", "killed", "preempted"]`, func(e *Experiment) { e.Retry.On = []string{"oom_gpu", "killed", "preempted"} }, hasRetry),
	experimentDefault("retry.backoff", "10s", func(e *Experiment) { e.Retry.Backoff = Duration(10 * time.Second) }, hasRetry),
	experimentDefault("artifacts.max_size", "1GiB", func(e *Experiment) { e.Artifacts.MaxSize = 1 << 30 }, nil),
	experimentDefault("reuse", "identity", func(e *Experiment) { e.Reuse = "identity" }, nil),
	hostDefault("gpus", "auto", func(h *Host) { h.GPUs = GPUs{Auto: true} }, func(h *Host) bool { return !h.GPUs.Auto && h.GPUs.Count == nil && h.GPUs.List == nil }),
	hostDefault("slots", "1", func(h *Host) { h.Slots = 1 }, func(h *Host) bool { return h.Slots == 0 }),
	hostDefault("workdir", "~/.cache/xrun", func(h *Host) { h.Workdir = "~/.cache/xrun" }, func(h *Host) bool { return h.Kind != "local" && h.Workdir == "" }),
	hostDefault("lease_dir", "/tmp/xrun-leases-v1", func(h *Host) { h.LeaseDir = "/tmp/xrun-leases-v1" }, func(h *Host) bool { return h.LeaseDir == "" }),
	hostDefault("max_jobs", "100", func(h *Host) { h.MaxJobs = 100 }, func(h *Host) bool { return h.Kind == "slurm" && h.MaxJobs == 0 }),
	agentDefault("sandbox", "workspace", func(a *Agent) { a.Sandbox = or(a.Sandbox, "workspace") }),
	agentDefault("timeout", "30m", func(a *Agent) { a.Timeout = or(a.Timeout, Duration(30*time.Minute)) }),
	agentDefault("silence", "10m", func(a *Agent) { a.Silence = or(a.Silence, Duration(10*time.Minute)) }),
	settingsDefault("overlap", "skip", func(s *Settings) { s.Overlap = or(s.Overlap, "skip") }),
	settingsDefault("lost_after", "15m", func(s *Settings) { s.LostAfter = or(s.LostAfter, Duration(15*time.Minute)) }),
}

// or is v, or d where v is the zero value.
func or[T comparable](v, d T) T {
	var zero T
	if v == zero {
		return d
	}
	return v
}

// Fill puts the defaults in. It is called once by whoever makes a Spec, before anything else looks at it.
func (s *Spec) Fill() {
	for _, d := range Defaults {
		switch section, path, _ := strings.Cut(d.Path, "."); section {
		case "experiments":
			for i := range s.Experiments {
				e := &s.Experiments[i]
				if (d.when == nil || d.when(e, nil)) && !e.Set[path] {
					d.set(s, e, nil, nil)
				}
			}
		case "hosts":
			for i := range s.Hosts {
				if h := &s.Hosts[i]; d.when == nil || d.when(nil, h) {
					d.set(s, nil, h, nil)
				}
			}
		case "agents":
			for i := range s.Agents {
				d.set(s, nil, nil, &s.Agents[i])
			}
		default:
			d.set(s, nil, nil, nil)
		}
	}
	for i := range s.Experiments {
		e := &s.Experiments[i]
		for name, m := range e.Metrics {
			m.Pick = or(m.Pick, "last")
			e.Metrics[name] = m
		}
		for name, in := range e.Inputs {
			in.Trial = or(in.Trial, "best")
			e.Inputs[name] = in
		}
	}
}

// A DefaultValue is a field that the spec leaves to xrun, and what it gets.
type DefaultValue struct{ Name, Value string }

// Defaulted lists the defaults that e got, in the order of the schema.
func (e *Experiment) Defaulted() []DefaultValue {
	var out []DefaultValue
	for _, d := range Defaults {
		path, ok := strings.CutPrefix(d.Path, "experiments.")
		if ok && !e.Set[path] && (d.when == nil || d.when(e, nil)) {
			out = append(out, DefaultValue{path, d.Value})
		}
	}
	return out
}
