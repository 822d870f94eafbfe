package specfile_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xrun-dev/xrun/internal/plan"
	"github.com/xrun-dev/xrun/internal/plan/specfile"
)

func TestRender(t *testing.T) {
	hint := "did you mean \"grid\"?"
	p := plan.Problem{File: "a.cue", Line: 3, Col: 7, Path: "experiments.a", Message: "wrong", Suggestion: &hint}
	tests := []struct {
		name, excerpt string
		col           int
		want          string
	}{
		{"tabs stay tabs", "\tx: \tgird", 6, "    3 | \tx: \tgird\n      | \t   \t^\n"},
		{"wide characters take two columns", `"学習": gird`, 11, `    3 | "学習": gird` + "\n      |         ^\n"},
		{"accents of two bytes take one", `"é": gird`, 7, `    3 | "é": gird` + "\n      |      ^\n"},
		{"combining marks take none", "\"e\u0301\": gird", 8, "    3 | \"e\u0301\": gird\n      |      ^\n"},
		{"at the end of the line", "gird", 5, "    3 | gird\n      |     ^\n"},
		{"beyond the end of the line", "gird", 50, "    3 | gird\n      |     ^\n"},
		{"nothing commands the terminal", "\x1b[31mx: \u202egird", 9, "    3 | \ufffd[31mx: \ufffdgird\n      |         ^\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p.Excerpt, p.Col = test.excerpt, test.col
			var b strings.Builder
			if err := specfile.Render(&b, []plan.Problem{p}, false); err != nil {
				t.Fatal(err)
			}
			_, rest, _ := strings.Cut(b.String(), "\n")
			if diff := cmp.Diff(test.want+"      = did you mean \"grid\"?\n", rest); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRenderWithoutAPlace(t *testing.T) {
	var b strings.Builder
	_ = specfile.Render(&b, []plan.Problem{{Message: "no file uses the tag"}, {File: "x", Message: "no such file"}}, false)
	if want := "no file uses the tag\nx: no such file\n"; b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}

func TestRenderColor(t *testing.T) {
	var b strings.Builder
	_ = specfile.Render(&b, []plan.Problem{{File: "x.cue", Line: 1, Col: 1, Path: "a", Message: "wrong", Excerpt: "a: 1"}}, true)
	if want := "\x1b[1mx.cue:1:1: \x1b[0ma: \x1b[31mwrong\x1b[0m\n    1 | a: 1\n      | \x1b[31m^\x1b[0m\n"; b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}

// A line of ten thousand characters shows what is round the mark.
func TestRenderLongLine(t *testing.T) {
	line := strings.Repeat("a", 5000) + "HERE" + strings.Repeat("b", 5000)
	var b strings.Builder
	_ = specfile.Render(&b, []plan.Problem{{File: "x.cue", Line: 1, Col: 5001, Message: "wrong", Excerpt: line}}, false)
	lines := strings.Split(b.String(), "\n")
	if len(lines[1]) > 400 || !strings.Contains(lines[1], "HERE") {
		t.Errorf("the excerpt is %q", lines[1])
	}
	at := strings.Index(lines[2], "^")
	if runes := []rune(lines[1]); string(runes[at:at+4]) != "HERE" {
		t.Errorf("the mark is at %q", string(runes[at:at+4]))
	}
}

func TestProblemsError(t *testing.T) {
	one := plan.Problem{File: "x.cue", Line: 1, Col: 2, Path: "a", Message: "wrong"}
	for want, ps := range map[string]specfile.Problems{
		"no problems":         nil,
		"x.cue:1:2: a: wrong": {one},
		"x.cue:1:2: a: wrong (and 1 more problem)":  {one, one},
		"x.cue:1:2: a: wrong (and 2 more problems)": {one, one, one},
	} {
		if got := ps.Error(); got != want {
			t.Errorf("Error() = %q, want %q", got, want)
		}
	}
}
