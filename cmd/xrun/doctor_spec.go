package main

import (
	"context"
	"errors"
	"slices"

	"github.com/xrun-dev/xrun/internal/engine/checkpoint"
	"github.com/xrun-dev/xrun/internal/plan"
	"github.com/xrun-dev/xrun/internal/plan/specfile"
)

// spec is read as a run reads it.
func (d *doctor) spec(ctx context.Context) error {
	j, err := d.app.load(ctx, d.paths)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	d.state = d.app.findState()
	if problems, ok := errors.AsType[specfile.Problems](err); ok {
		for _, p := range problems {
			message, hint := place(p)
			d.problem(exitUsage, "spec", message, hint)
		}
		return nil
	}
	if err != nil {
		d.problem(exitUsage, "spec", err.Error(), hintOf(err))
		return nil
	}
	d.job, d.state = j, j.state
	for _, f := range plan.Unbuilt(j.spec) {
		message, _ := place(j.spec.Problem(f))
		d.problem(exitUsage, "spec", message, "docs/roadmap.md says what comes next")
	}
	d.ok("spec", "%s in %s", count(len(j.spec.Experiments), "experiment"), count(len(j.spec.Files), "file"))
	return nil
}

// code is compared with the spec and with this machine.
func (d *doctor) code(ctx context.Context) error {
	j := d.job
	if j == nil {
		return nil
	}
	err := j.foresee(ctx)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	problems, ok := errors.AsType[specfile.Problems](err)
	if err != nil && !ok {
		return err
	}
	for _, p := range problems {
		message, hint := place(p)
		d.problem(exitUsage, "spec", message, hint)
	}
	for _, p := range folded(j.allWarnings()) {
		message, hint := place(p)
		if p.Kind == plan.MissingProgram {
			d.problem(exitError, "program", message, hint)
			continue
		}
		d.warn("spec", message, hint)
	}
	told := map[string]bool{}
	for _, name := range sortedKeys(j.manifests) {
		m := j.manifests[name]
		if told[m.ID] {
			continue
		}
		told[m.ID] = true
		bytes := int64(0)
		for _, f := range m.Files {
			bytes += f.Size
		}
		d.ok("code", "%s of %s: %s, %s", m.ID, name, count(len(m.Files), "file"), plan.Bytes(bytes))
	}
	git := slices.ContainsFunc(j.spec.Experiments, func(e plan.Experiment) bool { return checkpoint.FindRoot(e.Dir) != "" })
	if git && thisMachine().Which("git") == "" {
		d.warn("code", "git is not found on the PATH: what is shipped is found without it", "install git")
	}
	return nil
}

// secrets are found as a run finds them. None is shown.
func (d *doctor) secrets(ctx context.Context) error {
	if d.job == nil {
		return nil
	}
	n := 0
	for i := range d.job.spec.Experiments {
		e := &d.job.spec.Experiments[i]
		from := []map[string]plan.Secret{e.Secrets}
		if e.Evaluate != nil {
			from = append(from, e.Evaluate.Secrets)
		}
		for _, secrets := range from {
			for _, name := range sortedKeys(secrets) {
				n++
				if _, err := secretValue(ctx, e.Dir, secrets[name]); err != nil {
					d.problem(exitError, "secret", name+" of experiment "+e.Name+": "+err.Error(), secretHint(secrets[name]))
					n--
				}
			}
		}
	}
	if n > 0 {
		d.ok("secret", "%s can be read", count(n, "secret"))
	}
	return nil
}

func secretHint(s plan.Secret) string {
	switch s.From {
	case "env":
		return "set it where xrun is started; cron has an environment of its own"
	case "file":
		return "put it there, readable by you alone"
	}
	return "the command has to work without a terminal"
}
