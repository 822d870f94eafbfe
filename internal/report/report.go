package report

import (
	"math"
	"time"

	"github.com/xrun-dev/xrun/internal/ledger"
	"github.com/xrun-dev/xrun/internal/plan"
)

// SchemaVersion is the version of report.json that this package writes.
const SchemaVersion = 1

// confidence is that of every interval and of every "cannot be told from".
const confidence = 0.95

// A Report is what a run found. Its JSON is report.json: every key is always there, a number that does not exist is
// null with a reason beside it, and no list is null.
type Report struct {
	SchemaVersion int          `json:"schema_version"`
	XrunVersion   string       `json:"xrun_version"`
	Run           RunInfo      `json:"run"`
	Totals        Totals       `json:"totals"`
	Experiments   []Experiment `json:"experiments"`
	Failures      []Failure    `json:"failures"`
	Hosts         []Host       `json:"hosts"`
	SkippedRuns   []SkippedRun `json:"skipped_runs"`
	Warnings      []string     `json:"warnings"`

	// What the text says and the numbers do not need.
	state    *State
	previous *State
}

// RunInfo says which run it was and how it ended.
type RunInfo struct {
	ID         string              `json:"id"`
	Command    []string            `json:"command"`
	Started    *time.Time          `json:"started"`
	Finished   *time.Time          `json:"finished"` // null of a run that is not complete
	Outcome    string              `json:"outcome"`  // that of the end; interrupted, or unfinished where no end is recorded
	ExitCode   *int                `json:"exit_code"`
	Reason     *string             `json:"reason"`
	PlanDigest string              `json:"plan_digest"`
	Spec       []ledger.SourceFile `json:"spec"`
	Commit     *string             `json:"commit"`
	Dirty      *bool               `json:"dirty"`
	HostUser   string              `json:"host_user"`
}

// Totals count a run.
type Totals struct {
	Experiments int         `json:"experiments"`
	Trials      TrialTotals `json:"trials"`
	GPUHours    float64     `json:"gpu_hours"` // leased GPUs times time, failed and lost attempts included
	WallS       float64     `json:"wall_s"`    // while xrun worked on it: not between an interruption and a resume
	Agent       AgentTotals `json:"agent"`

	// WithResult counts the experiments that have a result.
	WithResult int `json:"-"`
	// Budgeted counts those of Trials.NotRun that a budget or the deadline kept from running.
	Budgeted int `json:"-"`
}

// TrialTotals count trials by their final state; they add up to Planned.
type TrialTotals struct {
	Planned      int `json:"planned"`
	Succeeded    int `json:"succeeded"`
	Reused       int `json:"reused"`
	Failed       int `json:"failed"`
	StoppedEarly int `json:"stopped_early"`
	Cancelled    int `json:"cancelled"`
	Lost         int `json:"lost"`
	NotRun       int `json:"not_run"`
}

// AgentTotals are what coding agents spent.
type AgentTotals struct {
	Turns  int         `json:"turns"`
	Tokens AgentTokens `json:"tokens"`
	USD    *float64    `json:"usd"` // null where no agent told
}

// AgentTokens count tokens.
type AgentTokens struct {
	Input     int64 `json:"input"`
	Cached    int64 `json:"cached"`
	Output    int64 `json:"output"`
	Reasoning int64 `json:"reasoning"`
}

// An Experiment is one of the run.
type Experiment struct {
	Name          string      `json:"name"`
	Kind          string      `json:"kind"`
	Objective     Objective   `json:"objective"`
	Verdict       *string     `json:"verdict"`
	VerdictReason *string     `json:"verdict_reason"`
	Baseline      *Level      `json:"baseline"` // of a loop
	Best          *Best       `json:"best"`     // null where nothing is usable
	Effect        *Effect     `json:"effect"`   // of a loop or a claim
	Points        []Point     `json:"points"`   // in plan order; none in a loop
	Iterations    []Iteration `json:"iterations"`
	Trials        []Trial     `json:"trials"` // in plan order
	StopReason    *string     `json:"stop_reason"`
	// Note says what the numbers cannot: why there is no best, or why it cannot be told from others.
	Note *string `json:"note"`

	of       *experiment
	byParams map[string]*Point // made when it is first asked for
}

// Objective is the number that decides.
type Objective struct {
	Metric    string  `json:"metric"`
	Direction string  `json:"direction"`
	Unit      *string `json:"unit"`
}

// A Level is what several runs of one thing measured.
type Level struct {
	N      int       `json:"n"`
	Mean   *float64  `json:"mean"`
	SD     *float64  `json:"sd"`
	Values []float64 `json:"values"` // in the order of the trials
}

// Best is the winner: the best point of a sweep (Trial is its first trial with a result), the best iteration of a loop.
type Best struct {
	Trial     *string `json:"trial"`
	Iteration *int    `json:"iteration"`
	Level
	Params    plan.Params `json:"params"`
	Commit    *string     `json:"commit"`
	Command   []string    `json:"command"`
	Artifacts []string    `json:"artifacts"` // of all its trials, below the state directory

	point *Point
}

// Effect is the difference that a loop or a claim found.
type Effect struct {
	Absolute   *float64 `json:"absolute"`
	Percent    *float64 `json:"percent"`
	CILow      *float64 `json:"ci_low"`
	CIHigh     *float64 `json:"ci_high"`
	Confidence float64  `json:"confidence"`
	PValue     *float64 `json:"p_value"`
	Method     string   `json:"method"`
}

