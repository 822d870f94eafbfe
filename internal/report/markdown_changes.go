package report

import (
	"fmt"
	"slices"

	"github.com/xrun-dev/xrun/internal/ledger"
	"github.com/xrun-dev/xrun/internal/noise"
)

// changes says what is new since the last run of the same experiments.
func (m *markdown) changes() {
	if m.previous == nil {
		return
	}
	then := m.previous.Report(Options{})
	m.section(2, "Since the run before")
	m.printf("Compared with run %s", code(then.Run.ID))
	if at := then.Run.Started; at != nil {
		m.printf(" of %s UTC", at.Format(minute))
	}
	m.printf(".\n\n")
	said := m.Len()
	if a, b := then.Run.Commit, m.Run.Commit; a != nil && b != nil && *a != *b {
		m.printf("- The commit was %s, now %s.\n", code(short12(*a)), code(short12(*b)))
	}
	for i := range m.Experiments {
		x := &m.Experiments[i]
		old := slices.IndexFunc(then.Experiments, func(o Experiment) bool { return o.Name == x.Name })
		if old < 0 {
			m.printf("- **%s** was not in that run.\n", escapeText(visible(x.Name)))
			continue
		}
		for _, line := range changed(&then.Experiments[old], x) {
			m.printf("- **%s**: %s.\n", escapeText(visible(x.Name)), line)
		}
	}
	for i := range then.Experiments {
		if name := then.Experiments[i].Name; !slices.ContainsFunc(m.Experiments, func(x Experiment) bool { return x.Name == name }) {
			m.printf("- **%s** is not in this run.\n", escapeText(visible(name)))
		}
	}
	if m.Len() == said {
		m.printf("Nothing changed: the results are the same ones.\n")
	}
}

// changed says what is different about one experiment, nothing if nothing is.
func changed(then, now *Experiment) []string {
	if len(now.Trials) == 0 {
		return nil // nothing of it was asked for: nothing is gone
	}
	var lines []string
	if what := now.of.changes(); len(what) > 0 {
		parts := make([]string, len(what))
		for i, w := range what {
			parts[i] = code(w)
		}
		lines = append(lines, "measured again, because this changed: "+list(parts, 5))
	}
	if then.of.objective() != now.of.objective() {
		lines = append(lines, fmt.Sprintf("the objective was to %s %s, now to %s %s: the numbers are not compared",
			then.Objective.Direction, then.metric(), now.Objective.Direction, now.metric()))
		return lines
	}
	if line := changedPoints(then, now); line != "" {
		lines = append(lines, line)
	}
	switch was, is := then.of.left(), now.of.left(); {
	case is > 0:
		lines = append(lines, fmt.Sprintf("%d of its %s were asked for: the winners are not compared", len(now.Trials), count(len(now.Trials)+is, "trial")))
	case was > 0:
		lines = append(lines, fmt.Sprintf("%d of its %s were asked for before: the winners are not compared", len(then.Trials), count(len(then.Trials)+was, "trial")))
	default:
		if line := changedWinner(then, now); line != "" {
			lines = append(lines, line)
		}
	}
	return append(lines, changedLevels(then, now)...)
}

// left is how many trials were not asked for: their points are neither gone nor, when they are asked for again, new.
func (x *experiment) left() int {
	if x.planned == nil {
		return 0
	}
	return x.planned.Left
}

// changes lists what changed about the trials of an experiment since they last ran: files of the code, fields of the spec.
func (x *experiment) changes() []string {
	seen := map[string]bool{}
	var out []string
	for _, t := range x.inOrder() {
		if t.planned == nil || t.planned.Why != "changed" {
			continue
		}
		for _, c := range t.planned.Changed {
			if !seen[c] {
				seen[c] = true
				out = append(out, c)
			}
		}
	}
	slices.Sort(out)
	return out
}

