package plan

import "strings"

// A Spec is what the files of one invocation say, resolved: plain values, defaults filled in. Its JSON is the resolved
// spec that the digest of a plan covers; what is tagged "-" is not part of it.
type Spec struct {
	Experiments []Experiment `json:"experiments"` // in the order of the source
	Hosts       []Host       `json:"hosts"`
	Agents      []Agent      `json:"agents"`
	Settings    Settings     `json:"settings"`

	// Files are the files that were read, by path relative to Root.
	Files []SourceFile `json:"-"`
	// AbsFiles are the absolute paths of those files, sorted: code that is shipped leaves them behind.
	AbsFiles []string `json:"-"`
	// Root is the absolute directory that paths shown to users are relative to: the root of the repository, or the
	// directory of the first package where there is none.
	Root string `json:"-"`
	// Warnings found while loading.
	Warnings []Problem `json:"-"`
	// Place finds the position of a Finding in the files; nil where they are not at hand.
	Place func(Finding) Problem `json:"-"`
}

// Problem is a Finding with its position, as far as it is known.
func (s *Spec) Problem(f Finding) Problem {
	if s.Place != nil {
		return s.Place(f)
	}
	p := Problem{Path: strings.Join(f.Path, "."), Message: f.Message, Kind: f.Kind}
	if f.Suggestion != "" {
		p.Suggestion = &f.Suggestion
	}
	return p
}

// A SourceFile is one file of a spec.
type SourceFile struct {
	File   string `json:"file"`
	SHA256 string `json:"sha256"`
}

// The fields of the types below are those of the schema, name for name; schema/schema.cue documents them. A pointer is
// nil where the field is absent and absence means something that no value means.

// An Experiment is one named question.
type Experiment struct {
	Name        string            `json:"name"`
	Description string            `json:"description,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Mode        string            `json:"mode"`
	Code        Code              `json:"code"`
	Setup       *Setup            `json:"setup,omitempty"`
	Command     []string          `json:"command"`
	Env         map[string]string `json:"env,omitempty"`
	Params      map[string]Value  `json:"params,omitempty"`
	Secrets     map[string]Secret `json:"secrets,omitempty"`
	Data        map[string]string `json:"data,omitempty"`
	Inputs      map[string]Input  `json:"inputs,omitempty"`
	Container   *Container        `json:"container,omitempty"`
	Checkpoint  *Checkpoint       `json:"checkpoint,omitempty"`
	Objective   Objective         `json:"objective"`
	Metrics     map[string]Metric `json:"metrics,omitempty"`
	Evaluate    *Evaluate         `json:"evaluate,omitempty"`
	Seeds       Seeds             `json:"seeds"`
	Sweep       *Sweep            `json:"sweep,omitempty"`
	Loop        *Loop             `json:"loop,omitempty"`
	Claim       *Claim            `json:"claim,omitempty"`
	Criteria    *Criteria         `json:"criteria,omitempty"`
	Needs       Needs             `json:"needs"`
	Limits      Limits            `json:"limits"`
	Retry       *Retry            `json:"retry,omitempty"`
	Artifacts   Artifacts         `json:"artifacts"`
	Priority    int               `json:"priority"`
	Reuse       string            `json:"reuse"`

	// Dir is the absolute directory of the package that declares the experiment.
	Dir string `json:"-"`
	// Set holds the paths below the experiment ("limits.trial") that the spec itself sets. Defaults fill the others.
	Set map[string]bool `json:"-"`
}

// The kinds of an experiment.
const (
	KindSweep  = "sweep"
	KindLoop   = "loop"
	KindSingle = "single"
)

// Kind is sweep, loop or single.
func (e *Experiment) Kind() string {
	switch {
	case e.Sweep != nil:
		return KindSweep
	case e.Loop != nil:
		return KindLoop
	default:
		return KindSingle
	}
}

// Code is what is shipped.
type Code struct {
	Path    string   `json:"path,omitempty"`
	Ref     string   `json:"ref,omitempty"`
	Include []string `json:"include,omitempty"`
	Exclude []string `json:"exclude,omitempty"`
	Ignore  []string `json:"ignore,omitempty"`
	MaxSize Bytes    `json:"max_size"`
}

// Setup runs once per host and content of its key files.
type Setup struct {
	Command []string `json:"command"`
	Key     []string `json:"key,omitempty"`
	Timeout Duration `json:"timeout"`
}

// A Secret is where a secret value is found; never the value.
type Secret struct {
	From    string   `json:"from"`
	Name    string   `json:"name,omitempty"`
	Path    string   `json:"path,omitempty"`
	Command []string `json:"command,omitempty"`
}

// An Input is a result of another experiment.
type Input struct {
	Experiment string `json:"experiment"`
	Path       string `json:"path"`
	Trial      string `json:"trial"`
}

// Container says which image a command runs in.
type Container struct {
	Image   string   `json:"image"`
	Runtime string   `json:"runtime,omitempty"`
	Args    []string `json:"args,omitempty"`
}

// Checkpoint is a directory that outlives the attempts of a trial.
type Checkpoint struct {
	Signal   string    `json:"signal,omitempty"`
	Ahead    *Duration `json:"ahead,omitempty"`
	ResumeOn []string  `json:"resume_on,omitempty"`
}

// Objective is the number that decides.
type Objective struct {
	Metric    string  `json:"metric"`
	Direction string  `json:"direction"`
	Unit      string  `json:"unit,omitempty"`
	Pick      string  `json:"pick"`
	From      *Source `json:"from,omitempty"`
}

// Maximize reports whether more is better.
func (o Objective) Maximize() bool { return o.Direction == "maximize" }

// Metric is a further number.
type Metric struct {
	Unit    string  `json:"unit,omitempty"`
	Pick    string  `json:"pick"`
	From    *Source `json:"from,omitempty"`
	AtMost  *Value  `json:"at_most,omitempty"`
	AtLeast *Value  `json:"at_least,omitempty"`
}

// Source is where a metric is read.
type Source struct {
	Kind    string `json:"kind"`
	File    string `json:"file,omitempty"`
	Pointer string `json:"pointer,omitempty"`
	Column  string `json:"column,omitempty"`
	Pattern string `json:"pattern,omitempty"`
}

// Evaluate measures the result of the command.
type Evaluate struct {
	Command []string          `json:"command"`
	Files   []string          `json:"files,omitempty"`
	Data    []string          `json:"data,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	Secrets map[string]Secret `json:"secrets,omitempty"`
}

