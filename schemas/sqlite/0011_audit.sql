-- Who changed what: one row for each change of a running process. Removed when tallies are.

CREATE TABLE IF NOT EXISTS audit (
    id        TEXT    NOT NULL PRIMARY KEY,
    migration TEXT    NOT NULL,
    time      INTEGER NOT NULL,
    instance  TEXT    NOT NULL,
    action    TEXT    NOT NULL,
    outcome   TEXT    NOT NULL,
    source    TEXT    NOT NULL,
    token     TEXT    NOT NULL,
    user      TEXT    NOT NULL,
    address   TEXT    NOT NULL,
    subject   TEXT    NOT NULL,
    detail    TEXT    NOT NULL
);
CREATE INDEX IF NOT EXISTS audit_by_migration ON audit (migration, time, id);
CREATE INDEX IF NOT EXISTS audit_by_time ON audit (time, id);
