-- The ledger, version 1. Only events is written by hand; every other table is a projection of it, written in the same
-- transaction by project.go, and can be dropped and made again.
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

CREATE TABLE runs (
	run         TEXT PRIMARY KEY,
	started     TEXT NOT NULL,
	finished    TEXT,
	outcome     TEXT NOT NULL, -- running, interrupted, skipped, or that of run_finished
	exit_code   INTEGER,
	plan_digest TEXT NOT NULL,
	command     TEXT NOT NULL,
	-- trials by state
	planned       INTEGER NOT NULL DEFAULT 0,
	succeeded     INTEGER NOT NULL DEFAULT 0,
	reused        INTEGER NOT NULL DEFAULT 0,
	failed        INTEGER NOT NULL DEFAULT 0,
	stopped_early INTEGER NOT NULL DEFAULT 0,
	cancelled     INTEGER NOT NULL DEFAULT 0,
	lost          INTEGER NOT NULL DEFAULT 0,
	not_run       INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE experiments (
	run        TEXT NOT NULL,
	experiment TEXT NOT NULL,
	PRIMARY KEY (run, experiment)
) STRICT;

CREATE TABLE trials (
	run        TEXT NOT NULL,
	experiment TEXT NOT NULL,
	trial      TEXT NOT NULL,
	point      TEXT NOT NULL,
	code       TEXT NOT NULL,
	parts      TEXT NOT NULL,
	state      TEXT NOT NULL,
	planned    INTEGER NOT NULL, -- seq
	PRIMARY KEY (run, experiment, trial)
) STRICT;

CREATE TABLE attempts (
	run        TEXT NOT NULL,
	experiment TEXT NOT NULL,
	trial      TEXT NOT NULL,
	attempt    INTEGER NOT NULL,
	host       TEXT NOT NULL,
	job        TEXT NOT NULL,
	job_dir    TEXT NOT NULL,
	outcome    INTEGER, -- seq of attempt_finished; null while open
	PRIMARY KEY (run, experiment, trial, attempt)
) STRICT;
CREATE INDEX attempts_open ON attempts (run) WHERE outcome IS NULL;

-- The newest result under each trial id; a success stays until another success.
CREATE TABLE results (
	trial      TEXT PRIMARY KEY,
	run        TEXT NOT NULL,
	experiment TEXT NOT NULL,
	state      TEXT NOT NULL,
	code       TEXT NOT NULL,
	parts      TEXT NOT NULL,
	duration_s REAL NOT NULL,
	outcome    INTEGER -- seq of the attempt_finished that counts
) STRICT;

-- The newest trial at each point of an experiment, whatever its id.
CREATE TABLE points (
	point TEXT PRIMARY KEY,
	trial TEXT NOT NULL,
	run   TEXT NOT NULL
) STRICT;

CREATE TABLE codes (
	code  TEXT PRIMARY KEY,
	files TEXT NOT NULL
) STRICT;
