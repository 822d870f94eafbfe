package specfile

import (
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

// strayCode finds code that lies outside of the repository.
func (l *loader) strayCode() []plan.Finding {
	var out []plan.Finding
	for i := range l.spec.Experiments {
		e := &l.spec.Experiments[i]
		dir := filepath.Join(e.Dir, filepath.FromSlash(e.Code.Path))
		if filepath.IsAbs(e.Code.Path) {
			dir = filepath.Clean(e.Code.Path)
		}
		if !within(l.root, dir) {
			out = append(out, plan.Finding{
				Path: []string{"experiments", e.Name, "code", "path"}, Message: "code.path leads out of the repository",
				Suggestion: "code lies within the repository of its experiment",
			})
		}
	}
	return out
}

// findings are those of plan.Check. Of experiments that are wrong in themselves it sees the name only: it may rely on
// what the schema demands.
func (l *loader) findings() []plan.Finding {
	spec := l.spec
	if len(l.wrong) > 0 {
		spec.Experiments = slices.Clone(spec.Experiments)
		for i, e := range spec.Experiments {
			if l.wrong[entryOf([]string{"experiments", e.Name})] {
				spec.Experiments[i] = plan.Experiment{Name: e.Name, Dir: e.Dir, Set: map[string]bool{}}
			}
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
		return plan.Problem{Path: pathString(f.Path), Message: f.Message, Suggestion: &f.Suggestion}
	}
	pos := token.NoPos
	if at.valid() {
		pos = best.source.valuePos(f.Path)
	}
	return best.problem(pos, f.Path, f.Message, f.Suggestion)
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
