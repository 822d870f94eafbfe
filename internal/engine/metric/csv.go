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
	comma := ','
	for _, c := range "\t;" {
		if bytes.IndexByte(head, ',') < 0 && bytes.ContainsRune(head, c) {
			comma = c
		}
	}
	r := csv.NewReader(&openQuotes{r: b, comma: byte(comma), line: 1})
	r.Comma, r.FieldsPerRecord, r.ReuseRecord, r.LazyQuotes = comma, -1, true, true
	return r, nil
}

// openQuotes refuses a value that begins with a quote and does not end: with LazyQuotes the CSV reader would take all the
// rows that follow for a part of it, keep them, and say nothing.
type openQuotes struct {
	r           io.Reader
	comma       byte
	state       quoteState
	line, begun int64
	n           int // bytes since the quote
}

type quoteState int

const (
	atField   quoteState = iota // a value begins
	inPlain                     // in one without quotes, where a quote is a letter
	inQuotes                    // in one with quotes
	atQuote                     // behind a quote within quotes: its end, if the value ends here
	atQuoteCR                   // behind that and a carriage return
)

// errQuote is what is wrong with a file, not with reading it.
var errQuote = errors.New("begins a value in quotes that does not end")

func (q *openQuotes) Read(p []byte) (int, error) {
	n, err := q.r.Read(p)
	for _, c := range p[:n] {
		q.take(c)
		if c == '\n' {
			q.line++
		}
	}
	if q.state == inQuotes && (q.n > maxLine || errors.Is(err, io.EOF)) {
		return 0, fmt.Errorf("line %d %w", q.begun, errQuote)
	}
	return n, err
}

func (q *openQuotes) take(c byte) {
	q.n++
	switch {
	case (q.state == inQuotes || q.state == atQuoteCR) && c == '"':
		q.state = atQuote
	case q.state == inQuotes:
	case q.state == atQuote && c == '"': // two of them are one letter
		q.state = inQuotes
	case q.state == atQuote && c == '\r':
		q.state = atQuoteCR
	case c == '\n', c == q.comma && q.state != atQuoteCR:
		q.state = atField
	case q.state == atQuote, q.state == atQuoteCR: // it was a letter
		q.state = inQuotes
	case q.state == atField && c == '"':
		q.state, q.begun, q.n = inQuotes, q.line, 0
	default:
		q.state = inPlain
	}
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
