package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A damage is done to the files of a state directory while nobody has them open.
type damage struct {
	name string
	do   func(*lab)
	// forgets: what was recorded may be lost for good, so that a trial is run again.
	forgets bool
}

const (
	db  = "ledger.db"
	wal = "ledger.db-wal"
)

var damages = []damage{
	{name: "the ledger has no bytes", do: func(l *lab) { l.cut(db, 0) }},
	{name: "the ledger is cut", do: func(l *lab) { l.cut(db, 1+l.rng.Int64N(l.size(db))) }},
	{name: "the ledger is all zeros", do: func(l *lab) { l.zero(db, 0, l.size(db)) }},
	{name: "a page of the ledger is zeros", do: func(l *lab) { l.zero(db, l.rng.Int64N(l.size(db)/4096)*4096, 4096) }},
	{name: "the ledger is gone", do: func(l *lab) { l.remove(db) }},
	{name: "the ledger and its log are gone", do: func(l *lab) { l.remove(db, wal, "ledger.db-shm") }},
	{name: "the log is gone", do: func(l *lab) { l.remove(wal) }},
	{name: "the log is cut", do: func(l *lab) { l.cut(wal, l.rng.Int64N(1+l.size(wal))) }},
	{name: "the log is all zeros", do: func(l *lab) { l.zero(wal, 0, l.size(wal)) }},
	{name: "a part of the log is zeros", do: func(l *lab) { l.zero(wal, l.rng.Int64N(1+l.size(wal)), 4096) }},
	{name: "the index of the log is zeros", do: func(l *lab) { l.zero("ledger.db-shm", 0, l.size("ledger.db-shm")) }},
	{name: "the ledger is another file", do: func(l *lab) { l.write(db, strings.Repeat("not a ledger\n", 1000)) }},
	{name: "the events are cut", do: func(l *lab) { l.cutEach("runs/*/events.jsonl") }},
	{name: "the events are gone", do: func(l *lab) { l.remove("runs/*/events.jsonl") }},
	{name: "the plan, reports and results are cut", do: func(l *lab) {
		l.cutEach("runs/*/plan.json")
		l.cutEach("runs/*/report.*")
		l.cutEach("runs/*/*/*/attempt-*/result.json")
	}},
	{name: "a request is garbage", do: func(l *lab) {
		for _, dir := range l.glob("runs/*") {
			l.write(dir+"/control/stop-1.json", "{\"exper")
			l.write(dir+"/control/stop-2.json", "")
		}
	}},
	{name: "the lock, a note and .gitignore are garbage", do: func(l *lab) {
		l.write("lock", "{\"run\": \"2026")
		l.write("skipped/x.json", "\x00\x00")
		l.write(".gitignore", "")
	}},
	{name: "what the run began with is cut", do: func(l *lab) { l.cutEach("code/runs/*.json") }},
	{name: "the ledger is all zeros and the events are cut", forgets: true, do: func(l *lab) {
		l.zero(db, 0, l.size(db))
		l.cutEach("runs/*/events.jsonl")
	}},
	{name: "everything is gone but the logs", forgets: true, do: func(l *lab) { l.remove(db, wal, "ledger.db-shm", "runs/*/events.jsonl", "code") }},
}

// TestADamagedStateIsNeverStartedOverInSilence kills or interrupts a run, damages a file, and does what it is told to do.
// What finished before is known again, as far as any file still tells.
func TestADamagedStateIsNeverStartedOverInSilence(t *testing.T) {
	t.Parallel()
	want := unharmed(t)
	first := time.Now().Second()
	for n := range soaking(2, 2*len(damages)) {
		c := damages[(first+n)%len(damages)]
		t.Run(c.name, func(t *testing.T) {
			l := newLab(t, "kill")
			l.runs++
			after, signal := time.Duration(300+l.rng.IntN(1000))*time.Millisecond, []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM}[l.rng.IntN(2)]
			l.life(l.xrun("run", "-q"), func(pid int) {
				time.Sleep(after)
				_ = syscall.Kill(pid, signal) // one that ended meanwhile is no matter
			})
			if !began(l) {
				return // not even its start was recorded: a slow machine
			}
			l.lives++
			c.do(l)
			l.asTold()
			if !c.forgets {
				l.onceEach()
			}
			l.oneResultEach(40)
			l.sameReport(want)
		})
	}
}

// asTold runs xrun until it comes through, and takes its hints.
func (l *lab) asTold() {
	l.Helper()
	args := []string{"resume", "-q"}
	if l.rng.IntN(2) == 0 {
		args = []string{"run", "-q"}
		l.runs++
	}
	for range 3 {
		e := l.life(l.xrun(args...))
		switch {
		case e.code == 3 && !strings.Contains(e.said, "there is nothing to resume"):
			return
		case e.code == 3: // it had come to its end: a new one must find that all is there
		case !strings.Contains(e.said, "xrun: hint: ") || !strings.Contains(e.said, "run"):
			l.Fatalf("xrun %v: exit code %d, and no word of what to do\n%s", args, e.code, e.said)
		}
		args = []string{"run", "-q"}
		l.runs++
	}
	l.Fatalf("xrun does not come through")
}

func (l *lab) glob(pattern string) []string {
	l.Helper()
	found, err := filepath.Glob(filepath.Join(l.state, pattern))
	if err != nil {
		l.Fatal(err)
	}
	for i := range found {
		found[i] = strings.TrimPrefix(found[i], l.state+"/")
	}
	return found
}

func (l *lab) size(name string) int64 {
	fi, err := os.Stat(filepath.Join(l.state, name))
	if err != nil {
		return 0 // a log that is empty is not there
	}
	return fi.Size()
}

func (l *lab) cut(name string, size int64) {
	l.Helper()
	l.Logf("%s: %d bytes of %d are left", name, size, l.size(name))
	if l.size(name) == 0 {
		return
	}
	if err := os.Truncate(filepath.Join(l.state, name), size); err != nil {
		l.Fatal(err)
	}
}

func (l *lab) cutEach(pattern string) {
	l.Helper()
	for _, name := range l.glob(pattern) {
		l.cut(name, l.rng.Int64N(1+l.size(name)))
	}
}

func (l *lab) zero(name string, from, n int64) {
	l.Helper()
	if n = min(n, l.size(name)-from); n <= 0 {
		return
	}
	l.Logf("%s: %d zeros from %d", name, n, from)
	f, err := os.OpenFile(filepath.Join(l.state, name), os.O_WRONLY, 0)
	if err != nil {
		l.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(bytes.Repeat([]byte{0}, int(n)), from); err != nil {
		l.Fatal(err)
	}
}

func (l *lab) write(name, text string) {
	l.Helper()
	file := filepath.Join(l.state, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		l.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		l.Fatal(err)
	}
}

func (l *lab) remove(patterns ...string) {
	l.Helper()
	for _, p := range patterns {
		for _, name := range l.glob(p) {
			if err := os.RemoveAll(filepath.Join(l.state, name)); err != nil {
				l.Fatal(err)
			}
		}
	}
}
