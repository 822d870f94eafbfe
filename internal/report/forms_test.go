package report_test

import (
	"bytes"
	"encoding/csv"
	"encoding/xml"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/xrun-dev/xrun/internal/ledger"
	"github.com/xrun-dev/xrun/internal/plan"
	"github.com/xrun-dev/xrun/internal/report"
)

func TestCSVAndJUnit(t *testing.T) {
	for name, b := range worlds() {
		r := report.Fold(b.events).Report(report.Options{XrunVersion: "0.1.0"})
		golden(t, name+".csv", r.CSV())
		golden(t, name+".junit", r.JUnit())
		readCSV(t, r)
		checkJUnit(t, name, r)
	}
}

// readCSV reads the CSV of r back as a map by column for each row.
func readCSV(t *testing.T, r *report.Report) []map[string]string {
	t.Helper()
	rows, err := csv.NewReader(bytes.NewReader(r.CSV())).ReadAll() // every row has as many cells as the first
	if err != nil {
		t.Fatal(err)
	}
	trials := 0
	for _, x := range r.Experiments {
		trials += len(x.Trials)
	}
	if len(rows) != trials+1 {
		t.Errorf("%d rows for %d trials", len(rows), trials)
	}
	var out []map[string]string
	for _, row := range rows[1:] {
		m := map[string]string{}
		for i, cell := range row {
			if _, twice := m[rows[0][i]]; twice {
				t.Errorf("two columns are called %q", rows[0][i])
			}
			m[rows[0][i]] = cell
		}
		out = append(out, m)
	}
	return out
}

func TestCSVColumnsKeepTheirNamesWhereTheyCan(t *testing.T) {
	params := plan.Params{
		{Name: "seed", Value: plan.IntValue(7)},
		{Name: "param.seed", Value: plan.IntValue(8)},
		{Name: "acc", Value: plan.StringValue("x")},
		{Name: "=a", Value: plan.StringValue("y")},
	}
	b := newRun("names").plan("lr", 1, "minimize val_loss", nil, []plan.Params{params})
	b.ok("lr", params.String()+" seed=0", 0.5)
	row := readCSV(t, report.Fold(b.events).Report(report.Options{}))[0]
	for title, want := range map[string]string{
		"seed": "0", "param.seed": "8", "param.param.seed": "7", "acc": "x", "metric.acc": "0.75", "val_loss": "0.5", "'=a": "y", "objective": "0.5",
	} {
		if row[title] != want {
			t.Errorf("%s is %q, not %q", title, row[title], want)
		}
	}
}

func TestTextIsNoFormulaInASpreadsheet(t *testing.T) {
	for text, want := range map[string]string{
		"=cmd|'/c calc'!A0": "'=cmd|'/c calc'!A0", "+1+1": "'+1+1", "-x": "'-x", "@SUM(A1)": "'@SUM(A1)", " =1": "' =1", "\t=1": "'\t=1",
		"＝1": "'＝1", "-": "'-", "-1": "-1", "-1e-05": "-1e-05", "+.5": "+.5", "-1-1": "'-1-1", "-inf": "'-inf", "a=b": "a=b", "": "",
		"two\nlines, \"quoted\"": "two\nlines, \"quoted\"", "bell\x07": `bell\x07`, "cr\r\n": `cr\r` + "\n",
	} {
		p := plan.Params{{Name: "p", Value: plan.StringValue(text)}}
		b := newRun("cells").plan("lr", 1, "minimize val_loss", nil, []plan.Params{p})
		b.ok("lr", strings.TrimSpace(p.String()+" seed=0"), 0.5)
		if row := readCSV(t, report.Fold(b.events).Report(report.Options{}))[0]; row["p"] != want {
			t.Errorf("%q is %q, not %q", text, row["p"], want)
		}
	}
}

func TestCSVNumbersAreThoseOfThePlan(t *testing.T) {
	for v, want := range map[float64]string{1e-5: "1e-05", 0.0001: "0.0001", 1234567: "1234567", -0.25: "-0.25", 0: "0"} {
		b := newRun("n").sweep("lr", 1, "minimize val_loss", "lr=1")
		b.ok("lr", "lr=1 seed=0", v)
		if row := readCSV(t, report.Fold(b.events).Report(report.Options{}))[0]; row["objective"] != want || row["val_loss"] != want {
			t.Errorf("%v is %q and %q", v, row["objective"], row["val_loss"])
		}
	}
}

// element is any element of an XML document.
type element struct {
	XMLName  xml.Name
	Attrs    []xml.Attr `xml:",any,attr"`
	Text     string     `xml:",chardata"`
	Children []element  `xml:",any"`
}

