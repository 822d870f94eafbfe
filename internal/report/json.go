package report

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"unicode"
	"unicode/utf8"
)

// JSON is report.json (WriteJSON).
func (r *Report) JSON() []byte {
	var b bytes.Buffer
	// Into a buffer: there is no error.
	_ = r.WriteJSON(&b)
	return b.Bytes()
}

// WriteJSON writes report.json: indented, with a newline at its end. Control characters that a terminal could obey are
// escaped, also those that JSON would let through. The points and trials are written one by one: a large run has too many
// to have them in memory several times.
func (r *Report) WriteJSON(w io.Writer) error {
	outline := *r
	outline.Experiments = append([]Experiment{}, r.Experiments...)
	for i := range outline.Experiments {
		outline.Experiments[i].Points, outline.Experiments[i].Trials = nil, nil
	}
	out := &jsonWriter{w: bufio.NewWriterSize(w, 1<<16)}
	b := layOut(nil, out.marshal(&outline), "")
	experiment := -1
	for line := range bytes.Lines(b) {
		// No text has a line break in it: these lines are what they look like.
		switch string(line) {
		case "      \"points\": null,\n":
			experiment++
			items(out, line, r.Experiments[experiment].Points)
		case "      \"trials\": null,\n":
			items(out, line, r.Experiments[experiment].Trials)
		default:
			out.write(line)
		}
	}
	out.write([]byte("\n"))
	if out.err == nil {
		out.err = out.w.Flush()
	}
	return out.err
}

// jsonWriter writes until the first error.
type jsonWriter struct {
	w   *bufio.Writer
	buf bytes.Buffer // of marshal
	err error
}

func (o *jsonWriter) write(b []byte) {
	if o.err == nil {
		_, o.err = o.w.Write(b)
	}
}

// marshal is v without blanks, valid until the next call.
func (o *jsonWriter) marshal(v any) []byte {
	o.buf.Reset()
	e := json.NewEncoder(&o.buf)
	e.SetEscapeHTML(false)
	// Every number in a Report is finite and every type has a JSON form: there is no error to return.
	if err := e.Encode(v); err != nil {
		panic("report: " + err.Error())
	}
	return bytes.TrimSuffix(o.buf.Bytes(), []byte("\n"))
}

// items writes a list in place of the null of a line.
func items[T any](o *jsonWriter, line []byte, list []T) {
	head, _ := bytes.CutSuffix(line, []byte("null,\n"))
	o.write(head)
	if len(list) == 0 {
		o.write([]byte("[],\n"))
		return
	}
	const indent = "        "
	o.write([]byte("[\n"))
	var b []byte
	for i := range list {
		if o.err != nil {
			return
		}
		b = append(b[:0], indent...)
		b = layOut(b, o.marshal(&list[i]), indent)
		if i < len(list)-1 {
			b = append(b, ',')
		}
		o.write(append(b, '\n'))
	}
	o.write([]byte("      ],\n"))
}

// layOut appends src, JSON without blanks, to dst as json.Indent does, each line after prefix, and escapes what SafeJSON
// does. It is a report's own because it is most of the work of a large one.
func layOut(dst, src []byte, prefix string) []byte {
	depth := 0
	line := func() {
		dst = append(append(dst, '\n'), prefix...)
		for range depth {
			dst = append(dst, "  "...)
		}
	}
	for i := 0; i < len(src); {
		switch c := src[i]; c {
		case '"':
			n := textLen(src[i:])
			dst = appendSafe(dst, src[i:i+n])
			i += n
			continue
		case '{', '[':
			dst = append(dst, c)
			if i+1 < len(src) && (src[i+1] == '}' || src[i+1] == ']') {
				dst = append(dst, src[i+1])
				i += 2
				continue
			}
			depth++
			line()
		case '}', ']':
			depth--
			line()
			dst = append(dst, c)
		case ',':
			dst = append(dst, c)
			line()
		case ':':
			dst = append(dst, ": "...)
		default:
			dst = append(dst, c)
		}
		i++
	}
	return dst
}

// textLen is the length of the JSON text that b begins with, quotes included.
func textLen(b []byte) int {
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(b)
}

// SafeJSON writes what is invisible or moves the cursor as \u escapes: encoding/json escapes what is below a space only.
// It stands inside strings only, so the document is the same.
func SafeJSON(b []byte) []byte { return appendSafe(make([]byte, 0, len(b)), b) }

func appendSafe(dst, b []byte) []byte {
	for len(b) > 0 {
		n := 0
		for n < len(b) && b[n] < 0x7f {
			n++
		}
		dst, b = append(dst, b[:n]...), b[n:]
		if len(b) == 0 {
			break
		}
		r, n := utf8.DecodeRune(b)
		if !unicode.IsPrint(r) && r != utf8.RuneError {
			dst = appendU(dst, r)
		} else {
			dst = append(dst, b[:n]...)
		}
		b = b[n:]
	}
	return dst
}
