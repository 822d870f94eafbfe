package ledger

import (
	"encoding/json"
	"time"
)

// SchemaVersion is the version of the events that this package writes, and of the lines of events.jsonl.
const SchemaVersion = 1

// An Event is one fact, as it is stored, streamed and replayed.
type Event struct {
	Seq     int64     `json:"seq"`     // position in the ledger; 0 before it is stored
	Version int       `json:"version"` // of the body
	Run     string    `json:"run"`
	At      time.Time `json:"at"` // UTC
	Type    Type      `json:"type"`
	Body    Body      `json:"body"`
}

// A Type names a kind of fact.
type Type string

// A Body is what an event says. Each type of event has one Go type of body, and the other way round.
type Body interface{ EventType() Type }

// State is where a trial or an attempt stands.
type State string

// The states. Queued to Collecting and Unknown are passing; the others are final.
const (
	Queued       State = "queued"
	Leased       State = "leased"
	Staging      State = "staging"
	Running      State = "running"
	Collecting   State = "collecting"
	Unknown      State = "unknown" // the host does not answer
	Succeeded    State = "succeeded"
	Failed       State = "failed"
	StoppedEarly State = "stopped_early"
	Cancelled    State = "cancelled"
	Lost         State = "lost"
	NotRun       State = "not_run"
	Reused       State = "reused"
	Superseded   State = "superseded" // of an attempt: its twin's result counts
)

// Final reports whether a trial in state s is done with.
func (s State) Final() bool {
	switch s {
	case Succeeded, Failed, StoppedEarly, Cancelled, Lost, NotRun, Reused, Superseded:
		return true
	}
	return false
}

// Key names a trial of a run.
type Key struct {
	Experiment string `json:"experiment"`
	Trial      string `json:"trial"`
}

// Attempt names an attempt of a run; Attempt counts from 1.
type Attempt struct {
	Key
	Attempt int `json:"attempt"`
}

// Number is a float64 whose JSON is null where it is not finite.
type Number float64

