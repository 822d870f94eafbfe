package ledger

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// An Archive is a file that holds a run, looked through.
type Archive struct {
	Info   *ArchiveInfo
	Events []Event
	file   string
}

// An ArchiveError is a file that is no archive, a damaged one, or one that wants what no archive may.
type ArchiveError struct {
	File string
	Err  error
	hint string
}

// Error says what is wrong with it.
func (e *ArchiveError) Error() string { return fmt.Sprintf("%s: %v", e.File, e.Err) }

// Unwrap is what is wrong.
func (e *ArchiveError) Unwrap() error { return e.Err }

// Hint says what to do.
func (e *ArchiveError) Hint() string {
	if e.hint != "" {
		return e.hint
	}
	return "nothing was changed; `xrun export` writes archives"
}

// maxManifest bounds the manifest of an archive, and a line of its events.
const maxManifest = 64 << 20

// ReadArchive looks a file through to its last byte: its version, names, sizes and digests, and what its events say.
// Nothing is written. limit bounds what it takes unpacked.
func ReadArchive(ctx context.Context, file string, limit int64) (*Archive, error) {
	a := &Archive{file: file}
	err := a.scan(ctx, limit, func(f ArchiveFile, r io.Reader) error {
		if f.Path == archiveEvents {
			return a.readEvents(r)
		}
		_, err := io.Copy(io.Discard, r)
		return err
	})
	if e, ok := errors.AsType[*ArchiveError](err); ok {
		return nil, e
	}
	if err != nil && ctx.Err() == nil {
		err = &ArchiveError{File: file, Err: err}
	}
	return a, err
}

// scan calls each with every file of the archive, and checks what it was given.
func (a *Archive) scan(ctx context.Context, limit int64, each func(ArchiveFile, io.Reader) error) error {
	in, err := os.Open(a.file)
	if err != nil {
		return err
	}
	defer in.Close()
	z, err := gzip.NewReader(bufio.NewReader(in))
	if err != nil {
		return fmt.Errorf("it is no archive of a run: %w", err)
	}
	t := tar.NewReader(z)
	if err := a.manifest(t, limit); err != nil {
		return err
	}
	for _, f := range append([]ArchiveFile{a.Info.Events}, a.Info.Files...) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := next(t, f.Path, f.Size); err != nil {
			return err
		}
		sum := sha256.New()
		if err := each(f, io.TeeReader(t, sum)); err != nil {
			return fmt.Errorf("%s: %w", f.Path, err)
		}
		if err := sameSum(sum, f); err != nil {
			return err
		}
	}
	if h, err := t.Next(); err == nil {
		return fmt.Errorf("%q is not in the manifest", h.Name)
	} else if !errors.Is(err, io.EOF) {
		return err
	}
	// To its end, so that its checksum is seen; zeros may follow, and nothing else.
	rest, err := io.ReadAll(io.LimitReader(z, 1<<20))
	if err != nil || len(bytes.Trim(rest, "\x00")) > 0 || len(rest) == 1<<20 {
		return fmt.Errorf("it does not end where it should: %w", errors.Join(err, io.ErrUnexpectedEOF))
	}
	return nil
}

// next goes on to the entry that has to follow: exactly this name and size, and a plain file.
func next(t *tar.Reader, name string, size int64) error {
	h, err := t.Next()
	if err != nil {
		return fmt.Errorf("%s is missing: %w", name, err)
	}
	if h.Name != name || h.Typeflag != tar.TypeReg || size >= 0 && h.Size != size {
		return fmt.Errorf("%q stands where %s should be, a plain file of %d bytes", h.Name, name, size)
	}
	return nil
}

func (a *Archive) manifest(t *tar.Reader, limit int64) error {
	if err := next(t, archiveManifest, -1); err != nil {
		return fmt.Errorf("it is no archive of a run: %w", err)
	}
	b, err := io.ReadAll(io.LimitReader(t, maxManifest+1))
	if err != nil {
		return err
	}
	if len(b) > maxManifest {
		return errors.New("its manifest is too large")
	}
	i := &ArchiveInfo{}
	if err := json.Unmarshal(b, i); err != nil {
		return fmt.Errorf("its manifest: %w", err)
	}
	switch {
	case i.Format != archiveFormat:
		return errors.New("it is no archive of a run")
	case i.Version != archiveVersion || i.EventSchema != SchemaVersion:
		return &ArchiveError{
			a.file, fmt.Errorf("xrun %s wrote it in version %d with events of version %d; this xrun reads %d and %d", i.XrunVersion, i.Version, i.EventSchema, archiveVersion, SchemaVersion),
			"nothing was changed; import it with the xrun that wrote it",
		}
	case !runIDRE.MatchString(i.Run):
		return fmt.Errorf("%q is no id of a run", i.Run)
	case i.Events.Path != archiveEvents:
		return errors.New("its manifest names no events")
	case i.Size() > limit:
		return &ArchiveError{a.file, fmt.Errorf("unpacked it takes %d bytes, and %d are allowed", i.Size(), limit), "nothing was changed; --max-size allows more"}
	}
	a.Info = i
	return i.checkFiles()
}

// checkFiles checks the names, each and together: a name is there once, and is no directory of another.
func (i *ArchiveInfo) checkFiles() error {
	if i.Events.Size < 0 {
		return errors.New("its manifest has a size below 0")
	}
	files := map[string]bool{}
	for _, f := range i.Files {
		if err := checkArchivePath(f.Path, i.Run); err != nil {
			return err
		}
		if f.Size < 0 || files[f.Path] {
			return fmt.Errorf("%q stands there twice, or has a size below 0", f.Path)
		}
		files[f.Path] = true
	}
	for f := range files {
		for dir := path.Dir(f); dir != "."; dir = path.Dir(dir) {
			if files[dir] {
				return fmt.Errorf("%q is a file and a directory", dir)
			}
		}
	}
	return nil
}

