-- Runs that survive their owner, money, checks, deliveries and incidents.

ALTER TABLE jobs ADD COLUMN failures INTEGER DEFAULT 0 NOT NULL;

ALTER TABLE runs ADD COLUMN taken_at DATETIME;

ALTER TABLE runs ADD COLUMN active_ms INTEGER DEFAULT 0 NOT NULL;

ALTER TABLE runs ADD COLUMN waits INTEGER DEFAULT 0 NOT NULL;

ALTER TABLE runs ADD COLUMN takeover_step INTEGER;

ALTER TABLE runs ADD COLUMN check_inputs TEXT;

ALTER TABLE runs ADD COLUMN check_group VARCHAR;

ALTER TABLE runs ADD COLUMN check_results TEXT;

ALTER TABLE runs ADD COLUMN skills TEXT;

ALTER TABLE effects ADD COLUMN batch INTEGER DEFAULT 0 NOT NULL;

ALTER TABLE effects ADD COLUMN gated BOOLEAN DEFAULT 0 NOT NULL;

CREATE TABLE approvals (
  number INTEGER NOT NULL,
  run_id VARCHAR NOT NULL,
  job_uid VARCHAR,
  job_name VARCHAR NOT NULL,
  session_id VARCHAR NOT NULL,
  seq INTEGER NOT NULL,
  tool VARCHAR NOT NULL,
  arguments TEXT NOT NULL,
  evidence TEXT NOT NULL,
  asked_at DATETIME NOT NULL,
  expires_at DATETIME NOT NULL,
  decision VARCHAR,
  decided_at DATETIME,
  decided_by VARCHAR,
  reason TEXT,
  used_at DATETIME,
  PRIMARY KEY (number),
  CONSTRAINT approvals_once UNIQUE (session_id, seq, asked_at),
  FOREIGN KEY(run_id) REFERENCES runs (id)
);

CREATE INDEX approvals_open ON approvals (expires_at) WHERE decision IS NULL;

CREATE INDEX ix_approvals_run_id ON approvals (run_id);

CREATE TABLE spend (
  scope VARCHAR NOT NULL,
  "key" VARCHAR NOT NULL,
  period VARCHAR NOT NULL,
  tokens INTEGER NOT NULL,
  cost_usd FLOAT NOT NULL,
  unpriced INTEGER NOT NULL,
  PRIMARY KEY (scope, "key", period)
);

CREATE TABLE reservations (
  id VARCHAR NOT NULL,
  run_id VARCHAR NOT NULL,
  job_uid VARCHAR,
  fence INTEGER NOT NULL,
  model VARCHAR NOT NULL,
  tokens INTEGER NOT NULL,
  cost_usd FLOAT,
  day VARCHAR NOT NULL,
  month VARCHAR NOT NULL,
  at DATETIME NOT NULL,
  PRIMARY KEY (id),
  FOREIGN KEY(run_id) REFERENCES runs (id)
);

CREATE INDEX ix_reservations_run_id ON reservations (run_id);

CREATE TABLE incidents (
  number INTEGER NOT NULL,
  job_uid VARCHAR NOT NULL,
  job_name VARCHAR NOT NULL,
  kind VARCHAR NOT NULL,
  error TEXT,
  opened_at DATETIME NOT NULL,
  first_run VARCHAR NOT NULL,
  last_run VARCHAR NOT NULL,
  last_at DATETIME NOT NULL,
  failures INTEGER NOT NULL,
  ended_at DATETIME,
  ended_run VARCHAR,
  acked_at DATETIME,
  acked_by VARCHAR,
  PRIMARY KEY (number),
  FOREIGN KEY(job_uid) REFERENCES jobs (uid)
);

CREATE UNIQUE INDEX incidents_open ON incidents (job_uid, kind) WHERE ended_at IS NULL;

CREATE TABLE deliveries (
  number INTEGER NOT NULL,
  kind VARCHAR NOT NULL,
  run_id VARCHAR,
  job_uid VARCHAR,
  job_name VARCHAR NOT NULL,
  incident INTEGER,
  target VARCHAR NOT NULL,
  state VARCHAR NOT NULL,
  reason VARCHAR,
  title TEXT NOT NULL,
  body TEXT NOT NULL,
  text_hash VARCHAR,
  created_at DATETIME NOT NULL,
  next_try_at DATETIME,
  attempts INTEGER NOT NULL,
  sending_by VARCHAR,
  sending_since DATETIME,
  sent_at DATETIME,
  receipt TEXT,
  error TEXT,
  PRIMARY KEY (number),
  CONSTRAINT deliveries_state CHECK (state IN ('queued', 'held', 'sent', 'failed', 'unknown', 'silent'))
);

CREATE INDEX deliveries_due ON deliveries (next_try_at) WHERE state = 'queued';

CREATE INDEX deliveries_state ON deliveries (state, created_at, kind);

CREATE INDEX deliveries_target ON deliveries (job_uid, target, number);

CREATE INDEX ix_deliveries_run_id ON deliveries (run_id);
