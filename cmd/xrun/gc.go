package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/xrun-dev/xrun/internal/ledger"
	"github.com/xrun-dev/xrun/internal/plan"
)

type gcCmd struct {
	textOrJSON
	DryRun bool           `help:"Only say what would be removed."`
	Keep   positive       `placeholder:"N" help:"Keep the N newest runs, and remove the directories of older ones."`
	Older  *time.Duration `placeholder:"DURATION" help:"Remove only runs that ended longer ago, like 720h."`
}

// Help is the example.
func (gcCmd) Help() string {
	return "Example:\n  xrun gc --keep 30 --dry-run\n\nRemoves what nobody needs: directories of old runs (with --keep or --older; both have to hold), code that no run left needs,\nand what jobs left in the user's cache. Never what is unfinished, what runs, or what a run that is kept reused. The ledger\nkeeps every event: runs, show and report go on, and results are reused, unless one of their files is needed."
}

// A removal is something that goes.
type removal struct {
	Kind  string  `json:"kind"` // run, code, import, job, kept, checkpoint, setup, evaluation or trash
	Run   *string `json:"run"`
	Path  string  `json:"path"`
	Bytes int64   `json:"bytes"`

	spare  map[string]bool // directories below it that stay
	remove func() error    // nil: as a tree
}

// collected is the result of gc.
type collected struct {
	DryRun  bool      `json:"dry_run"`
	Removed []removal `json:"removed"`
	Bytes   int64     `json:"bytes"`
	Runs    int       `json:"runs"` // whose directories went
	Kept    int       `json:"kept"` // runs that are left
	Notes   []string  `json:"notes"`
}

// Run cleans up.
func (c *gcCmd) Run(ctx context.Context, a *app) error {
	var older time.Duration
	if c.Older != nil {
		if older = *c.Older; older <= 0 { // 0 would mean that it was not given
			return usageError(errors.New("--older is a duration above 0"))
		}
	}
	state := a.findState()
	res := &collected{DryRun: c.DryRun, Removed: []removal{}, Notes: []string{}}
	if _, err := os.Stat(filepath.Join(state, ledger.FileName)); errors.Is(err, fs.ErrNotExist) {
		return c.tell(a, res)
	}
	var l *ledger.Ledger
	if c.DryRun {
		var err error
		if l, err = ledger.OpenReader(ctx, state); err != nil {
			return err
		}
		defer l.Close()
	} else {
		s, err := a.open(ctx, state, "")
		if err != nil {
			return err
		}
		defer s.close()
		l = s.ledger
	}
	g := &garbage{state: state, keep: int(c.Keep), older: older, now: a.now(), cache: true, collected: res}
	if err := g.collect(ctx, l); err != nil {
		return err
	}
	if !c.DryRun {
		if err := g.remove(ctx); err != nil {
			return err
		}
	}
	return c.tell(a, res)
}

func (c *gcCmd) tell(a *app, res *collected) error {
	if c.Output == "json" {
		return a.printJSON(res)
	}
	if a.Quiet {
		return nil
	}
	counts, order := map[string]int{}, []string{}
	bytes := map[string]int64{}
	for _, r := range res.Removed {
		if counts[r.Kind] == 0 {
			order = append(order, r.Kind)
		}
		counts[r.Kind]++
		bytes[r.Kind] += r.Bytes
		if r.Kind == "run" {
			fmt.Fprintf(a.stdout, "%-10s %s  %s\n", r.Kind, *r.Run, plan.Bytes(r.Bytes))
		}
	}
	for _, kind := range order {
		if kind != "run" {
			fmt.Fprintf(a.stdout, "%-10s %s  %s\n", kind, count(counts[kind], "item"), plan.Bytes(bytes[kind]))
		}
	}
	for _, n := range res.Notes {
		fmt.Fprintf(a.stderr, "xrun: warning: %s\n", visible(n))
	}
	what := "removed"
	if res.DryRun {
		what = "would be removed"
	}
	_, err := fmt.Fprintf(a.stdout, "%s %s; %s kept\n", plan.Bytes(res.Bytes), what, count(res.Kept, "run"))
	return err
}

// remove removes what was found. A file that is not where it was is no error: somebody else was faster.
func (g *garbage) remove(ctx context.Context) error {
	var errs []error
	for _, r := range g.Removed {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		switch {
		case r.remove != nil:
			errs = append(errs, r.remove())
		case len(r.spare) > 0:
			errs = append(errs, removeBut(r.Path, r.spare))
		default:
			errs = append(errs, os.RemoveAll(r.Path))
		}
	}
	return errors.Join(errs...)
}

// removeBut removes what is below dir, except for the directories in spare and those that lead to them.
func removeBut(dir string, spare map[string]bool) error {
	names, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range names {
		path := filepath.Join(dir, e.Name())
		switch {
		case spare[path]:
		case leadsTo(path, spare):
			errs = append(errs, removeBut(path, spare))
		default:
			errs = append(errs, os.RemoveAll(path))
		}
	}
	return errors.Join(errs...)
}

func leadsTo(path string, spare map[string]bool) bool {
	for s := range spare {
		if inside(path, s) {
			return true
		}
	}
	return false
}
