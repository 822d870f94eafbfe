package report

import (
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"

	"github.com/xrun-dev/xrun/internal/ledger"
)

// The elements of junit.xml, in the order that the strictest of the schemas in use wants: that of Ant, which has every
// attribute and both outputs of a suite, and nothing more.
type (
	junitSuites struct {
		XMLName xml.Name     `xml:"testsuites"`
		Suites  []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name       string          `xml:"name,attr"`
		Package    string          `xml:"package,attr"`
		ID         int             `xml:"id,attr"`
		Timestamp  string          `xml:"timestamp,attr"`
		Hostname   string          `xml:"hostname,attr"`
		Tests      int             `xml:"tests,attr"`
		Failures   int             `xml:"failures,attr"`
		Errors     int             `xml:"errors,attr"`
		Skipped    int             `xml:"skipped,attr"`
		Time       string          `xml:"time,attr"`
		Properties junitProperties `xml:"properties"`
		Cases      []junitCase     `xml:"testcase"`
		SystemOut  string          `xml:"system-out"`
		SystemErr  string          `xml:"system-err"`
	}
	junitProperties struct {
		List []junitProperty `xml:"property"`
	}
	junitProperty struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	junitCase struct {
		Name      string        `xml:"name,attr"`
		Classname string        `xml:"classname,attr"`
		Time      string        `xml:"time,attr"`
		Skipped   *junitSkipped `xml:"skipped"`
		Error     *junitProblem `xml:"error"`
		Failure   *junitProblem `xml:"failure"`
	}
	junitSkipped struct {
		Message string `xml:"message,attr"`
	}
	junitProblem struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr"`
		Text    string `xml:",innerxml"` // escaped, with line breaks as they are
	}
)

// JUnit is junit.xml, for a CI system: an experiment is a suite, a trial a test case that is named by its values. What
// failed is a failure, what was lost an error; what was not run, cancelled, or is still under way is skipped.
func (r *Report) JUnit() []byte {
	doc := junitSuites{}
	for i := range r.Experiments {
		doc.Suites = append(doc.Suites, r.junitSuite(i))
	}
	b, err := xml.MarshalIndent(doc, "", "  ")
	if err != nil {
		panic("report: " + err.Error()) // every type has an XML form
	}
	return append(append([]byte(xml.Header), b...), '\n')
}

func (r *Report) junitSuite(i int) junitSuite {
	x := &r.Experiments[i]
	_, machine, _ := strings.Cut(r.Run.HostUser, "@")
	s := junitSuite{
		ID: i, Name: visible(x.Name), Package: visible(r.Run.ID), Timestamp: "1970-01-01T00:00:00", Hostname: orElse(visible(machine), "localhost"),
		Tests: len(x.Trials), Properties: junitProperties{r.junitProperties(x)},
	}
	if r.Run.Started != nil {
		s.Timestamp = r.Run.Started.Format("2006-01-02T15:04:05") // in UTC; the schema has no place for a zone
	}
	sum := 0.0
	for k, t := range x.of.inOrder() {
		c := junitTrial(t, &x.Trials[k])
		switch {
		case c.Failure != nil:
			s.Failures++
		case c.Error != nil:
			s.Errors++
		case c.Skipped != nil:
			s.Skipped++
		}
		if d := x.Trials[k].DurationS; d != nil {
			sum += *d
		}
		s.Cases = append(s.Cases, c)
	}
	s.Time = junitTime(&sum)
	return s
}

func (r *Report) junitProperties(x *Experiment) []junitProperty {
	out := []junitProperty{}
	add := func(name, value string) {
		if value != "" {
			out = append(out, junitProperty{name, visible(value)})
		}
	}
	add("xrun.version", r.XrunVersion)
	add("run", r.Run.ID)
	add("outcome", r.Run.Outcome)
	add("commit", deref(r.Run.Commit))
	add("plan_digest", r.Run.PlanDigest)
	add("kind", x.Kind)
	add("objective", x.Objective.Metric)
	add("direction", x.Objective.Direction)
	add("verdict", deref(x.Verdict))
	if b := x.Best; b != nil && b.point != nil {
		add("best", b.Params.String())
		add("best.mean", csvNumber(b.Mean))
		add("best.sd", csvNumber(b.SD))
		add("best.n", strconv.Itoa(b.N))
	}
	return out
}

func junitTrial(t *trial, r *Trial) junitCase {
	c := junitCase{Name: junitName(t), Classname: visible(t.key.Experiment), Time: junitTime(r.DurationS)}
	cause, message := visible(deref(r.Cause)), visible(deref(r.Message))
	switch state := t.final(); {
	case t.underway(), state == ledger.NotRun, state == ledger.Cancelled:
		c.Skipped = &junitSkipped{orElse(join(cause, message), string(state))}
	case state == ledger.Failed:
		c.Failure = &junitProblem{message, orElse(cause, string(state)), junitText(t, r)}
	case state == ledger.Lost:
		c.Error = &junitProblem{message, orElse(cause, string(state)), junitText(t, r)}
	}
	return c
}

// junitName is the trial's values whole: names that are cut might be the same.
func junitName(t *trial) string {
	if t.planned == nil {
		return visible(t.key.Trial)
	}
	return visible(strings.TrimSpace(fmt.Sprintf("%s seed=%d", t.params, t.planned.Seed)))
}

// junitText is what a person needs who sees the failure in the pages of a CI system.
func junitText(t *trial, r *Trial) string {
	var b strings.Builder
	fmt.Fprintf(&b, "trial %s: %s\n", t.key.Trial, join(deref(r.Cause), deref(r.Message)))
	if r.Host != nil {
		fmt.Fprintf(&b, "host: %s\n", *r.Host)
	}
	if r.Log != nil {
		fmt.Fprintf(&b, "log: %s\n", *r.Log)
	}
	if o := t.outcome(); o != nil && o.Excerpt != "" {
		fmt.Fprintf(&b, "\n%s\n", lastLines(o.Excerpt, excerptLines))
	}
	var x strings.Builder
	// Into a builder: there is no error.
	_ = xml.EscapeText(&x, []byte(visibleBlock(strings.ReplaceAll(b.String(), "\r\n", "\n"))))
	return strings.NewReplacer("&#xA;", "\n", "&#x9;", "\t").Replace(x.String())
}

func junitTime(seconds *float64) string {
	if seconds == nil {
		return "0.000"
	}
	return strconv.FormatFloat(*seconds, 'f', 3, 64)
}
