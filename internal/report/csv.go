package report

import (
	"bytes"
	"encoding/csv"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/xrun-dev/xrun/internal/plan"
)

// fixedColumns are the columns of the CSV that every run has, before and behind those of its parameters and metrics.
var (
	columnsBefore = []string{"experiment", "trial"}
	columnsAmid   = []string{"seed", "state", "cause", "objective"}
	columnsBehind = []string{"host", "started", "duration_s", "attempts", "exit_code", "log"}
)

// CSV is the trials of the run, one a row in plan order, for a spreadsheet or a data frame: RFC 4180 with a header,
// lines ended by LF, so that line tools read it too. What does not apply is empty; a number that is not finite does not
// apply. Line breaks within a value are kept, other control characters are shown as codes, and a text that a spreadsheet
// would take for a formula has an apostrophe before it.
func (r *Report) CSV() []byte {
	c := r.csvColumns()
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	w.Write(c.titles()) // into a buffer: there is no error
	for i := range r.Experiments {
		x := &r.Experiments[i]
		for k := range x.Trials {
			w.Write(c.row(x.Name, &x.Trials[k]))
		}
	}
	w.Flush()
	return b.Bytes()
}

// columns are the parameters and metrics of a run, with the titles of their columns.
type columns struct {
	params, metrics           []string
	paramTitles, metricTitles []string
}

// csvColumns gathers the parameters in the order in which the plan has them, and the metrics by name.
func (r *Report) csvColumns() *columns {
	c := &columns{}
	seen, metrics := map[string]bool{}, map[string]bool{}
	for i := range r.Experiments {
		for k := range r.Experiments[i].Trials {
			t := &r.Experiments[i].Trials[k]
			for _, p := range t.Params {
				if !seen[p.Name] {
					seen[p.Name] = true
					c.params = append(c.params, p.Name)
				}
			}
			for name := range t.Metrics {
				metrics[name] = true
			}
		}
	}
	c.metrics = slices.Sorted(maps.Keys(metrics))
	taken := map[string]bool{}
	for _, name := range slices.Concat(columnsBefore, columnsAmid, columnsBehind) {
		taken[name] = true
	}
	// A name that needs no prefix keeps its own, whatever another one would need.
	c.paramTitles = freeTitles(c.params, "param.", taken)
	c.metricTitles = freeTitles(c.metrics, "metric.", taken)
	return c
}

// freeTitles titles columns by their names, and those whose title is taken with a prefix.
func freeTitles(names []string, prefix string, taken map[string]bool) []string {
	out := make([]string, len(names))
	for pass := range 2 {
		for i, name := range names {
			switch {
			case out[i] != "" || pass == 0 && taken[name]:
				continue
			case pass == 1:
				for taken[name] {
					name = prefix + name
				}
			}
			out[i], taken[name] = name, true
		}
	}
	return out
}

func (c *columns) titles() []string {
	out := slices.Concat(columnsBefore, c.paramTitles, columnsAmid, c.metricTitles, columnsBehind)
	for i := range out {
		out[i] = csvText(out[i])
	}
	return out
}

func (c *columns) row(experiment string, t *Trial) []string {
	row := []string{csvText(experiment), csvText(t.ID)}
	for _, name := range c.params {
		v, _ := t.Params.Get(name)
		row = append(row, csvText(v.Text()))
	}
	row = append(row, strconv.FormatInt(t.Seed, 10), t.State, csvText(deref(t.Cause)), csvNumber(t.Objective))
	for _, name := range c.metrics {
		row = append(row, csvNumber(t.Metrics[name]))
	}
	started, code := "", ""
	if t.Started != nil {
		started = t.Started.Format(time.RFC3339)
	}
	if t.ExitCode != nil {
		code = strconv.Itoa(*t.ExitCode)
	}
	return append(row, csvText(deref(t.Host)), started, csvNumber(t.DurationS), strconv.Itoa(len(t.Attempts)), code, csvText(deref(t.Log)))
}

// csvNumber is a number in the form that parameters have: 0.0001, 1e-05, 1234567.
func csvNumber(f *float64) string {
	if f == nil || finite(*f) == nil {
		return ""
	}
	return plan.FloatValue(*f).Text()
}

var decimal = regexp.MustCompile(`^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$`)

// csvText is a text for a cell. Spreadsheets run what begins with =, +, - or @ (also in their full-width forms) as a
// formula, and some trim before they look; a number may begin with its sign.
func csvText(s string) string {
	s = visibleBlock(s)
	first, _ := utf8.DecodeRuneInString(strings.TrimLeft(s, " \t\n"))
	if strings.ContainsRune("=+-@＝＋－＠", first) && !decimal.MatchString(s) {
		return "'" + s
	}
	return s
}

// visibleBlock is visible for a text of several lines: line breaks and tabs stay.
func visibleBlock(s string) string {
	var b strings.Builder
	for len(s) > 0 {
		i := strings.IndexAny(s, "\n\t")
		if i < 0 {
			i = len(s)
		}
		b.WriteString(visible(s[:i]))
		if i < len(s) {
			b.WriteByte(s[i])
			i++
		}
		s = s[i:]
	}
	return b.String()
}
