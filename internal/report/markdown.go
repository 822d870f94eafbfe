package report

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/xrun-dev/xrun/internal/plan"
)

// markdown collects report.md.
type markdown struct {
	bytes.Buffer
	*Report
}

// Markdown is report.md: for someone with two minutes and a coffee. It renders on GitHub and in a mail, and nothing that
// a log or a parameter holds can break a table, link, mention or become mark-up.
func (r *Report) Markdown() []byte {
	m := &markdown{Report: r}
	m.head()
	m.winners()
	m.changes()
	for i := range r.Experiments {
		m.experiment(&r.Experiments[i])
	}
	m.underway()
	m.failures()
	m.notes()
	m.hosts()
	m.next()
	return m.Bytes()
}

func (m *markdown) printf(format string, args ...any) { fmt.Fprintf(m, format, args...) }

// section begins a section. Blank lines stand before headings only, so that no section leaves two.
func (m *markdown) section(level int, title string) {
	m.printf("\n%s %s\n\n", strings.Repeat("#", level), title)
}

const minute = "2 Jan 2006 15:04"

func (m *markdown) head() {
	m.printf("# %s\n\n", inlineText(m.state.headline()))
	i := m.Run
	m.printf("Run %s", code(i.ID))
	if len(i.Command) > 0 {
		m.printf(" of %s", code(shell(i.Command)))
	}
	if i.Started != nil {
		m.printf(", %s", span(i.Started.UTC(), i.Finished))
	}
	m.printf(". Took %s", duration(m.Totals.WallS))
	if h := m.Totals.GPUHours; h > 0 {
		m.printf(" and %s GPU-hours", short(round(h, 2)))
	}
	m.printf(".")
	if i.Commit != nil {
		m.printf(" Commit %s", code(short12(*i.Commit)))
		if i.Dirty != nil && *i.Dirty {
			m.printf(" with uncommitted changes")
		}
		m.printf(".")
	}
	// Why it was interrupted, and how many failed, is in the line above.
	if i.Reason != nil && i.Outcome != "interrupted" && i.Outcome != "some_failed" {
		m.printf(" %s.", capital(inlineText(strings.TrimSuffix(*i.Reason, "."))))
	}
	m.printf("\n")
}

// span is when the run was, in UTC: the reader's clock is not known.
func span(from time.Time, to *time.Time) string {
	switch {
	case to == nil:
		return from.Format(minute) + " UTC"
	case from.Format(minute) == to.UTC().Format(minute):
		return from.Format(minute) + " UTC"
	case from.Format(time.DateOnly) == to.UTC().Format(time.DateOnly):
		return from.Format(minute) + " to " + to.UTC().Format("15:04") + " UTC"
	default:
		return from.Format(minute) + " to " + to.UTC().Format(minute) + " UTC"
	}
}

func short12(commit string) string {
	if len(commit) > 12 {
		return commit[:12]
	}
	return commit
}

func capital(s string) string {
	if s != "" && s[0] >= 'a' && s[0] <= 'z' {
		return strings.ToUpper(s[:1]) + s[1:]
	}
	return s
}

// inlineText is a sentence of ours, or of an event, in running text: words stay words, the rest is escaped in place.
func inlineText(s string) string {
	return escapeText(visible(clip(s, 500, "report.json")))
}

// pointName is what the text calls a point.
func pointName(ps plan.Params) string {
	if len(ps) == 0 {
		return "no parameters"
	}
	return code(squeeze(ps.String(), nameLimit))
}

// row writes one row of a table. Its cells are escaped already.
func (m *markdown) row(cells []string) {
	m.printf("| %s |\n", strings.Join(cells, " | "))
}

// A column is one of a table: its escaped title, and whether it holds numbers.
type column struct {
	title string
	right bool
}

func (m *markdown) header(columns []column) {
	titles, rules := make([]string, len(columns)), make([]string, len(columns))
	for i, c := range columns {
		titles[i], rules[i] = c.title, "---"
		if c.right {
			rules[i] = "---:"
		}
	}
	m.row(titles)
	m.row(rules)
}
