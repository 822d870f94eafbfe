package report

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestNumbersShowWhatTheNoiseLeavesMeaningTo(t *testing.T) {
	for _, c := range []struct {
		means, sds []float64
		f          float64
		want       string
	}{
		{[]float64{0.231, 0.25}, []float64{0.0021, 0.0018}, 0.231, "0.2310"},
		{[]float64{1234.5678}, []float64{120}, 1234.5678, "1235"},
		{[]float64{1e9, 2e9}, []float64{1e6}, 1.2345678e9, "1.2346e+09"},
		{[]float64{1e-9}, []float64{1e-11}, 1e-9, "1.000e-09"},
		{[]float64{0.25, 0.375, 3}, nil, 3, "3.000"},
		{[]float64{0.25, 0.25}, []float64{0, 0}, 0.25, "0.25"},
		{[]float64{0, 0}, nil, 0, "0"},
		{[]float64{0}, []float64{0.5}, 0, "0.00"},
		{[]float64{123456789}, nil, 123456789, "123456789"},
		{[]float64{123456789.5}, nil, 123456789.5, "1.23457e+08"},
		{nil, nil, 0.1, "0.1"},
	} {
		if got := scaleOf(c.means, c.sds).format(&c.f); got != c.want {
			t.Errorf("%v ± %v: %v is %s, want %s", c.means, c.sds, c.f, got, c.want)
		}
	}
}

func TestDuration(t *testing.T) {
	for s, want := range map[float64]string{
		-1: "0 s", 0: "0 s", 0.25: "250 ms", 1: "1 s", 3.14: "3.1 s", 59.4: "59 s", 60: "1 min", 185: "3 min 05 s", 7200: "2 h",
		7500: "2 h 05 min", 3 * 86400: "3 d", 3*86400 + 7200: "3 d 2 h",
	} {
		if got := duration(s); got != want {
			t.Errorf("%v is %s, want %s", s, got, want)
		}
	}
}

func TestList(t *testing.T) {
	words := strings.Fields("a b c d e")
	for n, want := range []string{"", "a", "a and b", "a, b and c", "a, b, c and d", "a, b, c and 2 more"} {
		if got := list(words[:n], 3); got != want {
			t.Errorf("%d words: %s, want %s", n, got, want)
		}
	}
}

func TestEscapes(t *testing.T) {
	for in, want := range map[string][3]string{ // cell, running text, code span
		"lr":           {"lr", "lr", "`lr`"},
		"val_loss":     {"val_loss", "val_loss", "`val_loss`"},
		"_x_":          {"<code>&#95;x&#95;</code>", "`_x_`", "`_x_`"},
		"a|b":          {"<code>a&#124;b</code>", "`a|b`", "`a|b`"},
		`a\|b`:         {"<code>a&#92;&#124;b</code>", "`a\\|b`", "`a\\|b`"},
		"a\nb":         {"<code>a&#92;nb</code>", "`a\\nb`", "`a\\nb`"},
		"`a`":          {"<code>&#96;a&#96;</code>", "`` `a` ``", "`` `a` ``"},
		"see <b> now":  {"<code>see &lt;b&gt; now</code>", "see `<b>` now", "`see <b> now`"},
		"it's \"so\"!": {"<code>it's \"so\"&#33;</code>", "it's \"so\"!", "`it's \"so\"!`"},
		"":             {"", "", "` `"},
	} {
		if got := [3]string{cell(in), inlineText(in), code(in)}; got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// FuzzCell looks for a string that ends a cell, begins a line or opens an element.
func FuzzCell(f *testing.F) {
	for _, s := range []string{"cheap | fast", `a\|b`, "a\nb", "<img>", "\x1b[2J", "`", "&#124;", "\u202e", "\xff", "www.x.org"} {
		f.Add(s)
	}
	safe := regexp.MustCompile(`^(<code>[^|<>\x00-\x1f*_\\` + "`" + `]*</code>|[^|<>\x00-\x1f*\\` + "`" + `]*)$`)
	f.Fuzz(func(t *testing.T, s string) {
		if got := cell(s); !safe.MatchString(got) || !utf8.ValidString(got) {
			t.Errorf("%q: %q", s, got)
		}
		if got := fence("text", s); strings.Count(got, "\n"+strings.Repeat("`", longestRun(s, '`')+1)) > 1 && longestRun(s, '`') >= 3 {
			t.Errorf("%q: %q", s, got)
		}
	})
}
