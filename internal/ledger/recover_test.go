package ledger

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// keep writes the files of events of runs, as a run does.
func keep(t *testing.T, l *Ledger, dir string, runs ...string) {
	t.Helper()
	for _, run := range runs {
		var b []byte
		for _, e := range all(t, l, run) {
			line := must[[]byte](t)(json.Marshal(e))
			b = append(append(b, line...), '\n')
		}
		lay(t, filepath.Join(dir, "runs", run, "events.jsonl"), b)
	}
}

func lay(t *testing.T, file string, b []byte) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, b, 0o600)); err != nil {
		t.Fatal(err)
	}
}

// lost is a state directory with two runs, their files of events, and what the ledger said.
func lost(t *testing.T) (dir string, said []Run) {
	t.Helper()
	dir = t.TempDir()
	l := open(t, dir)
	for _, run := range []string{"r1", "r2"} {
		add(t, l, run, RunStarted{Command: []string{"xrun"}}, ExperimentPlanned{Name: "e"}, TrialPlanned{Key: archivedTrial, Params: []byte("{}")},
			TrialFinished{Key: archivedTrial, State: Succeeded})
	}
	keep(t, l, dir, "r1", "r2")
	said = must[[]Run](t)(l.Runs(t.Context()))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return dir, said
}

func TestALedgerThatIsGoneIsMadeAgainFromTheFilesOfEvents(t *testing.T) {
	dir, said := lost(t)
	if err := os.Remove(filepath.Join(dir, FileName)); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenReader(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "has lost its newest part") {
		t.Errorf("a reader says %v", err)
	}
	l := open(t, dir)
	if diff := cmp.Diff(&Recovered{All: true, Events: 8, Runs: []string{"r1", "r2"}}, l.Recovered()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(said, must[[]Run](t)(l.Runs(t.Context()))); diff != "" {
		t.Error(diff)
	}
	add(t, l, "r3", RunStarted{})
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if r := open(t, dir).Recovered(); r != nil {
		t.Errorf("again: %+v", r)
	}
}

// An older copy, or a file whose log is gone.
func TestALedgerWithoutItsNewestPartGetsItBack(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir)
	add(t, l, "r1", RunStarted{}, Warning{"1"})
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	old := must[[]byte](t)(os.ReadFile(filepath.Join(dir, FileName)))
	l = open(t, dir)
	add(t, l, "r1", Warning{"2"})
	add(t, l, "skipped", RunSkipped{}) // leaves no file
	add(t, l, "r2", RunStarted{}, Warning{"3"})
	keep(t, l, dir, "r1", "r2")
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	lay(t, filepath.Join(dir, FileName), old)
	if _, err := OpenReader(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "r2/events.jsonl knows more") {
		t.Errorf("a reader says %v", err)
	}
	l = open(t, dir)
	if diff := cmp.Diff(&Recovered{Events: 3, Runs: []string{"r1", "r2"}}, l.Recovered()); diff != "" {
		t.Error(diff)
	}
	if es := append(all(t, l, "r1"), all(t, l, "r2")...); len(es) != 5 || es[4].Seq != 6 {
		t.Errorf("%v", es)
	}
}

func TestLinesThatAreNoEventsAreLeftOut(t *testing.T) {
	dir, _ := lost(t)
	file := filepath.Join(dir, "runs", "r2", "events.jsonl")
	b := must[[]byte](t)(os.ReadFile(file))
	lay(t, file, append(b[:len(b)-20], make([]byte, 100_000)...)) // the last is torn, and zeros follow
	lay(t, filepath.Join(dir, "runs", "r3", "events.jsonl"), []byte(strings.Split(string(b), "\n")[0]+"\n"))
	if err := os.Remove(filepath.Join(dir, FileName)); err != nil {
		t.Fatal(err)
	}
	l := open(t, dir)
	if diff := cmp.Diff(&Recovered{All: true, Events: 7, Runs: []string{"r1", "r2"}, Unread: 1}, l.Recovered()); diff != "" {
		t.Error(diff)
	}
}

func TestOnlyADamagedLedgerIsSetAside(t *testing.T) {
	good := good(t)
	middle := append([]byte{}, good...)
	clear(middle[len(middle)/2/4096*4096:][:4096])
	version := append([]byte{}, good...)
	version[63] = 2
	for name, c := range map[string]struct {
		bytes []byte
		aside bool
	}{
		"good":               {good, false},
		"of another version": {version, false},
		"nothing":            {nil, true},
		"half":               {good[:len(good)/2], true},
		"a page of zeros":    {middle, true},
	} {
		dir := t.TempDir()
		write(t, dir, c.bytes)
		for n := range 2 {
			moved, err := SetAside(t.Context(), dir)
			if err != nil {
				t.Fatal(err)
			}
			want := ""
			if c.aside {
				want = filepath.Join(dir, fmt.Sprint(FileName, ".damaged-", n+1))
				if b, err := os.ReadFile(want); err != nil || string(b) != string(c.bytes) {
					t.Errorf("%s: what was moved is changed: %v", name, err)
				}
				write(t, dir, c.bytes)
			}
			if moved != want {
				t.Errorf("%s: moved to %q, want %q", name, moved, want)
			}
		}
	}
}

func TestALogWithoutItsLedgerIsSetAside(t *testing.T) {
	dir := t.TempDir()
	lay(t, filepath.Join(dir, FileName+"-wal"), []byte("old"))
	if _, err := SetAside(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	if names := files(t, dir); len(names) != 1 || names[FileName+".damaged-1-wal"] == "" {
		t.Errorf("%v", names)
	}
	open(t, dir)
}

func TestACheckpointIsUsedByTheRunThatTookItOver(t *testing.T) {
	l := open(t, t.TempDir())
	for run, n := range map[string]int{"r1": 1, "r2": 2} {
		add(t, l, run, RunStarted{}, AttemptIntended{Attempt: Attempt{archivedTrial, n}, Checkpoint: "r1.e.t.1"}, AttemptIntended{Attempt: Attempt{archivedTrial, n + 1}})
	}
	used := must[*Used](t)(l.Used(t.Context()))
	runs := used.Checkpoints["r1.e.t.1"]
	slices.Sort(runs)
	if diff := cmp.Diff([]string{"r1", "r2"}, runs); diff != "" || len(used.Checkpoints) != 1 {
		t.Errorf("%v", used.Checkpoints)
	}
}
