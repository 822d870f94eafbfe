package engine

import (
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/xrun-dev/xrun/internal/hosts"
	"github.com/xrun-dev/xrun/internal/ledger"
	"github.com/xrun-dev/xrun/internal/plan"
)

// An attempt is one execution of a trial on a host: what is needed to start it, to follow it and to judge it.
type attempt struct {
	ledger.Attempt
	run    string
	exp    *plan.Experiment
	params plan.Params
	seed   int64
	host   string
	job    string // id on the host
	home   string // where its files come home, relative to the state directory, slash-separated
	setup  string // key of its setup; empty if it has none
	// checkpoint is the name of the directory of its checkpoint: that of the job with which it began.
	checkpoint string
	goesOn     bool              // it finds a checkpoint of the attempt before
	data       map[string]string // by name the path on the host
	inputs     map[string]string
	secrets    Secrets
}

func newAttempt(run string, e *plan.Experiment, t *plan.Trial, n int, host string) attempt {
	a := attempt{run: run, exp: e, params: t.Params, seed: t.Seed, host: host}
	a.Experiment, a.Trial, a.Attempt.Attempt = e.Name, t.ID, n
	a.job = fmt.Sprintf("%s.%s.%s.%d", run, e.Name, t.ID, n)
	a.home = home(run, e.Name, t.Params, t.Seed, t.ID, n)
	return a
}

// home is where the files of an attempt come home, relative to the state directory.
func home(run, experiment string, ps plan.Params, seed int64, id string, n int) string {
	return path.Join("runs", run, experiment, slug(ps, seed)+"-"+id, fmt.Sprintf("attempt-%d", n))
}

// slug is a short name for a point that is safe as a file name on any system: what is not a lower-case letter, a digit
// or one of . = - is _. It may be the same for two points; the id that follows it is not.
func slug(ps plan.Params, seed int64) string {
	var parts []string
	for _, p := range ps {
		parts = append(parts, p.Name[strings.LastIndexByte(p.Name, '.')+1:]+"="+p.Value.Text())
	}
	parts = append(parts, fmt.Sprintf("s%d", seed))
	s := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '.', r == '=', r == '-':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return '_'
	}, strings.Join(parts, "-"))
	if len(s) > 40 {
		s = s[:40]
	}
	return strings.TrimLeft(s, ".-")
}

// jobFor is what the host gets. Later entries of the environment win: defaults a user may change, the experiment's env,
// and what is ours to say.
func jobFor(a attempt, c *plan.Command, place hosts.Place, tree hosts.Tree) (hosts.Job, error) {
	params, err := json.Marshal(a.params)
	if err != nil {
		return hosts.Job{}, fmt.Errorf("parameters of trial %s: %w", a.Trial, err)
	}
	b := plan.Binding{Params: a.params, Seed: a.seed, Host: a.placeholder(place)}
	env := []string{"PYTHONUNBUFFERED=1", "CUDA_DEVICE_ORDER=PCI_BUS_ID", fmt.Sprintf("MASTER_PORT=%d", place.Port)}
	env = append(env, c.Env(b)...)
	shared := []string{
		"XRUN_RUN_ID=" + a.run,
		"XRUN_EXPERIMENT=" + a.Experiment,
		"XRUN_TRIAL_ID=" + a.Trial,
		fmt.Sprintf("XRUN_ATTEMPT=%d", a.Attempt.Attempt),
		fmt.Sprintf("XRUN_SEED=%d", a.seed),
		"XRUN_PARAMS_FILE=" + place.Params,
		"XRUN_OUT=" + place.Out,
	}
	if a.exp.Needs.GPUs == 0 {
		shared = append(shared, "CUDA_VISIBLE_DEVICES=") // else its host says which, which knows it last
	}
	for _, p := range a.params {
		shared = append(shared, plan.EnvName(p.Name)+"="+p.Value.Text())
	}
	if dir := a.setupDir(place); dir != "" {
		shared = append(shared, "XRUN_SETUP_DIR="+dir)
	}
	env = append(env, entries(a.secrets.Command)...)
	env = append(env, shared...)
	if dir := a.checkpointDir(place); dir != "" {
		env = append(env, "XRUN_CHECKPOINT_DIR="+dir)
		if a.goesOn {
			env = append(env, "XRUN_RESUMED=1")
		}
	}
	l := a.exp.Limits
	job := hosts.Job{ID: a.job, Argv: c.Argv(b), Env: env, Tree: tree, Params: append(params, '\n')}
	job.Limits.Time = durationOf(&l.Trial)
	job.Limits.Silence = durationOf(l.Silence)
	job.Limits.Grace = durationOf(&l.Grace)
	if c := a.exp.Checkpoint; c != nil {
		job.Limits.Signal, job.Limits.Ahead = c.Signal, durationOf(c.Ahead)
		job.Checkpoint = a.checkpointDir(place)
	}
	a.addSteps(&job, b, shared, place)
	return job, nil
}

// placeholder gives what only the run and the host can tell.
func (a attempt) placeholder(place hosts.Place) func(string) (string, bool) {
	return func(name string) (string, bool) {
		switch name {
		case "xrun.run":
			return a.run, true
		case "xrun.experiment":
			return a.Experiment, true
		case "xrun.trial":
			return a.Trial, true
		case "xrun.attempt":
			return fmt.Sprint(a.Attempt.Attempt), true
		case "xrun.gpus":
			return fmt.Sprint(a.exp.Needs.GPUs), true
		case "xrun.out":
			return place.Out, true
		case "xrun.setup":
			return a.setupDir(place), true
		case "xrun.checkpoint":
			return a.checkpointDir(place), true
		case "xrun.port":
			return fmt.Sprint(place.Port), true
		}
		if name, ok := strings.CutPrefix(name, "data."); ok {
			path, ok := a.data[name]
			return path, ok
		}
		if name, ok := strings.CutPrefix(name, "inputs."); ok {
			path, ok := a.inputs[name]
			return path, ok
		}
		return "", false
	}
}

func (a attempt) dir(state string) string { return filepath.Join(state, filepath.FromSlash(a.home)) }
