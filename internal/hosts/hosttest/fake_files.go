package hosttest

import (
	"context"
	"os"
	"path/filepath"
	"sort"

	"github.com/xrun-dev/xrun/internal/hosts"
)

// Fetch writes the log and the script's artifacts.
func (f *Fake) Fetch(_ context.Context, id, dir string, want hosts.Want) (b hosts.Brought, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	j := f.jobs[id]
	if f.down != nil || j == nil {
		return b, f.down
	}
	b.KeptDir = filepath.Join(dir, "kept on "+f.name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return b, err
	}
	if err := os.WriteFile(filepath.Join(dir, "log"), j.log, 0o600); err != nil {
		return b, err
	}
	for step, text := range j.script.StepLogs {
		if err := os.WriteFile(filepath.Join(dir, step+".log"), []byte(text), 0o600); err != nil {
			return b, err
		}
	}
	names := make([]string, 0, len(j.script.Artifacts))
	for name := range j.script.Artifacts {
		names = append(names, name)
	}
	sort.Strings(names)
	var sum int64
	for _, name := range names {
		content := j.script.Artifacts[name]
		kept := want.Keep != nil && want.Keep(name)
		if size := int64(len(content)); !kept && want.Limit > 0 && sum+size > want.Limit {
			b.Left, kept = append(b.Left, name), true // it stays for good, as what is to be kept does
		}
		if !kept {
			sum += int64(len(content))
		}
		to := filepath.Join(dir, "artifacts", name)
		if kept {
			to = filepath.Join(b.KeptDir, name)
		}
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return b, err
		}
		if err := os.WriteFile(to, []byte(content), 0o600); err != nil {
			return b, err
		}
		if kept {
			b.Kept = append(b.Kept, name)
		} else {
			b.Artifacts = append(b.Artifacts, name)
		}
	}
	return b, nil
}

// Discard forgets the artifacts and the log of an ended job, not how it ended.
func (f *Fake) Discard(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if j := f.jobs[id]; j != nil && j.phase == hosts.Ended {
		j.script.Artifacts, j.log = nil, nil
	}
}
