package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"path"
	"slices"

	"github.com/xrun-dev/xrun/internal/ledger"
	"github.com/xrun-dev/xrun/internal/plan"
)

// Options are what a report needs and the run's events do not say.
type Options struct {
	XrunVersion string         // of the program that writes the report
	Previous    *State         // the last earlier run of the same experiments; nil if there is none
	Skipped     []ledger.Event // the starts since then that found another run active
}

// Report says what the run found.
func (s *State) Report(o Options) *Report {
	r := &Report{
		SchemaVersion: SchemaVersion, XrunVersion: o.XrunVersion,
		Run: s.runInfo(), Totals: s.Counts(), Experiments: []Experiment{}, SkippedRuns: []SkippedRun{},
		Warnings: orEmpty(s.warnings), state: s, previous: o.Previous,
	}
	r.Experiments = make([]Experiment, 0, len(s.experiments))
	for _, x := range s.experiments {
		r.Experiments = append(r.Experiments, s.experimentReport(x))
	}
	r.Failures = s.failures()
	r.Hosts = s.hostReports()
	for _, e := range o.Skipped {
		if b, ok := e.Body.(ledger.RunSkipped); ok {
			r.SkippedRuns = append(r.SkippedRuns, SkippedRun{e.Run, e.At.UTC(), orEmpty(b.Command), b.Holder})
		}
	}
	return r
}

func (s *State) runInfo() RunInfo {
	i := RunInfo{ID: s.run, Command: []string{}, Spec: []ledger.SourceFile{}, PlanDigest: s.planDigest, Outcome: "unfinished"}
	i.Started = utc(&s.startedAt)
	if b := s.started; b != nil {
		i.Command, i.Spec = orEmpty(b.Command), orEmpty(b.Spec)
		i.Commit, i.Dirty, i.HostUser = b.Commit, b.Dirty, b.HostUser
	}
	switch {
	case s.skipped != nil:
		i.Command, i.Outcome = orEmpty(s.skipped.Command), "skipped"
		i.Reason = orNil(wasActive(s.skipped.Holder))
	case s.finished != nil:
		i.Finished, i.Outcome, i.ExitCode = utc(&s.finishedAt), s.finished.Outcome, &s.finished.ExitCode
		i.Reason = orNil(s.finished.Reason)
	case s.interrupted != nil:
		i.Outcome, i.ExitCode, i.Reason = "interrupted", &s.interrupted.ExitCode, orNil(s.interrupted.Reason)
	}
	return i
}

// Counts counts what the run has so far.
func (s *State) Counts() Totals {
	t := Totals{Experiments: len(s.experiments), WallS: round(s.wall().Seconds(), 3)}
	gpuSeconds := 0.0
	for _, x := range s.experiments {
		shared := x.perGPU()
		for _, tr := range x.trials {
			for _, a := range tr.attempts {
				gpuSeconds += float64(len(a.gpus)) * a.seconds(s.lastAt) / float64(shared)
			}
		}
	}
	e := s.ends()
	t.Trials, t.Budgeted, t.WithResult = e.TrialTotals, e.budgeted, s.withResult()
	t.GPUHours = round(gpuSeconds/3600, 6)
	u := s.usage
	t.Agent = AgentTotals{s.turns, AgentTokens{u.Input, u.Cached, u.Output, u.Reasoning}, nil}
	if u.USD != nil {
		t.Agent.USD = finite(*u.USD)
	}
	return t
}

// of is the count of the final state s.
func (t *TrialTotals) of(s ledger.State) *int {
	switch s {
	case ledger.Succeeded:
		return &t.Succeeded
	case ledger.Reused:
		return &t.Reused
	case ledger.Failed:
		return &t.Failed
	case ledger.StoppedEarly:
		return &t.StoppedEarly
	case ledger.Cancelled:
		return &t.Cancelled
	case ledger.NotRun:
		return &t.NotRun
	default: // superseded is a state of attempts; a trial that has nothing else has lost its result
		return &t.Lost
	}
}

func (s *State) experimentReport(x *experiment) Experiment {
	o := x.objective()
	r := Experiment{
		Name: x.name, Kind: x.kind(), Objective: Objective{o.Metric, o.Direction, orNil(o.Unit)},
		Points: []Point{}, Iterations: []Iteration{}, Trials: []Trial{}, of: x,
	}
	if f := x.finished; f != nil {
		r.Verdict, r.VerdictReason, r.StopReason = orNil(f.Verdict), orNil(f.VerdictReason), orNil(f.StopReason)
	}
	r.Trials = make([]Trial, 0, len(x.trials)) // there may be many
	for _, t := range x.inOrder() {
		r.Trials = append(r.Trials, t.report())
	}
	for _, i := range x.iterations {
		r.Iterations = append(r.Iterations, iteration(i))
	}
	if r.Kind != plan.KindLoop {
		var note string
		r.Points, r.Best, note = s.rank(x)
		r.Note = orNil(note)
	}
	return r
}

// inOrder is the trials in plan order; those whose plan is missing come last.
func (x *experiment) inOrder() []*trial {
	index := func(t *trial) int {
		if t.planned == nil {
			return math.MaxInt
		}
		return t.planned.Index
	}
	return slices.SortedStableFunc(slices.Values(x.trials), func(a, b *trial) int {
		return cmp.Compare(index(a), index(b))
	})
}

