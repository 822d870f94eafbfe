package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/xrun-dev/xrun/internal/engine"
	"github.com/xrun-dev/xrun/internal/engine/checkpoint"
	"github.com/xrun-dev/xrun/internal/hosts"
	"github.com/xrun-dev/xrun/internal/ledger"
	"github.com/xrun-dev/xrun/internal/plan"
	"github.com/xrun-dev/xrun/internal/plan/specfile"
)

// The parts fit together here, and only here.
var (
	_ engine.Host     = (*hosts.Local)(nil)
	_ engine.Recorder = (*ledger.Ledger)(nil)
	_ engine.Past     = (*ledger.Ledger)(nil)
)

// A job is a spec with the code it ships and the state directory it belongs to.
type job struct {
	spec          *plan.Spec
	state         string
	manifests     map[string]*checkpoint.Manifest // by experiment
	codeWarnings  []plan.Problem                  // of the code: they are part of a plan
	limitWarnings []plan.Problem                  // of the history: so are they
	hereWarnings  []plan.Problem                  // of this machine and this checkout: they are not
	reads         func(e *plan.Experiment, variable string) bool
	notCode       func(file string) bool
	globs         plan.Globs                 // the files of axes, where their hosts were asked
	setup         map[string][]plan.CodeFile // by experiment: the files that setup.key names
	realFiles     []string                   // the files of the spec, without links
}

// evaluationLimit bounds the evaluation of a spec: a thousand experiments take a second.
const evaluationLimit = time.Minute

var errEvaluation = fmt.Errorf("the spec takes more than %v to evaluate", evaluationLimit)

// loadSpec reads the spec of paths.
func (a *app) loadSpec(ctx context.Context, paths []string) (*plan.Spec, error) {
	config, err := os.UserConfigDir()
	if err != nil {
		config = ""
	}
	ctx, cancel := context.WithTimeoutCause(ctx, evaluationLimit, errEvaluation)
	defer cancel()
	return specfile.Load(ctx, specfile.Options{Dir: a.Dir, Paths: paths, Tags: a.Tags, Inventory: a.Inventory, UserConfig: config})
}

// load reads the spec of paths, lists the code of its experiments and hashes it.
func (a *app) load(ctx context.Context, paths []string) (*job, error) {
	return a.loadWith(ctx, paths, checkpoint.Scan)
}

// loadForeseen is load, and refuses what is sure to fail.
func (a *app) loadForeseen(ctx context.Context, paths []string) (*job, error) {
	j, err := a.load(ctx, paths)
	if err != nil {
		return nil, err
	}
	return j, j.foresee(ctx)
}

type scanner func(context.Context, checkpoint.Selection) (*checkpoint.Manifest, error)

func (a *app) loadWith(ctx context.Context, paths []string, scan scanner) (*job, error) {
	spec, err := a.loadSpec(ctx, paths)
	if err != nil {
		return nil, err
	}
	j := &job{spec: spec, state: a.State, notCode: a.notCode()}
	if j.state == "" {
		j.state = filepath.Join(spec.Root, stateName)
	}
	return j, j.scan(ctx, scan)
}

// basis gathers what the plan depends on.
func (j *job) basis(history plan.History) plan.Basis {
	b := plan.Basis{Spec: j.spec, Code: map[string]*plan.Manifest{}, SetupFiles: j.setup, Globs: j.globs, History: history, XrunVersion: version()}
	for _, w := range sortedProblems(slices.Concat(j.spec.Warnings, j.codeWarnings)) {
		b.Warnings = append(b.Warnings, warning(w))
	}
	for _, f := range plan.Unbuilt(j.spec) {
		f.Message += ": `xrun run` refuses it"
		b.Warnings = append(b.Warnings, warning(j.spec.Problem(f)))
	}
	names := make([]string, 0, len(j.manifests))
	for name := range j.manifests {
		names = append(names, name)
	}
	sort.Strings(names)
	known := map[*checkpoint.Manifest]*plan.Manifest{} // a thousand experiments of one repository have one list of files
	for _, name := range names {
		m := j.manifests[name]
		if known[m] == nil {
			known[m] = &plan.Manifest{ID: m.ID, Files: planFiles(m), Dir: relativeTo(j.spec.Root, m.Dir)}
		}
		b.Code[name] = known[m]
		if m.Commit != "" && b.Commit == nil {
			b.Commit, b.Dirty = &m.Commit, new(bool)
		}
		if b.Dirty != nil {
			*b.Dirty = *b.Dirty || m.Dirty
		}
	}
	return b
}

// relativeTo is dir relative to root, as a reader of the repository would write it.
func relativeTo(root, dir string) string {
	dir = resolve(dir)
	rel, err := filepath.Rel(resolve(root), dir)
	if err != nil {
		return dir
	}
	return filepath.ToSlash(rel)
}

func planFiles(m *checkpoint.Manifest) []plan.CodeFile {
	out := make([]plan.CodeFile, len(m.Files))
	for i, f := range m.Files {
		out[i] = plan.CodeFile(f)
	}
	return out
}

// history is what earlier runs found. It is read when a plan is made.
func history(ctx context.Context, l *ledger.Ledger) plan.History {
	past := func(r ledger.Result) plan.Past {
		return plan.Past{ID: r.Trial, State: string(r.State), Code: r.Code, DurationS: r.DurationS}
	}
	return plan.History{
		Results: func(yield func(plan.Past, error) bool) {
			for r, err := range l.Results(ctx) {
				if !yield(past(r), err) {
					return
				}
			}
		},
		Points: func(yield func(plan.PastPoint, error) bool) {
			for r, err := range l.Points(ctx) {
				parts := func() (plan.Parts, error) { return r.Parts() }
				if !yield(plan.PastPoint{Past: past(r.Result), Point: r.Point, Parts: parts}, err) {
					return
				}
			}
		},
		Code: func(id string) ([]plan.CodeFile, error) {
			files, err := l.Code(ctx, id)
			if files == nil || err != nil {
				return nil, err
			}
			out := make([]plan.CodeFile, len(files))
			for i, f := range files {
				out[i] = plan.CodeFile(f)
			}
			return out, nil
		},
	}
}

