package engine

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/xrun-dev/xrun/internal/ledger"
)

// leastSecret is the shortest value that is looked for: shorter ones are parts of words.
const leastSecret = 6

// Secrets are the values of the variables that an experiment's command and its evaluation get, by name.
type Secrets struct {
	Command, Evaluate map[string]string
}

// entries are NAME=value, sorted by name.
func entries(values map[string]string) []string {
	var out []string
	for _, name := range sortedKeys(values) {
		out = append(out, name+"="+values[name])
	}
	return out
}

// A Redactor replaces secret values in text, also where they are written in base64, hex, a URL or JSON. The nil Redactor
// replaces nothing.
type Redactor struct {
	needles []needle // the longest first
	longest int
}

type needle struct{ text, instead []byte }

// NewRedactor returns a Redactor for the secrets of all experiments; nil if there are none to look for.
func NewRedactor(all map[string]Secrets) *Redactor {
	r := &Redactor{}
	seen := map[string]bool{}
	for _, experiment := range sortedKeys(all) {
		for _, values := range []map[string]string{all[experiment].Command, all[experiment].Evaluate} {
			for _, name := range sortedKeys(values) {
				for _, text := range forms(values[name]) {
					if len(text) >= leastSecret && !seen[text] {
						seen[text] = true
						r.needles = append(r.needles, needle{[]byte(text), []byte("[secret " + name + "]")})
						r.longest = max(r.longest, len(text))
					}
				}
			}
		}
	}
	if len(r.needles) == 0 {
		return nil
	}
	slices.SortStableFunc(r.needles, func(a, b needle) int { return cmp.Compare(len(b.text), len(a.text)) })
	return r
}

func (c Config) redactor() *Redactor {
	if c.Redact != nil {
		return c.Redact
	}
	return NewRedactor(c.Secrets)
}

// forms are the ways in which a value is printed: as it is, line by line, and in the usual encodings.
func forms(value string) []string {
	if len(value) < leastSecret {
		return nil
	}
	b := []byte(value)
	out := []string{
		value, base64.StdEncoding.EncodeToString(b), base64.RawStdEncoding.EncodeToString(b),
		base64.URLEncoding.EncodeToString(b), base64.RawURLEncoding.EncodeToString(b),
		hex.EncodeToString(b), strings.ToUpper(hex.EncodeToString(b)), url.QueryEscape(value), url.PathEscape(value),
	}
	if q, err := json.Marshal(value); err == nil {
		out = append(out, string(q[1:len(q)-1]))
		plain := string(q[1 : len(q)-1])
		for _, c := range "<>&" { // only Go escapes these
			plain = strings.ReplaceAll(plain, fmt.Sprintf(`\u%04x`, c), string(c))
		}
		out = append(out, plain, ascii(plain))
	}
	if lines := strings.FieldsFunc(value, func(c rune) bool { return c == '\n' || c == '\r' }); len(lines) > 1 {
		out = append(out, lines...) // a key of several lines
	}
	return out
}

// ascii is a JSON string as Python writes it.
func ascii(s string) string {
	var b strings.Builder
	for _, u := range utf16.Encode([]rune(s)) {
		if u < 0x80 {
			b.WriteByte(byte(u))
		} else {
			fmt.Fprintf(&b, `\u%04x`, u)
		}
	}
	return b.String()
}

// hide replaces in p from its beginning on, the longest of what begins at one place. Unless p is whole, it leaves as rest
// what may be the beginning of a secret whose end is yet to come, even if it is a shorter one itself.
func (r *Redactor) hide(p []byte, whole bool) (text, rest []byte) {
	next := make([]int, len(r.needles)) // by needle: where it is found next
	for i := range next {
		next[i] = -1
	}
	open := r.open(p, 0, whole)
	for i := 0; ; {
		at, found := len(p), 0
		for k, n := range r.needles { // the longest first
			if next[k] < i {
				if next[k] = bytes.Index(p[i:], n.text); next[k] < 0 {
					next[k] = len(p)
				} else {
					next[k] += i
				}
			}
			if next[k] < at {
				at, found = next[k], k
			}
		}
		if at >= open {
			return append(text, p[i:open]...), p[open:]
		}
		text = append(append(text, p[i:at]...), r.needles[found].instead...)
		if i = at + len(r.needles[found].text); i > open {
			open = r.open(p, i, whole)
		}
	}
}

