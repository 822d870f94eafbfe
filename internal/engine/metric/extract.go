package metric

// A Want is a metric to look for, by its whole name.
type Want struct {
	Name string
	Pick string // last, first, min, max or mean
}

// A Reading is one value as it was printed. Value is NaN or infinite where that is what was printed.
type Reading struct {
	Metric string
	Value  float64
	Text   string   // the token as it stands in the log
	Step   *float64 // of the same line, or the last one printed before; nil if none
	Line   int64    // of the log, from 1
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
	// Problem is set where the name was printed with something that is not a whole number (1,234.5 or 71.59%): line,
	// column and text, for a person. It counts as an error of the metric if it is at or behind the picked value, or if
	// nothing was found.
	Problem string
	// NearMisses are up to five names that were printed and look like this one, best first, with a value each
	// ("val/acc = 0.91, line 12"), if nothing was found.
	NearMisses []string
}

// An Extractor finds the wanted metrics in a stream. Write and Close are called from one goroutine.
type Extractor struct {
	wants []Want
	on    func(Reading)
}

// New returns an Extractor for wants that tells on (which may be nil) of every reading as soon as its line is complete.
func New(wants []Want, on func(Reading)) *Extractor { return &Extractor{wants: wants, on: on} }

// Write takes the next bytes of the log, split anywhere. It never fails.
func (x *Extractor) Write(p []byte) (int, error) { return len(p), nil }

// Close ends the stream. A last line without a newline counts if complete, and is dropped if it was cut (the program
// was killed while it wrote it).
func (x *Extractor) Close(cut bool) {}

// Results are what the whole log says, in the order of the wants. Call it after Close.
func (x *Extractor) Results() []Result { return nil }

// Extras are peak_vram_mb (or memory_gb) in MB, if printed. Call it after Close.
func (x *Extractor) Extras() (peakGPUMB *float64) { return nil }
