package hosts

import "os"

// Jobs lists the jobs that left something here, whoever started them, sorted.
func (l *Local) Jobs() []string {
	entries, err := os.ReadDir(l.home + "/" + dirJobs)
	if err != nil {
		l.log.Warn("jobs not listed", "error", err)
	}
	out := make([]string, 0, len(entries))
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}
