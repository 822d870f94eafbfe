package ledger

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"slices"
)

// An archive is one run as one file: a gzipped tar whose first entry says what the others are. The files lie under the
// names that they have below a state directory.
const (
	archiveFormat   = "xrun-run"
	archiveVersion  = 1
	archiveManifest = "manifest.json"
	archiveEvents   = "events.jsonl"
)

// An ArchiveInfo is the manifest of an archive.
type ArchiveInfo struct {
	Format      string        `json:"format"`
	Version     int           `json:"version"`
	XrunVersion string        `json:"xrun_version"` // that wrote the archive
	EventSchema int           `json:"event_schema"`
	Run         string        `json:"run"`
	Events      ArchiveFile   `json:"events"`
	Files       []ArchiveFile `json:"files"`
	Omitted     []OmittedFile `json:"omitted"`
}

// Size is what the archive takes once it is unpacked.
func (i *ArchiveInfo) Size() int64 {
	sum := i.Events.Size
	for _, f := range i.Files {
		if sum += f.Size; sum < 0 {
			return 1<<63 - 1
		}
	}
	return sum
}

// An ArchiveFile is a file of an archive.
type ArchiveFile struct {
	Path       string `json:"path"`
	Size       int64  `json:"size"`
	SHA256     string `json:"sha256"`
	Executable bool   `json:"executable"`
}

// An OmittedFile is one that the run has and the archive has not.
type OmittedFile struct {
	Path   string `json:"path"`
	Size   int64  `json:"size"`
	Reason string `json:"reason"`
}

// ExportOptions say what goes into an archive.
type ExportOptions struct {
	Run         string
	State       string // directory
	XrunVersion string
	MaxFile     int64 // larger files stay behind; 0: none do
}

// Export writes a run to w. The same run gives the same bytes.
func (l *Ledger) Export(ctx context.Context, w io.Writer, o ExportOptions) (*ArchiveInfo, error) {
	events, err := os.CreateTemp("", "xrun-export-")
	if err != nil {
		return nil, fmt.Errorf("export run %s: %w", o.Run, err)
	}
	defer os.Remove(events.Name())
	defer events.Close()
	info := &ArchiveInfo{
		Format: archiveFormat, Version: archiveVersion, XrunVersion: o.XrunVersion, EventSchema: SchemaVersion, Run: o.Run,
		Files: []ArchiveFile{}, Omitted: []OmittedFile{},
	}
	seen := newReviewer(o.Run)
	if info.Events, err = writeEvents(events, seen.over(l.Events(ctx, o.Run))); err != nil {
		return nil, fmt.Errorf("export run %s: %w", o.Run, err)
	}
	if err := seen.end(); err != nil {
		return nil, fmt.Errorf("export run %s: %w", o.Run, err)
	}
	if err := info.gather(ctx, o, seen.reused); err != nil {
		return nil, fmt.Errorf("export run %s: %w", o.Run, err)
	}
	if err := info.write(ctx, w, o.State, events); err != nil {
		return nil, fmt.Errorf("export run %s: %w", o.Run, err)
	}
	return info, nil
}

// writeEvents writes events as lines that do not depend on their place in a ledger. That they were imported is left out.
func writeEvents(w io.Writer, events iter.Seq2[Event, error]) (ArchiveFile, error) {
	f := ArchiveFile{Path: archiveEvents}
	sum := sha256.New()
	b := bufio.NewWriter(io.MultiWriter(w, sum))
	for e, err := range events {
		if err != nil {
			return f, err
		}
		if e.Type == (RunImported{}).EventType() {
			continue
		}
		e.Seq, e.Body = 0, withoutPlaces(e.Body)
		line, err := json.Marshal(e)
		if err != nil {
			return f, fmt.Errorf("event %s: %w", e.Type, err)
		}
		f.Size += int64(len(line)) + 1
		if _, err := b.Write(append(line, '\n')); err != nil {
			return f, err
		}
	}
	err := b.Flush()
	f.SHA256 = hex.EncodeToString(sum.Sum(nil))
	return f, err
}

