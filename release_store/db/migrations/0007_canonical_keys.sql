-- The hash of the canonical form of a person's key, so that people whose keys lost their zeros are not taken for others.
-- NULL for a key that has this form itself, and for hashes that were kept before.

ALTER TABLE person_hash ADD COLUMN canonical VARCHAR;
