package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/xrun-dev/xrun/internal/ledger"
)

// Find names the trial of an experiment that ref means: an id, the beginning of one, or name=value,… with the parameters
// and the seed as far as they are needed to tell it from the others.
func (s *State) Find(experiment, ref string) (ledger.Key, error) {
	t, err := s.find(experiment, ref)
	if err != nil {
		return ledger.Key{}, err
	}
	return t.key, nil
}

func (s *State) findExperiment(name string) (*experiment, error) {
	names := make([]string, len(s.experiments))
	for i, x := range s.experiments {
		if x.name == name {
			return x, nil
		}
		names[i] = visible(x.name)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("run %s has no experiment %q", s.run, name)
	}
	return nil, fmt.Errorf("run %s has no experiment %q; it has %s", s.run, name, list(names, 10))
}

func (s *State) find(name, ref string) (*trial, error) {
	x, err := s.findExperiment(name)
	if err != nil {
		return nil, err
	}
	if t := x.byID[ref]; t != nil {
		return t, nil
	}
	match := func(t *trial) bool { return ref != "" && strings.HasPrefix(t.key.Trial, ref) }
	if strings.Contains(ref, "=") {
		want := strings.Split(ref, ",")
		match = func(t *trial) bool { return t.matches(want) }
	}
	found := slices.DeleteFunc(x.inOrder(), func(t *trial) bool { return !match(t) })
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return nil, fmt.Errorf("experiment %s of run %s has no trial %q", name, s.run, ref)
	}
	names := make([]string, len(found))
	for i, t := range found {
		names[i] = fmt.Sprintf("%s (%s)", t.key.Trial, visible(t.name()))
	}
	return nil, fmt.Errorf("%q means %d trials of %s/%s: %s", ref, len(found), s.run, name, list(names, 5))
}

// matches reports whether every name=value of want is so. A value with a comma in it cannot be given like this.
func (t *trial) matches(want []string) bool {
	for _, w := range want {
		name, value, _ := strings.Cut(w, "=")
		v, ok := t.params.Get(name)
		switch {
		case !ok && name == "seed":
			if t.planned == nil || fmt.Sprint(t.planned.Seed) != value {
				return false
			}
		case !ok, v.Text() != value && !sameNumber(v, value):
			return false
		}
	}
	return true
}
