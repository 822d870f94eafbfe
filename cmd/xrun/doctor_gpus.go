package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/xrun-dev/xrun/internal/hosts"
	"github.com/xrun-dev/xrun/internal/plan"
)

// gpus are looked at as a run looks at them, where an experiment needs some. No lease is taken.
func (d *doctor) gpus(ctx context.Context) error {
	if d.job == nil || !slices.ContainsFunc(d.job.spec.Experiments, func(e plan.Experiment) bool { return e.Needs.GPUs > 0 }) {
		return nil
	}
	// Jobs would lie where nobody looks: what a run makes for them is not made by a doctor.
	tmp, err := os.MkdirTemp("", "xrun-doctor-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	spec := *d.job.spec
	spec.Hosts = slices.Clone(spec.Hosts)
	for i := range spec.Hosts {
		spec.Hosts[i].Workdir = filepath.Join(tmp, spec.Hosts[i].Name)
	}
	opened, closeAll, err := d.app.openHosts(&spec, tmp)
	if err != nil {
		return err
	}
	found := 0
	for _, name := range sortedKeys(opened) {
		c, err := opened[name].Capacity(ctx)
		if err != nil {
			d.warn("gpu", name+": "+err.Error(), "")
			continue
		}
		found += len(c.GPUs)
		d.found = append(d.found, gpuChecks(name, c)...)
	}
	if found == 0 {
		d.problem(6, "gpu", "an experiment needs GPUs, and no host has one that serves", "the lines above say why; hosts.NAME.gpus names those that serve")
	}
	return closeAll(ctx)
}

// gpuChecks are a line for the GPUs of a host that are free, and one for each that is not.
func gpuChecks(host string, c hosts.Capacity) []check {
	var out []check
	if c.Note != "" {
		out = append(out, check{Check: "gpu", State: checkWarning, Message: host + ": " + c.Note})
	}
	free := 0
	for _, g := range c.GPUs {
		if g.State == hosts.GPUFree {
			free++
			continue
		}
		hint := "a run leaves it alone until it is free"
		out = append(out, check{Check: "gpu", State: checkWarning, Message: fmt.Sprintf("%s: %s is %s: %s", host, g.Name(), g.State, g.Why), Hint: &hint})
	}
	if len(c.GPUs) > 0 {
		out = append(out, check{Check: "gpu", State: checkOK, Message: fmt.Sprintf("%s: %d of %s free", host, free, count(len(c.GPUs), "GPU"))})
	}
	return out
}
