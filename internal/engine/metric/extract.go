package metric

import "regexp"

// A Want is a metric to look for, by its whole name.
type Want struct {
	Name string
	Pick string // last, first, min, max or mean
	// Pattern finds the values in the lines of the log instead of the name: its group "value" holds a whole number, its
	// group "step", if it has one, the step. nil: by name.
	Pattern *regexp.Regexp
}

// A Reading is one value as it was printed. Value is NaN or infinite where that is what was printed.
type Reading struct {
	Metric string
	Value  float64
	Text   string   // the token as it stands in the log
	Step   *float64 // of the same line, or the last one printed before; nil if none
	Line   int64    // of the log or the file, from 1
}

// A Result is what a whole log says of one wanted metric.
type Result struct {
	Name  string
	Found bool    // at least one whole number was printed under the name
	Value float64 // picked; NaN if Diverged or not Found
	Line  int64   // where the picked value stands; of a mean the last
	Step  *float64
	Count int
	// Diverged: nan or inf decides (for last and first: the picked value is; for min, max and mean: any is).
	Diverged bool
	// Problem is set where the name was printed with something that is not a number to its end (1,234.5 or 71.59%): line,
	// column and text, for a person. It counts as an error of the metric if it is at or behind the picked value, or if
	// nothing was found: then Failed is true.
	Problem     string
	ProblemLine int64
	Failed      bool
	// Conflict is set where the picked value stands among lines that are equal but for the value and print several
	// (eight ranks, one epoch): which values and lines, for a person.
	Conflict string
	// NearMisses are up to five names that were printed and look like this one, best first, with a value each
	// ("val/acc = 0.91, line 12"), if nothing was found.
	NearMisses []string
}

// An Extractor finds the wanted metrics in a stream. Write and Close are called from one goroutine.
type Extractor struct {
	on     func(Reading)
	states []*state // the wants, then what Extras needs
	wanted int
	byName map[string][]*state

	trigger *trigger
	missing int // wants without a reading
	spent   int // bytes parsed for near misses
	names   map[string]*seen
	regexps []*state // the wants with a pattern
	final   *FinalResults

	line      int64  // lines that are complete
	carry     []byte // of the line that is not
	offset    int    // bytes of that line that were parsed and dropped, because it is too long
	notes     []string
	afterCR   bool // a CR ended the last line: an LF now belongs to it
	cutBefore bool // the piece in work starts within a token
	cutBehind bool // … ends within one
	clean     []byte
	at        lineAt
	found     []match
	lastStep  *float64
	seq       int64
}

// New returns an Extractor for wants that tells on (which may be nil) of every reading as soon as its line is complete.
func New(wants []Want, on func(Reading)) *Extractor {
	x := &Extractor{on: on, wanted: len(wants), missing: len(wants), byName: map[string][]*state{}, names: map[string]*seen{}}
	for _, w := range wants {
		s := &state{want: w}
		if w.Pattern != nil {
			x.states, x.regexps = append(x.states, s), append(x.regexps, s)
			x.missing-- // its name is not looked for
			continue
		}
		x.add(s)
	}
	for _, name := range []string{peakMB, memoryGB} {
		x.add(&state{want: Want{Name: name, Pick: "max"}, quiet: true})
	}
	x.trigger = newTrigger(triggersOf(wants))
	return x
}

const (
	peakMB   = "peak_vram_mb"
	memoryGB = "memory_gb"
)

func (x *Extractor) add(s *state) {
	x.states = append(x.states, s)
	x.byName[s.want.Name] = append(x.byName[s.want.Name], s)
}

// Close ends the stream. A last line without a newline counts if complete, and is dropped if it was cut (the program
// was killed while it wrote it).
func (x *Extractor) Close(cut bool) {
	if !cut && len(x.carry) > 0 {
		x.finish()
	}
	x.carry = nil
}

// Results are what the whole log says, in the order of the wants. Call it after Close.
func (x *Extractor) Results() []Result {
	var out []Result
	for _, s := range x.states[:x.wanted] {
		r := s.result()
		if !r.Found && s.want.Pattern == nil {
			r.NearMisses = x.nearMisses(r.Name)
		}
		out = append(out, r)
	}
	return out
}

// Extras are peak_vram_mb (or memory_gb) in MB, if printed. Call it after Close.
func (x *Extractor) Extras() (peakGPUMB *float64) {
	for i, factor := range []float64{1, 1024} {
		if r := x.states[x.wanted+i].result(); r.Found && !r.Diverged {
			v := r.Value * factor
			return &v
		}
	}
	return nil
}

// Notes are remarks on the log itself, for a person: lines that were too long to be read as one.
func (x *Extractor) Notes() []string { return x.notes }

// Final is the last benchmark summary of the log (FINAL_RESULTS), or nil.
func (x *Extractor) Final() *FinalResults { return x.final }
