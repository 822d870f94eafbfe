package plan

import (
	"iter"
	"slices"
	"strings"
)

// History is what earlier runs found, as far as a plan depends on it. It is read while the plan is made, each part once
// and in any order, and not kept. The zero History is "no history".
type History struct {
	// Results yields the newest trial of every trial id; a successful one wins over a later failure.
	Results iter.Seq2[Past, error]
	// Points yields the newest trial at every point of an experiment, whatever its id.
	Points iter.Seq2[PastPoint, error]
	// Code lists the files of an earlier code; nil if nobody remembers.
	Code func(id string) ([]CodeFile, error)
}

// A Past is one trial of an earlier run.
type Past struct {
	ID        string
	State     string // one of the final states of a trial, or "running"
	Code      string
	DurationS float64 // of its last attempt, in seconds; 0 unknown
	// Gone is set where a result cannot be reused because an artifact that is needed is no longer there.
	Gone bool
}

// A PastPoint is a Past with the point at which it stood.
type PastPoint struct {
	Past
	Point string // its PointKey
	// Parts are decoded only for those who ask.
	Parts func() (Parts, error)
}

// A HistoryError is a history that could not be read: the spec is not to blame.
type HistoryError struct{ Err error }

// Error says what went wrong.
func (e *HistoryError) Error() string { return e.Err.Error() }

// Unwrap returns what went wrong.
func (e *HistoryError) Unwrap() error { return e.Err }

// A judge says why each trial is in the plan.
type judge struct {
	in Basis
	// left are the trials that no result has been seen of, by id. Experiments may have trials of one id: they are twins.
	left    map[string]*Trial
	recoded map[string][]*Trial // whose code has changed, by experiment and earlier code
	lists   map[string][]string // that stand in many trials, by what is in them
}

// judgeAll fills in what follows from the history.
func judgeAll(in Basis, experiments []*PlannedExperiment) error {
	if in.History.Results == nil {
		return nil
	}
	n := 0
	for _, pe := range experiments {
		n += len(pe.Trials)
	}
	j := &judge{in: in, left: make(map[string]*Trial, n), recoded: map[string][]*Trial{}, lists: map[string][]string{}}
	for _, pe := range experiments {
		for i := range pe.Trials {
			t := &pe.Trials[i]
			t.twin = j.left[t.ID]
			j.left[t.ID] = t
		}
	}
	for past, err := range in.History.Results {
		if err != nil {
			return &HistoryError{err}
		}
		for t := j.left[past.ID]; t != nil; t = t.twin {
			j.seen(t, past)
		}
		delete(j.left, past.ID)
	}
	if err := j.byPoint(); err != nil {
		return &HistoryError{err}
	}
	return nil
}

// seen judges a trial by the newest one with its id.
func (j *judge) seen(t *Trial, past Past) {
	t.follow(past)
	switch past.State {
	case "succeeded":
		if t.identity.spec.Reuse == "identity" && !j.in.Fresh && !past.Gone {
			t.Why = Reused
		}
	case "failed", "stopped_early":
		t.Why, t.FailedBefore = Failed, true
	case "lost":
		t.Why, t.FailedBefore = Lost, true
	}
}

// follow notes the trial of an earlier run that stands for t.
func (t *Trial) follow(past Past) {
	if past.DurationS > 0 {
		t.EstS = new(past.DurationS)
	}
	t.LastState = "running"
	for _, s := range []string{"succeeded", "failed", "stopped_early", "cancelled", "lost", "not_run", "reused", "superseded"} {
		if past.State == s {
			t.LastState = s // and not the text that was read, once for each trial
		}
	}
}

// byPoint judges the trials that are left by the last ones at their points.
func (j *judge) byPoint() error {
	if len(j.left) == 0 || j.in.History.Points == nil {
		return nil
	}
	points := make(map[string]*Trial, len(j.left))
	for _, t := range j.left {
		for ; t != nil; t = t.twin {
			points[PointKey(t.identity.spec.Name, t.Params, t.Seed)] = t
		}
	}
	for past, err := range j.in.History.Points {
		if err != nil {
			return err
		}
		t := points[past.Point]
		if t == nil {
			continue
		}
		parts, err := past.Parts()
		if err != nil {
			return err
		}
		t.follow(past.Past)
		t.Why, t.FailedBefore = Changed, past.State == "failed" || past.State == "lost"
		t.Changed = j.shared(changedParts(t.Parts(), parts))
		if t.Code != past.Code {
			key := t.identity.spec.Name + "\x00" + past.Code
			j.recoded[key] = append(j.recoded[key], t)
		}
	}
	return j.byFile()
}

// byFile names the files where the code is another one.
func (j *judge) byFile() error {
	for key, trials := range j.recoded {
		experiment, code, _ := strings.Cut(key, "\x00")
		var before, now []CodeFile
		if j.in.History.Code != nil {
			var err error
			if before, err = j.in.History.Code(code); err != nil {
				return err
			}
		}
		if m := j.in.Code[experiment]; m != nil {
			now = m.Files
		}
		files := changedFiles(now, before)
		for _, t := range trials {
			t.Changed = j.shared(slices.Concat(t.Changed, files))
		}
	}
	return nil
}

// shared keeps one list of those that are equal: of many trials mostly one thing has changed.
func (j *judge) shared(list []string) []string {
	if len(list) == 0 {
		return noChange
	}
	key := strings.Join(list, "\x00")
	if l, ok := j.lists[key]; ok {
		return l
	}
	j.lists[key] = list
	return list
}

// changedParts lists the fields of the spec that differ between a trial and the last one at its point.
func changedParts(now, before Parts) []string {
	var out []string
	for name, hash := range now {
		if before[name] != hash && name != "code" {
			out = append(out, name)
		}
	}
	for name := range before {
		if _, ok := now[name]; !ok {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

func changedFiles(now, before []CodeFile) []string {
	if before == nil {
		return []string{"code"}
	}
	old := map[string]string{}
	for _, f := range before {
		if !f.Ignored {
			old[f.Path] = f.Mode + f.SHA256
		}
	}
	var out []string
	for _, f := range now {
		if f.Ignored {
			continue
		}
		if old[f.Path] != f.Mode+f.SHA256 {
			out = append(out, "code: "+f.Path)
		}
		delete(old, f.Path)
	}
	for path := range old {
		out = append(out, "code: "+path)
	}
	slices.Sort(out)
	return out
}
