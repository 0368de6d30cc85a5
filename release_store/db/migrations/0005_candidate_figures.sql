-- The figures of a candidate: aggregates from which reports are drawn. Optional: one that was judged before has none.

CREATE TABLE candidate_figures (
    candidate_id VARCHAR PRIMARY KEY,
    document VARCHAR NOT NULL -- canonical JSON; the log has its digest
);

CREATE TRIGGER candidate_figures_keeps_updates AFTER UPDATE ON candidate_figures FOR EACH STATEMENT
    INSERT INTO refusal SELECT now(), error('candidate_figures is append only');
CREATE TRIGGER candidate_figures_keeps_deletes AFTER DELETE ON candidate_figures FOR EACH STATEMENT
    INSERT INTO refusal SELECT now(), error('candidate_figures is append only');
