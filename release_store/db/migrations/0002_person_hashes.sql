-- Keyed hashes of the people of a candidate, from its staging until it ends without being published. Optional:
-- a candidate that was staged without a key has no rows. Long tables without keys, as those of the classes.

CREATE TABLE person_key (candidate_id VARCHAR NOT NULL, fingerprint VARCHAR NOT NULL);
CREATE TABLE person_hash (candidate_id VARCHAR NOT NULL, person VARCHAR NOT NULL);
