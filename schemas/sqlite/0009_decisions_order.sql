-- Decisions are kept for ever and listed page by page, the newest first, of one migration or of all. The outcome is in both
-- indexes, so that a rare one is found without reading the documents of the others.

DROP INDEX IF EXISTS decisions_by_time;
DROP INDEX IF EXISTS decisions_by_migration;
CREATE INDEX decisions_by_migration ON decisions (migration, time, id, outcome);
CREATE INDEX decisions_by_time ON decisions (time, id, outcome);
