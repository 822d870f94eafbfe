package metric

import (
	"bytes"
	"fmt"
)

const (
	// maxLine bounds what is kept of a line that has no end yet. A longer one is parsed in pieces.
	maxLine = 1 << 20
	// maxChunk bounds what is looked at at once. It is below maxLine, so that only the carry meets lines that are too
	// long, and small enough for the cache.
	maxChunk = 256 << 10
	// cutWindow is how far back from its end a piece is searched for a place between two tokens.
	cutWindow = 64 << 10
)

// Write takes the next bytes of the log, split anywhere. It never fails.
func (x *Extractor) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		n := min(len(rest), maxChunk)
		x.chunk(rest[:n])
		rest = rest[n:]
	}
	return len(p), nil
}

func (x *Extractor) chunk(c []byte) {
	if x.afterCR && c[0] == '\n' {
		c = c[1:]
	}
	x.afterCR = false
	if len(x.carry) > 0 {
		end := lineEnd(c)
		if end < 0 {
			x.hold(c)
			return
		}
		x.hold(c[:end])
		x.finish()
		next := afterEnd(c, end)
		x.afterCR = next == len(c) && c[next-1] == '\r'
		c = c[next:]
	}
	if len(c) == 0 {
		return
	}
	if last := lastEnd(c); last >= 0 {
		x.body(c[:last+1])
		x.afterCR = last+1 == len(c) && c[last] == '\r'
		c = c[last+1:]
	}
	x.hold(c)
}

// hold keeps the start of a line. What is too long to keep is parsed, up to a place between two tokens.
func (x *Extractor) hold(c []byte) {
	x.carry = append(x.carry, c...)
	for len(x.carry) > maxLine {
		if x.offset == 0 {
			x.longLine()
		}
		cut, clean := cutPoint(x.carry[:maxLine])
		x.cutBehind = !clean
		x.unit(x.carry[:cut])
		x.cutBefore, x.cutBehind = !clean, false
		x.offset += cut
		x.carry = append(x.carry[:0], x.carry[cut:]...)
	}
}

func (x *Extractor) longLine() {
	const most = 5
	if len(x.notes) < most {
		x.notes = append(x.notes, fmt.Sprintf("line %d is longer than 1 MiB and was read in pieces: an object as long as that is not seen", x.line+1))
	}
}

// cutPoint returns the last place where a blank stands before a new token: not between a name and its value. It is not
// clean if there is none.
func cutPoint(b []byte) (cut int, clean bool) {
	for i := len(b) - 1; i > len(b)-cutWindow; i-- {
		if isBlank(b[i-1]) && !isBlank(b[i]) && !isDigit(b[i]) && bytes.IndexByte([]byte(":=+-.[%"), b[i]) < 0 {
			j := i - 1
			for j > 0 && isBlank(b[j]) {
				j--
			}
			if b[j] != ':' && b[j] != '=' {
				return i, true
			}
		}
	}
	return len(b), false
}

// finish parses the line in carry, which is complete.
func (x *Extractor) finish() {
	x.unit(x.carry)
	x.carry, x.offset, x.cutBefore = x.carry[:0], 0, false
	x.line++
}

// body takes lines that are all complete.
func (x *Extractor) body(b []byte) {
	for len(b) > 0 {
		i := bytes.IndexByte(b, esc)
		if i < 0 {
			x.region(b)
			return
		}
		start := lineStart(b, 0, i)
		x.region(b[:start])
		end := i + lineEnd(b[i:])
		x.unit(b[start:end])
		x.line++
		b = b[afterEnd(b, end):]
	}
}

// region takes complete lines without escapes. This is the fast path: only lines with something of interest are even
// found.
func (x *Extractor) region(b []byte) {
	x.trigger.reset()
	for pos := 0; pos < len(b); {
		if x.parsesAll() || len(x.regexps) > 0 {
			end := pos + lineEnd(b[pos:])
			x.unit(b[pos:end])
			x.line++
			pos = afterEnd(b, end)
			x.trigger.reset()
			continue
		}
		at := x.trigger.find(b, pos)
		if at == len(b) {
			x.line += countLines(b[pos:])
			x.findStep(b[pos:])
			return
		}
		start := lineStart(b, pos, at)
		x.line += countLines(b[pos:start])
		x.findStep(b[pos:start])
		end := at + lineEnd(b[at:])
		x.parse(b[start:end])
		x.line++
		pos = afterEnd(b, end)
	}
}

// parsesAll reports whether every line is parsed: while a metric is missing, for near misses.
func (x *Extractor) parsesAll() bool { return x.missing > 0 && x.spent < nearBudget }

// unit takes one line, or a piece of one.
func (x *Extractor) unit(b []byte) {
	if bytes.IndexByte(b, esc) >= 0 {
		x.clean = stripEscapes(x.clean[:0], b)
		b = x.clean
	}
	x.patterns(b)
	if x.parsesAll() {
		x.spent += len(b) + 1
		x.parse(b)
		return
	}
	x.trigger.reset()
	if x.trigger.find(b, 0) < len(b) {
		x.parse(b)
		return
	}
	x.findStep(b)
}

// lineEnd returns the index of the first CR or LF, or -1. It looks in growing windows: where all lines end in one of the
// two, a search for the other would run through all of b for every line.
func lineEnd(b []byte) int {
	for low, size := 0, 128; low < len(b); low, size = low+size, 2*size {
		window := b[low:min(len(b), low+size)]
		lf := bytes.IndexByte(window, '\n')
		if lf >= 0 {
			window = window[:lf]
		}
		if cr := bytes.IndexByte(window, '\r'); cr >= 0 {
			return low + cr
		}
		if lf >= 0 {
			return low + lf
		}
	}
	return -1
}

// afterEnd returns the start of the line behind the one that ends at end: CRLF is one end.
func afterEnd(b []byte, end int) int {
	if b[end] == '\r' && end+1 < len(b) && b[end+1] == '\n' {
		return end + 2
	}
	return end + 1
}

func lastEnd(b []byte) int {
	for i := len(b) - 1; i >= 0; i-- {
		if b[i] == '\n' || b[i] == '\r' {
			return i
		}
	}
	return -1
}

func lineStart(b []byte, low, i int) int {
	for i > low && b[i-1] != '\n' && b[i-1] != '\r' {
		i--
	}
	return i
}

// countLines counts the ends of lines.
func countLines(b []byte) int64 {
	n := bytes.Count(b, []byte{'\n'})
	if bytes.IndexByte(b, '\r') >= 0 {
		n += bytes.Count(b, []byte{'\r'}) - bytes.Count(b, []byte("\r\n"))
	}
	return int64(n)
}
