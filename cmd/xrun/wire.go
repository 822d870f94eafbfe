package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
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
	spec      *plan.Spec
	state     string
	manifests map[string]*checkpoint.Manifest // by experiment
	warnings  []string
	notCode   func(file string) bool
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

// codeDir is the directory of an experiment's code. code.path starts at the package; without it the code is the
// repository, and outside git the package's directory.
func codeDir(e *plan.Experiment) string {
	switch root := checkpoint.FindRoot(e.Dir); {
	case filepath.IsAbs(e.Code.Path):
		return filepath.Clean(e.Code.Path)
	case e.Code.Path == "" && root != "":
		return root
	default:
		return filepath.Join(e.Dir, filepath.FromSlash(e.Code.Path))
	}
}

// load reads the spec of paths and lists the code of its experiments.
func (a *app) load(ctx context.Context, paths []string) (*job, error) {
	spec, err := a.loadSpec(ctx, paths)
	if err != nil {
		return nil, err
	}
	j := &job{spec: spec, state: a.State, notCode: a.notCode()}
	if j.state == "" {
		j.state = filepath.Join(spec.Root, stateName)
	}
	return j, j.scan(ctx)
}

// scan lists the code of every experiment. Those that ship the same are listed once.
func (j *job) scan(ctx context.Context) error {
	j.manifests = map[string]*checkpoint.Manifest{}
	done := map[string]*checkpoint.Manifest{}
	for i := range j.spec.Experiments {
		e := &j.spec.Experiments[i]
		sel := j.selection(e)
		key := fmt.Sprintf("%q", []any{sel.Dir, sel.Include, sel.Exclude, sel.Ignore, sel.MaxSize})
		m, ok := done[key]
		if !ok {
			var err error
			if m, err = checkpoint.Scan(ctx, sel); err != nil {
				return codeError(e.Name, err)
			}
			done[key] = m
			for _, n := range m.Notes {
				j.warnings = append(j.warnings, fmt.Sprintf("code of experiment %s: %s", e.Name, n))
			}
		}
		j.manifests[e.Name] = m
	}
	return nil
}

func codeError(experiment string, err error) error {
	e := &cliError{code: exitUsage, kind: "spec", msg: fmt.Sprintf("code of experiment %s: %v", experiment, err)}
	if h, ok := errors.AsType[interface {
		error
		Hint() string
	}](err); ok {
		e.hint = h.Hint()
	}
	if errors.Is(err, checkpoint.ErrTooLarge) {
		e.hint = "exclude what the trials do not need (code: exclude), or raise code.max_size"
	}
	if errors.Is(err, context.Canceled) {
		return err
	}
	return e
}

// selection says what an experiment ships.
func (j *job) selection(e *plan.Experiment) checkpoint.Selection {
	omit := append(slices.Clone(j.spec.AbsFiles), j.state, filepath.Join(j.spec.Root, stateName))
	if cache, err := os.UserCacheDir(); err == nil {
		omit = append(omit, filepath.Join(cache, "xrun")) // jobs lie there: never code, even where the code is the home directory
	}
	for d := e.Dir; ; d = filepath.Dir(d) {
		omit = append(omit, filepath.Join(d, "cue.mod"))
		if d == j.spec.Root || d == filepath.Dir(d) {
			break
		}
	}
	return checkpoint.Selection{
		Dir: codeDir(e), Include: e.Code.Include, Exclude: e.Code.Exclude, Ignore: e.Code.Ignore,
		Omit: sortedUnique(omit), OmitFile: j.notCode, MaxSize: int64(e.Code.MaxSize),
	}
}

// basis gathers what the plan depends on.
func (j *job) basis(history plan.History) plan.Basis {
	b := plan.Basis{Spec: j.spec, Code: map[string]*plan.Manifest{}, History: history, XrunVersion: version(), Warnings: slices.Clone(j.warnings)}
	for _, w := range j.spec.Warnings {
		b.Warnings = append(b.Warnings, fmt.Sprintf("%s:%d:%d: %s: %s", w.File, w.Line, w.Col, w.Path, w.Message))
	}
	for _, f := range plan.Unbuilt(j.spec) {
		w := j.spec.Problem(f)
		b.Warnings = append(b.Warnings, fmt.Sprintf("%s:%d:%d: %s: %s: `xrun run` refuses it", w.File, w.Line, w.Col, w.Path, w.Message))
	}
	names := make([]string, 0, len(j.manifests))
	for name := range j.manifests {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		m := j.manifests[name]
		b.Code[name] = &plan.Manifest{ID: m.ID, Files: planFiles(m), Dir: within(j.spec.Root, m.Dir)}
		if m.Commit != "" && b.Commit == nil {
			b.Commit, b.Dirty = &m.Commit, new(bool)
		}
		if b.Dirty != nil {
			*b.Dirty = *b.Dirty || m.Dirty
		}
	}
	return b
}

// within is dir relative to root, as a reader of the repository would write it.
func within(root, dir string) string {
	if real, err := filepath.EvalSymlinks(root); err == nil {
		root = real
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	rel, err := filepath.Rel(root, dir)
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

// history reads what earlier runs found.
func history(ctx context.Context, l *ledger.Ledger) (plan.History, error) {
	h := plan.History{ByID: map[string]plan.Past{}, ByPoint: map[string]plan.Past{}, Codes: map[string][]plan.CodeFile{}}
	results, err := l.Results(ctx)
	if err != nil {
		return h, err
	}
	for _, r := range results {
		h.ByID[r.Trial] = plan.Past{Run: r.Run, ID: r.Trial, State: string(r.State), Parts: r.Parts, Code: r.Code, DurationS: r.DurationS}
	}
	points, err := l.Points(ctx)
	if err != nil {
		return h, err
	}
	for point, trial := range points {
		if p, ok := h.ByID[trial]; ok {
			h.ByPoint[point] = p
		}
	}
	codes, err := l.Codes(ctx)
	if err != nil {
		return h, err
	}
	for id, files := range codes {
		for _, f := range files {
			h.Codes[id] = append(h.Codes[id], plan.CodeFile(f))
		}
	}
	return h, nil
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
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return writeFile(path, append(b, '\n'))
}

func writeFile(path string, b []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", path, err), os.Remove(f.Name()))
	}
	return nil
}
