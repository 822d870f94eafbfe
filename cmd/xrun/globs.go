package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/xrun-dev/xrun/internal/hosts"
	"github.com/xrun-dev/xrun/internal/plan"
)

// askGlobs lists the files of the axes that only a host can list. At present that is this machine.
func (j *job) askGlobs(ctx context.Context) error {
	j.globs = plan.Globs{}
	for _, g := range j.spec.Globs() {
		i := slices.IndexFunc(j.spec.Hosts, func(h plan.Host) bool { return h.Name == g.On })
		if i < 0 || j.spec.Hosts[i].Kind != "local" {
			continue // it stays open: the plan says so
		}
		files, err := hosts.GlobHere(ctx, g.Glob)
		if err != nil {
			return &cliError{code: exitUsage, kind: "spec", msg: fmt.Sprintf("host %s: %v", g.On, err)}
		}
		list := make([]plan.FoundFile, len(files))
		for k, f := range files {
			list[k] = plan.FoundFile{Path: f.Path, Size: f.Size, MTime: f.MTime}
		}
		j.globs[g] = list
	}
	return nil
}

// A storedGlob is one entry of plan.Globs, whose keys JSON does not have.
type storedGlob struct {
	plan.Glob
	Files []plan.FoundFile `json:"files"`
}

func storeGlobs(g plan.Globs, spec *plan.Spec) []storedGlob {
	out := []storedGlob{}
	for _, key := range spec.Globs() {
		if files, ok := g[key]; ok {
			out = append(out, storedGlob{key, files})
		}
	}
	return out
}

func recallGlobs(list []storedGlob) plan.Globs {
	out := plan.Globs{}
	for _, g := range list {
		out[g.Glob] = g.Files
	}
	return out
}

// probeable says which host a probe cannot look at yet.
func probeable(spec *plan.Spec) error {
	for _, h := range spec.Hosts {
		if h.Kind != "local" {
			return notBuilt("plan --probe of hosts of kind " + h.Kind)
		}
	}
	return nil
}
