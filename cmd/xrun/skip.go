package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
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
	id, err := newRunID(a.now(), "")
	if err != nil {
		return err
	}
	if id <= locked.holder.Run {
		// Within one second, or by a clock that was set back: it is behind the run that was in its way all the same.
		id = locked.holder.Run + id[len(id)-4:]
	}
	note := skipNote{ID: id, At: a.now().UTC(), Command: append([]string{"xrun"}, a.args...), Holder: locked.holder.Run}
	if err := writeJSON(filepath.Join(state, skipDir, id+".json"), note); err != nil {
		return err
	}
	return &cliError{
		code: exitSkipped, kind: "skipped", msg: "skipped: " + locked.Error(),
		hint: "the next report says so; --overlap wait waits instead",
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
