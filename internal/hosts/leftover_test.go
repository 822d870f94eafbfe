package hosts_test

import (
	"os"
	"testing"

	"github.com/xrun-dev/xrun/internal/hosts"
)

// What a step leaves running is ended; it is no reason not to go on to the next.
func TestLeftoversEndAndTheNextStepComes(t *testing.T) {
	t.Parallel()
	l := newLocal(t, nil)
	leaves := []string{"sh", "-c", "echo said; sleep 300 & exit 0"}
	job := hosts.Job{
		ID: "job", Argv: leaves,
		Setup:    &hosts.Setup{Key: "k", Step: hosts.Step{Argv: leaves}},
		Evaluate: &hosts.Evaluation{Step: hosts.Step{Argv: []string{"echo", "measured"}}},
	}
	exit, log := run(t, l, job)
	if exit.End != hosts.Exited || exit.Code != 0 || exit.Step != "" || log != "said\n" {
		t.Errorf("%+v, log %q", exit, log)
	}
	if b, err := os.ReadFile(place(t, l, "job").Dir + "/evaluate.log"); string(b) != "measured\n" {
		t.Errorf("the evaluation says %q, %v", b, err)
	}
}
