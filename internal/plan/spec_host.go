package plan

// A Host is a machine that serves.
type Host struct {
	Name        string            `json:"name"`
	Kind        string            `json:"kind"`
	Description string            `json:"description,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	GPUs        GPUs              `json:"gpus"`
	Slots       int               `json:"slots"`
	Workdir     string            `json:"workdir,omitempty"`
	LeaseDir    string            `json:"lease_dir,omitempty"`
	Data        map[string]string `json:"data,omitempty"`
	Env         map[string]string `json:"env,omitempty"`
	Shell       string            `json:"shell,omitempty"`
	Prelude     []string          `json:"prelude,omitempty"`
	Address     string            `json:"address,omitempty"`
	User        string            `json:"user,omitempty"`
	Port        int               `json:"port,omitempty"`
	Identity    string            `json:"identity,omitempty"`
	Jump        []string          `json:"jump,omitempty"`
	HostKey     string            `json:"host_key,omitempty"`
	Partition   string            `json:"partition,omitempty"`
	Account     string            `json:"account,omitempty"`
	Sbatch      []string          `json:"sbatch,omitempty"`
	MaxJobs     int               `json:"max_jobs,omitempty"`

	// From is the file that declares the host; "" for the implicit local host.
	From string `json:"-"`
}

// GPUs is what a host declares: all that it reports (Auto), a number of them (Count), or a list of indexes or UUIDs.
type GPUs struct {
	Auto  bool    `json:"auto,omitempty"`
	Count *int    `json:"count,omitempty"`
	List  []Value `json:"list,omitempty"`
}

// An Agent is a coding agent's settings.
type Agent struct {
	Name    string            `json:"name"`
	Kind    string            `json:"kind"`
	Command []string          `json:"command,omitempty"`
	Program string            `json:"program,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Model   string            `json:"model,omitempty"`
	Prompt  string            `json:"prompt,omitempty"`
	Sandbox string            `json:"sandbox"`
	Timeout Duration          `json:"timeout"`
	Silence Duration          `json:"silence"`
	Env     []string          `json:"env,omitempty"`
	Secrets map[string]Secret `json:"secrets,omitempty"`
	Price   *Price            `json:"price,omitempty"`
}

// Price is money per million tokens.
type Price struct {
	Input  float64  `json:"input"`
	Output float64  `json:"output"`
	Cached *float64 `json:"cached,omitempty"`
}

// Settings hold for a whole run.
type Settings struct {
	Overlap   string   `json:"overlap"`
	Deadline  string   `json:"deadline,omitempty"`
	Budget    *Budget  `json:"budget,omitempty"`
	LostAfter Duration `json:"lost_after"`
	KeepRuns  *int     `json:"keep_runs,omitempty"`
	Notify    []Notify `json:"notify,omitempty"`
}

// Notify tells somebody.
type Notify struct {
	On      []string `json:"on"`
	Kind    string   `json:"kind"`
	URL     *Secret  `json:"url,omitempty"`
	Command []string `json:"command,omitempty"`
}
