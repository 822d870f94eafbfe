package plan

// A Diff is what changed from one plan to another: trials by id, and points whose trial has another id now.
type Diff struct {
	Added   []DiffTrial `json:"added"`
	Removed []DiffTrial `json:"removed"`
	Changed []DiffTrial `json:"changed"`
	Same    int         `json:"same"`
}

// Empty reports whether the plans have the same trials.
func (d Diff) Empty() bool { return len(d.Added)+len(d.Removed)+len(d.Changed) == 0 }

// A DiffTrial is one trial of a Diff.
type DiffTrial struct {
	Experiment string `json:"experiment"`
	ID         string `json:"id"`
	Params     Params `json:"params"`
	Seed       int64  `json:"seed"`
}

// Compare lists what is in now and not in old, and the other way round.
func Compare(old, now *Plan) Diff {
	d := Diff{Added: []DiffTrial{}, Removed: []DiffTrial{}, Changed: []DiffTrial{}}
	type key struct{ experiment, id string }
	before, points := map[key]bool{}, map[string]bool{}
	each(old, func(t DiffTrial) {
		before[key{t.Experiment, t.ID}] = true
		points[PointKey(t.Experiment, t.Params, t.Seed)] = true
	})
	after, still := map[key]bool{}, map[string]bool{}
	each(now, func(t DiffTrial) {
		k, point := key{t.Experiment, t.ID}, PointKey(t.Experiment, t.Params, t.Seed)
		after[k], still[point] = true, true
		switch {
		case before[k]:
			d.Same++
		case points[point]:
			d.Changed = append(d.Changed, t)
		default:
			d.Added = append(d.Added, t)
		}
	})
	each(old, func(t DiffTrial) {
		if !after[key{t.Experiment, t.ID}] && !still[PointKey(t.Experiment, t.Params, t.Seed)] {
			d.Removed = append(d.Removed, t)
		}
	})
	return d
}

func each(p *Plan, f func(DiffTrial)) {
	for _, e := range p.Experiments {
		for _, t := range e.Trials {
			f(DiffTrial{e.Name, t.ID, t.Params, t.Seed})
		}
	}
}

// ToRun is the number of trials that will run, those of loops at most.
func (p *Plan) ToRun() int {
	n := 0
	for _, e := range p.Experiments {
		switch {
		case e.Estimate.Trials == nil:
			n++
		default:
			n += *e.Estimate.Trials
		}
	}
	return n
}

// Counts are the trials by why they are in the plan.
func (p *Plan) Counts() map[Why]int {
	out := map[Why]int{}
	for _, e := range p.Experiments {
		for _, t := range e.Trials {
			out[t.Why]++
		}
	}
	return out
}
