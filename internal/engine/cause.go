package engine

// A Cause says why an attempt or a trial did not succeed.
type Cause string

// The causes.
const (
	CauseExit              Cause = "exit"
	CauseTimeout           Cause = "timeout"
	CauseSilence           Cause = "silence"
	CauseOOMGPU            Cause = "oom_gpu"
	CauseKilled            Cause = "killed"
	CauseNotFound          Cause = "not_found"
	CauseMissingDependency Cause = "missing_dependency"
	CauseNoMetric          Cause = "no_metric"
	CauseMetricError       Cause = "metric_error"
	CauseDiverged          Cause = "diverged"
	CauseSync              Cause = "sync"
	CauseDiskFull          Cause = "disk_full"
	CauseGPULost           Cause = "gpu_lost"
	CauseHostDown          Cause = "host_down"
	CauseSetup             Cause = "setup"
	CauseNoGPUSeen         Cause = "no_gpu_seen"
	CauseNeverStarted      Cause = "never_started"
	CauseVanished          Cause = "vanished"
	CausePreempted         Cause = "preempted"
	CauseUpstream          Cause = "upstream"
	CauseFuse              Cause = "fuse"
	CauseBudget            Cause = "budget"
	CauseDeadline          Cause = "deadline"
	CauseCancelled         Cause = "cancelled"
)

// A Blame says whose fault a cause is, and so what is done about it.
type Blame string

// Whose fault it can be.
const (
	BlameCode Blame = "code" // the trial failed
	BlameHost Blame = "host" // tried on another host, if there is one
	BlameUs   Blame = "us"   // the trial was not run, or was ended
)

// A Policy is one row of the table of causes.
type Policy struct {
	Cause Cause
	Blame Blame
	Seen  string // by what it is recognised
	Then  string // what is done
	// Host: the experiment's other trials are not tried on that host either.
	Host bool
}

// asked is what retry adds to a failure.
const asked = "or tried again if retry.on names it"

const elsewhere = "tried on another host, at most once per host and three times per trial; failed where there is none"

// Policies is the one table of causes, in the order in which `xrun help causes` prints it.
var Policies = []Policy{
	{Cause: CauseExit, Blame: BlameCode, Seen: "a non-zero exit status", Then: "failed, " + asked},
	{Cause: CauseTimeout, Blame: BlameCode, Seen: "limits.trial", Then: "TERM, grace, KILL of everything it started; failed, " + asked},
	{Cause: CauseSilence, Blame: BlameCode, Seen: "limits.silence without output", Then: "TERM, grace, KILL of everything it started; failed"},
	{Cause: CauseOOMGPU, Blame: BlameCode, Seen: "messages of the frameworks in the last lines of the log", Then: "failed, " + asked + ", then on a GPU with more memory if there is one"},
	{Cause: CauseKilled, Blame: BlameCode, Seen: "exit status 137", Then: "failed (memory is the usual cause), " + asked + "; the same signature twice ends that"},
	{Cause: CauseNotFound, Blame: BlameCode, Seen: "exit status 126 or 127", Then: "failed, for all trials of the experiment on that host", Host: true},
	{Cause: CauseMissingDependency, Blame: BlameCode, Seen: "a failed import in the last lines of the log", Then: "failed, for all trials of the experiment on that host", Host: true},
	{Cause: CauseNoMetric, Blame: BlameCode, Seen: "the objective was not printed", Then: "failed (exit status 0 is not success), " + asked},
	{Cause: CauseMetricError, Blame: BlameCode, Seen: "the objective was printed as something that is not one number", Then: "failed"},
	{Cause: CauseDiverged, Blame: BlameCode, Seen: "the objective is nan or inf", Then: "failed (never best, never in a mean), " + asked},
	{Cause: CauseSync, Blame: BlameHost, Seen: "the code or the job could not be put on the host", Then: elsewhere},
	{Cause: CauseDiskFull, Blame: BlameHost, Seen: "no space left on the host", Then: elsewhere + "; where the host itself has no room the run ends, and a resume tries again"},
	{Cause: CauseGPULost, Blame: BlameHost, Seen: "a leased GPU is gone", Then: elsewhere},
	{Cause: CauseHostDown, Blame: BlameHost, Seen: "the host did not answer for settings.lost_after", Then: elsewhere},
	{Cause: CauseSetup, Blame: BlameHost, Seen: "setup failed", Then: elsewhere},
	{Cause: CauseNoGPUSeen, Blame: BlameHost, Seen: "messages of the frameworks that there is no GPU, where there are some", Then: elsewhere},
	{Cause: CauseNeverStarted, Blame: BlameHost, Seen: "handed over, but never started", Then: elsewhere},
	{Cause: CauseVanished, Blame: BlameHost, Seen: "its supervisor is gone without a word; what remains of it is ended", Then: elsewhere},
	{Cause: CausePreempted, Blame: BlameHost, Seen: "Slurm took the job back", Then: elsewhere},
	{Cause: CauseUpstream, Blame: BlameUs, Seen: "an input's trial has no result", Then: "not_run"},
	{Cause: CauseFuse, Blame: BlameUs, Seen: "too many trials failed in the same way, and none succeeded since", Then: "the rest is not_run"},
	{Cause: CauseBudget, Blame: BlameUs, Seen: "a budget is spent", Then: "the rest is not_run"},
	{Cause: CauseDeadline, Blame: BlameUs, Seen: "the deadline", Then: "the rest is not_run"},
	{Cause: CauseCancelled, Blame: BlameUs, Seen: "somebody asked for it", Then: "cancelled, or not_run"},
}

// policy is the row of c; an unknown cause is the code's fault.
func policy(c Cause) Policy {
	for _, p := range Policies {
		if p.Cause == c {
			return p
		}
	}
	return Policy{Cause: c, Blame: BlameCode}
}
