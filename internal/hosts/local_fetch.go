package hosts

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"golang.org/x/sys/unix"
)

// The names of what Fetch brings.
const (
	fetchedLog       = "log"
	fetchedArtifacts = "artifacts"
)

// Fetch brings the log of an ended job to dir/log, those of its steps to dir/setup.log and dir/evaluate.log, and its artifacts to dir/artifacts, whole or not at all. Taken are, in
// order of their names, the regular files that fit into want.Limit bytes together, directories, and links that stay
// inside. The rest, and what is to be kept, stays here when the job is discarded.
func (l *Local) Fetch(ctx context.Context, id, dir string, want Want) (Brought, error) {
	var b Brought
	if err := validID(id); err != nil {
		return b, err
	}
	d := l.dir(id)
	if err := fetchLog(d.file(fileLog), filepath.Join(dir, fetchedLog)); err != nil {
		return b, fmt.Errorf("fetch the log of job %s: %w", id, diskFull(err))
	}
	for _, step := range []string{stepSetup, stepEvaluate} {
		if err := fetchLog(d.file(step+logSuffix), filepath.Join(dir, step+logSuffix)); err != nil {
			return b, fmt.Errorf("fetch the log of %s of job %s: %w", step, id, diskFull(err))
		}
	}
	found, err := d.artifacts(want)
	if err == nil {
		found, err = l.withKept(id, found)
	}
	home, keep := want.split(found)
	if err == nil {
		b.Artifacts, b.Left, err = fetchArtifacts(ctx, home, filepath.Join(dir, fetchedArtifacts), want.Limit)
	}
	if err == nil {
		err = l.keep(id, append(keep, named(home, b.Left)...))
	}
	if err == nil {
		b.KeptDir = l.keptDir(id)
		b.Kept, err = l.kept(id)
	}
	if err != nil {
		return b, fmt.Errorf("fetch the artifacts of job %s: %w", id, diskFull(err))
	}
	return b, nil
}

// split tells what comes home from what stays.
func (w Want) split(found []artifact) (home, keep []artifact) {
	for _, a := range found {
		if w.Keep != nil && !a.mode.IsDir() && a.fits && w.Keep(a.name) {
			keep = append(keep, a)
		} else {
			home = append(home, a)
		}
	}
	return home, keep
}

// named are the files among found that have these names, and can be had.
func named(found []artifact, names []string) []artifact {
	var out []artifact
	for _, a := range found {
		if a.mode.IsRegular() && a.fits && slices.Contains(names, a.name) {
			out = append(out, a)
		}
	}
	return out
}

// fetchLog links or copies the log. A job that never ran has none, and neither has one that put something else there.
func fetchLog(from, to string) error {
	fi, err := os.Lstat(from)
	if errors.Is(err, os.ErrNotExist) || err == nil && !fi.Mode().IsRegular() {
		return nil
	}
	if err == nil && fi.Mode().Perm()&0o600 != 0o600 {
		err = os.Chmod(from, 0o600)
	}
	if err != nil {
		return err
	}
	err = os.Link(from, to)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, os.ErrNotExist): // the directory is missing
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return err
		}
		if os.Link(from, to) == nil {
			return nil
		}
	case errors.Is(err, os.ErrExist) && sameFile(from, to):
		return nil
	}
	tmp := to + ".tmp"
	if err := os.RemoveAll(tmp); err != nil {
		return err
	}
	if os.Link(from, tmp) != nil {
		if err := copyFile(from, tmp, 0o600); err != nil {
			return err
		}
	}
	return os.Rename(tmp, to)
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

func sameFile(a, b string) bool {
	x, err1 := os.Lstat(a)
	y, err2 := os.Lstat(b)
	return err1 == nil && err2 == nil && os.SameFile(x, y)
}

// syncAlone is up to how many artifacts are written to disk one by one. A disk takes a millisecond for each; beyond that
// it is asked once, for all that it holds.
const syncAlone = 100

// fetchArtifacts brings a directory under a temporary name and renames it when it is complete.
func fetchArtifacts(ctx context.Context, found []artifact, to string, limit int64) (taken, left []string, err error) {
	if len(found) == 0 {
		return nil, nil, nil
	}
	tmp := to + ".tmp"
	if err := removeAll(tmp); err != nil {
		return nil, nil, err
	}
	if err := os.MkdirAll(tmp, 0o700); err != nil {
		return nil, nil, err
	}
	var sum int64
	many := len(found) > syncAlone
	for _, f := range found {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		if !f.fits || f.mode.IsRegular() && limit > 0 && sum+f.size > limit {
			left = append(left, f.name)
			continue
		}
		switch err := f.bring(tmp, !many); {
		case outOfReach(err):
			left = append(left, f.name)
			continue
		case err != nil:
			return nil, nil, err
		}
		if !f.mode.IsDir() {
			taken = append(taken, f.name)
			sum += f.size
		}
	}
	if many {
		if err := syncFS(tmp); err != nil {
			return nil, nil, err
		}
	}
	if err := removeAll(to); err != nil { // of a Fetch that was complete but not recorded
		return nil, nil, err
	}
	if err := os.Rename(tmp, to); err != nil {
		return nil, nil, err
	}
	return taken, left, syncDir(filepath.Dir(to))
}

