package report

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/xrun-dev/xrun/internal/ledger"
	"github.com/xrun-dev/xrun/internal/plan"
)

// byParams lists the trials of an experiment of which every name=value of want is so, in the order of the plan.
func byParams(ctx context.Context, l *ledger.Ledger, run, experiment string, want []string) ([]ledger.Key, error) {
	// To read the parameters of every trial takes long where there are many: the ledger looks at their text first.
	patterns := spellings(want)
	for {
		var found []ledger.Place
		for p, err := range l.Places(ctx, run, experiment, patterns...) {
			if err != nil {
				return nil, err
			}
			var ps plan.Params
			if json.Unmarshal([]byte(p.Params), &ps) == nil && matches(ps, p.Seed, want) {
				found = append(found, p)
			}
		}
		if len(found) == 0 && len(patterns) > 0 {
			patterns = nil // they may be spelled otherwise
			continue
		}
		slices.SortFunc(found, func(a, b ledger.Place) int { return cmp.Compare(a.Place, b.Place) })
		keys := make([]ledger.Key, len(found))
		for i, p := range found {
			keys[i] = ledger.Key{Experiment: experiment, Trial: p.Trial}
		}
		return keys, nil
	}
}

// longestPattern is the longest text that is looked for: SQLite refuses patterns that are much longer.
const longestPattern = 1000

// spellings are patterns, one of which the JSON of parameters is LIKE for every name=value of want, as they are usually
// spelled. What means something in a pattern only lets more through.
func spellings(want []string) (patterns [][]string) {
	for _, w := range want {
		name, value, _ := strings.Cut(w, "=")
		if name == "seed" || len(w) > longestPattern { // a seed need not be a parameter
			continue
		}
		set := []string{"%" + quoted(name) + ":%" + strings.Trim(quoted(value), `"`) + "%"}
		if n, err := plan.NumberValue(value); err == nil && n.Text() != value {
			set = append(set, "%"+quoted(name)+":%"+n.Text()+"%")
		}
		patterns = append(patterns, set)
	}
	// The longest is likely to leave the fewest.
	slices.SortFunc(patterns, func(a, b []string) int { return cmp.Compare(len(b[0]), len(a[0])) })
	return patterns
}

// quoted is a text in JSON.
func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic("report: " + err.Error()) // every text has a JSON form
	}
	return string(b)
}

// matches reports whether every name=value of want is so. A value with a comma in it cannot be given like this.
func matches(ps plan.Params, seed int64, want []string) bool {
	for _, w := range want {
		name, value, _ := strings.Cut(w, "=")
		v, ok := ps.Get(name)
		switch {
		case !ok && name == "seed":
			if fmt.Sprint(seed) != value {
				return false
			}
		case !ok, v.Text() != value && !sameNumber(v, value):
			return false
		}
	}
	return true
}

// sameNumber reports whether text spells the number v: 1e-3 is 0.001.
func sameNumber(v plan.Value, text string) bool {
	n, err := plan.NumberValue(text)
	return err == nil && n == v
}
