package metric

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// A fileReader takes the values of one metric out of a file, in order.
type fileReader struct {
	state *state
	on    func(Reading)
	names map[string]*seen // other numbers of the file, for near misses
	seq   int64
}

func newFileReader(w Want, on func(Reading)) *fileReader {
	return &fileReader{state: &state{want: w}, on: on, names: map[string]*seen{}}
}

// take is of a value that stands where the metric is said to be.
func (f *fileReader) take(text string, line int64, column int, step *float64) {
	f.seq++
	v, k := parseNumber(strings.TrimSpace(text))
	switch k {
	case broken:
		f.state.addProblem(text, line, column, f.seq)
		return
	case word:
		f.state.addWord(text, line, column)
		return
	}
	m := mark{value: v, line: line, step: step, seq: f.seq}
	f.state.add(m, k == odd)
	if f.on != nil {
		f.on(Reading{Metric: f.state.want.Name, Value: v, Text: text, Step: step, Line: line})
	}
}

// note is of a number that stands elsewhere.
func (f *fileReader) note(name, text string, line int64) {
	if s, ok := f.names[name]; ok {
		s.text, s.line = text, line
		return
	}
	if _, k := parseNumber(text); k != number && k != odd || len(f.names) >= maxNames || len(name) > 200 {
		return
	}
	f.names[name] = &seen{text, line}
}

// result is what the file says; broken is what is wrong with it from some line on, which makes a value before that
// doubtful where it is not the first.
func (f *fileReader) result(wanted string, broken error) Result {
	r := f.state.result()
	if broken != nil {
		r.Problem, r.Failed = broken.Error(), !r.Found || r.Failed || f.state.want.Pick != "first"
	}
	if !r.Found {
		if r.NearMisses = nearest(wanted, f.names); r.NearMisses == nil {
			r.NearMisses = nearest(wanted[strings.LastIndexAny(wanted, "/.")+1:], f.names)
		}
		if r.NearMisses == nil && len(f.names) <= maxNear { // a few names are worth telling, like or not
			for _, name := range slices.Sorted(maps.Keys(f.names)) {
				r.NearMisses = append(r.NearMisses, fmt.Sprintf("%s = %s, line %d", name, f.names[name].text, f.names[name].line))
			}
		}
	}
	return r
}

// ReadJSON takes the metric at pointer (RFC 6901) out of a JSON document or of each line of a file of JSON lines, in
// constant memory, and tells on (which may be nil) of every value. What is wrong with the file is in the Result; an error
// is one of reading. NaN and Infinity are understood, which Python writes and JSON does not have.
func ReadJSON(in io.Reader, w Want, pointer string, on func(Reading)) (Result, error) {
	f := newFileReader(w, on)
	j := newJSONScanner(in)
	path := pointerPath(pointer)
	for {
		more, err := j.more()
		if err != nil {
			return Result{}, err
		}
		if !more {
			return f.result(pointer, nil), nil
		}
		f.document(j, path)
		if j.err != nil {
			var broken *jsonError
			if errors.As(j.err, &broken) {
				return f.result(pointer, broken), nil
			}
			return Result{}, j.err
		}
	}
}

// document reads one document.
func (f *fileReader) document(j *jsonScanner, path []string) {
	var found *jsonLeaf
	var step, epoch *float64
	j.scan(func(at []string, leaf jsonLeaf) {
		if slices.Equal(at, path) {
			found = &leaf
			return
		}
		if len(at) == 1 {
			if v, k := parseNumber(leaf.text); k == number && !leaf.composite {
				switch strings.ToLower(at[0]) {
				case "step":
					step = &v
				case "epoch":
					epoch = &v
				}
			}
		}
		if !leaf.composite {
			f.note(pointerOf(at), leaf.text, leaf.line)
		}
	})
	if found == nil || j.err != nil {
		return
	}
	if step == nil {
		step = epoch
	}
	f.take(found.text, found.line, found.column, step)
}

// pointerPath splits a JSON pointer.
func pointerPath(pointer string) []string {
	if pointer == "" {
		return nil
	}
	parts := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	for i, p := range parts {
		parts[i] = strings.ReplaceAll(strings.ReplaceAll(p, "~1", "/"), "~0", "~")
	}
	return parts
}

func pointerOf(path []string) string {
	var b strings.Builder
	for _, p := range path {
		b.WriteString("/" + strings.ReplaceAll(strings.ReplaceAll(p, "~", "~0"), "/", "~1"))
	}
	return b.String()
}

// ReadCSV takes the metric out of a column of a file with a header, one value a row, in constant memory, and tells on
// (which may be nil) of every value. Cells may be empty. The file may be separated by commas, semicolons or tabs. What is
// wrong with it is in the Result; an error is one of reading.
func ReadCSV(in io.Reader, w Want, column string, on func(Reading)) (Result, error) {
	f := newFileReader(w, on)
	r, err := newCSVReader(in)
	if err != nil {
		return f.csvError(column, err)
	}
	head, err := r.Read()
	if errors.Is(err, io.EOF) {
		return f.result(column, errors.New("the file is empty")), nil
	}
	if err != nil {
		return f.csvError(column, err)
	}
	head = slices.Clone(head)
	for i := range head {
		head[i] = strings.TrimSpace(strings.TrimPrefix(head[i], string(byteOrder)))
	}
	want := slices.Index(head, column)
	steps := []int{slices.IndexFunc(head, is("step")), slices.IndexFunc(head, is("epoch"))}
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return f.result(column, nil), nil
		}
		if err != nil {
			return f.csvError(column, err)
		}
		f.row(r, head, row, want, steps)
	}
}

func (f *fileReader) row(r *csv.Reader, head, row []string, want int, steps []int) {
	if want < 0 {
		for i, cell := range row[:min(len(row), len(head))] {
			line, _ := r.FieldPos(i)
			f.note(head[i], strings.TrimSpace(cell), int64(line))
		}
		return
	}
	if want >= len(row) || strings.TrimSpace(row[want]) == "" {
		return
	}
	var step *float64
	for _, i := range steps {
		if i < 0 || i >= len(row) {
			continue
		}
		if v, k := parseNumber(strings.TrimSpace(row[i])); k == number {
			step = &v
			break
		}
	}
	line, column := r.FieldPos(want)
	if more := row[min(len(row), len(head)):]; slices.ContainsFunc(more, func(s string) bool { return strings.TrimSpace(s) != "" }) {
		// Which value belongs to which name cannot be told, and 0,3 of a decimal comma would be read as 0.
		f.state.addProblem(strings.Join(row[want:], string(r.Comma)), int64(line), column, f.seq+1)
		f.seq++
		return
	}
	f.take(strings.TrimSpace(row[want]), int64(line), column, step)
}

func is(name string) func(string) bool {
	return func(s string) bool { return strings.EqualFold(s, name) }
}

func (f *fileReader) csvError(column string, err error) (Result, error) {
	if p, ok := errors.AsType[*csv.ParseError](err); ok {
		return f.result(column, fmt.Errorf("line %d is not CSV: %w", p.Line, p.Err)), nil
	}
	if errors.Is(err, errLongLine) || errors.Is(err, errQuote) {
		return f.result(column, err), nil
	}
	return Result{}, err
}