func (e *element) attr(name string) string {
	for _, a := range e.Attrs {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

func (e *element) names() []string {
	var out []string
	for _, c := range e.Children {
		out = append(out, c.XMLName.Local)
	}
	return out
}

// checkJUnit holds what the schema of Ant's JUnit reports (the strictest in use) says, as far as it says more than XML.
func checkJUnit(t *testing.T, name string, r *report.Report) {
	t.Helper()
	text := r.JUnit()
	d := xml.NewDecoder(bytes.NewReader(text)) // strict: XML 1.0 characters only, all well-formed
	var doc element
	if err := d.Decode(&doc); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, text)
	}
	if rest := bytes.TrimSpace(text[d.InputOffset():]); len(rest) > 0 || doc.XMLName.Local != "testsuites" || len(doc.Children) != len(r.Experiments) {
		t.Fatalf("%s: not one testsuites with all experiments", name)
	}
	for i, s := range doc.Children {
		allowed(t, &s, "testsuite", "name", "package", "id", "timestamp", "hostname", "tests", "failures", "errors", "skipped", "time")
		if !regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$`).MatchString(s.attr("timestamp")) || s.attr("hostname") == "" {
			t.Errorf("%s: timestamp %q, hostname %q", name, s.attr("timestamp"), s.attr("hostname"))
		}
		n := len(s.Children)
		if order := s.names(); order[0] != "properties" || order[n-2] != "system-out" || order[n-1] != "system-err" {
			t.Errorf("%s: the children of a suite are %v", name, order)
		}
		counts, names := map[string]int{}, map[string]bool{}
		for _, c := range s.Children[1 : n-2] {
			counts["tests"]++
			counts[checkCase(t, &c)]++
			if names[c.attr("name")] {
				t.Errorf("%s: two cases are called %s", name, c.attr("name"))
			}
			names[c.attr("name")] = true
		}
		for attr, kind := range map[string]string{"tests": "tests", "failures": "failure", "errors": "error", "skipped": "skipped"} {
			if got := s.attr(attr); got != fmt.Sprint(counts[kind]) {
				t.Errorf("%s: %s is %s, and there are %d", name, attr, got, counts[kind])
			}
		}
		if counts["tests"] != len(r.Experiments[i].Trials) {
			t.Errorf("%s: %d cases for %d trials", name, counts["tests"], len(r.Experiments[i].Trials))
		}
	}
}

// checkCase is the element that says how a case went; empty for one that passed.
func checkCase(t *testing.T, c *element) string {
	t.Helper()
	allowed(t, c, "testcase", "name", "classname", "time")
	if len(c.Children) == 0 {
		return ""
	}
	e := c.Children[0]
	want := []string{"message", "type"}
	if e.XMLName.Local == "skipped" {
		want = []string{"message"}
	}
	if len(c.Children) > 1 || !slices.Contains([]string{"skipped", "error", "failure"}, e.XMLName.Local) {
		t.Errorf("a case has %v", c.names())
	}
	allowed(t, &e, e.XMLName.Local, want...)
	return e.XMLName.Local
}

func allowed(t *testing.T, e *element, name string, attrs ...string) {
	t.Helper()
	if e.XMLName.Local != name || len(e.Attrs) != len(attrs) {
		t.Errorf("%s has the attributes %v, not %v", e.XMLName.Local, e.Attrs, attrs)
	}
	for _, a := range e.Attrs {
		if !slices.Contains(attrs, a.Name.Local) {
			t.Errorf("%s has no attribute %s", name, a.Name.Local)
		}
	}
}

func TestJUnitHoldsWhateverALogSays(t *testing.T) {
	for _, text := range []string{"]]>", "<![CDATA[", "\x00\x01\x1b[31m", "\xff\xfe", "\ufffe\uffff", "&amp;<x>\"'", "\r\n\tx", "\ud7ff\U0001F389"} {
		b := newRun("odd").sweep("lr", 1, "minimize val_loss", "lr=1")
		b.fail("lr", "lr=1 seed=0", "exit", "exit 1: "+text, "before\n"+text+"\nafter\n")
		r := report.Fold(b.events).Report(report.Options{})
		checkJUnit(t, fmt.Sprintf("%q", text), r)
		var doc element
		if err := xml.Unmarshal(r.JUnit(), &doc); err != nil {
			t.Fatal(err)
		}
		f := doc.Children[0].Children[1].Children[0]
		if !strings.Contains(f.Text, "before\n") || !strings.Contains(f.Text, "\nafter\n") || f.attr("type") != "exit" {
			t.Errorf("%q: %+v", text, f)
		}
	}
}

func TestWhatIsUnderWayIsNoFailureOfACISystem(t *testing.T) {
	b := newRun("now").sweep("lr", 1, "minimize val_loss", "lr=1,2,3")
	b.start("lr", "lr=1 seed=0")
	b.add(ledger.TrialFinished{Key: b.specs["lr"].trials["lr=2 seed=0"].Key, State: ledger.Lost, Message: "gpu-a did not answer"})
	got := string(report.Fold(b.events).Report(report.Options{}).JUnit())
	for _, want := range []string{`failures="0" errors="1" skipped="2"`, `<skipped message="running on gpu-a when the record ends">`, `type="lost"`} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
}
