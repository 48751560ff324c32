-- Groups carry what their tally is evidence for, as in ClickHouse: they are read without looking the tally up.

ALTER TABLE group_tallies ADD COLUMN migration TEXT NOT NULL DEFAULT '';
ALTER TABLE group_tallies ADD COLUMN legacy_version TEXT NOT NULL DEFAULT '';
ALTER TABLE group_tallies ADD COLUMN candidate_version TEXT NOT NULL DEFAULT '';
ALTER TABLE group_tallies ADD COLUMN rules_hash TEXT NOT NULL DEFAULT '';
ALTER TABLE group_tallies ADD COLUMN interval_start INTEGER NOT NULL DEFAULT 0;
ALTER TABLE group_tallies ADD COLUMN route TEXT NOT NULL DEFAULT '';

UPDATE group_tallies SET
    (migration, legacy_version, candidate_version, rules_hash, interval_start, route) =
    (SELECT migration, legacy_version, candidate_version, rules_hash, interval_start, route
     FROM tallies WHERE tallies.id = group_tallies.tally_id)
WHERE EXISTS (SELECT 1 FROM tallies WHERE tallies.id = group_tallies.tally_id);

CREATE INDEX group_tallies_by_identity
    ON group_tallies (migration, interval_start, candidate_version, legacy_version, rules_hash);
