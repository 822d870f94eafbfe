package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/xrun-dev/xrun/internal/ledger"
)

// A skipNote is left by a start that found another run active. The ledger has one writer, so the note waits in a file
// until the holder of the lock puts it there.
type skipNote struct {
	ID      string    `json:"id"`
	At      time.Time `json:"at"`
	Command []string  `json:"command"`
	Holder  string    `json:"holder"`
}

const skipDir = "skipped"

// skip leaves a note and says why nothing is done.
func (a *app) skip(state string, locked *lockedError) error {
	note := skipNote{At: a.now().UTC(), Command: append([]string{"xrun"}, a.args...), Holder: locked.holder.Run}
	if err := note.leave(filepath.Join(state, skipDir)); err != nil {
		return err
	}
	return &cliError{
		code: exitSkipped, kind: "skipped", msg: "skipped: " + locked.Error(),
		hint: "the next report says so; --overlap wait waits instead",
	}
}

// leave writes the note under an id behind that of the holder, so that it belongs to the holder's report, and behind
// those of the notes that are there. Another start may leave one at the same moment.
func (n skipNote) leave(dir string) error {
	newest := n.Holder
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return err
	}
	for _, f := range files {
		newest = max(newest, strings.TrimSuffix(filepath.Base(f), ".json"))
	}
	for {
		if n.ID, err = newRunID(n.At, newest); err != nil {
			return err
		}
		draft := filepath.Join(dir, fmt.Sprintf("%s.%d", n.ID, os.Getpid()))
		if err := writeJSON(draft, n); err != nil {
			return err
		}
		err := os.Link(draft, filepath.Join(dir, n.ID+".json"))
		if rerr := os.Remove(draft); err == nil || !errors.Is(err, fs.ErrExist) {
			return errors.Join(err, rerr)
		}
		newest = n.ID
	}
}

// recordSkips moves the notes into the ledger. A note that cannot be read is left where it is and said.
func (s *session) recordSkips(ctx context.Context) error {
	files, err := filepath.Glob(filepath.Join(s.state, skipDir, "*.json"))
	if err != nil {
		return err
	}
	runs, err := s.ledger.Runs(ctx)
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, r := range runs {
		known[r.ID] = true
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			return err
		}
		var n skipNote
		if err := json.Unmarshal(b, &n); err != nil || n.ID == "" {
			s.app.log.Warn("a note of a skipped start cannot be read", "file", f)
			continue
		}
		if !known[n.ID] {
			e := ledger.New(n.ID, n.At, ledger.RunSkipped{Command: n.Command, Holder: n.Holder})
			if err := s.ledger.Append(ctx, e); err != nil {
				return errors.Join(fmt.Errorf("record a skipped start"), err)
			}
		}
		if err := os.Remove(f); err != nil {
			return err
		}
	}
	return nil
}
