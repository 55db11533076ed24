-- What was said in sessions can be found.

ALTER TABLE sessions ADD COLUMN indexed_at DATETIME;

CREATE INDEX sessions_unindexed ON sessions (started_at, id) WHERE indexed_at IS NULL;

CREATE TABLE indexed_sessions (
  number INTEGER NOT NULL,
  session_id VARCHAR NOT NULL,
  next_seq INTEGER NOT NULL,
  PRIMARY KEY (number),
  CONSTRAINT indexed_sessions_once UNIQUE (session_id),
  FOREIGN KEY(session_id) REFERENCES sessions (id)
);

CREATE VIRTUAL TABLE message_index USING fts5(words, content='', tokenize='ascii');

CREATE TABLE security_events (
  id INTEGER NOT NULL,
  noted_at DATETIME NOT NULL,
  guard VARCHAR NOT NULL,
  kind VARCHAR NOT NULL,
  verdict VARCHAR NOT NULL,
  place VARCHAR NOT NULL,
  job_name VARCHAR,
  run_id VARCHAR,
  PRIMARY KEY (id)
);

CREATE INDEX ix_security_events_run_id ON security_events (run_id);

CREATE INDEX security_events_noted_at ON security_events (noted_at);
