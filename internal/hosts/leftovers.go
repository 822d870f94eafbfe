package hosts

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// A Leftover is a file or directory below the work directory of a local host that nobody needs.
type Leftover struct {
	Kind  string // job, kept, checkpoint, setup, evaluation or trash
	Path  string
	Bytes int64
}

// Needed says what is needed of what lies below a work directory, by job id, by the name of a checkpoint directory, and by
// the key of a setup.
type Needed struct {
	Job        func(id string) bool
	Kept       func(id, dir string) bool // what that job left for good
	Checkpoint func(name string) bool
	Setup      func(key string) bool
}

// Leftovers lists what is not needed below a work directory, on this machine: a directory that several share keeps their
// jobs apart. No controller may be at work there. A job that is alive is needed, whatever is said of it.
func Leftovers(workdir string, n Needed) ([]Leftover, error) {
	home := filepath.Join(workdir, hostID())
	var out []Leftover
	list := func(kind, dir string, needed func(name string) bool) error {
		names, err := os.ReadDir(filepath.Join(home, dir))
		if err != nil && !os.IsNotExist(err) {
			return err
		}
		for _, e := range names {
			if path := filepath.Join(home, dir, e.Name()); !needed(e.Name()) {
				out = append(out, Leftover{kind, path, treeBytes(path)})
			}
		}
		return nil
	}
	never := func(string) bool { return false }
	idle := true
	job := func(name string) bool {
		needed := jobDir(filepath.Join(home, dirJobs, name)).held() || n.Job(name)
		idle = idle && !needed
		return needed
	}
	for _, l := range []struct {
		kind, dir string
		needed    func(string) bool
	}{
		{"job", dirJobs, job},
		{"kept", dirKept, func(id string) bool { return n.Kept(id, filepath.Join(home, dirKept, id)) }},
		{"checkpoint", dirCheckpoints, n.Checkpoint},
		{"setup", dirSetup, func(name string) bool { key, _, _ := strings.Cut(name, "."); return n.Setup(key) }},
		{"evaluation", dirEvaluates, func(string) bool { return !idle }}, // any job may want it; it is made again
		{"trash", dirTrash, never},
		{"trash", dirSpare, never},
	} {
		if err := list(l.kind, l.dir, l.needed); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Remove deletes it, unless it is a job that has come to life.
func (l Leftover) Remove() error {
	if l.Kind == "job" && jobDir(l.Path).held() {
		return nil
	}
	return removeAll(l.Path)
}

// treeBytes is how much the files below path hold; what cannot be read counts nothing.
func treeBytes(path string) int64 {
	var sum int64
	_ = filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if fi, err := d.Info(); err == nil && fi.Mode().IsRegular() {
			sum += fi.Size()
		}
		return nil
	})
	return sum
}
