package metric

import (
	"fmt"
	"slices"
	"strings"
)

const (
	// nearBudget is how much of a log is parsed in full for the sake of near misses while a metric is missing. What lies
	// behind it is still searched for the name in other cases and with other separators.
	nearBudget = 4 << 20
	maxNames   = 4096
	maxNear    = 5
)

// A seen is a name that was printed with a number.
type seen struct {
	text string
	line int64
}

// note keeps the last value printed under a name.
func (x *Extractor) note(name []byte, text []byte, line int64) {
	if s, ok := x.names[string(name)]; ok {
		if s.line != line {
			s.text, s.line = string(text), line
		}
		return
	}
	if len(x.names) >= maxNames || len(name) > 200 || len(text) > 64 {
		return
	}
	if _, k := parseNumber(string(text)); k != number && k != odd {
		return
	}
	x.names[string(name)] = &seen{string(text), line}
}

func (x *Extractor) nearMisses(want string) []string { return nearest(want, x.names) }

// nearest are the names that look like the wanted one.
func nearest(want string, names map[string]*seen) []string {
	type miss struct {
		score int
		name  string
	}
	var misses []miss
	for name := range names {
		if s, ok := nearness(want, name); ok {
			misses = append(misses, miss{s, name})
		}
	}
	slices.SortFunc(misses, func(a, b miss) int {
		if a.score != b.score {
			return a.score - b.score
		}
		return strings.Compare(a.name, b.name)
	})
	var out []string
	for _, m := range misses[:min(maxNear, len(misses))] {
		s := names[m.name]
		out = append(out, fmt.Sprintf("%s = %s, line %d", m.name, s.text, s.line))
	}
	return out
}

// nearness scores how much a name looks like the wanted one; 0 is best.
func nearness(want, name string) (score int, ok bool) {
	w, n := strings.ToLower(want), strings.ToLower(name)
	if w == n {
		return 0, true
	}
	ws, ns := components(w), components(n)
	if slices.Equal(ws, ns) {
		return 1, true
	}
	if at := indexSlice(ns, ws); at >= 0 {
		if at+len(ws) == len(ns) {
			return 2, true // val/loss for loss
		}
		return 3, true // loss_scale for loss
	}
	if d := distance(w, n); d <= max(1, min(3, len(w)/3)) {
		return 3 + d, true
	}
	if indexSlice(ws, ns) >= 0 {
		return 7, true // loss for val_loss
	}
	return 0, false
}

func components(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune("_./-@ ", r) })
}

func indexSlice(in, what []string) int {
	for i := 0; len(what) > 0 && i+len(what) <= len(in); i++ {
		if slices.Equal(in[i:i+len(what)], what) {
			return i
		}
	}
	return -1
}

// distance is the edit distance, of the bytes.
func distance(a, b string) int {
	if len(a)-len(b) > 3 || len(b)-len(a) > 3 {
		return 4
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
