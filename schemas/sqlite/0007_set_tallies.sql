-- How many mismatches had exactly the same groups: one row for each tally and set. Which sets are noise is decided when
-- they are read.

CREATE TABLE set_tallies (
    tally_id          TEXT    NOT NULL,
    revision          INTEGER NOT NULL,
    migration         TEXT    NOT NULL,
    legacy_version    TEXT    NOT NULL,
    candidate_version TEXT    NOT NULL,
    rules_hash        TEXT    NOT NULL,
    interval_start    INTEGER NOT NULL,
    run               TEXT    NOT NULL,
    route             TEXT    NOT NULL,
    set_id            TEXT    NOT NULL,
    fingerprints      TEXT    NOT NULL,
    classes           TEXT    NOT NULL,
    PRIMARY KEY (tally_id, set_id)
) WITHOUT ROWID;
CREATE INDEX set_tallies_by_identity
    ON set_tallies (migration, interval_start, candidate_version, legacy_version, rules_hash);

-- Rows of older programs do not tell what became of the clients; that is said as it is in ClickHouse.
UPDATE tallies SET clients = iif(received > 0, json_object('not_recorded', received), '{}') WHERE clients IS NULL;
