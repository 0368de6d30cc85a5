-- The sensitive values of a candidate's people, sealed under the key of people: the gate `worlds` needs one world that
-- fits everything published. Optional: of releases that were kept before there are none.

CREATE TABLE person_values (
    candidate_id VARCHAR PRIMARY KEY,
    sealed BLOB NOT NULL -- AES-256-GCM; the log has its digest
);
