package engine

import (
	"fmt"
	"slices"

	"github.com/xrun-dev/xrun/internal/hosts"
	"github.com/xrun-dev/xrun/internal/ledger"
	"github.com/xrun-dev/xrun/internal/plan"
)

// setupDir is where the setup of the attempt's experiment puts what it makes; "" without setup.
func (a attempt) setupDir(place hosts.Place) string {
	if a.setup == "" {
		return ""
	}
	return place.Setup + "/" + a.setup
}

// checkpointDir is the directory that outlives the attempt; "" if the experiment has none.
func (a attempt) checkpointDir(place hosts.Place) string {
	if a.exp.Checkpoint == nil {
		return ""
	}
	return place.Checkpoint + "/" + fmt.Sprintf("%s.%s.%s.%d", a.run, a.Experiment, a.Trial, a.chain)
}

// addSteps gives a job what comes before and after its command. shared is the environment that all of its steps have.
func (a attempt) addSteps(job *hosts.Job, b plan.Binding, shared []string, place hosts.Place) {
	if s := a.exp.Setup; s != nil {
		c := plan.ParseCommand(s.Command, a.exp.SetupEnv())
		none := plan.Binding{Host: b.Host}
		env := slices.Concat([]string{"PYTHONUNBUFFERED=1"}, c.Env(none), []string{"XRUN_SETUP_DIR=" + a.setupDir(place)})
		job.Setup = &hosts.Setup{Key: a.setup, Step: hosts.Step{Argv: c.Argv(none), Env: env, Time: durationOf(&s.Timeout)}}
	}
	if e := a.exp.Evaluate; e != nil {
		c := plan.ParseCommand(e.Command, e.Env)
		env := slices.Concat(c.Env(b), entries(a.secrets.Evaluate), shared, []string{"XRUN_LOG=" + place.Log})
		job.Evaluate = &hosts.Evaluation{
			Step: hosts.Step{Argv: c.Argv(b), Env: env, Time: durationOf(&a.exp.Limits.Evaluate)}, Tree: job.Tree, Files: e.Files,
		}
	}
}

// A chain is how the attempts of a trial share a checkpoint: those from first on do. An attempt that follows on anything
// but the causes of checkpoint.resume_on begins a new one.
type chain struct {
	first int
	host  string // of the newest attempt: its directory is there
}

// next is the chain of the attempt n on host, after the one that ended like out.
func (c chain) after(e *plan.Experiment, out ledger.AttemptFinished) chain {
	n := out.Attempt.Attempt
	if e.Checkpoint == nil || !slices.Contains(e.Checkpoint.ResumeOn, resumeCause(Cause(out.Cause))) {
		return chain{first: n + 1}
	}
	return chain{first: max(1, c.first), host: out.Host}
}

// resumeCause is the word of checkpoint.resume_on for a cause: whatever takes a host away is host_down.
func resumeCause(c Cause) string {
	switch {
	case c == CausePreempted:
		return string(c)
	case policy(c).Blame == BlameHost:
		return string(CauseHostDown)
	}
	return string(c)
}
