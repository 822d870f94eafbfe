package plan

import (
	"fmt"
	"slices"
	"strings"
)

// inputOrder lists the experiments by index, each behind those that its inputs come from, otherwise as the spec has
// them.
func inputOrder(s *Spec) ([]int, error) {
	index := make(map[string]int, len(s.Experiments))
	for i := range s.Experiments {
		index[s.Experiments[i].Name] = i
	}
	const open, done = 1, 2
	state := make([]int, len(s.Experiments))
	order := make([]int, 0, len(s.Experiments))
	var visit func(i int) error
	visit = func(i int) error {
		e := &s.Experiments[i]
		switch state[i] {
		case done:
			return nil
		case open:
			return fmt.Errorf("experiment %s: its inputs come from itself, by way of others", e.Name)
		}
		state[i] = open
		for _, name := range sortedKeys(e.Inputs) {
			if up, ok := index[e.Inputs[name].Experiment]; ok {
				if err := visit(up); err != nil {
					return err
				}
			}
		}
		state[i] = done
		order = append(order, i)
		return nil
	}
	for i := range s.Experiments {
		if err := visit(i); err != nil {
			return nil, err
		}
	}
	return order, nil
}

// An upstream is an experiment that others may take inputs from.
type upstream struct {
	spec   *Experiment
	id     *identity
	trials []Trial // as far as they are known beforehand
}

type upstreams map[string]upstream

// ids are what stands for all results of the experiment, in an order that moving an axis does not change.
func (u upstream) ids() []string {
	if u.spec == nil {
		return nil // check refuses an input from nowhere
	}
	if len(u.trials) == 0 {
		return []string{u.id.whole(u.spec)}
	}
	out := make([]string, len(u.trials))
	for i := range u.trials {
		out[i] = u.trials[i].ID
	}
	slices.Sort(out)
	return out
}

// hash is the part of an identity that an input is, given what stands for the results that it can come from. Which of
// them is the best is also a matter of direction.
func (ups upstreams) hash(in Input, ids []string) string {
	direction := in.Experiment // of an experiment that is not there, nothing else is known
	if u, ok := ups[in.Experiment]; ok {
		direction = u.spec.Objective.Direction
	}
	return hashList(append([]string{in.Path, in.Trial, direction}, ids...))
}

// whole stands for all that an experiment can find, where its trials are not known: those of a loop, or of a sweep over
// files on a host.
func (id *identity) whole(e *Experiment) string {
	parts := []string{string(id.base), hashJSON([]any{
		e.Mode, e.Command, e.Env, e.Params, e.Objective, e.Metrics, e.Seeds, e.Sweep, e.Loop, e.Claim, e.Criteria,
	})}
	fixed := make(Params, 0, len(e.Params))
	for _, name := range sortedKeys(e.Params) {
		fixed = append(fixed, Param{name, e.Params[name]})
	}
	for _, in := range id.same {
		parts = append(parts, in.part, in.hash(fixed))
	}
	return hashList(parts)
}

// A sameInput is an input from the trials that have the same values of the parameters that both have.
type sameInput struct {
	part  string
	input Input
	index *sameIndex
}

// A sameIndex finds those trials. Which parameters two trials share depends on the names of both only, so the trials
// are looked up by those.
type sameIndex struct {
	ups    upstreams
	groups []sameGroup
}

// A sameGroup are the trials whose parameters have the same names.
type sameGroup struct {
	names  []string
	trials []*Trial
	by     map[string]map[string][]string // by shared names, then by their values: ids
}

func (ups upstreams) index(in Input) *sameIndex {
	x := &sameIndex{ups: ups}
	at := map[string]int{}
	trials := ups[in.Experiment].trials
	for i := range trials {
		names := namesOf(trials[i].Params)
		key := strings.Join(names, "\x00")
		k, ok := at[key]
		if !ok {
			k = len(x.groups)
			at[key] = k
			x.groups = append(x.groups, sameGroup{names: names, by: map[string]map[string][]string{}})
		}
		x.groups[k].trials = append(x.groups[k].trials, &trials[i])
	}
	return x
}

func namesOf(ps Params) []string {
	names := make([]string, len(ps))
	for i, p := range ps {
		names[i] = p.Name
	}
	slices.Sort(names)
	return names
}

func (in sameInput) hash(ps Params) string {
	var ids []string
	for i := range in.index.groups {
		ids = append(ids, in.index.groups[i].find(ps)...)
	}
	slices.Sort(ids)
	return in.index.ups.hash(in.input, ids)
}

func (g *sameGroup) find(ps Params) []string {
	shared := slices.DeleteFunc(namesOf(ps), func(name string) bool {
		_, ok := slices.BinarySearch(g.names, name)
		return !ok
	})
	key := strings.Join(shared, "\x00")
	values, ok := g.by[key]
	if !ok {
		values = map[string][]string{}
		for _, t := range g.trials {
			v := pointText(only(t.Params, shared))
			values[v] = append(values[v], t.ID)
		}
		g.by[key] = values
	}
	return values[pointText(only(ps, shared))]
}

func only(ps Params, names []string) Params {
	return slices.DeleteFunc(slices.Clone(ps), func(p Param) bool { return !contains(names, p.Name) })
}