// open is where at the end of p, and not before from, a secret may have begun.
func (r *Redactor) open(p []byte, from int, whole bool) int {
	if whole {
		return len(p)
	}
	for i := max(from, len(p)-r.longest+1); i < len(p); i++ {
		if slices.ContainsFunc(r.needles, func(n needle) bool { return len(n.text) > len(p)-i && bytes.HasPrefix(n.text, p[i:]) }) {
			return i
		}
	}
	return len(p)
}

// Text replaces in a text that is whole.
func (r *Redactor) Text(s string) string {
	if r == nil {
		return s
	}
	b, _ := r.hide([]byte(s), true)
	return string(b)
}

// outcome replaces in what an outcome says in words, and in the names of files, which the program chose.
func (r *Redactor) outcome(out *ledger.AttemptFinished) {
	if r == nil {
		return
	}
	for _, s := range []*string{&out.Message, &out.Signature, &out.Excerpt} {
		*s = r.Text(*s)
	}
	for _, list := range [][]string{out.Notes, out.Artifacts, out.Kept} {
		for i := range list {
			list[i] = r.Text(list[i])
		}
	}
}

// A redactingWriter hands what is written to it on without secrets, wherever it is split.
type redactingWriter struct {
	r    *Redactor
	to   io.Writer
	held []byte
}

func (w *redactingWriter) Write(p []byte) (int, error) {
	if w.r == nil {
		return w.to.Write(p)
	}
	text, rest := w.r.hide(append(w.held, p...), false)
	_, err := w.to.Write(text)
	w.held = append([]byte(nil), rest...)
	return len(p), err
}

// Writer returns what hands on to w what is written to it, without secrets. It keeps back what may be the beginning of one.
func (r *Redactor) Writer(w io.Writer) io.Writer { return &redactingWriter{r: r, to: w} }

// Close hands the rest on.
func (w *redactingWriter) Close() error {
	if w.r == nil {
		return nil
	}
	text, _ := w.r.hide(w.held, true)
	_, err := w.to.Write(text)
	w.held = nil
	return err
}

// A redactingReader is a reader without secrets.
type redactingReader struct {
	in    io.Reader
	w     redactingWriter
	ready bytes.Buffer
	err   error
}

func (r *Redactor) reader(in io.Reader) io.Reader {
	if r == nil {
		return in
	}
	out := &redactingReader{in: in}
	out.w = redactingWriter{r: r, to: &out.ready}
	return out
}

func (r *redactingReader) Read(p []byte) (int, error) {
	for r.ready.Len() == 0 {
		if r.err != nil {
			return 0, r.err
		}
		buf := make([]byte, 64<<10)
		var n int
		n, r.err = r.in.Read(buf)
		_, _ = r.w.Write(buf[:n]) // into memory
		if r.err != nil {
			_ = r.w.Close()
		}
	}
	return r.ready.Read(p)
}

// file replaces in a file, if it is there.
func (r *Redactor) file(name string) error {
	if r == nil {
		return nil
	}
	in, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("redact: %w", err)
	}
	defer in.Close()
	out, err := os.OpenFile(name+".redacted", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("redact: %w", err)
	}
	w := &redactingWriter{r: r, to: out}
	_, err = io.Copy(w, in)
	if err = errors.Join(err, w.Close(), out.Close()); err == nil {
		err = os.Rename(out.Name(), name)
	}
	if err != nil {
		return fmt.Errorf("redact %s: %w", name, errors.Join(err, os.Remove(out.Name())))
	}
	return nil
}
