package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/xrun-dev/xrun/internal/engine/checkpoint"
	"github.com/xrun-dev/xrun/internal/ledger"
)

// stateName is the state directory at the root of a repository.
const stateName = ".xrun"

// findState is the state directory of a command without PATH: --state, or the first one from the current directory up,
// or where one would be made.
func (a *app) findState() string {
	if a.State != "" {
		return a.State
	}
	for dir := a.Dir; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, stateName, ledger.FileName)); err == nil {
			return filepath.Join(dir, stateName)
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	if root := checkpoint.FindRoot(a.Dir); root != "" {
		return filepath.Join(root, stateName)
	}
	return filepath.Join(a.Dir, stateName)
}

// makeState makes the state directory, out of reach of others and of git.
func makeState(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make state directory: %w", err)
	}
	ignore := filepath.Join(dir, ".gitignore")
	// An empty one is what a full disk leaves.
	if fi, err := os.Stat(ignore); errors.Is(err, os.ErrNotExist) || err == nil && fi.Size() == 0 {
		if err := os.WriteFile(ignore, []byte("*\n"), 0o600); err != nil {
			return fmt.Errorf("make state directory: %w", err)
		}
	}
	return nil
}

// A holder is who has the lock of a state directory.
type holder struct {
	Run   string    `json:"run"`
	PID   int       `json:"pid"`
	Since time.Time `json:"since"`
}

// A lockedError says who else is at work.
type lockedError struct{ holder holder }

func (e *lockedError) Error() string {
	who := "another xrun"
	if e.holder.Run != "" {
		who = "run " + e.holder.Run
	}
	if e.holder.PID == 0 {
		return who + " is active in this state directory"
	}
	return fmt.Sprintf("%s is active in this state directory (process %d, since %s)", who, e.holder.PID, e.holder.Since.UTC().Format(time.RFC3339))
}

// stateLock is the lock of a state directory. The kernel frees it with the process, so it is never stale.
type stateLock struct{ f *os.File }

// lockState takes the lock, or returns a lockedError. With wait it waits for it, once it has told for whom.
func lockState(ctx context.Context, dir string, wait func(*lockedError)) (*stateLock, error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock state directory: %w", err)
	}
	for told := false; ; told = true {
		err := takeLock(ctx, f)
		if err == nil {
			return &stateLock{f}, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errors.Join(fmt.Errorf("lock state directory %s: %w", dir, err), f.Close())
		}
		var h holder
		if b, err := os.ReadFile(f.Name()); err == nil {
			_ = json.Unmarshal(b, &h) // a holder that has not written its name yet stays "another xrun"
		}
		if wait == nil {
			return nil, errors.Join(&lockedError{h}, f.Close())
		}
		if !told {
			wait(&lockedError{h})
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(context.Cause(ctx), f.Close())
		case <-time.After(time.Second):
		}
	}
}

// takeLock takes the lock unless somebody keeps it: who only looks (lockHolder) has it for some microseconds.
func takeLock(ctx context.Context, f *os.File) error {
	for left := 10; ; left-- {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if left == 0 || !errors.Is(err, syscall.EWOULDBLOCK) {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// name writes who holds the lock.
func (l *stateLock) name(run string, now time.Time) error {
	b, err := json.Marshal(holder{run, os.Getpid(), now.UTC()})
	if err != nil {
		return err
	}
	if err := l.f.Truncate(0); err != nil {
		return err
	}
	_, err = l.f.WriteAt(append(b, '\n'), 0)
	return err
}

func (l *stateLock) release() error { return l.f.Close() }

// idAlphabet is in the order of ASCII, so that ids sort as their characters do.
const idAlphabet = "234567abcdefghijklmnopqrstuvwxyz"

// newRunID makes an id that sorts behind every id before it, whatever the clock says: the time and four characters that
// are random, or, where the clock stands or was set back, the successor of the newest.
func newRunID(now time.Time, newest string) (string, error) {
	if testOnlyID != nil {
		return testOnlyID(), nil
	}
	var b [4]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", fmt.Errorf("make a run id: %w", err)
	}
	for i := range b {
		b[i] = idAlphabet[b[i]%32]
	}
	// The first character leaves room for successors.
	b[0] = idAlphabet[int(b[0])%16]
	id := now.UTC().Format("20060102-150405-") + string(b[:])
	if id > newest {
		return id, nil
	}
	return successor(newest), nil
}

// successor is the next id behind id: the last characters counted up, and one more where they are at their end.
func successor(id string) string {
	b := []byte(id)
	for i := len(b) - 1; i >= 0 && b[i] != '-'; i-- {
		if k := strings.IndexByte(idAlphabet, b[i]); k >= 0 && k < len(idAlphabet)-1 {
			b[i] = idAlphabet[k+1]
			return string(b)
		}
		b[i] = idAlphabet[0]
	}
	return id + string(idAlphabet[0])
}

// lockHeldBy reports whether the run is active: the lock is held, in its name.
func lockHeldBy(dir, run string) bool {
	h, held := lockHolder(dir)
	return held && h.Run == run
}

// lockHolder is who has the lock; held is false where nobody has it, or has written a name. To look it takes the lock
// for a moment together with whoever else looks, and lockState gives it the time.
func lockHolder(dir string) (h holder, held bool) {
	f, err := os.Open(filepath.Join(dir, "lock"))
	if err != nil {
		return h, false
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB); err == nil {
		return h, false
	}
	err = json.NewDecoder(f).Decode(&h)
	return h, err == nil
}
