package ledger

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const archived = "20260102-030405-aaaa"

var archivedTrial = Key{"train", "t1"}

// runOf is a run with one trial that has a log and an artifact.
func runOf(run string) []Body {
	a := Attempt{archivedTrial, 1}
	return []Body{
		RunStarted{Command: []string{"xrun", "run"}, HostUser: "ann@lab"},
		ExperimentPlanned{Name: "train", Spec: json.RawMessage(`{"a":1}`)},
		TrialPlanned{Key: archivedTrial, Params: json.RawMessage(`{}`), Point: "p1", Code: "c1"},
		AttemptIntended{Attempt: a, Host: "gpu", Job: run + "-j"},
		AttemptFinished{
			Attempt: a, Host: "gpu", State: Succeeded, Log: "runs/" + run + "/train/t1/attempt-1/log", Artifacts: []string{"model"},
			Kept: []string{"large"}, KeptDir: "/home/ann/.cache/kept",
		},
		TrialFinished{Key: archivedTrial, State: Succeeded, Attempt: 1},
		RunFinished{Outcome: "done"},
	}
}

// stateOf is a state directory with that run.
func stateOf(t *testing.T, run string) (string, *Ledger) {
	t.Helper()
	dir := t.TempDir()
	for file, text := range map[string]string{
		"plan.json": "{}", "report.md": "# again", "control/stop.json": "{}", "train/t1/attempt-1/log": "loss=1\n", "train/t1/attempt-1/artifacts/model": "weights",
	} {
		put(t, filepath.Join(dir, "runs", run, file), text)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "runs", run, "train/t1/attempt-1/artifacts/out")); err != nil {
		t.Fatal(err)
	}
	l := open(t, dir)
	add(t, l, run, runOf(run)...)
	return dir, l
}

func put(t *testing.T, file, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

func exported(t *testing.T) []byte {
	t.Helper()
	dir, l := stateOf(t, archived)
	var b bytes.Buffer
	info, err := l.Export(t.Context(), &b, ExportOptions{Run: archived, State: dir, XrunVersion: "1"})
	if err != nil {
		t.Fatal(err)
	}
	if len(info.Files) != 3 || len(info.Omitted) != 1 || info.Omitted[0].Reason != "a link" {
		t.Fatalf("%+v", info)
	}
	return b.Bytes()
}

// take imports an archive as `xrun import` does.
func take(t *testing.T, l *Ledger, state string, archive []byte) (bool, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "a.tar.gz")
	put(t, file, string(archive))
	a, err := ReadArchive(t.Context(), file, 1<<20)
	if err != nil {
		return false, err
	}
	if err := l.MayImport(t.Context(), a); err != nil {
		return false, err
	}
	if err := a.Unpack(t.Context(), state); err != nil {
		return false, err
	}
	return l.Import(t.Context(), a, time.Now())
}

func TestARunGoesFromOneLedgerIntoAnother(t *testing.T) {
	archive := exported(t)
	dir := t.TempDir()
	l := open(t, dir)
	add(t, l, "20260101-000000-bbbb", RunStarted{})
	if done, err := take(t, l, dir, archive); err != nil || !done {
		t.Fatal(done, err)
	}
	events := all(t, l, archived)
	if b, ok := events[0].Body.(RunImported); !ok || b.From != "ann@lab" || b.Omitted != 1 || events[0].Seq != 2 {
		t.Errorf("%+v", events[0])
	}
	for _, e := range events {
		if b, ok := e.Body.(AttemptFinished); ok && (b.KeptDir != "" || len(b.Kept) != 1) {
			t.Errorf("what stayed on a host of theirs: %q in %q", b.Kept, b.KeptDir)
		}
	}
	if len(events) != len(runOf(""))+1 || events[1].At.Year() != 2026 {
		t.Errorf("%d events, the first of %v", len(events), events[1].At)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "runs", archived, "train/t1/attempt-1/artifacts/model")); err != nil || string(b) != "weights" {
		t.Error(string(b), err)
	}
	// Twice is once, and brings back what was lost.
	if err := os.RemoveAll(filepath.Join(dir, "runs", archived)); err != nil {
		t.Fatal(err)
	}
	if done, err := take(t, l, dir, archive); err != nil || done || len(all(t, l, archived)) != len(events) {
		t.Error(done, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "runs", archived, "train/t1/attempt-1/log")); err != nil {
		t.Error(err)
	}
	// What was imported can be passed on, as it was.
	var b bytes.Buffer
	if _, err := l.Export(t.Context(), &b, ExportOptions{Run: archived, State: dir, XrunVersion: "1"}); err != nil {
		t.Fatal(err)
	}
	third := t.TempDir()
	if done, err := take(t, open(t, third), third, b.Bytes()); err != nil || !done {
		t.Error(done, err)
	}
}

