package metric

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
)

// newCSVReader guesses the separator from the header.
func newCSVReader(in io.Reader) (*csv.Reader, error) {
	b := bufio.NewReaderSize(&shortLines{r: in}, 64<<10)
	head, err := b.Peek(64 << 10)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if i := bytes.IndexByte(head, '\n'); i >= 0 {
		head = head[:i]
	}
	r := csv.NewReader(b)
	r.FieldsPerRecord, r.ReuseRecord, r.LazyQuotes = -1, true, true
	for _, comma := range "\t;" {
		if bytes.IndexByte(head, ',') < 0 && bytes.ContainsRune(head, comma) {
			r.Comma = comma
		}
	}
	return r, nil
}

// shortLines refuses lines that are longer than maxLine, which the CSV reader would keep whole.
type shortLines struct {
	r    io.Reader
	line int64
	n    int
}

// errLongLine is what is wrong with a file, not with reading it.
var errLongLine = errors.New("is longer than 1 MiB")

func (s *shortLines) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	for rest := p[:n]; len(rest) > 0; {
		i := bytes.IndexByte(rest, '\n')
		if i < 0 {
			i = len(rest) - 1
			s.n += len(rest)
		} else {
			s.line, s.n = s.line+1, 0
		}
		rest = rest[i+1:]
		if s.n > maxLine {
			return 0, fmt.Errorf("line %d %w", s.line+1, errLongLine)
		}
	}
	return n, err
}
