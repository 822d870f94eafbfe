package ledger

import (
	"errors"
	"fmt"
	"iter"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

var runIDRE = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z-]{0,99}$`)

// notArchived are what stands beside the experiments in a run's directory and can be written again, or asks for
// something.
var notArchived = []string{"control", "figures"}

// checkArchivePath says what is wrong with the name of a file: a run's plan.json, or a file of a trial or an iteration.
func checkArchivePath(name, run string) error {
	parts := strings.Split(name, "/")
	switch {
	case path.Clean(name) != name || !filepath.IsLocal(name) || strings.ContainsRune(name, 0) || len(name) > 4096:
		return fmt.Errorf("%q is no path within a state directory", name)
	case len(parts) < 3 || parts[0] != "runs" || !runIDRE.MatchString(parts[1]):
		return fmt.Errorf("%q is no file of a run", name)
	case parts[1] == run && len(parts) == 3 && parts[2] == "plan.json":
		return nil
	case len(parts) < 5 || slices.Contains(notArchived, parts[2]):
		return fmt.Errorf("%q is no file of a trial", name)
	}
	return nil
}

// A reviewer looks at the events of a run on their way into or out of an archive.
type reviewer struct {
	run    string
	strict bool // what comes in, and not what goes out
	n      int
	open   map[Attempt]bool
	reused map[string]bool // directories of attempts of earlier runs
}

func newReviewer(run string) *reviewer {
	return &reviewer{run: run, open: map[Attempt]bool{}, reused: map[string]bool{}}
}

// over passes events on as long as they are well.
func (r *reviewer) over(events iter.Seq2[Event, error]) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for e, err := range events {
			if err == nil {
				err = r.look(e)
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

func (r *reviewer) look(e Event) error {
	if e.Type == (RunImported{}).EventType() {
		return nil // of the ledger that it comes from
	}
	r.n++
	if first := e.Type == (RunStarted{}).EventType(); first != (r.n == 1) {
		return fmt.Errorf("event %d is %s: a run begins once, with run_started", r.n, e.Type)
	}
	if e.Run != r.run || e.Version != SchemaVersion {
		return fmt.Errorf("event %d is of run %q and version %d, not of %s and %d", r.n, e.Run, e.Version, r.run, SchemaVersion)
	}
	switch b := e.Body.(type) {
	case RunSkipped:
		return errors.New("a start that was skipped is no run")
	case AttemptIntended:
		r.open[b.Attempt] = true
	case AttemptFinished:
		delete(r.open, b.Attempt)
		return r.outcome(b)
	case TrialFinished:
		if b.Reused != nil {
			if b.Reused.Outcome.Log != "" {
				r.reused[path.Dir(b.Reused.Outcome.Log)] = true
			}
			return r.outcome(b.Reused.Outcome)
		}
	}
	return nil
}

// outcome checks the paths that others will open.
func (r *reviewer) outcome(o AttemptFinished) error {
	if o.Log != "" {
		if err := checkArchivePath(o.Log, ""); err != nil {
			return fmt.Errorf("event %d: log: %w", r.n, err)
		}
	}
	if r.strict && o.KeptDir != "" {
		return fmt.Errorf("event %d: files of it are said to be in %q, on this machine", r.n, o.KeptDir)
	}
	for _, a := range slices.Concat(o.Artifacts, o.Kept) {
		if path.Clean(a) != a || !filepath.IsLocal(a) || strings.ContainsRune(a, 0) {
			return fmt.Errorf("event %d: artifact %q is no path within its directory", r.n, a)
		}
	}
	return nil
}

// end says what is wrong with the events as a whole.
func (r *reviewer) end() error {
	switch {
	case r.n == 0:
		return errors.New("it has no events")
	case len(r.open) > 0:
		return &OpenError{len(r.open)}
	}
	return nil
}

// An OpenError is a run with attempts whose outcome is not known: somebody who imports it could not find them out.
type OpenError struct{ Attempts int }

// Error counts them.
func (e *OpenError) Error() string {
	if e.Attempts == 1 {
		return "the outcome of 1 attempt is not known"
	}
	return fmt.Sprintf("the outcomes of %d attempts are not known", e.Attempts)
}

// Hint says what to do.
func (e *OpenError) Hint() string { return "`xrun resume` or `xrun stop --now` settles them" }