// Seeds are the seeds of each point, in order: 0 to n-1 for a count n.
type Seeds []int64

// An Axis is one parameter with its values: exactly one of Values, Range and Glob is set.
type Axis struct {
	Name   string  `json:"name"`
	Values []Value `json:"values,omitempty"`
	Range  *Range  `json:"range,omitempty"`
	Glob   *Glob   `json:"glob,omitempty"`
}

// Axes are axes in the order of the source, the first the slowest.
type Axes []Axis

// Range is an arithmetic or geometric series; To is included.
type Range struct {
	From   Value  `json:"from"`
	To     Value  `json:"to"`
	Step   *Value `json:"step,omitempty"`
	Points *int   `json:"points,omitempty"`
	Log    bool   `json:"log,omitempty"`
}

// Glob is the files on a host that match a pattern.
type Glob struct {
	Glob string `json:"glob"`
	On   string `json:"on"`
}

// Sweep is a parameter space.
type Sweep struct {
	Grid      Axes       `json:"grid,omitempty"`
	Zip       Axes       `json:"zip,omitempty"`
	Cases     []Axes     `json:"cases,omitempty"`
	Random    *Random    `json:"random,omitempty"`
	Exclude   []Match    `json:"exclude,omitempty"`
	Include   []Params   `json:"include,omitempty"`
	MaxTrials int        `json:"max_trials"`
	Canary    *Canary    `json:"canary,omitempty"` // nil: the default
	EarlyStop *EarlyStop `json:"early_stop,omitempty"`
}

// Random is n samples.
type Random struct {
	N      int    `json:"n"`
	Seed   uint64 `json:"seed"`
	Params []Dist `json:"params"` // in the order of the source
}

// Dist is the distribution of one parameter.
type Dist struct {
	Name   string  `json:"name"`
	Dist   string  `json:"dist"`
	Min    *Value  `json:"min,omitempty"`
	Max    *Value  `json:"max,omitempty"`
	Values []Value `json:"values,omitempty"`
}

// A Match drops the points that have, for every parameter named, one of the values.
type Match []Axis

// Canary is how long the first trial goes ahead; Off: not at all.
type Canary struct {
	Off bool     `json:"off,omitempty"`
	For Duration `json:"for,omitempty"`
}

// EarlyStop is asynchronous successive halving.
type EarlyStop struct {
	Step    string `json:"step"`
	MinStep Value  `json:"min_step"`
	Factor  *int   `json:"factor,omitempty"`
}

