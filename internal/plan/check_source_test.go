package plan

import (
	"strings"
	"testing"
)

func TestAPatternMustCompile(t *testing.T) {
	for pattern, want := range map[string]string{
		`acc (?P<value>[\d.]+)%`:  "",
		`acc (?P<value>[\d.]+`:    "missing closing )",
		`acc \(?P<value>\d`:       "has no group named value",
		`(?<=acc )(?P<value>\d+)`: "invalid",
	} {
		e := Experiment{Name: "a", Command: []string{"true"}, Objective: Objective{Metric: "acc", From: &Source{Kind: "regex", Pattern: pattern}}}
		e.Metrics = map[string]Metric{"m": {From: &Source{Kind: "regex", Pattern: pattern}}}
		var found []string
		for _, f := range Check(&Spec{Experiments: []Experiment{e}}) {
			if strings.HasSuffix(strings.Join(f.Path, "."), "from.pattern") {
				found = append(found, f.Message)
			}
		}
		if want == "" && len(found) > 0 || want != "" && (len(found) != 2 || !strings.Contains(found[0], want)) {
			t.Errorf("%s: %q", pattern, found)
		}
	}
}
