-- So that a process which has read the counts of a record can tell, without reading them again, whether they are still the same:
-- every change of a row of a tally gives the five minutes that it belongs to, of its identity, another number by chance. Equal
-- numbers are equal rows, also in a file that was restored from a backup. Triggers do it, so nobody can forget it: an older
-- program, retention, or a person with SQL.

CREATE TABLE IF NOT EXISTS slot_marks (
    migration         TEXT    NOT NULL,
    candidate_version TEXT    NOT NULL,
    legacy_version    TEXT    NOT NULL,
    rules_hash        TEXT    NOT NULL,
    slot              INTEGER NOT NULL,  -- interval_start / 300000000
    mark              INTEGER NOT NULL,
    PRIMARY KEY (migration, candidate_version, legacy_version, rules_hash, slot)
) WITHOUT ROWID;

CREATE TRIGGER IF NOT EXISTS tallies_inserted AFTER INSERT ON tallies BEGIN
    INSERT INTO slot_marks VALUES
        (new.migration, new.candidate_version, new.legacy_version, new.rules_hash, new.interval_start / 300000000, random())
        ON CONFLICT DO UPDATE SET mark = excluded.mark;
END;
CREATE TRIGGER IF NOT EXISTS tallies_moved AFTER UPDATE ON tallies
    WHEN (old.migration, old.candidate_version, old.legacy_version, old.rules_hash, old.interval_start / 300000000)
        IS NOT (new.migration, new.candidate_version, new.legacy_version, new.rules_hash, new.interval_start / 300000000) BEGIN
    INSERT INTO slot_marks VALUES
        (old.migration, old.candidate_version, old.legacy_version, old.rules_hash, old.interval_start / 300000000, random())
        ON CONFLICT DO UPDATE SET mark = excluded.mark;
END;
CREATE TRIGGER IF NOT EXISTS tallies_updated AFTER UPDATE ON tallies BEGIN
    INSERT INTO slot_marks VALUES
        (new.migration, new.candidate_version, new.legacy_version, new.rules_hash, new.interval_start / 300000000, random())
        ON CONFLICT DO UPDATE SET mark = excluded.mark;
END;
CREATE TRIGGER IF NOT EXISTS tallies_deleted AFTER DELETE ON tallies BEGIN
    INSERT INTO slot_marks VALUES
        (old.migration, old.candidate_version, old.legacy_version, old.rules_hash, old.interval_start / 300000000, random())
        ON CONFLICT DO UPDATE SET mark = excluded.mark;
END;

CREATE TRIGGER IF NOT EXISTS group_tallies_inserted AFTER INSERT ON group_tallies BEGIN
    INSERT INTO slot_marks VALUES
        (new.migration, new.candidate_version, new.legacy_version, new.rules_hash, new.interval_start / 300000000, random())
        ON CONFLICT DO UPDATE SET mark = excluded.mark;
END;
CREATE TRIGGER IF NOT EXISTS group_tallies_moved AFTER UPDATE ON group_tallies
    WHEN (old.migration, old.candidate_version, old.legacy_version, old.rules_hash, old.interval_start / 300000000)
        IS NOT (new.migration, new.candidate_version, new.legacy_version, new.rules_hash, new.interval_start / 300000000) BEGIN
    INSERT INTO slot_marks VALUES
        (old.migration, old.candidate_version, old.legacy_version, old.rules_hash, old.interval_start / 300000000, random())
        ON CONFLICT DO UPDATE SET mark = excluded.mark;
END;
CREATE TRIGGER IF NOT EXISTS group_tallies_updated AFTER UPDATE ON group_tallies BEGIN
    INSERT INTO slot_marks VALUES
        (new.migration, new.candidate_version, new.legacy_version, new.rules_hash, new.interval_start / 300000000, random())
        ON CONFLICT DO UPDATE SET mark = excluded.mark;
END;
CREATE TRIGGER IF NOT EXISTS group_tallies_deleted AFTER DELETE ON group_tallies BEGIN
    INSERT INTO slot_marks VALUES
        (old.migration, old.candidate_version, old.legacy_version, old.rules_hash, old.interval_start / 300000000, random())
        ON CONFLICT DO UPDATE SET mark = excluded.mark;
END;

CREATE TRIGGER IF NOT EXISTS set_tallies_inserted AFTER INSERT ON set_tallies BEGIN
    INSERT INTO slot_marks VALUES
        (new.migration, new.candidate_version, new.legacy_version, new.rules_hash, new.interval_start / 300000000, random())
        ON CONFLICT DO UPDATE SET mark = excluded.mark;
END;
CREATE TRIGGER IF NOT EXISTS set_tallies_moved AFTER UPDATE ON set_tallies
    WHEN (old.migration, old.candidate_version, old.legacy_version, old.rules_hash, old.interval_start / 300000000)
        IS NOT (new.migration, new.candidate_version, new.legacy_version, new.rules_hash, new.interval_start / 300000000) BEGIN
    INSERT INTO slot_marks VALUES
        (old.migration, old.candidate_version, old.legacy_version, old.rules_hash, old.interval_start / 300000000, random())
        ON CONFLICT DO UPDATE SET mark = excluded.mark;
END;
CREATE TRIGGER IF NOT EXISTS set_tallies_updated AFTER UPDATE ON set_tallies BEGIN
    INSERT INTO slot_marks VALUES
        (new.migration, new.candidate_version, new.legacy_version, new.rules_hash, new.interval_start / 300000000, random())
        ON CONFLICT DO UPDATE SET mark = excluded.mark;
END;
CREATE TRIGGER IF NOT EXISTS set_tallies_deleted AFTER DELETE ON set_tallies BEGIN
    INSERT INTO slot_marks VALUES
        (old.migration, old.candidate_version, old.legacy_version, old.rules_hash, old.interval_start / 300000000, random())
        ON CONFLICT DO UPDATE SET mark = excluded.mark;
END;

-- What is there already; from the indexes alone, so that of millions of rows it takes seconds.
INSERT OR IGNORE INTO slot_marks
    SELECT migration, candidate_version, legacy_version, rules_hash, slot, random() FROM
    (SELECT DISTINCT migration, candidate_version, legacy_version, rules_hash, interval_start / 300000000 AS slot FROM tallies);
INSERT OR IGNORE INTO slot_marks
    SELECT migration, candidate_version, legacy_version, rules_hash, slot, random() FROM
    (SELECT DISTINCT migration, candidate_version, legacy_version, rules_hash, interval_start / 300000000 AS slot FROM group_tallies);
INSERT OR IGNORE INTO slot_marks
    SELECT migration, candidate_version, legacy_version, rules_hash, slot, random() FROM
    (SELECT DISTINCT migration, candidate_version, legacy_version, rules_hash, interval_start / 300000000 AS slot FROM set_tallies);
