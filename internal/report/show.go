package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/xrun-dev/xrun/internal/ledger"
	"github.com/xrun-dev/xrun/internal/plan"
)

// TrialDetail is a trial whole. Its JSON is that of `xrun show RUN/EXPERIMENT/TRIAL`.
type TrialDetail struct {
	Run        string `json:"run"`
	Experiment string `json:"experiment"`
	Trial
	Series  []Series `json:"series"`
	Excerpt string   `json:"excerpt"` // the last lines of the log, of a trial that failed
}

// Series is the values of one metric, in the order in which they were printed.
type Series struct {
	Metric string        `json:"metric"`
	Values []SeriesValue `json:"values"`
}

// SeriesValue is one of them; Value is null where Text is no finite number.
type SeriesValue struct {
	Step  *float64 `json:"step"`
	Value *float64 `json:"value"`
	Text  *string  `json:"text"`
	Line  int64    `json:"line"`
}

// ShowJSON is a run (experiment and trial empty), one of its experiments (trial empty) or one trial, as a value with a
// JSON form: a Report, an Experiment or a TrialDetail. A trial is named by its id (Find).
func (s *State) ShowJSON(experiment, trial string) (any, error) {
	if experiment == "" {
		return s.Report(Options{}), nil
	}
	x, err := s.findExperiment(experiment)
	if err != nil {
		return nil, err
	}
	if trial == "" {
		return s.experimentReport(x), nil
	}
	t, err := s.find(experiment, trial)
	if err != nil {
		return nil, err
	}
	d := TrialDetail{Run: s.run, Experiment: experiment, Trial: t.report(), Series: []Series{}}
	if o := t.outcome(); o != nil {
		d.Excerpt = o.Excerpt
	}
	for _, m := range t.series() {
		v := Series{Metric: m.Metric, Values: []SeriesValue{}}
		for _, x := range m.Values {
			sv := SeriesValue{Value: finite(float64(x.Value)), Line: x.Line, Text: orNil(x.Text)}
			if x.Step != nil {
				sv.Step = finite(float64(*x.Step))
			}
			v.Values = append(v.Values, sv)
		}
		d.Series = append(d.Series, v)
	}
	return d, nil
}

// Show writes the same as text.
func (s *State) Show(w io.Writer, experiment, trial string) error {
	p := &printer{w: w}
	if experiment == "" {
		p.run(s)
		return p.err
	}
	x, err := s.findExperiment(experiment)
	if err != nil {
		return err
	}
	if trial == "" {
		p.experiment(s, x, true)
		return p.err
	}
	t, err := s.find(experiment, trial)
	if err != nil {
		return err
	}
	p.trial(s, t)
	return p.err
}

func (s *State) findExperiment(name string) (*experiment, error) {
	names := make([]string, len(s.experiments))
	for i, x := range s.experiments {
		if x.name == name {
			return x, nil
		}
		names[i] = x.name
	}
	return nil, HasExperiment(ledger.Run{ID: s.run, Experiments: names}, name)
}

func (s *State) find(experiment, id string) (*trial, error) {
	x, err := s.findExperiment(experiment)
	if err != nil {
		return nil, err
	}
	if t := x.byID[id]; t != nil {
		return t, nil
	}
	return nil, fmt.Errorf("experiment %s of run %s has no trial %q", experiment, s.run, id)
}

// printer writes until the first error.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintln(p.w, strings.TrimRight(visible(fmt.Sprintf(format, args...)), " "))
	}
}

// field writes a name and what it is, unless that is nothing.
func (p *printer) field(name, value string) {
	if value != "" {
		p.line("  %-11s %s", name, value)
	}
}

func (p *printer) table(t *table) {
	if p.err == nil {
		p.err = t.write(p.w, "  ")
	}
}

func (p *printer) run(s *State) {
	i := s.runInfo()
	p.line("run %s: %s", s.run, s.headline())
	p.field("command", shell(i.Command))
	if i.Started != nil {
		p.field("started", i.Started.Format("2006-01-02 15:04:05")+" UTC")
	}
	p.field("took", duration(s.wall().Seconds()))
	p.field("outcome", i.Outcome+because(deref(i.Reason))+exit(i.ExitCode))
	if s.imported != nil {
		p.field("imported", "from "+orElse(s.imported.From, "another ledger"))
	}
	p.field("commit", dirtyCommit(i))
	p.field("plan", i.PlanDigest)
	files := make([]string, len(i.Spec))
	for k, f := range i.Spec {
		files[k] = f.File
	}
	p.field("spec", strings.Join(files, ", "))
	for _, w := range s.warnings {
		p.field("warning", w)
	}
	for _, x := range s.experiments {
		p.line("")
		p.experiment(s, x, false)
	}
}

func exit(code *int) string {
	if code == nil {
		return ""
	}
	return fmt.Sprintf(" (exit %d)", *code)
}

func dirtyCommit(i RunInfo) string {
	if i.Commit != nil && i.Dirty != nil && *i.Dirty {
		return *i.Commit + " with uncommitted changes"
	}
	return deref(i.Commit)
}

