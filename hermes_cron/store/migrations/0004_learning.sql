-- What runs went through becomes what the next ones can use.

CREATE TABLE learned (
  number INTEGER NOT NULL,
  "key" VARCHAR,
  at DATETIME NOT NULL,
  actor VARCHAR NOT NULL,
  run_id VARCHAR,
  job_uid VARCHAR,
  job_name VARCHAR,
  session_id VARCHAR,
  review INTEGER,
  kind VARCHAR NOT NULL,
  name VARCHAR NOT NULL,
  change VARCHAR NOT NULL,
  lines TEXT NOT NULL,
  reason TEXT NOT NULL,
  state VARCHAR NOT NULL,
  "before" VARCHAR,
  "after" VARCHAR,
  approval INTEGER,
  details TEXT NOT NULL,
  told_at DATETIME,
  PRIMARY KEY (number),
  CONSTRAINT learned_once UNIQUE ("key")
);

CREATE INDEX ix_learned_run_id ON learned (run_id);

CREATE INDEX learned_at ON learned (at);

CREATE INDEX learned_untold ON learned (job_uid, number) WHERE told_at IS NULL;

CREATE TABLE skill_uses (
  number INTEGER NOT NULL,
  skill VARCHAR NOT NULL,
  kind VARCHAR NOT NULL,
  run_id VARCHAR NOT NULL,
  job_uid VARCHAR,
  "key" VARCHAR NOT NULL,
  at DATETIME NOT NULL,
  outcome VARCHAR,
  verdict VARCHAR,
  well BOOLEAN,
  PRIMARY KEY (number),
  CONSTRAINT skill_uses_once UNIQUE (run_id, skill, kind, "key")
);

CREATE INDEX skill_uses_judged ON skill_uses (skill, number, well) WHERE kind = 'use' AND well IS NOT NULL;

CREATE TABLE skill_totals (
  skill VARCHAR NOT NULL,
  job_uid VARCHAR NOT NULL,
  views INTEGER NOT NULL,
  uses INTEGER NOT NULL,
  well INTEGER NOT NULL,
  badly INTEGER NOT NULL,
  viewed_at DATETIME,
  used_at DATETIME,
  PRIMARY KEY (skill, job_uid)
);

CREATE TABLE nudges (
  job_uid VARCHAR NOT NULL,
  kind VARCHAR NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY (job_uid, kind)
);

CREATE TABLE reviews (
  number INTEGER NOT NULL,
  run_id VARCHAR NOT NULL,
  job_uid VARCHAR,
  job_name VARCHAR NOT NULL,
  brief VARCHAR NOT NULL,
  feedback INTEGER,
  state VARCHAR NOT NULL,
  reason VARCHAR,
  error TEXT,
  queued_at DATETIME NOT NULL,
  started_at DATETIME,
  ended_at DATETIME,
  owner VARCHAR,
  fence INTEGER DEFAULT 0 NOT NULL,
  takeovers INTEGER DEFAULT 0 NOT NULL,
  session_id VARCHAR,
  iterations INTEGER DEFAULT 0 NOT NULL,
  tokens_input INTEGER DEFAULT 0 NOT NULL,
  tokens_output INTEGER DEFAULT 0 NOT NULL,
  cost_usd FLOAT,
  PRIMARY KEY (number),
  FOREIGN KEY(run_id) REFERENCES runs (id)
);

CREATE INDEX ix_reviews_run_id ON reviews (run_id);

CREATE INDEX reviews_open ON reviews (state, queued_at) WHERE ended_at IS NULL;

CREATE TABLE feedback (
  number INTEGER NOT NULL,
  run_id VARCHAR NOT NULL,
  job_uid VARCHAR,
  text TEXT NOT NULL,
  by_whom VARCHAR NOT NULL,
  at DATETIME NOT NULL,
  PRIMARY KEY (number),
  FOREIGN KEY(run_id) REFERENCES runs (id)
);

CREATE INDEX ix_feedback_run_id ON feedback (run_id);

CREATE TABLE recall_vectors (
  engine VARCHAR NOT NULL,
  digest VARCHAR NOT NULL,
  vector BLOB NOT NULL,
  PRIMARY KEY (engine, digest)
);

ALTER TABLE approvals ADD COLUMN learned INTEGER;

ALTER TABLE reservations ADD COLUMN review INTEGER;
