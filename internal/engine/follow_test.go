package engine

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xrun-dev/xrun/internal/hosts/hosttest"
	"github.com/xrun-dev/xrun/internal/ledger"
)

// counting is a ledger that remembers what came together.
type counting struct {
	Recorder
	mu      sync.Mutex
	appends [][]ledger.Type
}

func (c *counting) Append(ctx context.Context, es ...ledger.Event) error {
	var types []ledger.Type
	for _, e := range es {
		types = append(types, e.Type)
	}
	c.mu.Lock()
	c.appends = append(c.appends, types)
	c.mu.Unlock()
	return c.Recorder.Append(ctx, es...)
}

// Each append waits for the disk: of a trial that is over at once there is one, after that of its intent.
func TestAQuickTrialIsRecordedAtOnce(t *testing.T) {
	inLab(t, 1, nil, func(l *lab) {
		l.host("a", 1, func(job) hosttest.Script { return hosttest.Script{Log: "loss: 0.5\n"} })
		l.say("r", ledger.RunStarted{})
		cfg := l.config("r")
		c := &counting{Recorder: cfg.Record}
		cfg.Record = c
		if _, err := Run(l.t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
		from := slices.IndexFunc(c.appends, func(types []ledger.Type) bool { return slices.Contains(types, "attempt_intended") })
		want := [][]ledger.Type{
			{"attempt_intended"},
			{"attempt_started", "metric_values", "attempt_finished", "trial_finished"},
			{"experiment_finished"},
			{"run_finished"},
		}
		if diff := cmp.Diff(want, c.appends[from:]); diff != "" {
			t.Error(diff)
		}
	})
}