func (p *printer) trial(s *State, t *trial) {
	r := t.report()
	p.line("trial %s", s.ref(t))
	p.field("parameters", r.Params.String())
	p.field("seed", fmt.Sprint(r.Seed))
	p.field("command", shell(r.Command))
	p.field("state", string(t.state())+because(join(deref(r.Cause), deref(r.Message))))
	p.field("reused", deref(r.ReusedFrom))
	o := s.experiment(t.key.Experiment).objective()
	if r.Objective != nil {
		p.field("objective", fmt.Sprintf("%s %s (%s%s)", o.Metric, short(*r.Objective), o.Direction, t.where(o, s.experiment(t.key.Experiment).source())))
	} else {
		p.field("objective", "none: "+deref(r.ObjectiveReason))
	}
	if t.planned != nil {
		p.field("code", t.planned.Code)
		p.field("planned as", t.planned.Why)
		p.field("changed", strings.Join(t.planned.Changed, ", "))
	}
	for _, a := range t.attempts {
		p.attempt(a, s)
	}
	p.metrics(t, &r)
	if len(r.Artifacts) > 0 {
		p.line("artifacts, below the state directory")
		for _, a := range r.Artifacts {
			p.line("  %s", a)
		}
	}
	for _, n := range r.Notes {
		p.line("note: %s", n)
	}
	if f := t.outcome(); f != nil && f.Excerpt != "" {
		p.line("the last lines of the log")
		for l := range strings.SplitSeq(lastLines(f.Excerpt, excerptLines), "\n") {
			p.line("  | %s", strings.ReplaceAll(l, "\t", "    "))
		}
	}
}

// where says which of several values the objective is, and where it stands: "; the last of 3 values: step 3, line 3 of the log".
func (t *trial) where(o ledger.Objective, source string) string {
	i := slices.IndexFunc(t.series(), func(m ledger.MetricValues) bool { return m.Metric == o.Metric })
	if i < 0 || len(t.series()[i].Values) < 2 || o.Pick == "" {
		return ""
	}
	values := t.series()[i].Values
	if o.Pick == "mean" {
		return fmt.Sprintf("; the mean of %d values", len(values))
	}
	text := fmt.Sprintf("; the %s of %d values", strings.TrimSuffix(picked(o.Pick), " value"), len(values))
	v, _ := t.value()
	is := func(x ledger.MetricValue) bool { return float64(x.Value) == v }
	at := slices.IndexFunc(values, is)
	if o.Pick == "last" {
		at = len(values) - 1
	}
	if at < 0 || !is(values[at]) {
		return text
	}
	text += ": "
	if values[at].Step != nil {
		text += "step " + stepText(values[at]) + ", "
	}
	return fmt.Sprintf("%sline %d of %s", text, values[at].Line, source)
}

// source is where the objective is read: the log, or a file that the program leaves.
func (x *experiment) source() string {
	var spec struct {
		Objective struct {
			From *plan.Source `json:"from"`
		} `json:"objective"`
	}
	if x.planned == nil || json.Unmarshal(x.planned.Spec, &spec) != nil || spec.Objective.From == nil || spec.Objective.From.File == "" {
		return "the log"
	}
	return spec.Objective.From.File
}

func (p *printer) attempt(a *attempt, s *State) {
	r := a.report()
	p.line("attempt %d on %s: %s%s%s", a.n, orElse(a.host, "no host yet"), r.State, exit(r.ExitCode), because(join(deref(r.Cause), deref(r.Message))))
	if r.Started != nil {
		p.field("started", r.Started.Format("2006-01-02 15:04:05")+" UTC, by its host's clock")
	}
	p.field("time", duration(a.seconds(s.lastAt)))
	p.field("GPUs", models(a.gpus))
	p.field("taken over", a.adopted)
	p.field("log", deref(r.Log))
}

// metrics lists every number of the trial with how often and how it was printed.
func (p *printer) metrics(t *trial, r *Trial) {
	series := map[string][]ledger.MetricValue{}
	for _, m := range t.series() {
		series[m.Metric] = m.Values
	}
	names := slices.Collect(maps.Keys(series))
	for n := range r.Metrics {
		if _, ok := series[n]; !ok {
			names = append(names, n)
		}
	}
	if len(names) == 0 {
		return
	}
	slices.Sort(names)
	title := "metrics"
	if r.Partial {
		title += " (partial: the trial did not end well)"
	}
	p.line("%s", title)
	tab := &table{titles: []string{"METRIC", " VALUE", " PRINTED", " FIRST", " LAST", " LAST STEP"}}
	for _, n := range names {
		value := cmp.Or(r.MetricsReason[n], "–")
		if v := r.Metrics[n]; v != nil {
			value = short(*v)
		}
		row := []string{n, value}
		if v := series[n]; len(v) > 0 {
			row = append(row, fmt.Sprint(len(v)), seriesText(v[0]), seriesText(v[len(v)-1]), stepText(v[len(v)-1]))
		}
		tab.add(row...)
	}
	p.table(tab)
}

func seriesText(v ledger.MetricValue) string {
	if f := finite(float64(v.Value)); f != nil {
		return short(*f)
	}
	return orElse(v.Text, "nan")
}

func stepText(v ledger.MetricValue) string {
	if v.Step == nil {
		return ""
	}
	return short(float64(*v.Step))
}
