package report_test

import (
	"fmt"
	"strings"

	"github.com/xrun-dev/xrun/internal/report"
)

// A report is made of the events of a run, as they come or as they are read from the ledger later.
func Example() {
	b := newRun("20260102-030405").sweep("lr", 2, "minimize val_loss", "lr=0.1,0.01")
	b.ok("lr", "lr=0.1 seed=0", 0.31).ok("lr", "lr=0.1 seed=1", 0.33)
	b.ok("lr", "lr=0.01 seed=0", 0.25).ok("lr", "lr=0.01 seed=1", 0.26)
	b.done("done", 0)

	s := report.Fold(b.events)
	r := s.Report(report.Options{XrunVersion: "0.1.0"})
	best := r.Experiments[0].Best
	fmt.Printf("%v: %.3f ± %.3f\n", best.Params, *best.Mean, *best.SD)
	for line := range strings.Lines(string(r.Markdown())) {
		if strings.HasPrefix(line, "# ") || strings.HasPrefix(line, "- **lr**") {
			fmt.Print(line)
		}
	}
	// Output:
	// lr=0.01: 0.255 ± 0.007
	// # 4 of 4 done
	// - **lr**: `lr=0.01` has the lowest val_loss, 0.2550 ± 0.0071 (mean ± sd, n = 2; 95 % interval 0.1915 to 0.3185). It can be told from the runner-up, `lr=0.1` (0.3200), with 95 % confidence. Picked from 2: expect a little less gain on new seeds.
}
