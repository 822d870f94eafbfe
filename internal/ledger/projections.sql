-- What is looked up, made of the events alone: written in the same transaction by project.go, dropped and made again by a
-- migration. Of the events themselves: those that are of no trial.
CREATE INDEX IF NOT EXISTS events_of_run ON events (run, seq) WHERE trial IS NULL;

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
	state      TEXT NOT NULL, -- queued, running, or how it ended
	planned    INTEGER NOT NULL, -- seq
	place      INTEGER NOT NULL, -- in the order of the plan
	seed       INTEGER NOT NULL,
	params     TEXT NOT NULL,    -- JSON, the same text for the same parameters
	cause      TEXT NOT NULL,    -- of how it ended
	objective  REAL,             -- of a trial that succeeded, if it has a number
	PRIMARY KEY (run, experiment, trial)
) STRICT;
CREATE INDEX trials_by_state ON trials (run, experiment, state, place);
-- All that a search by name=value reads.
CREATE INDEX trials_by_params ON trials (run, experiment, params, seed, place, trial);

-- Trials by how they ended; the state planned counts them all.
CREATE TABLE tallies (
	run        TEXT NOT NULL,
	experiment TEXT NOT NULL,
	state      TEXT NOT NULL,
	cause      TEXT NOT NULL,
	n          INTEGER NOT NULL,
	PRIMARY KEY (run, experiment, state, cause)
) STRICT, WITHOUT ROWID;

-- What the trials of the same parameters found together.
CREATE TABLE scores (
	run        TEXT NOT NULL,
	experiment TEXT NOT NULL,
	params     TEXT NOT NULL,
	place      INTEGER NOT NULL, -- of the first of them
	n          INTEGER NOT NULL, -- of those with a number
	mean       REAL NOT NULL,
	squares    REAL NOT NULL,    -- of the distances from the mean
	PRIMARY KEY (run, experiment, params)
) STRICT, WITHOUT ROWID;
CREATE INDEX scores_by_mean ON scores (run, experiment, mean, place);
CREATE INDEX scores_repeated ON scores (run, experiment, mean, n, squares) WHERE n > 1;

CREATE TABLE attempts (
	run        TEXT NOT NULL,
	experiment TEXT NOT NULL,
	trial      TEXT NOT NULL,
	attempt    INTEGER NOT NULL,
	host       TEXT NOT NULL,
	job        TEXT NOT NULL,
	job_dir    TEXT NOT NULL,
	outcome    INTEGER, -- seq of attempt_finished; null while open
	objective  REAL,    -- its number, if it has one
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
