-- Decisions with the proof that they are the person's, and the words of administrators who override gates. Those that
-- were taken before stay where they are; `position` counts on over both tables.

CREATE TABLE proven_decision (
    candidate_id VARCHAR NOT NULL,
    position INTEGER NOT NULL,
    decision VARCHAR NOT NULL CHECK (decision IN ('approve', 'reject', 'override')),
    person VARCHAR NOT NULL,
    reason VARCHAR NOT NULL,
    at_utc VARCHAR NOT NULL,
    candidate_digest VARCHAR NOT NULL,
    policy_digest VARCHAR NOT NULL,
    history_head VARCHAR NOT NULL,
    proof VARCHAR NOT NULL, -- canonical JSON
    PRIMARY KEY (candidate_id, position),
    UNIQUE (candidate_id, person)
);

CREATE TRIGGER proven_decision_keeps_updates AFTER UPDATE ON proven_decision FOR EACH STATEMENT
    INSERT INTO refusal SELECT now(), error('proven_decision is append only');
CREATE TRIGGER proven_decision_keeps_deletes AFTER DELETE ON proven_decision FOR EACH STATEMENT
    INSERT INTO refusal SELECT now(), error('proven_decision is append only');
