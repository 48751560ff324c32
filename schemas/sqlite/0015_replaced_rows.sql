-- Without `recursive_triggers` SQLite runs no trigger for a row that INSERT OR REPLACE takes away: the five minutes that it was in
-- kept their mark. So before a row is inserted, those of the row that it replaces are marked.

CREATE TRIGGER IF NOT EXISTS tallies_replaced BEFORE INSERT ON tallies BEGIN
    INSERT INTO slot_marks
        SELECT o.migration, o.candidate_version, o.legacy_version, o.rules_hash, o.interval_start / 300000000, random()
        FROM tallies AS o WHERE o.id = new.id
        AND (o.migration, o.candidate_version, o.legacy_version, o.rules_hash, o.interval_start / 300000000)
            IS NOT (new.migration, new.candidate_version, new.legacy_version, new.rules_hash, new.interval_start / 300000000)
        ON CONFLICT DO UPDATE SET mark = excluded.mark;
END;

CREATE TRIGGER IF NOT EXISTS group_tallies_replaced BEFORE INSERT ON group_tallies BEGIN
    INSERT INTO slot_marks
        SELECT o.migration, o.candidate_version, o.legacy_version, o.rules_hash, o.interval_start / 300000000, random()
        FROM group_tallies AS o WHERE o.tally_id = new.tally_id AND o.fingerprint = new.fingerprint
        AND (o.migration, o.candidate_version, o.legacy_version, o.rules_hash, o.interval_start / 300000000)
            IS NOT (new.migration, new.candidate_version, new.legacy_version, new.rules_hash, new.interval_start / 300000000)
        ON CONFLICT DO UPDATE SET mark = excluded.mark;
END;

CREATE TRIGGER IF NOT EXISTS set_tallies_replaced BEFORE INSERT ON set_tallies BEGIN
    INSERT INTO slot_marks
        SELECT o.migration, o.candidate_version, o.legacy_version, o.rules_hash, o.interval_start / 300000000, random()
        FROM set_tallies AS o WHERE o.tally_id = new.tally_id AND o.set_id = new.set_id
        AND (o.migration, o.candidate_version, o.legacy_version, o.rules_hash, o.interval_start / 300000000)
            IS NOT (new.migration, new.candidate_version, new.legacy_version, new.rules_hash, new.interval_start / 300000000)
        ON CONFLICT DO UPDATE SET mark = excluded.mark;
END;
