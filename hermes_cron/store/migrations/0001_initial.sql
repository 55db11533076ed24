-- The first schema. Generated from hermes_cron/store/tables.py; never edited after a release.

CREATE TABLE counters (
  name VARCHAR NOT NULL,
  labels VARCHAR NOT NULL,
  value FLOAT NOT NULL,
  PRIMARY KEY (name, labels)
);

CREATE TABLE jobs (
  uid VARCHAR NOT NULL,
  name VARCHAR NOT NULL,
  name_key VARCHAR NOT NULL,
  file_name VARCHAR NOT NULL,
  file_stat VARCHAR NOT NULL,
  file_hash VARCHAR NOT NULL,
  spec TEXT,
  broken TEXT,
  summary TEXT NOT NULL,
  revision INTEGER NOT NULL,
  anchor DATETIME NOT NULL,
  first_seen DATETIME NOT NULL,
  settled_until DATETIME NOT NULL,
  next_due DATETIME,
  fired INTEGER NOT NULL,
  held_reason VARCHAR,
  held_at DATETIME,
  removed_at DATETIME,
  removed_by VARCHAR,
  PRIMARY KEY (uid)
);

CREATE INDEX ix_jobs_file_hash ON jobs (file_hash);

CREATE INDEX ix_jobs_file_name ON jobs (file_name);

CREATE UNIQUE INDEX jobs_name_key ON jobs (name_key) WHERE removed_at IS NULL;

CREATE INDEX jobs_next_due ON jobs (next_due) WHERE next_due IS NOT NULL;

CREATE TABLE meta (
  "key" VARCHAR NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY ("key")
);

CREATE TABLE job_revisions (
  job_uid VARCHAR NOT NULL,
  revision INTEGER NOT NULL,
  effective_from DATETIME NOT NULL,
  effective_until DATETIME,
  name VARCHAR NOT NULL,
  schedule TEXT NOT NULL,
  "trigger" TEXT,
  timezone VARCHAR NOT NULL,
  tzdata VARCHAR NOT NULL,
  policy TEXT NOT NULL,
  paused VARCHAR,
  actor VARCHAR NOT NULL,
  PRIMARY KEY (job_uid, revision),
  FOREIGN KEY(job_uid) REFERENCES jobs (uid)
);

CREATE TABLE occurrence_spans (
  id INTEGER NOT NULL,
  job_uid VARCHAR NOT NULL,
  revision INTEGER NOT NULL,
  first_at DATETIME NOT NULL,
  last_at DATETIME NOT NULL,
  count INTEGER NOT NULL,
  state VARCHAR NOT NULL,
  reason VARCHAR,
  run_id VARCHAR,
  noted_at DATETIME NOT NULL,
  PRIMARY KEY (id),
  CONSTRAINT occurrence_spans_once UNIQUE (job_uid, first_at),
  CONSTRAINT occurrence_spans_state CHECK (state IN ('ran', 'skipped', 'merged', 'missed')),
  FOREIGN KEY(job_uid) REFERENCES jobs (uid)
);

CREATE INDEX occurrence_spans_last_at ON occurrence_spans (job_uid, last_at);

CREATE TABLE occurrences (
  id INTEGER NOT NULL,
  job_uid VARCHAR NOT NULL,
  scheduled_at DATETIME NOT NULL,
  state VARCHAR NOT NULL,
  reason VARCHAR,
  run_id VARCHAR,
  late BOOLEAN NOT NULL,
  noted_at DATETIME NOT NULL,
  PRIMARY KEY (id),
  CONSTRAINT occurrences_once UNIQUE (job_uid, scheduled_at),
  CONSTRAINT occurrences_state CHECK (state IN ('ran', 'skipped', 'merged', 'missed')),
  FOREIGN KEY(job_uid) REFERENCES jobs (uid)
);

CREATE INDEX ix_occurrences_run_id ON occurrences (run_id);

CREATE INDEX occurrences_scheduled_at ON occurrences (scheduled_at);

