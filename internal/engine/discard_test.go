package engine

import (
	"context"
	"errors"
	"testing"

	"github.com/xrun-dev/xrun/internal/hosts/hosttest"
	"github.com/xrun-dev/xrun/internal/ledger"
)

// keeper is a host that remembers what it was told to forget.
type keeper struct {
	*hosttest.Fake
	discarded int
}

func (k *keeper) Discard(id string) {
	k.discarded++
	k.Fake.Discard(id)
}

// forgetful is a ledger that does not take outcomes.
type forgetful struct{ Recorder }

var errFull = errors.New("disk full")

func (f forgetful) Append(ctx context.Context, es ...ledger.Event) error {
	for _, e := range es {
		if _, ok := e.Body.(ledger.AttemptFinished); ok {
			return errFull
		}
	}
	return f.Recorder.Append(ctx, es...)
}

func TestAJobIsTheWitnessUntilItsOutcomeIsRecorded(t *testing.T) {
	inLab(t, 1, nil, func(l *lab) {
		k := &keeper{Fake: l.host("a", 1, ok)}
		l.hosts["a"] = k
		l.say("r", ledger.RunStarted{})
		cfg := l.config("r")
		cfg.Record = forgetful{cfg.Record}
		if _, err := Run(l.t.Context(), cfg); !errors.Is(err, errFull) {
			t.Fatalf("got %v", err)
		}
		if k.discarded != 0 {
			t.Fatalf("the job was discarded %d times before its outcome was recorded", k.discarded)
		}
		if out := l.resume("r"); out.Counts[ledger.Succeeded] != 1 || k.discarded != 1 {
			t.Errorf("%+v, discarded %d times", out, k.discarded)
		}
		if n := len(k.Jobs()); n != 1 {
			t.Errorf("%d jobs were started, want 1", n)
		}
	})
}
