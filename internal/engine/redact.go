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
	}
	if lines := strings.FieldsFunc(value, func(c rune) bool { return c == '\n' || c == '\r' }); len(lines) > 1 {
		out = append(out, lines...) // a key of several lines
	}
	return out
}

// all replaces in p, and returns how much of its end may be the beginning of a secret.
func (r *Redactor) all(p []byte) (text []byte, open int) {
	for _, n := range r.needles {
		if bytes.Contains(p, n.text) {
			p = bytes.ReplaceAll(p, n.text, n.instead)
		}
	}
	for k := min(len(p), r.longest-1); k > 0; k-- {
		end := p[len(p)-k:]
		if slices.ContainsFunc(r.needles, func(n needle) bool { return bytes.HasPrefix(n.text, end) }) {
			return p, k
		}
	}
	return p, 0
}

// Text replaces in a text that is whole.
func (r *Redactor) Text(s string) string {
	if r == nil {
		return s
	}
	b, _ := r.all([]byte(s))
	return string(b)
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
	text, open := w.r.all(append(w.held, p...))
	_, err := w.to.Write(text[:len(text)-open])
	w.held = append([]byte(nil), text[len(text)-open:]...)
	return len(p), err
}

// Close hands the rest on.
func (w *redactingWriter) Close() error {
	_, err := w.to.Write(w.held)
	w.held = nil
	return err
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