func TestAnImportedResultStandsBehindOurs(t *testing.T) {
	archive := exported(t)
	dir := t.TempDir()
	l := open(t, dir)
	if _, err := take(t, l, dir, archive); err != nil {
		t.Fatal(err)
	}
	if r := results(t, l); len(r) != 1 || r[0].Run != archived {
		t.Errorf("theirs alone: %+v", r)
	}
	other, ours := t.TempDir(), "20260101-000000-bbbb"
	m := open(t, other)
	add(t, m, ours, runOf(ours)...)
	if _, err := take(t, m, other, archive); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		r, points := results(t, m), collect(t, m.Points(t.Context()))
		if len(r) != 1 || r[0].Run != ours || len(points) != 1 || points[0].Trial != "t1" {
			t.Errorf("ours before: %+v %v", r, points)
		}
		if err := m.Rebuild(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestWhatNoArchiveMayIsRefusedWithNothingChanged(t *testing.T) {
	good := exported(t)
	es := entries(t, good)
	with := func(change func(es []entry) []entry) []byte { return packed(t, change(append([]entry{}, es...))) }
	flipped := bytes.Clone(good)
	flipped[len(flipped)/2] ^= 0x40
	swap := func(old, now string) []byte {
		return withEvents(t, good, func(s string) string { return strings.ReplaceAll(s, old, now) })
	}
	lines := func(keep func(string) bool) []byte {
		return withEvents(t, good, func(s string) string {
			var b strings.Builder
			for l := range strings.Lines(s) {
				if keep(l) {
					b.WriteString(l)
				}
			}
			return b.String()
		})
	}
	for name, b := range map[string][]byte{
		"nothing": {}, "a text": []byte("hello"), "cut": good[:len(good)-9], "cut in its middle": good[:len(good)/2], "a byte flipped": flipped,
		"a gzip of something": packed(t, nil),
		"up":                  addFile(t, good, "runs/../../evil"), "absolute": addFile(t, good, "/tmp/evil"), "the ledger": addFile(t, good, "ledger.db"),
		"code": addFile(t, good, "code/runs/x/y/z.json"), "a request": addFile(t, good, "runs/"+archived+"/control/a/b.json"),
		"another run's plan": addFile(t, good, "runs/other/plan.json"), "a report": addFile(t, good, "runs/"+archived+"/report.md"),
		"up in a trial": addFile(t, good, "runs/"+archived+"/train/../../../x/y/z"), "a dot": addFile(t, good, "runs/"+archived+"/train/./t/a/log"),
		"twice":           addFile(t, good, "runs/"+archived+"/train/t1/attempt-1/log"),
		"below a file":    addFile(t, good, "runs/"+archived+"/train/t1/attempt-1/log/x"),
		"too large":       forge(t, good, func(i *ArchiveInfo, f map[string]string) { f[i.Files[1].Path] = strings.Repeat("0", 2<<20) }),
		"size below 0":    forge(t, good, func(i *ArchiveInfo, _ map[string]string) { i.Files[0].Size, i.Files[0].SHA256 = -1, "keep" }),
		"sizes that wrap": forge(t, good, func(i *ArchiveInfo, _ map[string]string) { i.Files[0].Size, i.Files[0].SHA256 = 1<<63-1, "keep" }),
		"another version": forge(t, good, func(i *ArchiveInfo, _ map[string]string) { i.Version = 2 }),
		"newer events":    forge(t, good, func(i *ArchiveInfo, _ map[string]string) { i.EventSchema = 2 }),
		"a run id":        forge(t, good, func(i *ArchiveInfo, _ map[string]string) { i.Run = "../x" }),
		"more than listed": with(func(es []entry) []entry {
			return append(es, entry{tar.Header{Name: "more", Typeflag: tar.TypeReg}, "x"})
		}),
		"less than listed": with(func(es []entry) []entry { return es[:len(es)-1] }),
		"another order":    with(func(es []entry) []entry { es[2], es[3] = es[3], es[2]; return es }),
		"a link": with(func(es []entry) []entry {
			es[3] = entry{tar.Header{Name: es[3].Name, Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}, ""}
			return es
		}),
		"other bytes":         with(func(es []entry) []entry { es[3].text = strings.ToUpper(es[3].text); return es }),
		"of another run":      swap(`"run":"`+archived, `"run":"20260102-030405-bbbb`),
		"a log elsewhere":     swap(`"log":"runs/`, `"log":"../runs/`),
		"an absolute log":     swap(`"log":"runs/`, `"log":"/etc/runs/`),
		"an artifact up":      swap(`"artifacts":["model"]`, `"artifacts":["../../../../ledger.db"]`),
		"a place of ours":     swap(`"artifacts":["model"]`, `"artifacts":["model"],"kept":["id_rsa"],"kept_dir":"/home/bob/.ssh"`),
		"no JSON":             swap(`{"seq":0,`, `{`+"\x00"),
		"an unknown type":     swap(`"type":"run_finished"`, `"type":"run_blessed"`),
		"bodies of no sense":  swap(`"type":"run_finished"`, `"type":"warning","version":7`),
		"imported before":     swap(`"type":"run_finished"`, `"type":"run_imported"`),
		"skipped":             swap(`"type":"run_finished"`, `"type":"run_skipped"`),
		"an open attempt":     lines(func(l string) bool { return !strings.Contains(l, `"attempt_finished"`) }),
		"without a beginning": lines(func(l string) bool { return !strings.Contains(l, `"run_started"`) }),
		"no events":           lines(func(string) bool { return false }),
	} {
		dir := t.TempDir()
		l := open(t, dir)
		add(t, l, "20260101-000000-bbbb", RunStarted{})
		before := listing(t, dir)
		_, err := take(t, l, dir, b)
		e, ok := errors.AsType[*ArchiveError](err)
		if !ok || e.Hint() == "" {
			t.Errorf("%s: %v", name, err)
		}
		if after := listing(t, dir); after != before {
			t.Errorf("%s: there is now\n%s", name, after)
		}
		if runs := must[[]Run](t)(l.Runs(t.Context())); len(runs) != 1 {
			t.Errorf("%s: %d runs", name, len(runs))
		}
	}
}

// listing names what is below a directory.
func listing(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		fmt.Fprintln(&b, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestARunThatIsThereOtherwiseStays(t *testing.T) {
	archive := exported(t)
	dir, l := stateOf(t, archived)
	add(t, l, archived, Warning{Message: "one more"})
	if _, err := take(t, l, dir, archive); err == nil || !strings.Contains(err.Error(), "is another") {
		t.Errorf("other events: %v", err)
	}
	other := t.TempDir()
	m := open(t, other)
	log := filepath.Join(other, "runs", archived, "train/t1/attempt-1/log")
	put(t, log, "loss=2\n")
	if _, err := take(t, m, other, archive); err == nil || !strings.Contains(err.Error(), "is another") {
		t.Errorf("another file: %v", err)
	}
	if b, err := os.ReadFile(log); err != nil || string(b) != "loss=2\n" || len(all(t, m, archived)) != 0 {
		t.Errorf("%q %v", b, err)
	}
	if found, err := filepath.Glob(filepath.Join(other, "*")); err != nil || len(found) != 4 { // ledger.db, its wal and shm, runs
		t.Errorf("%v %v", found, err)
	}
}

func TestWhatIsNotSettledIsNotExported(t *testing.T) {
	dir, l := stateOf(t, archived)
	add(t, l, archived, AttemptIntended{Attempt: Attempt{archivedTrial, 2}})
	_, err := l.Export(t.Context(), io.Discard, ExportOptions{Run: archived, State: dir})
	if e, ok := errors.AsType[*OpenError](err); !ok || e.Attempts != 1 {
		t.Error(err)
	}
}

func TestLargeFilesStayBehind(t *testing.T) {
	dir, l := stateOf(t, archived)
	info, err := l.Export(t.Context(), io.Discard, ExportOptions{Run: archived, State: dir, MaxFile: 6})
	if err != nil || len(info.Files) != 1 || len(info.Omitted) != 3 {
		t.Errorf("%+v %v", info, err)
	}
}
