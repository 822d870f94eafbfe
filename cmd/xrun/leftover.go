package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/xrun-dev/xrun/internal/ledger"
)

// sweep discards the jobs whose outcome is recorded and whose files are home, but which xrun was killed before it could
// discard: their logs hold what was taken out of ours. The caller has settled what was open.
func (s *session) sweep(ctx context.Context) error {
	needed := map[string]bool{}
	for _, o := range s.running {
		needed[o.Job] = true
	}
	concluded := map[string]map[string]bool{} // by run the jobs
	for _, name := range sortedKeys(s.hosts) {
		h, ok := s.hosts[name].(interface{ Jobs() []string })
		if !ok {
			continue
		}
		for _, job := range h.Jobs() {
			run, _, _ := strings.Cut(job, ".")
			if concluded[run] == nil {
				var err error
				if concluded[run], err = s.concluded(ctx, run); err != nil {
					return err
				}
			}
			if concluded[run][job] && !needed[job] {
				s.hosts[name].Discard(job)
			}
		}
	}
	return nil
}

// concluded are the jobs of a run that nobody needs any more. One whose files did not come home is the only witness; only
// what came home has a result file.
func (s *session) concluded(ctx context.Context, run string) (map[string]bool, error) {
	jobs := map[ledger.Attempt]string{}
	out := map[string]bool{}
	for e, err := range s.ledger.Events(ctx, run) {
		if err != nil {
			return nil, err
		}
		switch b := e.Body.(type) {
		case ledger.AttemptIntended:
			jobs[b.Attempt] = b.Job
		case ledger.AttemptFinished:
			if b.Log == "" {
				continue
			}
			if _, err := os.Stat(filepath.Join(s.state, filepath.Dir(filepath.FromSlash(b.Log)), "result.json")); err == nil {
				out[jobs[b.Attempt]] = true
			}
		}
	}
	return out, nil
}
