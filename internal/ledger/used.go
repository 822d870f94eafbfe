package ledger

import "context"

// Used is what runs refer to on disk, for who cleans up.
type Used struct {
	// Jobs are the runs that have an attempt as this job: two where one took it over.
	Jobs map[string][]string
	// Checkpoints are the runs that have an attempt with a checkpoint of this name: two where one took it over.
	Checkpoints map[string][]string
	// Setups are the runs that have a trial with this setup key.
	Setups map[string][]string
	// Logs are, by run, the logs of earlier attempts whose results it reused, below the state directory.
	Logs map[string][]string
	// Kept are the runs that reused a result some files of which stayed in this directory of a host.
	Kept map[string][]string
}

// Used lists what the runs of the ledger refer to.
func (l *Ledger) Used(ctx context.Context) (*Used, error) {
	u := &Used{Jobs: map[string][]string{}, Checkpoints: map[string][]string{}, Setups: map[string][]string{}, Logs: map[string][]string{}, Kept: map[string][]string{}}
	for _, q := range []struct {
		into  map[string][]string
		query string
	}{
		{u.Jobs, `SELECT DISTINCT job, run FROM attempts`},
		{u.Checkpoints, `SELECT DISTINCT json_extract(body, '$.checkpoint') AS checkpoint, run FROM events
			WHERE type = 'attempt_intended' AND checkpoint IS NOT NULL`},
		{u.Setups, `SELECT DISTINCT json_extract(parts, '$.setup') AS setup, run FROM trials WHERE setup IS NOT NULL`},
		{u.Logs, `SELECT run, json_extract(body, '$.reused.outcome.log') AS log FROM events
			WHERE type = 'trial_finished' AND log IS NOT NULL AND log <> ''`},
		{u.Kept, `SELECT json_extract(body, '$.reused.outcome.kept_dir') AS kept, run FROM events
			WHERE type = 'trial_finished' AND kept IS NOT NULL AND kept <> ''`},
	} {
		if err := l.refer(ctx, q.into, q.query); err != nil {
			return nil, err
		}
	}
	return u, nil
}

func (l *Ledger) refer(ctx context.Context, into map[string][]string, query string) error {
	if l.db == nil {
		return nil
	}
	rows, err := l.db.QueryContext(ctx, query)
	if err != nil {
		return readError(err)
	}
	defer rows.Close()
	for rows.Next() {
		var k, v string
		if err := rows.Scan(&k, &v); err != nil {
			return readError(err)
		}
		into[k] = append(into[k], v)
	}
	return rowsError(rows)
}
