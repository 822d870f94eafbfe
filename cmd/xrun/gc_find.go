package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/xrun-dev/xrun/internal/engine/checkpoint"
	"github.com/xrun-dev/xrun/internal/hosts"
	"github.com/xrun-dev/xrun/internal/ledger"
)

// garbage finds what nobody needs. What it does not know it leaves.
type garbage struct {
	state string
	keep  int           // newest runs; 0: the number is no reason to remove one
	older time.Duration // 0: the age is no reason to keep one
	now   time.Time
	cache bool // also what lies in the user's cache: no host may be open
	*collected

	runs map[string]ledger.Run
	goes map[string]bool // runs whose directories go
}

func (g *garbage) collect(ctx context.Context, l *ledger.Ledger) error {
	runs, err := l.Runs(ctx)
	if err != nil {
		return err
	}
	used, err := l.Used(ctx)
	if err != nil {
		return err
	}
	g.choose(runs)
	if err := g.directories(used); err != nil {
		return err
	}
	if err := g.imports(); err != nil {
		return err
	}
	if err := g.code(); err != nil {
		return err
	}
	return g.jobs(used)
}

func (g *garbage) add(r removal) {
	g.Removed = append(g.Removed, r)
	g.Bytes += r.Bytes
}

// choose says which runs go. A skipped start is no run; what is unfinished stays.
func (g *garbage) choose(runs []ledger.Run) {
	g.runs, g.goes = map[string]ledger.Run{}, map[string]bool{}
	n := 0
	for _, r := range runs { // newest first
		g.runs[r.ID] = r
		if r.Outcome == "skipped" {
			continue
		}
		n++
		old := g.older > 0 && r.Finished != nil && g.now.Sub(*r.Finished) > g.older
		if !r.Unfinished() && (g.keep > 0 || g.older > 0) && (g.keep == 0 || n > g.keep) && (g.older == 0 || old) {
			g.goes[r.ID] = true
		} else {
			g.Kept++
		}
	}
}

// stays reports whether one of the runs is known and kept, or not known at all.
func (g *garbage) stays(runs []string) bool {
	return slices.ContainsFunc(runs, func(id string) bool { return !g.goes[id] })
}

// directories are those of the runs that go, but for what runs that stay reused.
func (g *garbage) directories(used *ledger.Used) error {
	spare := map[string]map[string]bool{} // by run
	for run, logs := range used.Logs {
		if g.goes[run] {
			continue
		}
		for _, log := range logs {
			if parts := strings.Split(log, "/"); len(parts) > 3 && parts[0] == "runs" && g.goes[parts[1]] {
				if spare[parts[1]] == nil {
					spare[parts[1]] = map[string]bool{}
				}
				spare[parts[1]][filepath.Join(g.state, filepath.FromSlash(path.Dir(log)))] = true
			}
		}
	}
	for _, id := range sortedKeys(g.goes) {
		dir := filepath.Join(g.state, "runs", id)
		n, err := bytesBelow(dir, spare[id])
		if errors.Is(err, fs.ErrNotExist) || err == nil && n < 0 {
			continue // gone before, or nothing in it may go
		}
		if err != nil {
			return err
		}
		g.Runs++
		g.add(removal{Kind: "run", Run: &id, Path: dir, Bytes: n, spare: spare[id]})
	}
	return nil
}

// bytesBelow is how much the files below dir hold, without the directories that are spared; -1 where there is no file.
func bytesBelow(dir string, spare map[string]bool) (int64, error) {
	sum := int64(-1)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case spare[path]:
			return fs.SkipDir
		case d.IsDir():
			return nil
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		sum = max(0, sum) + fi.Size()
		return nil
	})
	if len(spare) == 0 {
		sum = max(0, sum) // an empty directory goes too
	}
	return sum, err
}

// imports are what an import that was killed left.
func (g *garbage) imports() error {
	found, err := filepath.Glob(filepath.Join(g.state, "importing-*"))
	for _, dir := range found {
		n, err := bytesBelow(dir, nil)
		if err != nil {
			return err
		}
		g.add(removal{Kind: "import", Path: dir, Bytes: n})
	}
	return err
}

// code is what the runs that go began with, and the bytes that no other run began with.
func (g *garbage) code() error {
	files, err := filepath.Glob(filepath.Join(g.state, "code", "runs", "*.json"))
	if err != nil {
		return err
	}
	var trees []string
	for _, file := range files {
		id := strings.TrimSuffix(filepath.Base(file), ".json")
		if g.goes[id] {
			if err := g.file(file, &id); err != nil {
				return err
			}
			continue
		}
		var st struct {
			Manifests map[string]string `json:"manifests"`
		}
		b, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(b, &st)
		}
		if err != nil {
			g.Notes = append(g.Notes, fmt.Sprintf("what run %s began with cannot be read, so no code is removed: %v", id, err))
			return nil
		}
		for _, tree := range st.Manifests {
			trees = append(trees, tree)
		}
	}
	unneeded, err := (checkpoint.Store{Dir: filepath.Join(g.state, "code")}).Unneeded(trees)
	if err != nil {
		g.Notes = append(g.Notes, fmt.Sprintf("the code of a run cannot be read, so no code is removed: %v", err))
		return nil
	}
	for _, file := range unneeded {
		if err := g.file(file, nil); err != nil {
			return err
		}
	}
	return nil
}

func (g *garbage) file(file string, run *string) error {
	fi, err := os.Lstat(file)
	if err != nil {
		return err
	}
	g.add(removal{Kind: "code", Run: run, Path: file, Bytes: fi.Size()})
	return nil
}

// jobs are what is left in the user's cache. Only the directory that is this state's own: one that a spec names may have
// other users.
func (g *garbage) jobs(used *ledger.Used) error {
	if !g.cache {
		return nil
	}
	work, err := workDir(g.state)
	if err != nil {
		return err
	}
	unfinished := func(run string) bool {
		r, known := g.runs[run]
		return !known || r.Unfinished()
	}
	found, err := hosts.Leftovers(work, hosts.Needed{
		Job: func(id string) bool { return len(used.Jobs[id]) == 0 || g.stays(used.Jobs[id]) },
		Kept: func(id, dir string) bool {
			return len(used.Jobs[id]) == 0 || g.stays(used.Jobs[id]) || g.stays(used.Kept[dir])
		},
		Checkpoint: func(name string) bool {
			run, _, _ := strings.Cut(name, ".")
			return unfinished(run) || slices.ContainsFunc(used.Checkpoints[name], unfinished)
		},
		Setup: func(key string) bool { return len(used.Setups[key]) == 0 || g.stays(used.Setups[key]) },
	})
	if err != nil {
		return fmt.Errorf("what jobs left in %s: %w", work, err)
	}
	for _, f := range found {
		g.add(removal{Kind: f.Kind, Path: f.Path, Bytes: f.Bytes, remove: f.Remove})
	}
	return nil
}

// keepRuns honours settings.keep_runs at the end of a run. That something cannot be removed is no failure of the run.
func (s *session) keepRuns(ctx context.Context, keep *int) {
	if keep == nil {
		return
	}
	g := &garbage{state: s.state, keep: *keep, now: s.app.now(), collected: &collected{}}
	err := g.collect(ctx, s.ledger)
	if err == nil {
		err = g.remove(ctx)
	}
	for _, n := range g.Notes {
		s.app.log.Warn("settings.keep_runs: " + n)
	}
	if err != nil {
		s.app.log.Warn("settings.keep_runs", "error", err)
	}
}
