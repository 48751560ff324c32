-- The same for the other ways in which a row takes the place of another one and no trigger of that one is run: INSERT OR REPLACE
-- with its row id, and UPDATE OR REPLACE, which gives a row the key of another one.

DROP TRIGGER IF EXISTS tallies_replaced;
CREATE TRIGGER tallies_replaced BEFORE INSERT ON tallies BEGIN
    INSERT INTO slot_marks
        SELECT o.migration, o.candidate_version, o.legacy_version, o.rules_hash, o.interval_start / 300000000, random()
        FROM tallies AS o WHERE (o.id = new.id OR o.rowid = new.rowid)
        AND (o.migration, o.candidate_version, o.legacy_version, o.rules_hash, o.interval_start / 300000000)
            IS NOT (new.migration, new.candidate_version, new.legacy_version, new.rules_hash, new.interval_start / 300000000)
        ON CONFLICT DO UPDATE SET mark = excluded.mark;
END;

CREATE TRIGGER IF NOT EXISTS tallies_taken BEFORE UPDATE ON tallies
    WHEN new.id IS NOT old.id OR new.rowid IS NOT old.rowid BEGIN
    INSERT INTO slot_marks
        SELECT o.migration, o.candidate_version, o.legacy_version, o.rules_hash, o.interval_start / 300000000, random()
        FROM tallies AS o WHERE (o.id = new.id OR o.rowid = new.rowid)
        ON CONFLICT DO UPDATE SET mark = excluded.mark;
END;

CREATE TRIGGER IF NOT EXISTS group_tallies_taken BEFORE UPDATE ON group_tallies
    WHEN (new.tally_id, new.fingerprint) IS NOT (old.tally_id, old.fingerprint) BEGIN
    INSERT INTO slot_marks
        SELECT o.migration, o.candidate_version, o.legacy_version, o.rules_hash, o.interval_start / 300000000, random()
        FROM group_tallies AS o WHERE o.tally_id = new.tally_id AND o.fingerprint = new.fingerprint
        ON CONFLICT DO UPDATE SET mark = excluded.mark;
END;

CREATE TRIGGER IF NOT EXISTS set_tallies_taken BEFORE UPDATE ON set_tallies
    WHEN (new.tally_id, new.set_id) IS NOT (old.tally_id, old.set_id) BEGIN
    INSERT INTO slot_marks
        SELECT o.migration, o.candidate_version, o.legacy_version, o.rules_hash, o.interval_start / 300000000, random()
        FROM set_tallies AS o WHERE o.tally_id = new.tally_id AND o.set_id = new.set_id
        ON CONFLICT DO UPDATE SET mark = excluded.mark;
END;