// artifacts lists what is wanted: all of out, then of the tree what is selected and has no namesake there.
func (d jobDir) artifacts(want Want) ([]artifact, error) {
	found, err := listArtifacts(d.file(dirOut))
	if err != nil || want.Tree == nil && want.Keep == nil {
		return found, err
	}
	wanted := func(name string) bool {
		return want.Tree != nil && want.Tree(name) || want.Keep != nil && want.Keep(name)
	}
	tree, err := listArtifacts(d.file(dirTree))
	if err != nil {
		return nil, err
	}
	have := map[string]bool{} // name: it is a directory
	for _, a := range found {
		have[a.name] = a.mode.IsDir()
	}
	for _, a := range tree {
		if _, taken := have[a.name]; taken || a.mode.IsDir() || a.name == "." || !wanted(a.name) {
			continue
		}
		a.copied = true
		for dir := path.Dir(a.name); dir != "."; dir = path.Dir(dir) {
			isDir, taken := have[dir]
			if taken && !isDir {
				a.fits = false // its directory is a file of out
			}
			if !taken {
				have[dir] = true
				found = append(found, artifact{name: dir, mode: fs.ModeDir, fits: true})
			}
		}
		found = append(found, a)
	}
	sort.Slice(found, func(i, j int) bool { return found[i].name < found[j].name })
	return found, nil
}

// An artifact is a file, link or directory below root.
type artifact struct {
	root string
	name string // slash-separated, byte for byte
	mode fs.FileMode
	size int64
	link string
	fits bool // false: neither file nor directory nor a link that stays inside
	// copied: never by another link, because the working directory is used again
	copied bool
}

// listArtifacts walks a directory without following links; sorted, so that directories come before what is in them. What
// the job put in the place of the directory itself is not followed either: behind a link are somebody's files, which
// would be moved, opened and linked. It is the one artifact ".", which does not fit.
func listArtifacts(out string) ([]artifact, error) {
	var found []artifact
	if emptyDir(out) { // nearly always, which must cost little
		return nil, nil
	}
	if fi, err := os.Lstat(out); err == nil && !fi.IsDir() {
		return []artifact{{root: out, name: ".", mode: fi.Mode()}}, nil
	}
	var walk func(rel string) error
	walk = func(rel string) error {
		entries, err := readDir(out + "/" + rel)
		if err != nil {
			return err
		}
		for _, e := range entries {
			a, err := newArtifact(out, path.Join(rel, e.Name()), e)
			if err == nil && a.mode.IsDir() {
				err = walk(a.name)
			}
			if a.fits = a.fits && err == nil; err != nil && !outOfReach(err) {
				return err
			}
			found = append(found, a)
		}
		return nil
	}
	if err := walk(""); err != nil && !(errors.Is(err, os.ErrNotExist) && !exists(out)) {
		return nil, err
	}
	sort.Slice(found, func(i, j int) bool { return found[i].name < found[j].name })
	return found, nil
}

// newArtifact looks at one entry of a directory.
func newArtifact(root, name string, e os.DirEntry) (artifact, error) {
	a := artifact{root: root, name: name, mode: e.Type()}
	info, err := e.Info()
	if err != nil {
		return a, err
	}
	switch a.mode = info.Mode(); {
	case a.mode.IsRegular():
		a.size, a.fits = info.Size(), true
	case a.mode.IsDir():
		a.fits = true
	case a.mode&fs.ModeSymlink != 0:
		a.link, err = os.Readlink(root + "/" + name)
		a.fits = staysInside(name, a.link)
	}
	return a, err
}

// outOfReach is an error of one artifact that says nothing of the others: it is not ours to read, or lies so deep that no
// path leads there, here or where it would come home.
func outOfReach(err error) bool {
	return errors.Is(err, os.ErrPermission) || errors.Is(err, unix.ENAMETOOLONG)
}

// readDir reads a directory that the job may have shut.
func readDir(dir string) ([]os.DirEntry, error) {
	if fi, err := os.Lstat(dir); err == nil && fi.IsDir() && fi.Mode().Perm()&0o700 != 0o700 {
		_ = os.Chmod(dir, 0o700)
	}
	return os.ReadDir(dir)
}

// staysInside says whether a link leads to a place below the root. Going up is allowed only at the start, where the way
// leads through real directories: beyond a name that may be a link itself, ".." can be anywhere.
func staysInside(name, target string) bool {
	if target == "" || path.IsAbs(target) {
		return false
	}
	depth, down := strings.Count(name, "/"), false
	for elem := range strings.SplitSeq(target, "/") {
		switch elem {
		case "", ".":
		case "..":
			if depth--; down || depth < 0 {
				return false
			}
		default:
			down = true
		}
	}
	return true
}

// bring puts one artifact to the same name below to; with sync, with its bytes on disk.
func (a artifact) bring(to string, sync bool) error {
	from, dst := a.root+"/"+a.name, to+"/"+a.name
	switch {
	case a.mode.IsDir():
		return os.Mkdir(dst, 0o700)
	case a.mode&fs.ModeSymlink != 0:
		return os.Symlink(a.link, dst)
	}
	// A file with other names may be somebody's data: what happens to it later must not happen to the artifact.
	var st unix.Stat_t
	alone := unix.Lstat(from, &st) == nil && st.Nlink == 1
	if alone && a.mode.Perm()&0o600 != 0o600 {
		_ = os.Chmod(from, a.mode.Perm()|0o600) // an artifact that its owner cannot read is of no use
	}
	if a.copied || !alone || os.Link(from, dst) != nil {
		if err := copyFile(from, dst, a.mode.Perm()|0o600); err != nil {
			return err
		}
	}
	if !sync {
		return nil
	}
	return syncPath(dst)
}

func syncDir(dir string) error { return syncPath(dir) }

func syncPath(name string) error {
	fd, err := open(name, unix.O_RDONLY)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.Fsync(fd); err != nil {
		return &fs.PathError{Op: "sync", Path: name, Err: err}
	}
	return nil
}
