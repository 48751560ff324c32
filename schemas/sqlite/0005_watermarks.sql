-- How far the record of each process is complete: one row for each run, replaced at least once a second while it lives.
-- A tally says which run counted it; the empty text is a program without watermarks.

CREATE TABLE watermarks (
    id                TEXT    NOT NULL PRIMARY KEY,
    revision          INTEGER NOT NULL,
    migration         TEXT    NOT NULL,
    legacy_version    TEXT    NOT NULL,
    candidate_version TEXT    NOT NULL,
    rules_hash        TEXT    NOT NULL,
    instance          TEXT    NOT NULL,
    started           INTEGER NOT NULL,
    written           INTEGER NOT NULL,
    complete_until    INTEGER NOT NULL,
    ended             INTEGER NOT NULL,
    under_way         TEXT    NOT NULL,
    counted_from      INTEGER NOT NULL,
    open_from         INTEGER NOT NULL,
    tallies           INTEGER NOT NULL,
    received          INTEGER NOT NULL,
    settled           INTEGER NOT NULL,
    open              TEXT    NOT NULL
);
CREATE INDEX watermarks_by_start ON watermarks (migration, started);

ALTER TABLE tallies ADD COLUMN run TEXT NOT NULL DEFAULT '';