// Loop is the search for a better candidate.
type Loop struct {
	Agent       string      `json:"agent,omitempty"`
	Candidates  []Candidate `json:"candidates,omitempty"`
	Hypothesis  Hypothesis  `json:"hypothesis"`
	Iterations  int         `json:"iterations"`
	Reproduce   int         `json:"reproduce"`
	Confirm     int         `json:"confirm"`
	RefuteAfter int         `json:"refute_after"`
	Patience    *int        `json:"patience,omitempty"`
	Keep        string      `json:"keep"`
	Editable    []string    `json:"editable,omitempty"`
	Protected   []string    `json:"protected,omitempty"`
	Deliver     []string    `json:"deliver,omitempty"`
	Tests       *Tests      `json:"tests,omitempty"`
	Repair      int         `json:"repair"`
	Bootstrap   *Bootstrap  `json:"bootstrap,omitempty"`
	Stop        Stop        `json:"stop"`
}

// Tests must succeed before a candidate is run.
type Tests struct {
	Command []string `json:"command"`
	Where   string   `json:"where"`
	Timeout Duration `json:"timeout"`
}

// Bootstrap lets the agent write the measuring script.
type Bootstrap struct {
	Path   string `json:"path"`
	Prompt string `json:"prompt,omitempty"`
}

// Stop ends a loop.
type Stop struct {
	Crashes  int `json:"crashes"`
	NoChange int `json:"no_change"`
	Budget
}

// Budget bounds what may be spent; nil is no bound.
type Budget struct {
	Wall     *Duration `json:"wall,omitempty"`
	GPUHours *float64  `json:"gpu_hours,omitempty"`
	Tokens   *int64    `json:"tokens,omitempty"`
	USD      *float64  `json:"usd,omitempty"`
	Runs     *int      `json:"runs,omitempty"`
}

// A Candidate is a change that is given.
type Candidate struct {
	Name   string           `json:"name"`
	Ref    string           `json:"ref,omitempty"`
	Patch  string           `json:"patch,omitempty"`
	Params map[string]Value `json:"params,omitempty"`
}

// Hypothesis is what is to be shown.
type Hypothesis struct {
	Name       string `json:"name"`
	Statement  string `json:"statement,omitempty"`
	Kind       string `json:"kind,omitempty"`
	Definition string `json:"definition,omitempty"`
	Pseudocode string `json:"pseudocode,omitempty"`
}

// Claim is one value against the others.
type Claim struct {
	Candidate Value   `json:"candidate"`
	Param     string  `json:"param,omitempty"`
	Against   []Value `json:"against,omitempty"`
}

// Criteria are thresholds in the unit of the objective; nil is none, 0 is 0.
type Criteria struct {
	Exciting         *float64 `json:"exciting,omitempty"`
	Solid            *float64 `json:"solid,omitempty"`
	Disappointing    *float64 `json:"disappointing,omitempty"`
	MinEffect        *float64 `json:"min_effect,omitempty"`
	MinEffectPercent *float64 `json:"min_effect_percent,omitempty"`
	Confidence       float64  `json:"confidence"`
}

// Needs are what a host must have.
type Needs struct {
	GPUs          int               `json:"gpus"`
	PerGPU        int               `json:"per_gpu"`
	GPUMemory     Bytes             `json:"gpu_memory,omitempty"`
	GPUModel      []string          `json:"gpu_model,omitempty"` // one string in the schema is a list of one here
	CPUs          int               `json:"cpus,omitempty"`
	Memory        Bytes             `json:"memory,omitempty"`
	Disk          Bytes             `json:"disk,omitempty"`
	Hosts         []string          `json:"hosts,omitempty"`
	Labels        map[string]string `json:"labels,omitempty"`
	MatchHardware string            `json:"match_hardware"`
}

// Limits bound one trial.
type Limits struct {
	Trial       Duration  `json:"trial"`
	Silence     *Duration `json:"silence,omitempty"`
	Evaluate    Duration  `json:"evaluate"`
	Grace       Duration  `json:"grace"`
	MaxParallel *int      `json:"max_parallel,omitempty"`
}

// Retry is what is tried again.
type Retry struct {
	Max     int      `json:"max"`
	On      []string `json:"on,omitempty"`
	Backoff Duration `json:"backoff"`
}

// Artifacts are the files that come home.
type Artifacts struct {
	Paths   []string  `json:"paths,omitempty"`
	Keep    []string  `json:"keep,omitempty"`
	KeepFor *Duration `json:"keep_for,omitempty"`
	MaxSize Bytes     `json:"max_size"`
}
