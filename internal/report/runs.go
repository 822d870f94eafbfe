package report

import (
	"fmt"
	"io"
	"time"
)

// RunRow is one run of a list of runs. Its JSON is that of `xrun runs`.
type RunRow struct {
	ID          string      `json:"id"`
	Started     *time.Time  `json:"started"`
	Finished    *time.Time  `json:"finished"`
	WallS       float64     `json:"wall_s"`
	Outcome     string      `json:"outcome"`
	ExitCode    *int        `json:"exit_code"`
	Command     []string    `json:"command"`
	Experiments []string    `json:"experiments"`
	Trials      TrialTotals `json:"trials"`
}

// Row is the run for a list of runs.
func (s *State) Row() RunRow {
	i, t := s.runInfo(), s.Counts()
	r := RunRow{
		ID: s.run, Started: i.Started, Finished: i.Finished, WallS: t.WallS, Outcome: i.Outcome, ExitCode: i.ExitCode,
		Command: i.Command, Experiments: []string{}, Trials: t.Trials,
	}
	for _, x := range s.experiments {
		r.Experiments = append(r.Experiments, x.name)
	}
	return r
}

// RunsTable writes runs in the order given.
func RunsTable(w io.Writer, runs []RunRow) error {
	t := &table{titles: []string{"RUN", "STARTED (UTC)", " TOOK", "OUTCOME", " EXIT", " DONE", " FAILED", " LEFT", "EXPERIMENTS"}}
	for _, r := range runs {
		started, code := "", ""
		if r.Started != nil {
			started = r.Started.UTC().Format("2006-01-02 15:04")
		}
		if r.ExitCode != nil {
			code = fmt.Sprint(*r.ExitCode)
		}
		n := r.Trials
		t.add(r.ID, started, duration(r.WallS), r.Outcome, code, fmt.Sprint(n.Succeeded+n.Reused), fmt.Sprint(n.Failed),
			fmt.Sprint(n.Planned-n.Succeeded-n.Reused-n.Failed), list(r.Experiments, 4))
	}
	return t.write(w, "")
}
