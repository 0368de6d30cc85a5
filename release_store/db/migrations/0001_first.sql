-- The first schema. Times are ISO 8601 texts in UTC; structured values are canonical JSON texts.

CREATE TABLE store_info (name VARCHAR PRIMARY KEY, value VARCHAR NOT NULL);

CREATE TABLE event (
    number BIGINT PRIMARY KEY CHECK (number > 0),
    at_utc VARCHAR NOT NULL,
    actor VARCHAR NOT NULL,
    action VARCHAR NOT NULL,
    object VARCHAR NOT NULL,
    reason VARCHAR NOT NULL,
    payload VARCHAR NOT NULL,
    previous VARCHAR NOT NULL,
    hash VARCHAR NOT NULL
);

CREATE TABLE policy (digest VARCHAR PRIMARY KEY, document VARCHAR NOT NULL, first_seen VARCHAR NOT NULL);

CREATE TABLE input (
    digest VARCHAR PRIMARY KEY,
    n_rows BIGINT NOT NULL CHECK (n_rows >= 0),
    n_columns BIGINT NOT NULL CHECK (n_columns >= 0),
    first_seen VARCHAR NOT NULL
);

CREATE TABLE validation (
    number BIGINT PRIMARY KEY,
    series VARCHAR NOT NULL,
    period VARCHAR NOT NULL,
    input_digest VARCHAR NOT NULL REFERENCES input (digest),
    n_rows BIGINT NOT NULL,
    n_columns BIGINT NOT NULL,
    passed BOOLEAN NOT NULL,
    results VARCHAR NOT NULL,
    actor VARCHAR NOT NULL,
    at_utc VARCHAR NOT NULL
);

CREATE TABLE candidate_name (
    candidate_id VARCHAR PRIMARY KEY,
    series VARCHAR NOT NULL,
    period VARCHAR NOT NULL
);

CREATE TABLE candidate (
    candidate_id VARCHAR PRIMARY KEY,
    position BIGINT NOT NULL UNIQUE,
    series VARCHAR NOT NULL,
    period VARCHAR NOT NULL,
    state VARCHAR NOT NULL CHECK (state IN (
        'staged', 'assessed', 'blocked', 'awaiting_approval', 'approved', 'publishing', 'published',
        'rejected', 'expired', 'stale', 'failed')),
    made_by VARCHAR NOT NULL,
    made_at VARCHAR NOT NULL,
    policy_digest VARCHAR NOT NULL REFERENCES policy (digest),
    input_digest VARCHAR NOT NULL REFERENCES input (digest),
    candidate_digest VARCHAR NOT NULL,
    history_head VARCHAR NOT NULL,
    expires_at VARCHAR,
    summary VARCHAR NOT NULL
);

CREATE TABLE candidate_file (
    candidate_id VARCHAR NOT NULL REFERENCES candidate (candidate_id),
    name VARCHAR NOT NULL,
    sha256 VARCHAR NOT NULL,
    PRIMARY KEY (candidate_id, name)
);

CREATE TABLE gate_result (
    candidate_id VARCHAR NOT NULL REFERENCES candidate (candidate_id),
    position INTEGER NOT NULL,
    gate VARCHAR NOT NULL,
    verdict VARCHAR NOT NULL CHECK (verdict IN ('pass', 'fail', 'unknown', 'error', 'not_run')),
    value DOUBLE,
    threshold DOUBLE,
    relation VARCHAR NOT NULL,
    attacker VARCHAR NOT NULL,
    seconds DOUBLE NOT NULL,
    detail VARCHAR NOT NULL,
    witness VARCHAR NOT NULL,
    PRIMARY KEY (candidate_id, position)
);

CREATE TABLE decision (
    candidate_id VARCHAR NOT NULL REFERENCES candidate (candidate_id),
    position INTEGER NOT NULL,
    decision VARCHAR NOT NULL CHECK (decision IN ('approve', 'reject')),
    person VARCHAR NOT NULL,
    reason VARCHAR NOT NULL,
    at_utc VARCHAR NOT NULL,
    candidate_digest VARCHAR NOT NULL,
    policy_digest VARCHAR NOT NULL,
    history_head VARCHAR NOT NULL,
    PRIMARY KEY (candidate_id, position),
    UNIQUE (candidate_id, person)
);

