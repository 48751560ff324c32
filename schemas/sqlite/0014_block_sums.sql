-- Counts of six hours, added up: to add up the rows of ten days takes half a minute, and these a second. They follow from the rows
-- and are not part of the record: who reads takes them only where `mark` says that the rows are still those that were added up
-- (slot_marks), and reads the rows elsewhere. The process that writes the record makes them, some time after the six hours.

CREATE TABLE IF NOT EXISTS block_sums (
    migration         TEXT    NOT NULL,
    candidate_version TEXT    NOT NULL,
    legacy_version    TEXT    NOT NULL,
    rules_hash        TEXT    NOT NULL,
    block             INTEGER NOT NULL,  -- interval_start / 21600000000
    mark              INTEGER NOT NULL,  -- made of the marks of its slots, and of what the program adds up
    sums              TEXT    NOT NULL,  -- a digest of the rest in 16 digits, then JSON: tallies, groups and sets
    runs              TEXT    NOT NULL,  -- the same: what each run has stored
    PRIMARY KEY (migration, candidate_version, legacy_version, rules_hash, block)
);
