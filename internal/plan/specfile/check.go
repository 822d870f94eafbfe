package specfile

import (
	"os"
	"path/filepath"
	"slices"

	"cuelang.org/go/cue/token"

	"github.com/xrun-dev/xrun/internal/plan"
)

// check looks across fields, and puts what is found at the lines that it is about. Entries that are wrong in themselves
// are left out: what is said about them would be a consequence.
func (l *loader) check() {
	l.spec.Place = func(f plan.Finding) plan.Problem { return l.finish([]plan.Problem{l.placed(f)})[0] }
	if l.wrong[""] || len(l.wrong) == 0 && len(l.problems) > 0 {
		return // something could not be read at all: names would seem to be missing
	}
	for _, f := range append(l.findings(), l.strayCode()...) {
		p := l.placed(f)
		switch {
		case l.wrong[entryOf(f.Path)]:
		case f.Warning:
			l.spec.Warnings = append(l.spec.Warnings, p)
		default:
			l.problems = append(l.problems, p)
		}
	}
}

// strayCode finds code that lies outside of the repository or is not there.
func (l *loader) strayCode() []plan.Finding {
	var out []plan.Finding
	for i := range l.spec.Experiments {
		e := &l.spec.Experiments[i]
		dir := filepath.Join(e.Dir, filepath.FromSlash(e.Code.Path))
		if filepath.IsAbs(e.Code.Path) {
			dir = filepath.Clean(e.Code.Path)
		}
		message, suggestion := "", ""
		switch {
		case !within(l.root, dir):
			message, suggestion = "code.path leads out of the repository", "code lies within the repository of its experiment"
		case e.Code.Path != "" && e.Code.Ref == "": // what a commit holds need not be in the working tree
			message, suggestion = notDirectory(e.Dir, e.Code.Path, dir)
		}
		if message != "" {
			out = append(out, plan.Finding{Path: []string{"experiments", e.Name, "code", "path"}, Message: message, Suggestion: suggestion})
		}
	}
	return out
}

// notDirectory says what is wrong if dir, which is path as seen from base, is no directory.
func notDirectory(base, path, dir string) (message, suggestion string) {
	info, err := os.Stat(dir)
	switch {
	case err == nil && info.IsDir():
		return "", ""
	case err == nil:
		return quote(path) + " is not a directory", "name the directory that it lies in"
	}
	// The first part of it that is not there may be a misspelling of one that is.
	missing, rest := dir, ""
	for filepath.Dir(missing) != missing {
		if info, err := os.Stat(filepath.Dir(missing)); err == nil && info.IsDir() {
			break
		}
		missing, rest = filepath.Dir(missing), filepath.Join(filepath.Base(missing), rest)
	}
	entries, _ := os.ReadDir(filepath.Dir(missing)) // no suggestion if it cannot be read
	var siblings []string
	for _, e := range entries {
		if info, err := os.Stat(filepath.Join(filepath.Dir(missing), e.Name())); err == nil && info.IsDir() && !notOurs(e.Name()) {
			siblings = append(siblings, e.Name())
		}
	}
	suggestion = "code.path starts at the directory of this file"
	if near, ok := didYouMean(filepath.Base(missing), siblings); ok {
		meant := filepath.Join(filepath.Dir(missing), near, rest)
		if rel, err := filepath.Rel(base, meant); err == nil && !filepath.IsAbs(path) {
			meant = rel
		}
		suggestion = "did you mean " + quote(filepath.ToSlash(meant)) + "?"
	}
	return "there is no directory " + quote(path), suggestion
}

// findings are those of plan.Check. Of experiments and hosts that are wrong in themselves it sees the name only: it may
// rely on what the schema demands.
func (l *loader) findings() []plan.Finding {
	spec := l.spec
	if len(l.wrong) > 0 {
		spec.Experiments, spec.Hosts = slices.Clone(spec.Experiments), slices.Clone(spec.Hosts)
		for i, e := range spec.Experiments {
			if l.wrong[entryOf([]string{"experiments", e.Name})] {
				spec.Experiments[i] = plan.Experiment{Name: e.Name, Dir: e.Dir, Set: map[string]bool{}}
			}
		}
	}
	for i, h := range spec.Hosts {
		if l.wrong[entryOf([]string{"hosts", h.Name})] {
			spec.Hosts[i] = plan.Host{Name: h.Name, From: h.From}
		}
	}
	return plan.Check(&spec)
}

// placed makes a problem of a finding.
func (l *loader) placed(f plan.Finding) plan.Problem {
	var best *unit
	var at place
	for _, u := range l.units {
		if p := u.source.find(f.Path); best == nil || p.depth > at.depth || p.depth == at.depth && p.vague < at.vague {
			best, at = u, p
		}
	}
	if best == nil {
		return plan.Problem{Path: pathString(f.Path), Message: f.Message, Suggestion: &f.Suggestion, Kind: f.Kind}
	}
	pos := token.NoPos
	if at.valid() {
		pos = best.source.valuePos(f.Path)
	}
	p := best.problem(pos, f.Path, f.Message, f.Suggestion)
	p.Kind = f.Kind
	return p
}

// entryOf is the experiment, host or agent that a path lies in.
func entryOf(path []string) string {
	switch {
	case len(path) >= 2:
		return key(path[:2])
	default:
		return key(path)
	}
}