// A Point is one combination of parameters with its replicates.
type Point struct {
	Params plan.Params `json:"params"`
	N      int         `json:"n"` // trials with a result
	Mean   *float64    `json:"mean"`
	SD     *float64    `json:"sd"`
	Min    *float64    `json:"min"`
	Max    *float64    `json:"max"`
	CILow  *float64    `json:"ci_low"` // 95 %, of the mean
	CIHigh *float64    `json:"ci_high"`
	Rank   *int        `json:"rank"`
	// TiedWithBest: it cannot be told from the best. Null where nothing can be told.
	TiedWithBest *bool    `json:"tied_with_best"`
	Trials       []string `json:"trials"`
	Reason       *string  `json:"reason"` // for what is null

	values []float64
	of     []*trial
}

// An Iteration is one turn of a loop.
type Iteration struct {
	N          int       `json:"n"`
	Phase      string    `json:"phase"`
	Decision   string    `json:"decision"`
	Reason     string    `json:"reason"`
	Candidate  Candidate `json:"candidate"`
	Tests      *string   `json:"tests"`
	Trials     []string  `json:"trials"`
	Metric     *float64  `json:"metric"`
	BestBefore *float64  `json:"best_before"`
	BestAfter  *float64  `json:"best_after"`
	Agent      *string   `json:"agent"`
}

// A Candidate is the change that an iteration tried.
type Candidate struct {
	Commit  *string  `json:"commit"`
	Diff    *string  `json:"diff"`
	Files   []string `json:"files"`
	Summary *string  `json:"summary"`
}

// A Trial is one trial of the run.
type Trial struct {
	ID        string      `json:"id"`
	Params    plan.Params `json:"params"`
	Seed      int64       `json:"seed"`
	Command   []string    `json:"command"`
	State     string      `json:"state"`
	Cause     *string     `json:"cause"`
	Message   *string     `json:"message"`
	Objective *float64    `json:"objective"`
	// ObjectiveReason says why Objective is null.
	ObjectiveReason *string             `json:"objective_reason"`
	Metrics         map[string]*float64 `json:"metrics"`
	// MetricsReason says, by metric, why its number is null.
	MetricsReason map[string]string `json:"metrics_reason"`
	Partial       bool              `json:"partial"` // the metrics are of a trial that did not end well
	Host          *string           `json:"host"`
	GPUs          []ledger.GPU      `json:"gpus"`
	PeakGPUMB     *float64          `json:"peak_gpu_mb"`
	GPUUtilMean   *float64          `json:"gpu_util_mean"`
	Attempts      []AttemptInfo     `json:"attempts"`
	Started       *time.Time        `json:"started"`
	DurationS     *float64          `json:"duration_s"`
	ExitCode      *int              `json:"exit_code"`
	Log           *string           `json:"log"`       // below the state directory
	Artifacts     []string          `json:"artifacts"` // below the state directory
	ReusedFrom    *string           `json:"reused_from"`
	Notes         []string          `json:"notes"`
}

// AttemptInfo is one execution of a trial.
type AttemptInfo struct {
	Attempt   int          `json:"attempt"`
	Host      string       `json:"host"`
	State     string       `json:"state"`
	Cause     *string      `json:"cause"`
	Message   *string      `json:"message"`
	GPUs      []ledger.GPU `json:"gpus"`
	Started   *time.Time   `json:"started"`
	DurationS *float64     `json:"duration_s"`
	ExitCode  *int         `json:"exit_code"`
	Log       *string      `json:"log"`
}

// A Failure is the trials that failed in one way.
type Failure struct {
	Cause       string   `json:"cause"`
	Signature   string   `json:"signature"`
	Count       int      `json:"count"`
	Trials      []string `json:"trials"`
	Experiments []string `json:"experiments"`
	Hosts       []string `json:"hosts"`
	Message     string   `json:"message"` // of the first of them
	Excerpt     string   `json:"excerpt"` // the last lines of the first of them
	Log         *string  `json:"log"`     // of the first of them

	of []*trial
}

// A Host is a machine of the run.
type Host struct {
	Name        string             `json:"name"`
	Kind        string             `json:"kind"`
	GPUs        []ledger.GPU       `json:"gpus"`
	Slots       int                `json:"slots"`
	Trials      int                `json:"trials"`
	Failed      int                `json:"failed"` // of these, those with an attempt that failed there
	BusyS       float64            `json:"busy_s"` // all slots together
	IdleS       *float64           `json:"idle_s"` // all slots together; null where their number is not known
	IdleWhy     map[string]float64 `json:"idle_why"`
	Quarantined bool               `json:"quarantined"`
	Note        *string            `json:"note"`
}

// A SkippedRun is a start that found another run active.
type SkippedRun struct {
	ID      string    `json:"id"`
	At      time.Time `json:"at"`
	Command []string  `json:"command"`
	Holder  string    `json:"holder"`
}

// finite is &f, or nil where f is no number.
func finite(f float64) *float64 {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil
	}
	return &f
}

// utc is t in UTC, or nil where t is no time that JSON can hold: a host's clock may say anything.
func utc(t *time.Time) *time.Time {
	if t == nil || t.IsZero() {
		return nil
	}
	at := t.UTC()
	if y := at.Year(); y < 1 || y > 9999 {
		return nil
	}
	return &at
}

// orNil is &s, or nil where s is empty.
func orNil(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
