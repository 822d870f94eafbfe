package plan

// SchemaVersion is the version of plan.json that this package writes.
const SchemaVersion = 1

// A Plan is what was decided before anything ran. Its JSON is plan.json.
type Plan struct {
	SchemaVersion int                 `json:"schema_version"`
	XrunVersion   string              `json:"xrun_version"`
	Digest        string              `json:"digest"`
	Spec          []SourceFile        `json:"spec"`
	Commit        *string             `json:"commit"` // null outside git
	Dirty         *bool               `json:"dirty"`
	Experiments   []PlannedExperiment `json:"experiments"`
	Estimate      Estimate            `json:"estimate"`
	Warnings      []string            `json:"warnings"`
}

// A PlannedExperiment is the planned form of one experiment.
type PlannedExperiment struct {
	Name     string       `json:"name"`
	Kind     string       `json:"kind"`
	Code     CodeSummary  `json:"code"`
	Hosts    []HostChoice `json:"hosts"`
	Trials   []Trial      `json:"trials"`
	Phases   []Phase      `json:"phases"` // null unless a loop
	Estimate Estimate     `json:"estimate"`
	// Dir is that of the code, relative to the root of the repository: where the command runs.
	Dir string `json:"-"`
	// Left is how many trials of it were not asked for (--first, --rerun failed).
	Left int `json:"-"`
}

// CodeSummary names what is shipped.
type CodeSummary struct {
	ID    string `json:"id"`
	Files int    `json:"files"`
	Bytes int64  `json:"bytes"`
}

// HostChoice says whether an experiment may use a host, and why not.
type HostChoice struct {
	Name     string  `json:"name"`
	Eligible bool    `json:"eligible"`
	WhyNot   *string `json:"why_not"`
}

// Phase is one phase of a loop with the most trials it can take.
type Phase struct {
	Phase     string `json:"phase"`
	TrialsMax int    `json:"trials_max"`
}

// Estimate is an upper bound on the cost. Counts are null where they cannot be known before the hosts are asked.
type Estimate struct {
	Trials      *int     `json:"trials"`
	GPUHoursMax *float64 `json:"gpu_hours_max"`
	WallS       *float64 `json:"wall_s"` // null without history
	AgentTurns  *int     `json:"agent_turns"`
}

// Why a trial is in a plan, and whether it will run.
type Why string

// The values of Why. Only Reused does not run.
const (
	New     Why = "new"
	Changed Why = "changed"
	Failed  Why = "failed"
	Reused  Why = "reused"
	Lost    Why = "lost"
)

// A Trial is a point with one seed on one version of the code. There may be very many of them: what follows from the rest
// is made when it is asked for.
type Trial struct {
	ID      string
	Params  Params
	Seed    int64
	Why     Why
	Changed []string // what changed since the last trial at this point: fields of the spec, files of the code
	EstS    *float64
	// Code is the id of the code this trial runs; in a loop every candidate has its own.
	Code string
	// Place is where it stands among the trials of its experiment before the long ones are put first; 0 of one that was
	// read from a file.
	Place int
	// FailedBefore: the last trial at this point, whatever its id, failed or was lost.
	FailedBefore bool
	// LastState is the state of that trial, which took EstS; "" if there is none.
	LastState string

	identity *identity // of a trial that was built
	twin     *Trial    // of another experiment, while the history is read
	argv     []string  // of one that was read
}

// Command is the argv. Placeholders that only a host can fill are left as they are.
func (t *Trial) Command() []string {
	if t.identity == nil {
		return t.argv
	}
	return t.identity.command.Argv(Binding{Params: t.Params, Seed: t.Seed})
}

// Parts are the hashes of what the id is made of; nil of a trial that was read from a file.
func (t *Trial) Parts() Parts {
	if t.identity == nil {
		return nil
	}
	return t.identity.parts(t)
}

// Parts are short hashes by field of the spec ("command", "env", "params", "code", …).
type Parts map[string]string

// A Manifest is one version of the code of an experiment, as it is shipped.
type Manifest struct {
	ID    string     // hash of the identity-bearing files
	Dir   string     // relative to the root of the repository, slash-separated
	Files []CodeFile // sorted by path
}

// A CodeFile is one file of a Manifest. Ignored files are shipped but are not part of the id.
type CodeFile struct {
	Path    string `json:"path"`
	Mode    string `json:"mode"` // "100644", "100755" or "120000", as git writes them
	SHA256  string `json:"sha256"`
	Size    int64  `json:"size"`
	Ignored bool   `json:"ignored,omitempty"`
}
