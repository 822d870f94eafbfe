package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strings"
)

// A Basis is everything that a plan depends on.
type Basis struct {
	Spec        *Spec
	Code        map[string]*Manifest  // by experiment
	SetupFiles  map[string][]CodeFile // by experiment: the shipped files that setup.key names
	Globs       Globs                 // the files of axes that only a host can list, where it was asked
	History     History
	XrunVersion string
	Commit      *string
	Dirty       *bool
	Fresh       bool     // reuse nothing
	Hosts       []string // only these serve; none is all
	Warnings    []string
}

// Build makes the plan. The spec has been checked: an error here is about a single experiment that cannot be expanded.
func Build(in Basis) (*Plan, error) {
	p := &Plan{
		SchemaVersion: SchemaVersion, XrunVersion: in.XrunVersion, Spec: in.Spec.Files,
		Commit: in.Commit, Dirty: in.Dirty, Experiments: []PlannedExperiment{}, Warnings: append([]string{}, in.Warnings...),
	}
	if err := buildAll(in, p); err != nil {
		return nil, err
	}
	p.Estimate = total(p.Experiments)
	p.Digest = digest(in.Spec, p)
	for i := range p.Experiments {
		longFirst(p.Experiments[i].Trials)
	}
	return p, nil
}

// buildAll plans the experiments, those that others take inputs from before the others; the plan has them in the order
// of the spec.
func buildAll(in Basis, p *Plan) error {
	order, err := inputOrder(in.Spec)
	if err != nil {
		return err
	}
	planned := make([]*PlannedExperiment, len(order))
	warnings := make([][]string, len(order))
	errs := make([]error, len(order))
	ups := upstreams{}
	for _, i := range order {
		e := &in.Spec.Experiments[i]
		if planned[i], warnings[i], err = buildExperiment(e, in, ups); err != nil {
			errs[i] = fmt.Errorf("experiment %s: %w", e.Name, err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if err := judgeAll(in, planned); err != nil {
		return err
	}
	for i := range planned {
		if e := &in.Spec.Experiments[i]; e.Loop == nil && e.listed(in.Globs) {
			planned[i].Estimate = sweepEstimate(e, planned[i].Trials, slots(in.Spec, e, planned[i].Hosts))
		}
		p.Experiments = append(p.Experiments, *planned[i])
		p.Warnings = append(p.Warnings, warnings[i]...)
	}
	return nil
}

func buildExperiment(e *Experiment, in Basis, ups upstreams) (*PlannedExperiment, []string, error) {
	code := in.Code[e.Name]
	if code == nil {
		code = &Manifest{}
	}
	pe := &PlannedExperiment{
		Name: e.Name, Kind: e.Kind(), Code: CodeSummary{ID: code.ID, Files: len(code.Files)},
		Hosts: choices(e, in), Trials: []Trial{}, Dir: code.Dir,
	}
	for _, f := range code.Files {
		pe.Code.Bytes += f.Size
	}
	declared := e
	e, files, listed, err := e.resolved(in.Globs)
	if err != nil {
		return nil, nil, err
	}
	id := newIdentity(e, code.ID, in.SetupFiles[e.Name], ups)
	id.files = files
	defer func() { ups[e.Name] = upstream{e, id, pe.Trials} }()
	if e.Loop != nil {
		pe.Phases = phases(e.Loop)
		pe.Estimate = loopEstimate(e, pe.Phases)
		return pe, nil, nil
	}
	if !listed {
		return pe, []string{fmt.Sprintf("experiment %s: the values of %s are the files on a host: its trials are not known yet", e.Name, declared.glob())}, nil
	}
	points, err := e.points()
	if err != nil {
		return nil, nil, err
	}
	var warnings []string
	n := e.atMost()
	pe.Trials = make([]Trial, 0, n)
	seen := make(map[string]struct{}, n)
	repeated := 0
	h := hasher{id: id}
	for p := range points {
		sorted := sortedByName(p)
		for _, seed := range e.Seeds {
			t := Trial{Params: p, Seed: seed, Why: New, Changed: noChange, Place: len(pe.Trials)}
			h.hash(&t, sorted)
			if _, ok := seen[t.ID]; ok {
				repeated++
				continue
			}
			seen[t.ID] = struct{}{}
			pe.Trials = append(pe.Trials, t)
		}
	}
	if repeated > 0 {
		warnings = append(warnings, fmt.Sprintf("experiment %s: %d of its trials stand there twice and are run once", e.Name, repeated))
	}
	return pe, warnings, nil
}

// noChange is shared by all trials in which nothing changed: null is no list.
var noChange = []string{}

// atMost is the number of trials of an experiment before exclude and repetitions, as far as it is worth making room for.
func (e *Experiment) atMost() int64 {
	n := int64(1)
	if e.Sweep != nil {
		n, _ = e.Sweep.count()
	}
	return min(times(n, int64(len(e.Seeds))), maxAxis)
}

// listed reports whether the values of all axes are known.
func (e *Experiment) listed(found Globs) bool {
	_, _, ok, err := e.resolved(found)
	return ok && err == nil
}

// glob names the first axis that only a host can list, or "".
func (e *Experiment) glob() string {
	if e.Sweep == nil {
		return ""
	}
	for _, axes := range append([]Axes{e.Sweep.Grid, e.Sweep.Zip}, e.Sweep.Cases...) {
		for _, a := range axes {
			if a.Glob != nil {
				return a.Name
			}
		}
	}
	return ""
}

// digest covers what is to be done: not why, when, by which version of xrun, or on which machine.
func digest(s *Spec, p *Plan) string {
	h := sha256.New()
	h.Write(mustMarshal(s))
	buf := []byte("null")
	for i := range p.Experiments {
		pe := &p.Experiments[i]
		buf = append(buf[:0], "[,"[min(i, 1)])
		buf = append(append(buf, `{"Name":`...), mustMarshal(pe.Name)...)
		buf = append(append(buf, `,"Code":`...), mustMarshal(pe.Code.ID)...)
		buf = append(buf, `,"Trials":`...)
		if len(pe.Trials) == 0 {
			buf = append(buf, "null"...)
		}
		for j := range pe.Trials {
			buf = append(append(append(buf, "[,"[min(j, 1)], '"'), pe.Trials[j].ID...), '"')
			if len(buf) > 1<<15 {
				h.Write(buf)
				buf = buf[:0]
			}
		}
		if len(pe.Trials) > 0 {
			buf = append(buf, ']')
		}
		h.Write(append(buf, '}'))
		buf = []byte("]")
	}
	h.Write(buf)
	return hex.EncodeToString(h.Sum(nil))
}

// SpecDigest is the hash of the resolved spec alone: the same for every spelling of it.
func SpecDigest(s *Spec) string {
	sum := sha256.Sum256(mustMarshal(s))
	return hex.EncodeToString(sum[:])
}

// choices says for each host whether e may use it, and if not why.
func choices(e *Experiment, in Basis) []HostChoice {
	out := []HostChoice{}
	for i := range in.Spec.Hosts {
		h := &in.Spec.Hosts[i]
		c := HostChoice{Name: h.Name, Eligible: true}
		if why := whyNot(e, h, in.Hosts); why != "" {
			c.Eligible, c.WhyNot = false, &why
		}
		out = append(out, c)
	}
	return out
}

func whyNot(e *Experiment, h *Host, only []string) string {
	if len(only) > 0 && !contains(only, h.Name) {
		return "not among the hosts asked for"
	}
	if len(e.Needs.Hosts) > 0 && !contains(e.Needs.Hosts, h.Name) {
		return "needs.hosts names " + strings.Join(e.Needs.Hosts, ", ")
	}
	for _, k := range sortedKeys(e.Needs.Labels) {
		if want := e.Needs.Labels[k]; h.Labels[k] != want {
			return fmt.Sprintf("its label %s is not %q", k, want)
		}
	}
	if e.Sweep != nil {
		on := ""
		e.Sweep.axes(func(a Axis, _ []string) {
			if a.Glob != nil && a.Glob.On != h.Name {
				on = a.Name + " are on " + a.Glob.On
			}
		})
		if on != "" {
			return "the files of " + on
		}
	}
	for _, k := range sortedKeys(e.Data) {
		if _, ok := h.Data[k]; !ok {
			return fmt.Sprintf("does not say where data %s lies", k)
		}
	}
	if n := h.declaredGPUs(); n >= 0 && n < e.Needs.GPUs {
		return fmt.Sprintf("has %s, %d are needed", number(n, "GPU", "GPUs"), e.Needs.GPUs)
	}
	return ""
}

// declaredGPUs is the number of GPUs of the host, -1 if only the host can tell.
func (h *Host) declaredGPUs() int {
	switch {
	case h.GPUs.Count != nil:
		return *h.GPUs.Count
	case h.GPUs.Auto:
		return -1
	default:
		return len(h.GPUs.List)
	}
}

// slots is how many trials the eligible hosts take at once, as far as the spec tells.
func slots(s *Spec, e *Experiment, hosts []HostChoice) int {
	n := 0
	for i, c := range hosts {
		if c.Eligible {
			n += max(1, s.Hosts[i].slotsFor(e)) // one where only the host can tell
		}
	}
	return n
}

// sweepEstimate is of the trials that will run. The wall-clock time is that of the known ones and, for the others,
// the mean of all that are known (reused ones too), spread over the slots; it is null without history.
func sweepEstimate(e *Experiment, trials []Trial, slots int) Estimate {
	run, known, told := 0, 0, 0
	all, own := 0.0, 0.0 // seconds of all known trials, and of those that will run
	for _, t := range trials {
		if t.EstS != nil {
			known++
			all += *t.EstS
		}
		if t.Why == Reused {
			continue
		}
		run++
		if t.EstS != nil {
			told++
			own += *t.EstS
		}
	}
	hours := float64(run*e.Needs.GPUs) * e.Limits.Trial.Seconds() / 3600 / float64(max(1, e.Needs.PerGPU))
	turns := 0
	est := Estimate{Trials: &run, GPUHoursMax: &hours, AgentTurns: &turns}
	if e.Limits.MaxParallel != nil {
		slots = min(slots, *e.Limits.MaxParallel)
	}
	if known > 0 && slots > 0 && run > 0 {
		mean := all / float64(known)
		wall := (own + mean*float64(run-told)) / float64(min(slots, run))
		// A tenth of a second is finer than any estimate is.
		wall = math.Ceil(wall*10) / 10
		est.WallS = &wall
	}
	if run == 0 {
		zero := 0.0
		est.WallS = &zero
	}
	return est
}

// phases of a loop, with the most trials that each can take: a second run for every candidate, five second looks with
// two more runs for the best of them, and as many confirming runs of the baseline as of the winner.
func phases(l *Loop) []Phase {
	ps := []Phase{{"scout", 0}}
	if l.Bootstrap != nil {
		ps = append(ps, Phase{"bootstrap", 1})
	}
	ps = append(ps, Phase{"reproduction", l.Reproduce})
	if l.Iterations > 0 {
		ps = append(ps, Phase{"hypothesis_testing", 2 * l.Iterations}, Phase{"second_look", min(5, l.Iterations) + 2}, Phase{"confirmation", 2 * l.Confirm})
	}
	return ps
}

func loopEstimate(e *Experiment, ps []Phase) Estimate {
	n := 0
	for _, p := range ps {
		n += p.TrialsMax
	}
	hours := float64(n*e.Needs.GPUs) * e.Limits.Trial.Seconds() / 3600
	turns := 0
	if e.Loop.Agent != "" {
		turns = e.Loop.Iterations * (1 + e.Loop.Repair)
	}
	return Estimate{Trials: &n, GPUHoursMax: &hours, AgentTurns: &turns}
}

// total adds estimates up: null if any is.
func total(es []PlannedExperiment) Estimate {
	trials, turns, hours, wall := 0, 0, 0.0, 0.0
	est := Estimate{Trials: &trials, GPUHoursMax: &hours, WallS: &wall, AgentTurns: &turns}
	for _, e := range es {
		est.Trials = sum(est.Trials, e.Estimate.Trials)
		est.GPUHoursMax = sum(est.GPUHoursMax, e.Estimate.GPUHoursMax)
		est.WallS = sum(est.WallS, e.Estimate.WallS)
		est.AgentTurns = sum(est.AgentTurns, e.Estimate.AgentTurns)
	}
	return est
}

func sum[T int | float64](a, b *T) *T {
	if a == nil || b == nil {
		return nil
	}
	c := *a + *b
	return &c
}
