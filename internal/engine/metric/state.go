package metric

import (
	"fmt"
	"hash/maphash"
	"math"
)

// A mark is a reading as a state keeps it.
type mark struct {
	value float64
	line  int64
	step  *float64
	seq   int64
}

// A state is what is known of one wanted metric so far.
type state struct {
	want  Want
	quiet bool // wanted by ourselves
	raw   []byte

	count, finite         int
	first, last, min, max mark
	odd                   mark // the first nan or inf
	hasOdd                bool
	sum, lost             float64 // of the finite ones; Neumaier's summation

	problem, word             string // the text
	problemLine, wordLine     int64
	problemColumn, wordColumn int
	problemSeq                int64

	run run
}

// A run is a sequence of readings on lines that are equal but for the value, with one step.
type run struct {
	key          uint64
	step         float64
	n            int
	low, high    float64
	first, last  int64
	differs, any bool
}

func (s *state) name() []byte {
	if s.raw == nil {
		s.raw = []byte(s.want.Name)
	}
	return s.raw
}

func (s *state) add(m mark, odd bool) {
	if s.count++; s.count == 1 {
		s.first = m
	}
	s.last = m
	if odd {
		if !s.hasOdd {
			s.odd, s.hasOdd = m, true
		}
		return
	}
	if s.finite++; s.finite == 1 {
		s.min, s.max = m, m
	}
	if m.value < s.min.value {
		s.min = m
	}
	if m.value > s.max.value {
		s.max = m
	}
	sum := s.sum + m.value
	if math.Abs(s.sum) >= math.Abs(m.value) {
		s.lost += (s.sum - sum) + m.value
	} else {
		s.lost += (m.value - sum) + s.sum
	}
	s.sum = sum
}

func (s *state) addProblem(text string, line int64, column int, seq int64) {
	s.problem, s.problemLine, s.problemColumn, s.problemSeq = shorten(text), line, column, seq
}

// addWord remembers that the name came with something else altogether ("loss: mse"); it matters if nothing better comes.
func (s *state) addWord(text string, line int64, column int) {
	s.word, s.wordLine, s.wordColumn = shorten(text), line, column
}

func shorten(text string) string {
	const most = 80
	if len(text) > most {
		return text[:most] + "…"
	}
	return text
}

var skeletonSeed = maphash.MakeSeed()

// compare looks for several values where one was meant. Only lines that say their step are compared: without one, the
// same line again is simply the next epoch.
func (s *state) compare(m mark, at lineAt, text string, start int) {
	if !at.own || start+len(text) > len(at.bytes) || len(at.bytes) > longText {
		s.run = run{}
		return
	}
	var h maphash.Hash
	h.SetSeed(skeletonSeed)
	h.Write(at.bytes[:start])
	h.WriteByte(0)
	h.Write(at.bytes[start+len(text):])
	key := h.Sum64()
	r := &s.run
	if !r.any || r.key != key || r.step != *m.step {
		*r = run{key: key, step: *m.step, low: m.value, high: m.value, first: m.line, any: true}
	}
	r.n++
	r.last = m.line
	r.differs = r.differs || m.value != r.low
	r.low, r.high = min(r.low, m.value), max(r.high, m.value)
}

func (s *state) result() Result {
	r := Result{Name: s.want.Name, Found: s.count > 0, Count: s.count, Value: math.NaN(), ProblemLine: s.problemLine}
	if s.problem != "" {
		r.Problem = fmt.Sprintf("line %d, column %d: %s is printed as %q, which is no number as it stands", s.problemLine, s.problemColumn, s.want.Name, s.problem)
	}
	picked := s.last
	switch s.want.Pick {
	case "first":
		picked = s.first
	case "min":
		picked = s.min
	case "max":
		picked = s.max
	case "mean":
		picked.value = (s.sum + s.lost) / float64(s.finite)
	}
	if s.hasOdd && s.want.Pick != "first" && s.want.Pick != "last" {
		picked = s.odd
	}
	if !r.Found {
		if r.Problem == "" && s.word != "" {
			r.Problem = fmt.Sprintf("line %d, column %d: %s is printed as %q, which is not a number", s.wordLine, s.wordColumn, s.want.Name, s.word)
			r.ProblemLine = s.wordLine
		}
		r.Failed = r.Problem != ""
		return r
	}
	r.Line, r.Step = picked.line, picked.step
	// Also a mean of finite values whose sum is too large for a number.
	if r.Diverged = math.IsNaN(picked.value) || math.IsInf(picked.value, 0); !r.Diverged {
		r.Value = picked.value
	}
	r.Failed = r.Problem != "" && s.problemSeq >= picked.seq
	if s.want.Pick != "first" && s.run.differs && s.run.first <= picked.line && picked.line <= s.run.last {
		r.Conflict = fmt.Sprintf("printed %d times with step %v and values from %v to %v, lines %d to %d",
			s.run.n, s.run.step, s.run.low, s.run.high, s.run.first, s.run.last)
	}
	return r
}
