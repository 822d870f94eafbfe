package metric

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// A jsonScanner goes through JSON values one after the other without keeping them. It takes any word for a value, so that
// NaN is one; strings and words are kept up to maxToken.
type jsonScanner struct {
	r      *bufio.Reader
	line   int64
	column int
	path   []string
	visit  func(path []string, leaf jsonLeaf)
	err    error // a *jsonError, or one of reading
}

// A jsonLeaf is a number, word or string, with its place; of an object or list composite is set, and text says which.
type jsonLeaf struct {
	text      string
	composite bool
	line      int64
	column    int
}

// A jsonError says what is wrong with the text.
type jsonError struct {
	line   int64
	column int
	what   string
}

func (e *jsonError) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.line, e.column, e.what)
}

func newJSONScanner(in io.Reader) *jsonScanner {
	j := &jsonScanner{r: bufio.NewReaderSize(in, 64<<10), line: 1, column: 1}
	if mark, err := j.r.Peek(len(byteOrder)); err == nil && bytes.Equal(mark, byteOrder) {
		_, _ = j.r.Discard(len(byteOrder)) // they are in the buffer
	}
	return j
}

// more reports whether another value follows.
func (j *jsonScanner) more() (bool, error) {
	j.blanks()
	_, err := j.r.Peek(1)
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	return err == nil, err
}

// scan goes through one value and tells visit of everything in it, a composite before what it holds.
func (j *jsonScanner) scan(visit func(path []string, leaf jsonLeaf)) {
	j.visit, j.path = visit, j.path[:0]
	j.value()
}

func (j *jsonScanner) fail(what string) {
	if j.err == nil {
		j.err = &jsonError{j.line, j.column, what}
	}
}

// next takes a byte; 0 at the end, which is a failure.
func (j *jsonScanner) next() byte {
	if j.err != nil {
		return 0
	}
	c, err := j.r.ReadByte()
	switch {
	case errors.Is(err, io.EOF):
		j.fail("the file ends within a value")
		return 0
	case err != nil:
		j.err = err
		return 0
	case c == '\n':
		j.line, j.column = j.line+1, 1
	default:
		j.column++
	}
	return c
}

// peek looks at the next byte; 0 at the end.
func (j *jsonScanner) peek() byte {
	if j.err != nil {
		return 0
	}
	b, err := j.r.Peek(1)
	if err != nil && !errors.Is(err, io.EOF) {
		j.err = err
	}
	if err != nil {
		return 0
	}
	return b[0]
}

func (j *jsonScanner) blanks() {
	for {
		switch j.peek() {
		case ' ', '\t', '\r', '\n':
			j.next()
		default:
			return
		}
	}
}

func (j *jsonScanner) value() {
	j.blanks()
	leaf := jsonLeaf{line: j.line, column: j.column}
	switch c := j.peek(); {
	case j.err != nil:
	case c == '{':
		leaf.text, leaf.composite = "an object", true
		j.visit(j.path, leaf)
		j.members('}', func(int) bool {
			key := j.text()
			j.blanks()
			if j.err == nil && j.next() != ':' {
				j.fail("a colon is missing")
			}
			j.path = append(j.path, key)
			return j.err == nil
		})
	case c == '[':
		leaf.text, leaf.composite = "a list", true
		j.visit(j.path, leaf)
		j.members(']', func(i int) bool {
			j.path = append(j.path, strconv.Itoa(i))
			return true
		})
	case c == '"':
		leaf.text = j.text()
		j.tell(leaf)
	default:
		leaf.text = j.word()
		j.tell(leaf)
	}
}

func (j *jsonScanner) tell(leaf jsonLeaf) {
	if j.err == nil {
		j.visit(j.path, leaf)
	}
}

// members reads what stands between brackets; name puts the next name on the path.
func (j *jsonScanner) members(end byte, name func(i int) bool) {
	if len(j.path) >= maxDepth {
		j.fail("the values nest too deep")
		return
	}
	j.next()
	if j.blanks(); j.peek() == end {
		j.next()
		return
	}
	depth := len(j.path)
	for i := 0; j.err == nil; i++ {
		if j.blanks(); !name(i) {
			return
		}
		j.value()
		j.path = j.path[:depth]
		j.blanks()
		switch c := j.next(); {
		case j.err != nil || c == end:
			return
		case c != ',':
			j.fail("a comma is missing")
		}
	}
}

// text reads a string.
func (j *jsonScanner) text() string {
	if j.next() != '"' {
		j.fail("a string in quotes is missing")
		return ""
	}
	raw := []byte{'"'}
	for j.err == nil {
		c := j.next()
		if len(raw) < maxToken {
			raw = append(raw, c)
		}
		if c == '"' {
			break
		}
		if c == '\\' {
			if c = j.next(); len(raw) < maxToken {
				raw = append(raw, c)
			}
		}
	}
	if s, err := strconv.Unquote(string(raw)); err == nil {
		return s
	}
	return string(bytes.Trim(raw, `"`))
}

// word reads a number, true, null, NaN.
func (j *jsonScanner) word() string {
	var raw []byte
	for j.err == nil {
		switch c := j.peek(); c {
		case 0, ' ', '\t', '\r', '\n', ',', ':', ']', '}', '{', '[', '"':
			if len(raw) == 0 {
				if c == 0 {
					j.next()
				} else {
					j.fail("a value is missing")
				}
			}
			return string(raw)
		}
		if c := j.next(); len(raw) < maxToken {
			raw = append(raw, c)
		}
	}
	return string(raw)
}
