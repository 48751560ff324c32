//! The ordered DDL migrations of the `SQLite` record.
//!
//! A migration never changes once it has been released; the next one is added behind it. The version that a file is
//! at is kept in its `PRAGMA user_version`.

/// `(version, SQL)` in ascending order; each runs in one transaction.
pub const MIGRATIONS: &[(u32, &str)] = &[
    (1, include_str!("../sqlite/0001_record.sql")),
    (2, include_str!("../sqlite/0002_group_identity.sql")),
    (3, include_str!("../sqlite/0003_exchange_digest.sql")),
    (4, include_str!("../sqlite/0004_clients.sql")),
    (5, include_str!("../sqlite/0005_watermarks.sql")),
    (6, include_str!("../sqlite/0006_legacy_answers.sql")),
];

/// The version that this program reads and writes.
pub const VERSION: u32 = MIGRATIONS[MIGRATIONS.len() - 1].0;