func iteration(i ledger.IterationFinished) Iteration {
	f := func(n *ledger.Number) *float64 {
		if n == nil {
			return nil
		}
		return finite(float64(*n))
	}
	return Iteration{
		N: i.Iteration, Phase: i.Phase, Decision: i.Decision, Reason: i.Reason,
		Candidate: Candidate{orNil(i.Commit), nil, orEmpty(i.Files), orNil(i.Summary)},
		Trials:    orEmpty(i.Trials), Metric: f(i.Metric), BestBefore: f(i.BestBefore), BestAfter: f(i.BestAfter),
	}
}

// noReasons is of trials all of whose metrics are numbers: of nearly all.
var noReasons = map[string]string{}

func (t *trial) report() Trial {
	r := Trial{
		ID: t.key.Trial, Params: t.params, Seed: t.seed(), Command: []string{}, State: string(t.final()),
		Metrics: map[string]*float64{}, MetricsReason: noReasons, GPUs: []ledger.GPU{},
		Attempts: []AttemptInfo{}, Artifacts: []string{}, Notes: []string{},
	}
	if t.planned != nil {
		r.Command = orEmpty(t.planned.Command)
	}
	cause, message := t.cause()
	r.Cause, r.Message = orNil(cause), orNil(message)
	r.Attempts = make([]AttemptInfo, 0, len(t.attempts))
	for _, a := range t.attempts {
		r.Attempts = append(r.Attempts, a.report())
	}
	if a := t.counted(); a != nil {
		r.Host, r.GPUs = orNil(a.host), orEmpty(a.gpus)
	}
	if t.finished != nil && t.finished.Reused != nil {
		r.ReusedFrom = orNil(t.finished.Reused.Run)
	}
	if o := t.outcome(); o != nil {
		t.describe(&r, o)
	}
	if v, ok := t.value(); ok {
		r.Objective = &v
	} else {
		r.ObjectiveReason = orNil(t.whyNoValue())
	}
	return r
}

// describe fills in what the outcome o says.
func (t *trial) describe(r *Trial, o *ledger.AttemptFinished) {
	if o.Host != "" {
		r.Host = orNil(o.Host)
	}
	for _, name := range slices.Sorted(maps.Keys(o.Metrics)) {
		v := finite(float64(o.Metrics[name]))
		r.Metrics[name] = v
		if v == nil {
			if len(r.MetricsReason) == 0 {
				r.MetricsReason = map[string]string{}
			}
			r.MetricsReason[name] = t.printed(name, float64(o.Metrics[name]))
		}
	}
	r.Partial, r.PeakGPUMB, r.GPUUtilMean = o.Partial, o.PeakGPUMB, o.GPUUtilMean
	r.Started = utc(o.Started)
	d := round(o.DurationS, 3)
	r.DurationS, r.ExitCode, r.Log = &d, o.ExitCode, orNil(o.Log)
	r.Notes = orEmpty(o.Notes)
	for _, a := range o.Artifacts {
		r.Artifacts = append(r.Artifacts, artifactPath(o.Log, a))
	}
}

// artifactPath is where an artifact lies below the state directory: beside its attempt's log.
func artifactPath(log, artifact string) string {
	if log == "" {
		return artifact
	}
	return path.Join(path.Dir(log), "artifacts", artifact)
}

// printed is what the program printed where a number should be.
func (t *trial) printed(metric string, v float64) string {
	for _, s := range t.series() {
		if s.Metric != metric {
			continue
		}
		for _, x := range slices.Backward(s.Values) {
			if x.Text != "" && finite(float64(x.Value)) == nil {
				return fmt.Sprintf("%s was printed in line %d", x.Text, x.Line)
			}
		}
	}
	if math.IsInf(v, 0) {
		return "infinite"
	}
	return "not a number"
}

func (t *trial) whyNoValue() string {
	cause, message := t.cause()
	switch state := t.final(); {
	case state == ledger.Succeeded || state == ledger.Reused:
		if o := t.outcome(); o != nil && o.Objective != nil {
			return "diverged: " + t.printed("", float64(*o.Objective))
		}
		return "no objective was recorded"
	case cause == "" && message == "":
		return string(state)
	case cause == "":
		return fmt.Sprintf("%s: %s", state, message)
	case message == "":
		return fmt.Sprintf("%s: %s", state, cause)
	default:
		return fmt.Sprintf("%s: %s: %s", state, cause, message)
	}
}

func (a *attempt) report() AttemptInfo {
	r := AttemptInfo{Attempt: a.n, Host: a.host, State: string(a.passing), GPUs: orEmpty(a.gpus), Message: orNil(a.reason)}
	f := a.finished
	if f == nil {
		return r
	}
	d := round(f.DurationS, 3)
	r.State, r.Cause, r.Message = string(f.State), orNil(f.Cause), orNil(f.Message)
	r.DurationS, r.ExitCode, r.Log, r.Started = &d, f.ExitCode, orNil(f.Log), utc(f.Started)
	return r
}

// orEmpty is s, never nil: no list of a report is null.
func orEmpty[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// round keeps digits decimals, so that sums of seconds do not end in …0000004.
func round(f float64, digits int) float64 {
	p := math.Pow10(digits)
	if r := math.Round(f*p) / p; !math.IsNaN(r) && !math.IsInf(r, 0) {
		return r
	}
	return 0
}

// perGPU is how many trials of the experiment may share a GPU: each is charged its part.
func (x *experiment) perGPU() int {
	var spec struct {
		Needs struct {
			PerGPU int `json:"per_gpu"`
		} `json:"needs"`
	}
	if x.planned == nil || json.Unmarshal(x.planned.Spec, &spec) != nil {
		return 1
	}
	return max(1, spec.Needs.PerGPU)
}
