-- Under which terms requests were counted: the text of the rules, and what of the traffic was compared. One row for each
-- change; never removed, because a decision is kept for ever and is worth little without what was accepted.

CREATE TABLE terms (
    id                TEXT    NOT NULL PRIMARY KEY,
    rank              INTEGER NOT NULL,
    migration         TEXT    NOT NULL,
    legacy_version    TEXT    NOT NULL,
    candidate_version TEXT    NOT NULL,
    rules_hash        TEXT    NOT NULL,
    time              INTEGER NOT NULL,
    program           TEXT    NOT NULL,
    rules             TEXT    NOT NULL,
    coverage          TEXT    NOT NULL
);
CREATE INDEX terms_by_rules ON terms (migration, rules_hash, time);