// The bodies of the events of version 1.
type (
	// RunStarted begins a run.
	RunStarted struct {
		Command     []string     `json:"command"` // as the user typed it
		Dir         string       `json:"dir"`     // the working directory it was typed in
		Paths       []string     `json:"paths"`   // the PATH arguments
		Tags        []string     `json:"tags"`
		Inventory   string       `json:"inventory"`
		XrunVersion string       `json:"xrun_version"`
		PlanDigest  string       `json:"plan_digest"`
		SpecDigest  string       `json:"spec_digest"`
		Spec        []SourceFile `json:"spec"`
		Commit      *string      `json:"commit"`
		Dirty       *bool        `json:"dirty"`
		HostUser    string       `json:"host_user"` // user@machine of the controller
		Warnings    []string     `json:"warnings"`
	}
	// SourceFile is one file of the spec.
	SourceFile struct {
		File   string `json:"file"`
		SHA256 string `json:"sha256"`
	}
	// RunResumed takes an unfinished run up again.
	RunResumed struct {
		Command    []string `json:"command"`
		PlanDigest string   `json:"plan_digest"` // differs from RunStarted's if changes were accepted
		SpecDigest string   `json:"spec_digest"`
		Accepted   []string `json:"accepted"` // what --accept-changes took, in words
	}
	// RunInterrupted ends this process's part of a run that can be resumed.
	RunInterrupted struct {
		Reason   string `json:"reason"`
		ExitCode int    `json:"exit_code"`
		Running  int    `json:"running"` // attempts left running on hosts
	}
	// RunFinished ends a run.
	RunFinished struct {
		Outcome  string `json:"outcome"` // done, some_failed, nothing_usable, no_host, budget, deadline
		ExitCode int    `json:"exit_code"`
		Reason   string `json:"reason"`
	}
	// RunImported comes before the events of a run that were recorded in another ledger.
	RunImported struct {
		From        string `json:"from"` // user@machine that ran it
		XrunVersion string `json:"xrun_version"`
		Omitted     int    `json:"omitted"` // files that were left out
	}
	// RunSkipped is a start that found another run active in its state directory; its Run is its own id.
	RunSkipped struct {
		Command []string `json:"command"`
		Holder  string   `json:"holder"` // the run that was active
	}
	// CodeStored gives the files of a version of the code, once per id.
	CodeStored struct {
		ID    string     `json:"id"`
		Files []CodeFile `json:"files"`
	}
	// CodeFile is one file of the code.
	CodeFile struct {
		Path    string `json:"path"`
		Mode    string `json:"mode"`
		SHA256  string `json:"sha256"`
		Size    int64  `json:"size"`
		Ignored bool   `json:"ignored,omitempty"`
	}
	// ExperimentPlanned declares an experiment of the run.
	ExperimentPlanned struct {
		Name      string          `json:"name"`
		Kind      string          `json:"kind"`
		Objective Objective       `json:"objective"`
		Metrics   []string        `json:"metrics"` // further numbers to record, sorted
		Axes      []Axis          `json:"axes"`    // the parameters that vary, in plan order
		Code      string          `json:"code"`
		Dir       string          `json:"dir"` // of the code, relative to the root of the repository: where the command runs
		Trials    int             `json:"trials"`
		Reusable  int             `json:"reusable,omitempty"` // of those, the ones with a result from before, says the plan
		Left      int             `json:"left,omitempty"`     // trials of the spec that were not asked for (--first, --rerun failed)
		Limits    Limits          `json:"limits"`
		Hosts     []string        `json:"hosts"` // those it may use
		Spec      json.RawMessage `json:"spec"`  // the resolved experiment
	}
	// Objective is the number that decides.
	Objective struct {
		Metric    string `json:"metric"`
		Direction string `json:"direction"`
		Unit      string `json:"unit"`
		Pick      string `json:"pick"`
	}
	// Axis is one parameter that varies, with its distinct values in plan order (canonical text).
	Axis struct {
		Name    string   `json:"name"`
		Values  []string `json:"values"`
		Ordered bool     `json:"ordered"` // numbers: the least and the greatest are edges
	}
	// Limits that may cut a trial, in seconds; 0 is none.
	Limits struct {
		TrialS       float64 `json:"trial_s"`
		TrialDefault bool    `json:"trial_default"` // nobody asked for it
		SilenceS     float64 `json:"silence_s"`
	}
	// TrialPlanned declares a trial.
	TrialPlanned struct {
		Key
		Index   int               `json:"index"`  // place in the experiment's order, from 0
		Params  json.RawMessage   `json:"params"` // an object in display order
		Seed    int64             `json:"seed"`
		Point   string            `json:"point"` // names point and seed within the experiment, whatever the code
		Code    string            `json:"code"`
		Command []string          `json:"command"`
		Parts   map[string]string `json:"parts"` // hashes of what the id is made of
		Why     string            `json:"why"`
		Changed []string          `json:"changed"`
	}
	// AttemptIntended is on disk before anything is started for an attempt.
	AttemptIntended struct {
		Attempt
		Host    string `json:"host"`
		Job     string `json:"job"` // names the job on the host; unique for ever
		JobDir  string `json:"job_dir"`
		Adopted string `json:"adopted"` // the run that started the job, if this one took it over
		// Checkpoint is the name of the directory of its checkpoint on the host; empty if it has none.
		Checkpoint string `json:"checkpoint,omitempty"`
	}
	// AttemptStarted is when the host says that the command runs.
	AttemptStarted struct {
		Attempt
		PID  int        `json:"pid"`
		GPUs []GPU      `json:"gpus"`
		At   *time.Time `json:"started"` // by the host's clock: for display only
	}
	// GPU is one that was leased.
	GPU struct {
		UUID  string `json:"uuid"`
		Model string `json:"model"`
	}
	// AttemptState is a passing change: unknown, and back.
	AttemptState struct {
		Attempt
		State  State  `json:"state"`
		Reason string `json:"reason"`
	}
	// MetricValues are the newest values of one metric of one attempt, in the order they were printed.
	MetricValues struct {
		Attempt
		Metric string        `json:"metric"`
		Values []MetricValue `json:"values"`
	}
	// MetricValue is one printed value. Step is null where none was printed.
	MetricValue struct {
		Value Number  `json:"value"` // null in JSON where not finite; Text then has it
		Text  string  `json:"text,omitempty"`
		Step  *Number `json:"step"`
		Line  int64   `json:"line"` // of the log, or of the file that the metric is read from; from 1
	}
	// AttemptFinished is the outcome of an attempt.
	AttemptFinished struct {
		Attempt
		Host        string            `json:"host"`
		State       State             `json:"state"`
		Cause       string            `json:"cause"`   // empty where it ended well
		Message     string            `json:"message"` // one line for a person
		Signature   string            `json:"signature"`
		Excerpt     string            `json:"excerpt"`   // the last lines of the log
		ExitCode    *int              `json:"exit_code"` // null if it never ended by itself
		Started     *time.Time        `json:"started"`
		DurationS   float64           `json:"duration_s"`
		Objective   *Number           `json:"objective"`
		Metrics     map[string]Number `json:"metrics"`
		Picks       map[string]string `json:"picks"` // by metric: which of its values was taken
		PeakGPUMB   *float64          `json:"peak_gpu_mb"`
		GPUUtilMean *float64          `json:"gpu_util_mean"`
		Log         string            `json:"log"`                // relative to the state directory
		Artifacts   []string          `json:"artifacts"`          // paths relative to the attempt's artifacts directory, sorted
		Kept        []string          `json:"kept,omitempty"`     // those that stayed on the host, below KeptDir
		KeptDir     string            `json:"kept_dir,omitempty"` // absolute there
		Partial     bool              `json:"partial"`            // the metrics are of a trial that did not end well
		Twin        bool              `json:"twin"`               // another attempt's result counts (superseded)
		Notes       []string          `json:"notes"`              // near misses, doubtful lines, files left behind
	}
	// TrialFinished is the final state of a trial.
	TrialFinished struct {
		Key
		State   State  `json:"state"`
		Cause   string `json:"cause"`
		Message string `json:"message"`
		Attempt int    `json:"attempt"` // whose result counts; 0 if none
		// Reused is where the result comes from; null unless State is reused.
		Reused *ReusedFrom `json:"reused"`
	}
	// ReusedFrom is the result of an earlier run, whole, so that a report needs that run no more.
	ReusedFrom struct {
		Run     string          `json:"run"`
		Outcome AttemptFinished `json:"outcome"`
		Series  []MetricValues  `json:"series"`
	}
	// ExperimentFinished ends an experiment.
	ExperimentFinished struct {
		Name          string `json:"name"`
		Verdict       string `json:"verdict"` // empty unless a loop or a claim
		VerdictReason string `json:"verdict_reason"`
		StopReason    string `json:"stop_reason"`
	}
	// HostState says that a host serves, was drained, is quarantined or unreachable.
	HostState struct {
		Host   string `json:"host"`
		Kind   string `json:"kind"`
		Slots  int    `json:"slots"`
		GPUs   []GPU  `json:"gpus"`
		State  string `json:"state"` // serving, drained, unreachable, refused
		Reason string `json:"reason"`
	}
	// Warning is something a reader of the report should know.
	Warning struct {
		Message string `json:"message"`
	}
	// StepFinished is the recorded result of one durable step of a loop.
	StepFinished struct {
		Experiment string          `json:"experiment"`
		Phase      string          `json:"phase"`
		Iteration  int             `json:"iteration"`
		Kind       string          `json:"kind"`
		Ordinal    int             `json:"ordinal"`
		Inputs     string          `json:"inputs"` // hash of the step's inputs
		Result     json.RawMessage `json:"result"`
	}
	// IterationStarted begins one turn of a loop.
	IterationStarted struct {
		Experiment string `json:"experiment"`
		Phase      string `json:"phase"`
		Iteration  int    `json:"iteration"`
		Focus      string `json:"focus"`
	}
	// IterationFinished is its decision and what it rests on.
	IterationFinished struct {
		Experiment string   `json:"experiment"`
		Phase      string   `json:"phase"`
		Iteration  int      `json:"iteration"`
		Decision   string   `json:"decision"`
		Reason     string   `json:"reason"`
		Commit     string   `json:"commit"`
		Files      []string `json:"files"`
		Summary    string   `json:"summary"`
		Trials     []string `json:"trials"` // sorted by seed
		Metric     *Number  `json:"metric"`
		BestBefore *Number  `json:"best_before"`
		BestAfter  *Number  `json:"best_after"`
	}
	// TurnStarted is on disk before an agent is started.
	TurnStarted struct {
		Experiment string `json:"experiment"`
		Iteration  int    `json:"iteration"`
		Attempt    int    `json:"attempt"`
		Agent      string `json:"agent"`
		Marker     string `json:"marker"`
	}
	// TurnFinished is what came of it.
	TurnFinished struct {
		Experiment string `json:"experiment"`
		Iteration  int    `json:"iteration"`
		Attempt    int    `json:"attempt"`
		Outcome    string `json:"outcome"`
		Message    string `json:"message"`
		Usage      Usage  `json:"usage"`
	}
	// Usage is what an agent spent, in tokens and US dollars.
	Usage struct {
		Input     int64    `json:"input"`
		Cached    int64    `json:"cached"`
		Output    int64    `json:"output"`
		Reasoning int64    `json:"reasoning"`
		USD       *float64 `json:"usd"`
	}
)

// TakenBack reports whether the attempt was taken out of its host's queue before it ran: it has cost nothing.
func (b AttemptFinished) TakenBack() bool { return b.State == Cancelled && b.Started == nil }