CREATE TABLE release (
    release_id VARCHAR PRIMARY KEY,
    series VARCHAR NOT NULL,
    period VARCHAR NOT NULL,
    number INTEGER NOT NULL CHECK (number > 0),
    candidate_id VARCHAR NOT NULL UNIQUE REFERENCES candidate (candidate_id),
    state VARCHAR NOT NULL CHECK (state IN ('published', 'superseded', 'withdrawn')),
    published_at VARCHAR NOT NULL,
    summary VARCHAR NOT NULL,
    UNIQUE (series, number)
);

CREATE TABLE release_file (
    release_id VARCHAR NOT NULL REFERENCES release (release_id),
    name VARCHAR NOT NULL,
    sha256 VARCHAR NOT NULL,
    PRIMARY KEY (release_id, name)
);

-- Equivalence classes, kept by candidate from the start of its publication. Long tables without keys:
-- they are written and read whole, and an index would cost more than the rows.
CREATE TABLE class_attribute (
    candidate_id VARCHAR NOT NULL, kind VARCHAR NOT NULL, position INTEGER NOT NULL, attribute VARCHAR NOT NULL);
CREATE TABLE class_size (candidate_id VARCHAR NOT NULL, class INTEGER NOT NULL, size BIGINT NOT NULL);
CREATE TABLE class_interval (
    candidate_id VARCHAR NOT NULL, attribute INTEGER NOT NULL, class INTEGER NOT NULL, low DOUBLE, high DOUBLE);
CREATE TABLE class_value (
    candidate_id VARCHAR NOT NULL, attribute INTEGER NOT NULL, value_no INTEGER NOT NULL, value VARCHAR NOT NULL);
CREATE TABLE class_set (
    candidate_id VARCHAR NOT NULL, attribute INTEGER NOT NULL, class INTEGER NOT NULL, value_no INTEGER NOT NULL);
CREATE TABLE class_count (
    candidate_id VARCHAR NOT NULL, attribute INTEGER NOT NULL, class INTEGER NOT NULL, value_no INTEGER NOT NULL,
    records BIGINT NOT NULL);

-- What is written once stays. Whoever can write the file can drop these triggers: hence the hash chain.
CREATE TABLE refusal (at_utc TIMESTAMP WITH TIME ZONE, reason VARCHAR);
CREATE TRIGGER event_keeps_updates AFTER UPDATE ON event FOR EACH STATEMENT
    INSERT INTO refusal SELECT now(), error('event is append only');
CREATE TRIGGER event_keeps_deletes AFTER DELETE ON event FOR EACH STATEMENT
    INSERT INTO refusal SELECT now(), error('event is append only');
CREATE TRIGGER policy_keeps_updates AFTER UPDATE ON policy FOR EACH STATEMENT
    INSERT INTO refusal SELECT now(), error('policy is append only');
CREATE TRIGGER policy_keeps_deletes AFTER DELETE ON policy FOR EACH STATEMENT
    INSERT INTO refusal SELECT now(), error('policy is append only');
CREATE TRIGGER gate_result_keeps_updates AFTER UPDATE ON gate_result FOR EACH STATEMENT
    INSERT INTO refusal SELECT now(), error('gate_result is append only');
CREATE TRIGGER gate_result_keeps_deletes AFTER DELETE ON gate_result FOR EACH STATEMENT
    INSERT INTO refusal SELECT now(), error('gate_result is append only');
CREATE TRIGGER decision_keeps_updates AFTER UPDATE ON decision FOR EACH STATEMENT
    INSERT INTO refusal SELECT now(), error('decision is append only');
CREATE TRIGGER decision_keeps_deletes AFTER DELETE ON decision FOR EACH STATEMENT
    INSERT INTO refusal SELECT now(), error('decision is append only');
CREATE TRIGGER release_file_keeps_updates AFTER UPDATE ON release_file FOR EACH STATEMENT
    INSERT INTO refusal SELECT now(), error('release_file is append only');
CREATE TRIGGER release_file_keeps_deletes AFTER DELETE ON release_file FOR EACH STATEMENT
    INSERT INTO refusal SELECT now(), error('release_file is append only');
