package hosts

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// dirKept holds what jobs left here for good, by job.
const dirKept = "kept"

// keep moves artifacts out of the job directory, which will be deleted. Those that were moved before are where they
// belong already.
func (l *Local) keep(id string, found []artifact) error {
	if len(found) == 0 {
		return nil
	}
	root := l.keptDir(id)
	dirs := map[string]bool{path.Dir(root): true}
	for _, a := range found {
		to := root + "/" + a.name
		for dir := path.Dir(to); !dirs[dir]; dir = path.Dir(dir) {
			dirs[dir] = true
		}
		if a.root == root {
			continue
		}
		if err := os.MkdirAll(path.Dir(to), 0o700); err != nil {
			return err
		}
		if err := os.Rename(a.root+"/"+a.name, to); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return settled(root, found, dirs)
}

// settled returns when what was moved below root is on disk, names and bytes: the outcome that tells of it is recorded next,
// and then the job is deleted.
func settled(root string, found []artifact, dirs map[string]bool) error {
	if len(found)+len(dirs) > syncAlone {
		return errors.Join(syncFS(root), syncDir(path.Dir(root)))
	}
	for _, a := range found {
		if !a.mode.IsRegular() {
			continue
		}
		if err := syncPath(root + "/" + a.name); err != nil && !outOfReach(err) && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(dirs)) {
		if err := syncDir(dir); err != nil {
			return err
		}
	}
	return nil
}

func (l *Local) keptDir(id string) string { return filepath.Join(l.home, dirKept, id) }

// withKept adds what an earlier Fetch moved away: a Fetch that was not recorded comes again.
func (l *Local) withKept(id string, found []artifact) ([]artifact, error) {
	if !exists(l.keptDir(id)) {
		return found, nil
	}
	moved, err := listArtifacts(l.keptDir(id))
	if err != nil || len(moved) == 0 {
		return found, err
	}
	have := map[string]bool{}
	for _, a := range found {
		have[a.name] = true
	}
	for _, a := range moved {
		if !have[a.name] {
			a.copied = true // it stays here as well
			found = append(found, a)
		}
	}
	slices.SortFunc(found, func(a, b artifact) int { return strings.Compare(a.name, b.name) })
	return found, nil
}

// kept lists what keep moved.
func (l *Local) kept(id string) ([]string, error) {
	if !exists(l.keptDir(id)) {
		return nil, nil
	}
	found, err := listArtifacts(l.keptDir(id))
	if err != nil {
		return nil, err
	}
	var out []string
	for _, a := range found {
		if !a.mode.IsDir() && a.fits {
			out = append(out, a.name)
		}
	}
	return out, nil
}

// BringKept copies those files of a KeptDir of this machine to dir that pick selects (nil is all), and returns their
// names. They stay where they are too.
func BringKept(ctx context.Context, keptDir, dir string, pick func(path string) bool) ([]string, error) {
	found, err := listArtifacts(keptDir)
	if err != nil {
		return nil, fmt.Errorf("fetch what stayed in %s: %w", keptDir, err)
	}
	var out []string
	for _, a := range found {
		if a.mode.IsDir() || !a.fits || pick != nil && !pick(a.name) {
			continue
		}
		if ctx.Err() != nil {
			return out, ctx.Err()
		}
		if err := a.fetch(dir); err != nil {
			return out, fmt.Errorf("fetch what stayed in %s: %w", keptDir, diskFull(err))
		}
		out = append(out, a.name)
	}
	return out, nil
}

// fetch copies an artifact to its name below dir when all of it is there: half of a checkpoint looks like one.
func (a artifact) fetch(dir string) error {
	to := dir + "/" + a.name
	if err := os.MkdirAll(path.Dir(to), 0o700); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(dir, ".fetch-")
	if err != nil {
		return err
	}
	a.copied = true
	part := a
	part.root, part.name = path.Dir(a.root+"/"+a.name), path.Base(a.name)
	err = part.bring(tmp, true)
	if err == nil {
		err = os.RemoveAll(to)
	}
	if err == nil {
		err = os.Rename(tmp+"/"+part.name, to)
	}
	return errors.Join(err, os.RemoveAll(tmp))
}