// trees are the shipped bytes by code id, as hosts take them.
func (j *job) trees(store checkpoint.Store) map[string]hosts.Tree {
	out := map[string]hosts.Tree{}
	for _, m := range j.manifests {
		t := hosts.Tree{ID: m.TreeID, Blobs: store.Blobs()}
		for _, f := range m.Files {
			t.Files = append(t.Files, hosts.TreeFile{Path: f.Path, Mode: f.Mode, SHA256: f.SHA256})
		}
		out[m.ID] = t
	}
	return out
}

// openHosts prepares the hosts of the spec. A local host keeps its jobs in the user's cache directory, apart for each
// state directory.
func (a *app) openHosts(spec *plan.Spec, state string) (map[string]engine.Host, func(context.Context) error, error) {
	self, err := supervisor()
	if err != nil {
		return nil, nil, err
	}
	out := map[string]engine.Host{}
	var locals []*hosts.Local
	closeAll := func(ctx context.Context) error {
		var err error
		for _, l := range locals {
			err = errors.Join(err, l.Close(ctx))
		}
		return err
	}
	for _, h := range spec.Hosts {
		if h.Kind != "local" {
			continue
		}
		cfg := hosts.LocalConfig{
			Name: h.Name, Slots: h.Slots, Shell: h.Shell, Prelude: h.Prelude, Supervisor: self, GPUs: gpusOf(spec, &h),
			Log: a.log.Named("host").With("host", h.Name),
		}
		if cfg.Workdir, err = localWorkdir(h.Workdir, state); err != nil {
			return nil, nil, errors.Join(err, closeAll(context.Background()))
		}
		if cfg.LeaseDir, err = fromHome(h.LeaseDir); err != nil {
			return nil, nil, errors.Join(err, closeAll(context.Background()))
		}
		for _, name := range sortedNames(h.Env) {
			cfg.Env = append(cfg.Env, name+"="+h.Env[name])
		}
		l, err := hosts.NewLocal(cfg)
		if err != nil {
			out[h.Name] = refusedHost{err} // the others may do
			continue
		}
		locals = append(locals, l)
		out[h.Name] = l
	}
	return out, closeAll, nil
}

func sortedNames(m map[string]string) []string {
	var names []string
	for name := range m {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

// localWorkdir is where a local host keeps its jobs: where the spec says, seen from the home directory, or in the user's
// cache directory, apart for each state directory.
func localWorkdir(wanted, state string) (string, error) {
	if wanted == "" {
		return workDir(state)
	}
	return fromHome(wanted)
}

// fromHome is a directory of a host as the spec names it: from the root, or seen from the home directory.
func fromHome(wanted string) (string, error) {
	if wanted == "" || filepath.IsAbs(wanted) {
		return wanted, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", &cliError{code: exitError, kind: "error", msg: fmt.Sprintf("directory %s: %v", wanted, err), hint: "set HOME, or give it from the root"}
	}
	return filepath.Join(home, strings.TrimPrefix(strings.TrimPrefix(wanted, "~"), "/")), nil
}

// gpusOf are the GPUs of a host that serve. Where no experiment needs one, nobody is asked for any: that takes a second on
// some machines, and longer where one is sick.
func gpusOf(spec *plan.Spec, h *plan.Host) hosts.GPUChoice {
	if !slices.ContainsFunc(spec.Experiments, func(e plan.Experiment) bool { return e.Needs.GPUs > 0 }) {
		return hosts.GPUChoice{}
	}
	c := hosts.GPUChoice{Auto: h.GPUs.Auto}
	if h.GPUs.Count != nil {
		c.Count = *h.GPUs.Count
	}
	for _, v := range h.GPUs.List {
		c.List = append(c.List, v.Text())
	}
	return c
}

// supervisor is the command that makes this program a supervisor. It holds the program open by its file, so that a
// program that is deleted or replaced meanwhile (as `go run` does) still starts.
func supervisor() ([]string, error) {
	if _, err := os.Stat("/proc/self/exe"); err == nil {
		return []string{"/proc/self/exe", superviseArg}, nil
	}
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find xrun itself: %w", err)
	}
	return []string{exe, superviseArg}, nil
}

// workDir is where the jobs of a state directory lie on this machine.
func workDir(state string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", &cliError{code: exitError, kind: "error", msg: fmt.Sprintf("the user's cache directory: %v", err), hint: "jobs run there: set HOME or XDG_CACHE_HOME"}
	}
	real, err := filepath.EvalSymlinks(state)
	if err != nil {
		return "", fmt.Errorf("state directory: %w", err)
	}
	sum := sha256.Sum256([]byte(real))
	return filepath.Join(cache, "xrun", hex.EncodeToString(sum[:6]), "work"), nil
}

// writeJSON writes v to path so that it is there whole or not at all.
func writeJSON(path string, v any) error {
	b, err := jsonText(v)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return writeFile(path, b)
}

func writeFile(path string, b []byte) error {
	return fillFile(path, func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
}

// fillFile makes a file appear whole or not at all.
func fillFile(path string, fill func(io.Writer) error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	err = errors.Join(fill(f), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", path, err), os.Remove(f.Name()))
	}
	return nil
}
