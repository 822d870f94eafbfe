package ledger

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"testing"
)

// An entry of a tar.
type entry struct {
	tar.Header
	text string
}

func entries(t *testing.T, archive []byte) []entry {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	var out []entry
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, entry{*h, string(b)})
	}
}

func packed(t *testing.T, es []entry) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, e := range es {
		if e.Typeflag == tar.TypeReg {
			e.Size = int64(len(e.text))
		}
		_, err := io.WriteString(errWriter{w.WriteHeader(&e.Header), w}, e.text)
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

type errWriter struct {
	err error
	w   io.Writer
}

func (e errWriter) Write(b []byte) (int, error) {
	if e.err != nil || len(b) == 0 {
		return 0, e.err
	}
	return e.w.Write(b)
}

// forge changes an archive so that all digests are right again: what is left is what the archive wants.
func forge(t *testing.T, archive []byte, change func(*ArchiveInfo, map[string]string)) []byte {
	t.Helper()
	es := entries(t, archive)
	var info ArchiveInfo
	if err := json.Unmarshal([]byte(es[0].text), &info); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, e := range es[1:] {
		files[e.Name] = e.text
	}
	change(&info, files)
	sign := func(f *ArchiveFile) entry {
		text := files[f.Path]
		sum := sha256.Sum256([]byte(text))
		if f.SHA256 != "keep" {
			f.Size, f.SHA256 = int64(len(text)), hex.EncodeToString(sum[:])
		}
		return entry{tar.Header{Name: f.Path, Typeflag: tar.TypeReg, Mode: 0o600}, text}
	}
	out := []entry{es[0], sign(&info.Events)}
	for i := range info.Files {
		out = append(out, sign(&info.Files[i]))
	}
	b, err := json.Marshal(info)
	if err != nil {
		t.Fatal(err)
	}
	out[0].text = string(b)
	return packed(t, out)
}

// addFile makes an archive that has another file.
func addFile(t *testing.T, archive []byte, name string) []byte {
	return forge(t, archive, func(i *ArchiveInfo, files map[string]string) {
		i.Files = append(i.Files, ArchiveFile{Path: name})
		files[name] = "owned"
	})
}

// withEvents makes an archive with other events.
func withEvents(t *testing.T, archive []byte, change func(string) string) []byte {
	return forge(t, archive, func(i *ArchiveInfo, files map[string]string) {
		was := files[archiveEvents]
		if files[archiveEvents] = change(was); files[archiveEvents] == was {
			t.Error("nothing is changed")
		}
	})
}
