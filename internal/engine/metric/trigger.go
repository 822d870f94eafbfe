package metric

import (
	"bytes"
	"strings"
)

// A trigger finds the lines that are worth parsing: those that hold one of some texts. Several patterns at once by a
// table cost a byte-wise loop; looking for one rare byte at a time, which the processor does 32 at a time in what is in
// the cache already, is several times faster.
type trigger struct {
	groups []group
}

// A group are the patterns that share their rarest byte.
type group struct {
	anchor byte
	texts  []anchored
	next   int // where the next one starts, at least as far as it was looked for
}

type anchored struct {
	text   []byte
	offset int // of the anchor
}

// common are bytes of logs, the most frequent first; what is not in it is rare, above all the underscore, which the
// patterns of our own share.
const common = " e0t1aoinsr2:h3l4d56789cum.f-pg,wyb/v=kxjqz"

func newTrigger(texts []string) *trigger {
	t := &trigger{}
	for _, text := range texts {
		best, rank := 0, -1
		for i := range len(text) {
			r := strings.IndexByte(common, text[i])
			if r < 0 {
				r = len(common)
			}
			if text[i] == '_' {
				r++
			}
			if r > rank {
				best, rank = i, r
			}
		}
		t.add(text, best)
	}
	return t
}

func (t *trigger) add(text string, offset int) {
	for i := range t.groups {
		if t.groups[i].anchor == text[offset] {
			t.groups[i].texts = append(t.groups[i].texts, anchored{[]byte(text), offset})
			return
		}
	}
	t.groups = append(t.groups, group{anchor: text[offset], texts: []anchored{{[]byte(text), offset}}})
}

// reset forgets what was found: another text follows.
func (t *trigger) reset() {
	for i := range t.groups {
		t.groups[i].next = -1
	}
}

// find returns the start of the first pattern in b at or after from, or len(b). Since reset, b is the same and from
// does not fall.
func (t *trigger) find(b []byte, from int) int {
	first := len(b)
	for i := range t.groups {
		g := &t.groups[i]
		if g.next < from {
			g.next = g.search(b, from)
		}
		first = min(first, g.next)
	}
	return first
}

func (g *group) search(b []byte, from int) int {
	for i := from; i < len(b); {
		k := bytes.IndexByte(b[i:], g.anchor)
		if k < 0 {
			break
		}
		at := i + k
		for _, a := range g.texts {
			if start := at - a.offset; start >= from && bytes.HasPrefix(b[start:], a.text) {
				return start
			}
		}
		i = at + 1
	}
	return len(b)
}

// triggersOf lists what a line must hold to be parsed: a wanted name, or what we want ourselves.
func triggersOf(wants []Want) []string {
	texts := []string{"FINAL_RESULTS:", "per_method", "seed_results", "best_method", peakMB, memoryGB}
	for _, w := range wants {
		if w.Pattern != nil {
			continue
		}
		// Of a name with dots only the last part stands in an object that nests.
		name := w.Name
		if i := strings.LastIndexByte(name, '.'); i >= 0 && i+1 < len(name) {
			name = name[i+1:]
		}
		if name != "" {
			texts = append(texts, name)
		}
	}
	return texts
}
