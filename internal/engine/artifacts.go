package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/xrun-dev/xrun/internal/engine/checkpoint"
	"github.com/xrun-dev/xrun/internal/hosts"
)

// want says which files of the attempt come home, and which stay for good: all of XRUN_OUT, and below the code what artifacts.paths names and
// where metrics are read.
func (f *follower) want() hosts.Want {
	w := hosts.Want{Limit: int64(f.a.exp.Artifacts.MaxSize)}
	if globs := slices.Concat(f.a.exp.Artifacts.Paths, sourceFiles(wants(f.a.exp))); len(globs) > 0 {
		w.Tree = func(path string) bool {
			return slices.ContainsFunc(globs, func(g string) bool { return Named(g, path) })
		}
	}
	if keep := f.a.exp.Artifacts.Keep; len(keep) > 0 {
		w.Keep = func(path string) bool {
			return slices.ContainsFunc(keep, func(g string) bool { return Named(g, path) })
		}
	}
	return w
}

// Named reports whether a name or glob of artifacts.paths means the file: by itself, or as part of a directory.
func Named(glob, path string) bool {
	for _, g := range []string{glob, glob + "/**"} {
		// What is no glob names nothing; the command has refused it before the run.
		if ok, err := checkpoint.Match(g, path); err == nil && ok {
			return true
		}
	}
	return false
}

// mostLeft bounds how many artifacts that did not come home are named.
const mostLeft = 20

// left notes what did not come home, and why.
func left(b hosts.Brought) []string {
	var notes []string
	for i, name := range b.Left {
		if i == mostLeft {
			return append(notes, fmt.Sprintf("and %d more artifacts did not come home", len(b.Left)-i))
		}
		switch short := brief(name); {
		case name == ".":
			notes = append(notes, "nothing of XRUN_OUT came home: the program put something else in the place of that directory, which is not followed")
		case slices.Contains(b.Kept, name):
			notes = append(notes, fmt.Sprintf("artifact %s stayed on the host: with it the artifacts are larger than artifacts.max_size (`xrun fetch` brings it)", short))
		case len(name) > mostName:
			notes = append(notes, fmt.Sprintf("artifact %s did not come home: its path is too long", short))
		default:
			notes = append(notes, fmt.Sprintf("artifact %s did not come home: it is no file, or may not be read, or is a link that leads out of XRUN_OUT", short))
		}
	}
	return notes
}

const (
	// mostName is the length from which on a path of an artifact may be more than a system takes, which is 4096 bytes.
	mostName = 3000
	// mostBrief is how much of a name or a message is told.
	mostBrief = 300
)

// brief is a name or a message in one line that can be read: of a long one the beginning and the end.
func brief(s string) string {
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' }), " ")
	r := []rune(s)
	if len(r) <= mostBrief {
		return s
	}
	return string(r[:mostBrief*2/3]) + "…" + string(r[len(r)-mostBrief/3:])
}

// unmatched notes what artifacts.paths names and the attempt did not leave.
func (f *follower) unmatched(artifacts []string) []string {
	var notes []string
	for i, g := range slices.Concat(f.a.exp.Artifacts.Paths, f.a.exp.Artifacts.Keep) {
		if !slices.ContainsFunc(artifacts, func(a string) bool { return Named(g, a) }) {
			field := "artifacts.paths"
			if i >= len(f.a.exp.Artifacts.Paths) {
				field = "artifacts.keep"
			}
			notes = append(notes, fmt.Sprintf("%s: it left no %s", field, g))
		}
	}
	return notes
}