// withoutPlaces leaves out where files stayed on a host: elsewhere that is no place of theirs.
func withoutPlaces(b Body) Body {
	switch b := b.(type) {
	case AttemptFinished:
		b.KeptDir = ""
		return b
	case TrialFinished:
		if b.Reused != nil {
			from := *b.Reused
			from.Outcome.KeptDir = ""
			b.Reused = &from
		}
		return b
	}
	return b
}

// gather lists the files of the run, and of the earlier attempts whose results it reused.
func (i *ArchiveInfo) gather(ctx context.Context, o ExportOptions, reused map[string]bool) error {
	dirs := []string{path.Join("runs", o.Run)}
	for dir := range reused {
		dirs = append(dirs, dir)
	}
	slices.Sort(dirs)
	seen := map[string]bool{}
	for _, dir := range dirs {
		err := filepath.WalkDir(filepath.Join(o.State, filepath.FromSlash(dir)), func(file string, d fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return nil // gone is gone: the events say what it was
			case err != nil:
				return err
			case ctx.Err() != nil:
				return context.Cause(ctx)
			}
			rel, err := filepath.Rel(o.State, file)
			if err != nil {
				return err
			}
			name := filepath.ToSlash(rel)
			if d.IsDir() || seen[name] || checkArchivePath(name, o.Run) != nil { // what can be written again stays behind
				return nil
			}
			seen[name] = true
			return i.add(file, name, o.MaxFile)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// add lists one file, or says why it stays behind.
func (i *ArchiveInfo) add(file, name string, limit int64) error {
	fi, err := os.Lstat(file)
	if err != nil {
		return err
	}
	reason := ""
	switch {
	case fi.Mode()&fs.ModeSymlink != 0:
		reason = "a link"
	case !fi.Mode().IsRegular():
		reason = "not a file"
	case limit > 0 && fi.Size() > limit:
		reason = "too large"
	}
	if reason != "" {
		i.Omitted = append(i.Omitted, OmittedFile{name, fi.Size(), reason})
		return nil
	}
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	sum := sha256.New()
	n, err := io.Copy(sum, f)
	if err != nil {
		return err
	}
	i.Files = append(i.Files, ArchiveFile{Path: name, Size: n, SHA256: hex.EncodeToString(sum.Sum(nil)), Executable: fi.Mode()&0o100 != 0})
	return nil
}

func (i *ArchiveInfo) write(ctx context.Context, w io.Writer, state string, events *os.File) error {
	manifest, err := json.MarshalIndent(i, "", "  ")
	if err != nil {
		return err
	}
	z := gzip.NewWriter(w)
	t := tar.NewWriter(z)
	if err := t.WriteHeader(&tar.Header{Name: archiveManifest, Typeflag: tar.TypeReg, Size: int64(len(manifest)), Mode: 0o600}); err != nil {
		return err
	}
	if _, err := t.Write(manifest); err != nil {
		return err
	}
	if _, err := events.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if err := pack(t, events, i.Events); err != nil {
		return err
	}
	for _, f := range i.Files {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		in, err := os.Open(filepath.Join(state, filepath.FromSlash(f.Path)))
		if err != nil {
			return err
		}
		if err := errors.Join(pack(t, in, f), in.Close()); err != nil {
			return err
		}
	}
	return errors.Join(t.Close(), z.Close())
}

// pack writes one file, and makes sure that it is still the one that the manifest says.
func pack(t *tar.Writer, in io.Reader, f ArchiveFile) error {
	mode := int64(0o600)
	if f.Executable {
		mode = 0o700
	}
	if err := t.WriteHeader(&tar.Header{Name: f.Path, Typeflag: tar.TypeReg, Size: f.Size, Mode: mode}); err != nil {
		return err
	}
	sum := sha256.New()
	if _, err := io.CopyN(io.MultiWriter(t, sum), in, f.Size); err != nil {
		return fmt.Errorf("%s: %w", f.Path, err)
	}
	return sameSum(sum, f)
}

func sameSum(sum hash.Hash, f ArchiveFile) error {
	if got := hex.EncodeToString(sum.Sum(nil)); got != f.SHA256 {
		return fmt.Errorf("%s: its bytes are not those of the manifest (sha256 %s, not %s)", f.Path, got, f.SHA256)
	}
	return nil
}
