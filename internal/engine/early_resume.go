package engine

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/xrun-dev/xrun/internal/engine/metric"
)

// remember enters what the trials of a resumed run printed at the rungs before: those that come are compared with them. The
// steps are in the logs alone. What is adopted is followed from the beginning of its log anyway.
func (d *declaration) remember(e *experimentState) error {
	if e.ladder == nil || d.Seen == nil {
		return nil
	}
	e.climbed = map[string]int{}
	for i := range e.planned.Trials {
		t := &task{exp: e, trial: &e.planned.Trials[i]}
		adopted, runs := d.Adopt[t.trial.ID]
		for n := 1; n <= d.Seen.Attempts[t.key()]; n++ {
			a := newAttempt(d.Run, e.spec, t.trial, n, "")
			if runs && adopted.Run == d.Run && adopted.Attempt == a.Attempt {
				continue
			}
			if err := e.climbAgain(t, filepath.Join(a.dir(d.State), "log")); err != nil {
				return fmt.Errorf("early stop: attempt %d of %s/%s: %w", n, a.Experiment, a.Trial, err)
			}
		}
		e.climbed[t.trial.ID] = t.rung
	}
	return nil
}

// climbAgain reads a log that came home. One that is gone says nothing.
func (e *experimentState) climbAgain(t *task, name string) error {
	log, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer log.Close()
	c := newClimber(e.spec, func(p progress) { e.ladder.note(t, p, e.spec.Objective.Maximize()) })
	x := metric.New(heardWants(e.spec, c), c.reading)
	if _, err := io.Copy(x, log); err != nil {
		return err
	}
	x.Close(true)
	c.close()
	return nil
}