// changedPoints counts points that came and went, and trials that fail or no longer do.
func changedPoints(then, now *Experiment) string {
	var came, went, parts []string
	for i := range now.Points {
		if p := &now.Points[i]; then.of.left() == 0 && then.point(p) == nil {
			came = append(came, pointName(p.Params))
		}
	}
	for i := range then.Points {
		if p := &then.Points[i]; now.of.left() == 0 && now.point(p) == nil {
			went = append(went, pointName(p.Params))
		}
	}
	if len(came) > 0 {
		parts = append(parts, fmt.Sprintf("%s new (%s)", count(len(came), "point"), list(came, 3)))
	}
	if len(went) > 0 {
		parts = append(parts, fmt.Sprintf("%s gone (%s)", count(len(went), "point"), list(went, 3)))
	}
	broken, mended := 0, 0
	for i := range now.Points {
		old := then.point(&now.Points[i])
		if old == nil {
			continue
		}
		b, m := flips(old, &now.Points[i])
		broken, mended = broken+b, mended+m
	}
	if broken > 0 {
		parts = append(parts, fmt.Sprintf("%s without a result that had one", count(broken, "trial")))
	}
	if mended > 0 {
		parts = append(parts, fmt.Sprintf("%s with a result that had none", count(mended, "trial")))
	}
	return list(parts, 4)
}

// flips counts the seeds of a point that lost or gained a result.
func flips(then, now *Point) (broken, mended int) {
	for _, t := range now.of {
		i := slices.IndexFunc(then.of, func(o *trial) bool { return o.seed() == t.seed() })
		if i < 0 {
			continue
		}
		_, was := then.of[i].value()
		_, is := t.value()
		switch {
		case was && !is && t.final() != ledger.NotRun:
			broken++
		case is && !was:
			mended++
		}
	}
	return broken, mended
}

// point finds the same combination of parameters.
func (x *Experiment) point(p *Point) *Point {
	if x.byParams == nil {
		x.byParams = make(map[string]*Point, len(x.Points))
		for i := range x.Points {
			x.byParams[x.Points[i].Params.String()] = &x.Points[i]
		}
	}
	return x.byParams[p.Params.String()]
}

func changedWinner(then, now *Experiment) string {
	switch {
	case then.Best == nil && now.Best == nil:
		return ""
	case then.Best == nil:
		return "there was no winner before"
	case now.Best == nil && len(then.Best.Params) == 0:
		return fmt.Sprintf("there is no result any more; it was %s", then.scale().format(then.Best.Mean))
	case now.Best == nil:
		return fmt.Sprintf("there is no winner any more; it was %s with %s", pointName(then.Best.Params), then.scale().format(then.Best.Mean))
	case then.Best.Params.String() == now.Best.Params.String():
		return ""
	}
	return fmt.Sprintf("the winner was %s with %s, now it is %s with %s", pointName(then.Best.Params),
		then.scale().format(then.Best.Mean), pointName(now.Best.Params), now.scale().format(now.Best.Mean))
}

// changedLevels compares the points that both runs have and that were measured anew. Each is tested at 5 % shared out
// over all of them, on both sides: a night of many points would else always have changed.
func changedLevels(then, now *Experiment) []string {
	type pair struct{ was, is *Point }
	var pairs []pair
	for i := range now.Points {
		is := &now.Points[i]
		if was := then.point(is); was != nil && was.N > 0 && is.N > 0 && !slices.Equal(was.values, is.values) {
			pairs = append(pairs, pair{was, is})
		}
	}
	var lines []string
	f, same, cannot := now.scale(), 0, 0
	for _, p := range pairs {
		r := noise.RankPoints([]noise.Sample{p.was.values, p.is.values}, now.of.maximize(), 1-(1-confidence)/(2*float64(len(pairs))))
		switch {
		case !r.Tells:
			cannot++
		case r.Ranks[0].Tied && r.Ranks[1].Tied:
			same++
		default:
			name := "it"
			if len(p.is.Params) > 0 {
				name = pointName(p.is.Params)
			}
			lines = append(lines, fmt.Sprintf("%s had %s, now %s: %s, more than the noise", name,
				f.format(p.was.Mean), f.format(p.is.Mean), difference(p.was.values, p.is.values, now.of.maximize(), f)))
		}
	}
	if extra := len(lines) - 5; extra > 0 {
		lines = append(lines[:5], fmt.Sprintf("%d more changed by more than the noise", extra))
	}
	if same > 0 {
		lines = append(lines, fmt.Sprintf("%s measured anew, no difference beyond the noise", count(same, "point")))
	}
	if cannot > 0 {
		lines = append(lines, fmt.Sprintf("%s measured anew, once each time: cannot tell a difference from noise", count(cannot, "point")))
	}
	return lines
}