CREATE TABLE runs (
  id VARCHAR NOT NULL,
  job_uid VARCHAR,
  job_name VARCHAR NOT NULL,
  cause VARCHAR NOT NULL,
  scheduled_at DATETIME,
  late BOOLEAN NOT NULL,
  spec TEXT NOT NULL,
  arguments TEXT NOT NULL,
  priority INTEGER NOT NULL,
  slot VARCHAR,
  state VARCHAR NOT NULL,
  reason VARCHAR,
  error TEXT,
  queued_at DATETIME NOT NULL,
  start_after DATETIME,
  started_at DATETIME,
  ended_at DATETIME,
  deadline_at DATETIME,
  owner VARCHAR,
  fence INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  takeovers INTEGER NOT NULL,
  cancel_requested_at DATETIME,
  cancel_by VARCHAR,
  steer TEXT,
  verdict VARCHAR,
  model VARCHAR,
  iterations INTEGER NOT NULL,
  tool_calls INTEGER NOT NULL,
  tool_errors INTEGER NOT NULL,
  tokens_input INTEGER NOT NULL,
  tokens_output INTEGER NOT NULL,
  tokens_cached INTEGER NOT NULL,
  cost_usd FLOAT,
  output_path VARCHAR,
  result TEXT,
  silent BOOLEAN NOT NULL,
  actor VARCHAR NOT NULL,
  PRIMARY KEY (id),
  CONSTRAINT runs_state CHECK (state IN ('queued', 'running', 'waiting_approval', 'waiting_retry', 'ok', 'failed', 'timeout', 'cancelled', 'interrupted', 'budget_exhausted', 'denied', 'skipped', 'unknown')),
  FOREIGN KEY(job_uid) REFERENCES jobs (uid)
);

CREATE INDEX ix_runs_owner ON runs (owner);

CREATE INDEX runs_waiting ON runs (job_uid) WHERE state = 'queued' AND slot IS NULL;

CREATE INDEX runs_active ON runs (state, queued_at) WHERE state IN ('queued', 'running', 'waiting_approval', 'waiting_retry');

CREATE INDEX runs_ended_at ON runs (ended_at);

CREATE INDEX runs_job ON runs (job_uid, queued_at);

CREATE UNIQUE INDEX runs_slot ON runs (slot) WHERE slot IS NOT NULL;

CREATE TABLE attempts (
  run_id VARCHAR NOT NULL,
  number INTEGER NOT NULL,
  owner VARCHAR NOT NULL,
  fence INTEGER NOT NULL,
  started_at DATETIME NOT NULL,
  ended_at DATETIME,
  state VARCHAR,
  reason VARCHAR,
  PRIMARY KEY (run_id, number),
  FOREIGN KEY(run_id) REFERENCES runs (id)
);

CREATE TABLE effects (
  session_id VARCHAR NOT NULL,
  seq INTEGER NOT NULL,
  run_id VARCHAR NOT NULL,
  tool VARCHAR NOT NULL,
  effect VARCHAR NOT NULL,
  "key" VARCHAR NOT NULL,
  arguments_hash VARCHAR NOT NULL,
  intent_at DATETIME NOT NULL,
  pgid INTEGER,
  pg_started VARCHAR,
  boot_id VARCHAR,
  receipt_at DATETIME,
  verdict VARCHAR,
  PRIMARY KEY (session_id, seq),
  FOREIGN KEY(run_id) REFERENCES runs (id)
);

CREATE INDEX ix_effects_run_id ON effects (run_id);

CREATE TABLE sessions (
  id VARCHAR NOT NULL,
  run_id VARCHAR NOT NULL,
  kind VARCHAR NOT NULL,
  parent_id VARCHAR,
  parent_seq INTEGER,
  started_at DATETIME NOT NULL,
  ended_at DATETIME,
  PRIMARY KEY (id),
  FOREIGN KEY(run_id) REFERENCES runs (id)
);

CREATE INDEX ix_sessions_run_id ON sessions (run_id);

CREATE TABLE usage (
  session_id VARCHAR NOT NULL,
  seq INTEGER NOT NULL,
  run_id VARCHAR NOT NULL,
  job_uid VARCHAR,
  phase VARCHAR NOT NULL,
  model VARCHAR NOT NULL,
  input INTEGER NOT NULL,
  output INTEGER NOT NULL,
  cached INTEGER NOT NULL,
  cache_write INTEGER NOT NULL,
  estimated BOOLEAN NOT NULL,
  cost_usd FLOAT,
  elapsed_ms INTEGER NOT NULL,
  at DATETIME NOT NULL,
  PRIMARY KEY (session_id, seq),
  FOREIGN KEY(run_id) REFERENCES runs (id)
);

CREATE INDEX ix_usage_at ON usage (at);

CREATE INDEX ix_usage_job_uid ON usage (job_uid);

CREATE INDEX ix_usage_run_id ON usage (run_id);

CREATE TABLE messages (
  session_id VARCHAR NOT NULL,
  seq INTEGER NOT NULL,
  role VARCHAR NOT NULL,
  body BLOB,
  call_id VARCHAR,
  tool VARCHAR,
  arguments_hash VARCHAR,
  ok BOOLEAN,
  exit_code INTEGER,
  started_ms INTEGER,
  elapsed_ms INTEGER,
  covers_from INTEGER,
  covers_to INTEGER,
  at DATETIME,
  PRIMARY KEY (session_id, seq),
  FOREIGN KEY(session_id) REFERENCES sessions (id)
);
