-- The ledger, version 2. Only events is written by hand; every other table is a projection of it (projections.sql).
CREATE TABLE events (
	seq        INTEGER PRIMARY KEY,
	run        TEXT NOT NULL,
	at         TEXT NOT NULL,
	type       TEXT NOT NULL,
	version    INTEGER NOT NULL,
	experiment TEXT,
	trial      TEXT,
	attempt    INTEGER,
	body       TEXT NOT NULL
) STRICT;
CREATE INDEX events_by_run ON events (run, seq);
CREATE INDEX events_by_trial ON events (run, trial, seq) WHERE trial IS NOT NULL;
