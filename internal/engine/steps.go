package engine

import (
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
	return place.Checkpoint + "/" + a.checkpoint
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

// A chain is the checkpoint with which a trial goes on. An attempt that follows on anything but the causes of
// checkpoint.resume_on begins a new one.
type chain struct {
	name string // of the directory; "": the next attempt begins one
	host string // where it is
}

// after is the chain behind an attempt that had the checkpoint of that name and ended like out. One that never ran, as it
// was taken back, changes nothing.
func (c chain) after(e *plan.Experiment, checkpoint string, out ledger.AttemptFinished) chain {
	if out.Started == nil {
		return c
	}
	if e.Checkpoint == nil || !slices.Contains(e.Checkpoint.ResumeOn, resumeCause(Cause(out.Cause))) {
		return chain{}
	}
	return chain{checkpoint, out.Host}
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
