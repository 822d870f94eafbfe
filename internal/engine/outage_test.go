package engine

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/xrun-dev/xrun/internal/hosts"
	"github.com/xrun-dev/xrun/internal/hosts/hosttest"
	"github.com/xrun-dev/xrun/internal/ledger"
)

func TestUnreachableIsNotFailed(t *testing.T) {
	inLab(t, 2, nil, func(l *lab) {
		h := l.host("a", 1, steps)
		time.AfterFunc(3*time.Minute, func() { h.Unreachable(true) })
		time.AfterFunc(6*time.Minute, func() { h.Unreachable(false) })
		time.AfterFunc(9*time.Minute+30*time.Second, func() { h.Unreachable(true) }) // ends while nobody sees it
		time.AfterFunc(14*time.Minute, func() { h.Unreachable(false) })
		wantOutcome(t, l.run("r"), "done", 0)
		l.want("r", "1: succeeded on a", "2: succeeded on a")
		first := bodies[ledger.TrialPlanned](l, "r")[0].Trial
		var states []string
		for _, s := range bodies[ledger.AttemptState](l, "r") {
			if s.Trial == first {
				states = append(states, string(s.State))
			}
		}
		if diff := cmp.Diff([]string{"unknown", "running", "unknown"}, states[:min(3, len(states))]); diff != "" {
			t.Error(diff)
		}
		l.wantWholeSeries("r")
		if n := len(h.Jobs()); n != 2 {
			t.Errorf("%d jobs", n)
		}
	})
}

func TestAHostThatIsGoneWhileAJobIsHandedOverIsAskedAgain(t *testing.T) {
	inLab(t, 1, nil, func(l *lab) {
		h := l.host("a", 1, ok)
		l.hosts["a"] = &cutOff{Fake: h}
		wantOutcome(t, l.run("r"), "done", 0)
		l.want("r", "1: succeeded on a")
		if n := len(h.Jobs()); n != 1 {
			t.Errorf("%d jobs", n)
		}
	})
}

// cutOff is a host whose connection breaks after it took a job, and once more while files come home.
type cutOff struct {
	*hosttest.Fake
	started, fetched bool
}

func (c *cutOff) Start(ctx context.Context, jobs []hosts.Job) []error {
	errs := c.Fake.Start(ctx, jobs)
	if !c.started {
		c.started = true
		errs[0] = hosts.ErrUnreachable
	}
	return errs
}

func (c *cutOff) Fetch(ctx context.Context, id, dir string, want hosts.Want) (hosts.Brought, error) {
	if !c.fetched {
		c.fetched = true
		return hosts.Brought{}, hosts.ErrUnreachable
	}
	return c.Fake.Fetch(ctx, id, dir, want)
}

func TestFilesThatDoNotComeHome(t *testing.T) {
	for name, c := range map[string]struct {
		script func(job) hosttest.Script
		want   string
	}{
		"a success is none": {ok, "1: failed sync on a"},
		"a failure is one":  {fails(3, "boom\n"), "1: failed exit on a"},
	} {
		inLab(t, 1, nil, func(l *lab) {
			l.hosts["a"] = noFiles{l.host("a", 1, c.script)}
			l.run("r")
			l.want("r", c.want)
			f := bodies[ledger.AttemptFinished](l, "r")[0]
			if !strings.Contains(f.Message+strings.Join(f.Notes, ""), "its files did not come home: quota") || f.Objective != nil || f.Signature == "" {
				t.Errorf("%s: %+v", name, f)
			}
			if name == "a failure is one" && !strings.Contains(f.Message, "boom") {
				t.Errorf("%s: %+v", name, f)
			}
		})
	}
}

type noFiles struct{ *hosttest.Fake }

func (noFiles) Fetch(context.Context, string, string, hosts.Want) (hosts.Brought, error) {
	return hosts.Brought{}, errors.New("quota")
}

func TestALedgerThatCannotBeWrittenStopsTheRunAndNoJob(t *testing.T) {
	inLab(t, 6, nil, func(l *lab) {
		h := l.host("a", 2, steps)
		l.say("r", ledger.RunStarted{})
		cfg := l.config("r")
		broken := &fullDisk{Recorder: l.ledger}
		cfg.Record = broken
		time.AfterFunc(12*time.Minute, func() { broken.full.Store(true) })
		_, err := Run(l.t.Context(), cfg)
		if err == nil || !strings.Contains(err.Error(), "disk is full") {
			t.Fatalf("%v", err)
		}
		begun := len(h.Jobs())
		time.Sleep(time.Hour)
		if n := len(h.Jobs()); n != begun {
			t.Errorf("%d jobs were started later", n-begun)
		}
		for _, j := range h.Jobs() {
			if e, _ := h.Watch(l.t.Context(), j.ID, &pulse{cancel: func() {}}); e.End == hosts.Stopped && !e.Started.IsZero() {
				t.Errorf("running job %s was stopped", j.ID)
			}
		}
		wantOutcome(t, l.resume("r"), "done", 0)
		for _, s := range l.story("r") {
			if !strings.Contains(s, ": succeeded on a") {
				t.Errorf("%s", s)
			}
		}
	})
}

// fullDisk is a ledger that cannot be written at times.
type fullDisk struct {
	Recorder
	full atomic.Bool
}

func (f *fullDisk) Append(ctx context.Context, events ...ledger.Event) error {
	if f.full.Load() {
		return errors.New("disk is full")
	}
	return f.Recorder.Append(ctx, events...)
}
