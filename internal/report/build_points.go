package report

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/xrun-dev/xrun/internal/ledger"
	"github.com/xrun-dev/xrun/internal/noise"
)

// rank groups the trials of an experiment into points, in plan order, and says which is best. The note says why there
// is no best, or why it cannot be told from others.
func (s *State) rank(x *experiment) (points []Point, best *Best, note string) {
	points = x.points()
	samples := make([]noise.Sample, len(points))
	for i := range points {
		samples[i] = points[i].values
	}
	ranking := noise.RankPoints(samples, x.maximize(), confidence)
	for i := range points {
		points[i].describe(ranking, i)
	}
	switch {
	case len(points) == 0:
		return points, nil, "no trials"
	case ranking.Best < 0:
		return points, nil, "no trial has a result: there is no best"
	case x.part != nil && x.part.score.DF > 0:
	case !ranking.Tells && (len(points) > 1 || x.part != nil && x.part.score.Points > 1):
		note = "one value each: cannot tell what is noise"
	}
	return points, s.best(&points[ranking.Best]), note
}

// points groups trials that have the same parameters.
func (x *experiment) points() []Point {
	points := []Point{}
	at := map[string]int{}
	for _, t := range x.inOrder() {
		key := t.point()
		i, ok := at[key]
		if !ok {
			i = len(points)
			at[key] = i
			points = append(points, Point{Params: t.params, Trials: []string{}})
		}
		p := &points[i]
		p.Trials = append(p.Trials, t.key.Trial)
		p.of = append(p.of, t)
		if v, ok := t.value(); ok {
			p.values = append(p.values, v)
		}
	}
	return points
}

// point is the same text for trials of the same parameters, and for no others.
func (t *trial) point() string {
	if t.planned == nil {
		return t.key.Trial // a trial whose plan is missing is a point of its own
	}
	var b []byte
	for _, p := range t.params {
		b = append(b, byte(p.Value.Kind()))
		for _, text := range []string{p.Name, p.Value.Text()} {
			b = strconv.AppendInt(b, int64(len(text)), 10)
			b = append(append(b, ':'), text...)
		}
	}
	return string(b)
}

func (p *Point) describe(r noise.Ranking, i int) {
	sum := noise.Summarize(p.values, confidence)
	p.N, p.Mean, p.SD, p.Min, p.Max = sum.N, finite(sum.Mean), finite(sum.SD), finite(sum.Min), finite(sum.Max)
	p.CILow, p.CIHigh = finite(sum.CILow), finite(sum.CIHigh)
	switch {
	case sum.N == 0:
		p.Reason = orNil("no trial of this point has a result")
		return
	case sum.N == 1:
		p.Reason = orNil("one value: no spread")
	}
	p.Rank = &r.Ranks[i].Rank
	if r.Tells {
		p.TiedWithBest = &r.Ranks[i].Tied
	}
}

// best describes the winner. Its command is that of its first trial with a result, not of its luckiest.
func (s *State) best(p *Point) *Best {
	b := &Best{
		Level:  Level{p.N, p.Mean, p.SD, p.values},
		Params: p.Params, Command: []string{}, Artifacts: []string{}, point: p,
	}
	if s.started != nil {
		b.Commit = s.started.Commit
	}
	for _, t := range p.of {
		if _, ok := t.value(); !ok {
			continue
		}
		if b.Trial == nil {
			b.Trial = &t.key.Trial
			if t.planned != nil {
				b.Command = orEmpty(t.planned.Command)
			}
		}
		o := t.outcome()
		for _, a := range o.Artifacts {
			b.Artifacts = append(b.Artifacts, artifactPath(o.Log, a))
		}
	}
	return b
}

// failures groups what failed or was lost by cause and signature, the most frequent first.
func (s *State) failures() []Failure {
	groups := []Failure{}
	for _, x := range s.experiments {
		for _, t := range x.inOrder() {
			state := t.final()
			// What the record leaves under way has not failed.
			if state != ledger.Failed && state != ledger.Lost || t.underway() {
				continue
			}
			groups = addFailure(groups, t)
		}
	}
	slices.SortStableFunc(groups, func(a, b Failure) int { return b.Count - a.Count })
	return groups
}

func addFailure(groups []Failure, t *trial) []Failure {
	cause, message := t.cause()
	f := Failure{Cause: cause, Message: message, Trials: []string{}, Experiments: []string{}, Hosts: []string{}}
	if f.Cause == "" {
		f.Cause = string(t.final())
	}
	host := ""
	if o := t.outcome(); o != nil {
		f.Signature, f.Excerpt, f.Log, host = o.Signature, o.Excerpt, orNil(o.Log), o.Host
	}
	if a := t.counted(); a != nil && a.host != "" {
		host = a.host
	}
	if f.Signature == "" {
		f.Signature = fmt.Sprintf("%s: %s", f.Cause, message)
	}
	i := slices.IndexFunc(groups, func(g Failure) bool { return g.Cause == f.Cause && g.Signature == f.Signature })
	if i < 0 {
		i = len(groups)
		groups = append(groups, f)
	}
	g := &groups[i]
	g.Count++
	g.Trials = append(g.Trials, t.key.Trial)
	g.of = append(g.of, t)
	if !slices.Contains(g.Experiments, t.key.Experiment) {
		g.Experiments = append(g.Experiments, t.key.Experiment)
	}
	if host != "" && !slices.Contains(g.Hosts, host) {
		g.Hosts = append(g.Hosts, host)
		slices.Sort(g.Hosts)
	}
	return groups
}
