package engine

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strings"
)

var (
	escapes = regexp.MustCompile("\x1b(?:\\[[0-9;?]*[ -/]*[@-~]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\)|[@-Z\\\\-_])")
	frame   = regexp.MustCompile(`^\s*File "([^"]+)", line \d+, in (.+)$`)
	// Hexadecimal numbers (also without 0x, if they are long, as in a UUID), paths, numbers and times.
	variables = regexp.MustCompile(`0x[0-9a-fA-F]+|\b[0-9a-fA-F]{8,}(?:-[0-9a-fA-F]{4,})*\b|(?:/[^\s:,'"()]+)+|[0-9]+(?:[.:][0-9]+)*`)
)

// signature names a kind of failure: cause, exit status and the last line of the log that says something, with what
// differs from one time to the next replaced. Of a Python traceback it is the exception and the deepest frame that is
// not in an installed package.
func signature(cause Cause, code *int, tail []string) string {
	last := ""
	for i := len(tail) - 1; i >= 0 && last == ""; i-- {
		last = strings.TrimSpace(escapes.ReplaceAllString(tail[i], ""))
	}
	where := ""
	for i := len(tail) - 1; i >= 0; i-- {
		line := escapes.ReplaceAllString(tail[i], "")
		if strings.HasPrefix(line, "Traceback (most recent call last)") {
			break
		}
		if m := frame.FindStringSubmatch(line); m != nil && !strings.Contains(m[1], "site-packages") && !strings.Contains(m[1], "dist-packages") {
			where = " in " + m[1][strings.LastIndexByte(m[1], '/')+1:] + " " + m[2]
			break
		}
	}
	last = variables.ReplaceAllString(last, "#")
	if r := []rune(last); len(r) > 120 {
		last = string(r[:120]) + "…"
	}
	exit := ""
	if code != nil {
		exit = fmt.Sprintf(" %d", *code)
	}
	return strings.TrimSpace(fmt.Sprintf("%s%s: %s%s", cause, exit, last, where))
}

// tailKeeper keeps the last bytes that were written to it.
type tailKeeper struct {
	buf []byte
}

// tailBytes is how much of the end of a log is looked at for causes and signatures.
const tailBytes = 16 << 10

func (t *tailKeeper) write(p []byte) {
	if len(p) >= tailBytes {
		t.buf = append(t.buf[:0], p[len(p)-tailBytes:]...)
		return
	}
	t.buf = append(t.buf, p...)
	if len(t.buf) > 2*tailBytes {
		t.buf = append(t.buf[:0], t.buf[len(t.buf)-tailBytes:]...)
	}
}

// lines are the last lines, the first of which may be cut at its beginning.
func (t *tailKeeper) lines() []string {
	s := string(t.buf)
	if len(s) > tailBytes {
		s = s[len(s)-tailBytes:]
	}
	return strings.FieldsFunc(strings.ToValidUTF8(s, "\ufffd"), func(r rune) bool { return r == '\n' || r == '\r' })
}

// excerpt is up to n of the last lines that are not empty, each at most 300 characters.
func (t *tailKeeper) excerpt(n int) string {
	var out []string
	for _, l := range t.lines() {
		if strings.TrimSpace(l) == "" {
			continue
		}
		if r := []rune(l); len(r) > 300 {
			l = string(r[:300]) + "…"
		}
		out = append(out, l)
	}
	return strings.Join(out[max(0, len(out)-n):], "\n")
}

// read replaces what it keeps by the end of a file; one that is not there is empty.
func (t *tailKeeper) read(name string) error {
	t.buf = t.buf[:0]
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if fi, err := f.Stat(); err == nil && fi.Size() > tailBytes {
		_, err = f.Seek(-tailBytes, io.SeekEnd)
		if err != nil {
			return err
		}
	}
	b, err := io.ReadAll(io.LimitReader(f, tailBytes))
	t.write(b)
	return err
}
