-- The class that each person's row is in, numbered as in class_size, so that the gate joins a person's classes exactly.
-- NULL for hashes that were kept before: those of such releases are counted, and joined to nothing.

ALTER TABLE person_hash ADD COLUMN class INTEGER;
