-- The record on one machine: mismatches, tallies, group tallies and decisions.
-- Times are INTEGER microseconds since 1970 UTC; ids are UUIDv7 as text; lists and maps are JSON text.

CREATE TABLE mismatches (
    id                TEXT    NOT NULL PRIMARY KEY,
    migration         TEXT    NOT NULL,
    legacy_version    TEXT    NOT NULL,
    candidate_version TEXT    NOT NULL,
    rules_hash        TEXT    NOT NULL,
    time              INTEGER NOT NULL,
    instance          TEXT    NOT NULL,
    route             TEXT    NOT NULL,
    method            TEXT    NOT NULL,
    path              TEXT    NOT NULL,
    query             TEXT    NOT NULL,
    fingerprints      TEXT    NOT NULL,
    findings          TEXT    NOT NULL,
    findings_cut      INTEGER NOT NULL,
    tolerated         TEXT    NOT NULL,
    legacy_status     INTEGER NOT NULL,
    candidate_status  INTEGER NOT NULL,
    legacy_us         INTEGER NOT NULL,
    candidate_us      INTEGER NOT NULL,
    trace_id          TEXT    NOT NULL,
    class             TEXT    NOT NULL,
    sample            TEXT              -- request and both answers; NULL once retention removed it
);
-- Beyond the time it holds what a list of mismatches is filtered by, so that a rare group is found without reading rows.
CREATE INDEX mismatches_by_time ON mismatches (time, id, route, fingerprints);
CREATE INDEX samples_by_time ON mismatches (time) WHERE sample IS NOT NULL;

CREATE TABLE tallies (
    id                TEXT    NOT NULL PRIMARY KEY,
    revision          INTEGER NOT NULL,
    migration         TEXT    NOT NULL,
    legacy_version    TEXT    NOT NULL,
    candidate_version TEXT    NOT NULL,
    rules_hash        TEXT    NOT NULL,
    instance          TEXT    NOT NULL,
    interval_start    INTEGER NOT NULL,
    interval_us       INTEGER NOT NULL,
    route             TEXT    NOT NULL,
    received          INTEGER NOT NULL,
    "match"           INTEGER NOT NULL,
    mismatch          INTEGER NOT NULL,
    not_compared      TEXT    NOT NULL,
    rule_hits         TEXT    NOT NULL,
    legacy_latency    TEXT    NOT NULL,
    candidate_latency TEXT    NOT NULL
);
CREATE INDEX tallies_by_identity ON tallies (migration, interval_start, candidate_version, legacy_version, rules_hash);
CREATE INDEX tallies_by_time ON tallies (interval_start);

CREATE TABLE group_tallies (
    tally_id          TEXT    NOT NULL,
    revision          INTEGER NOT NULL,
    fingerprint       TEXT    NOT NULL,
    part              TEXT    NOT NULL,
    pattern           TEXT    NOT NULL,
    kind              TEXT    NOT NULL,
    explanation       TEXT,
    legacy_status     INTEGER NOT NULL,
    candidate_status  INTEGER NOT NULL,
    count             INTEGER NOT NULL,
    first_seen        INTEGER NOT NULL,
    last_seen         INTEGER NOT NULL,
    example_id        TEXT    NOT NULL,
    PRIMARY KEY (tally_id, fingerprint)
) WITHOUT ROWID;

CREATE TABLE decisions (
    id                TEXT    NOT NULL PRIMARY KEY,
    migration         TEXT    NOT NULL,
    time              INTEGER NOT NULL,
    outcome           TEXT    NOT NULL,
    legacy_version    TEXT    NOT NULL,
    candidate_version TEXT    NOT NULL,
    rules_hash        TEXT    NOT NULL,
    thresholds        TEXT    NOT NULL,
    document          TEXT    NOT NULL  -- the whole parity.gate/v1 document: reasons, evidence, routes
);
CREATE INDEX decisions_by_time ON decisions (migration, time);