func (a *Archive) readEvents(r io.Reader) error {
	seen := newReviewer(a.Info.Run)
	seen.strict = true
	s := bufio.NewScanner(r)
	s.Buffer(nil, maxManifest)
	for s.Scan() {
		var e Event
		if err := json.Unmarshal(s.Bytes(), &e); err != nil {
			return fmt.Errorf("line %d: %w", seen.n+1, err)
		}
		if e.Type == (RunImported{}).EventType() || e.Body == nil || e.Body.EventType() != e.Type {
			return fmt.Errorf("line %d: %s has no place there", seen.n+1, e.Type)
		}
		if err := seen.look(e); err != nil {
			return err
		}
		a.Events = append(a.Events, e)
	}
	return errors.Join(s.Err(), seen.end())
}

// Unpack puts the files of the archive into a state directory, by way of a directory beside them. What is there already
// is left; where it has other bytes, nothing is changed.
func (a *Archive) Unpack(ctx context.Context, state string) error {
	tmp, err := os.MkdirTemp(state, "importing-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	var put []string
	err = a.scan(ctx, 1<<63-1, func(f ArchiveFile, r io.Reader) error {
		if f.Path == archiveEvents {
			_, err := io.Copy(io.Discard, r)
			return err
		}
		there, err := has(filepath.Join(state, filepath.FromSlash(f.Path)), f)
		if err != nil {
			return err
		}
		if there {
			_, err := io.Copy(io.Discard, r)
			return err
		}
		put = append(put, f.Path)
		return unpack(filepath.Join(tmp, filepath.FromSlash(f.Path)), f, r)
	})
	if err != nil {
		return fmt.Errorf("import %s: %w", a.file, err)
	}
	syscall.Sync() // once: the events that name these files must not be there before them
	if err := move(tmp, state, put); err != nil {
		return fmt.Errorf("import %s: %w", a.file, err)
	}
	return nil
}

// move brings files from one directory to another: a run's directory as a whole where there is none yet.
func move(from, to string, names []string) error {
	whole := map[string]bool{}
	for _, name := range names {
		run := filepath.Join("runs", strings.Split(name, "/")[1])
		if _, seen := whole[run]; !seen {
			_, err := os.Lstat(filepath.Join(to, run))
			if whole[run] = errors.Is(err, fs.ErrNotExist); whole[run] {
				name = run
			}
		} else if whole[run] {
			continue
		}
		name = filepath.FromSlash(name)
		if err := os.MkdirAll(filepath.Dir(filepath.Join(to, name)), 0o700); err != nil {
			return err
		}
		if err := os.Rename(filepath.Join(from, name), filepath.Join(to, name)); err != nil {
			return err
		}
	}
	return nil
}

// has reports whether a file is there as the archive has it; other bytes are an error.
func has(file string, f ArchiveFile) (bool, error) {
	fi, err := os.Lstat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if !fi.Mode().IsRegular() || fi.Size() != f.Size {
		return false, errors.New("it is there already, and is another")
	}
	in, err := os.Open(file)
	if err != nil {
		return false, err
	}
	defer in.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, in); err != nil {
		return false, err
	}
	if sameSum(sum, f) != nil {
		return false, errors.New("it is there already, and is another")
	}
	return true, nil
}

func unpack(to string, f ArchiveFile, r io.Reader) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	mode := fs.FileMode(0o600)
	if f.Executable {
		mode = 0o700
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, r)
	return errors.Join(err, out.Close())
}

// Import records the run of an archive: all of its events or none. It reports false where the ledger has the run already
// as it is in the archive; one that it has otherwise is an error.
func (l *Ledger) Import(ctx context.Context, a *Archive, at time.Time) (bool, error) {
	if err := l.MayImport(ctx, a); err != nil {
		return false, err
	}
	runs, err := l.Runs(ctx)
	if err != nil {
		return false, err
	}
	for _, r := range runs {
		if r.ID == a.Info.Run {
			return false, nil
		}
	}
	from := ""
	if b, ok := a.Events[0].Body.(RunStarted); ok {
		from = b.HostUser
	}
	events := append([]Event{New(a.Info.Run, at, RunImported{From: from, XrunVersion: a.Info.XrunVersion, Omitted: len(a.Info.Omitted)})}, a.Events...)
	return true, l.Append(ctx, events...)
}

// MayImport says why the run of an archive cannot be recorded: there is another one of its id.
func (l *Ledger) MayImport(ctx context.Context, a *Archive) error {
	run := a.Info.Run
	first := true
	for _, err := range l.Events(ctx, run) {
		if err != nil {
			return err
		}
		first = false
		break
	}
	if first {
		return nil
	}
	here, err := writeEvents(io.Discard, l.Events(ctx, run))
	if err != nil || here.SHA256 == a.Info.Events.SHA256 {
		return err
	}
	// The one who wrote the archive may have written the same in another way.
	there, err := writeEvents(io.Discard, each(a.Events))
	if err != nil {
		return err
	}
	if here.SHA256 != there.SHA256 {
		return &ArchiveError{
			a.file, fmt.Errorf("run %s is in the ledger already, and is another", run),
			"nothing was changed; import it into another state directory (--state)",
		}
	}
	return nil
}

func each(events []Event) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for _, e := range events {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// Missing lists the artifacts of the run that the archive does not have, below the state directory.
func (a *Archive) Missing() []string {
	var out []string
	for _, o := range a.Info.Omitted {
		out = append(out, strings.ToValidUTF8(o.Path, "?"))
	}
	return out
}
