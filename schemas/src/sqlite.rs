//! The ordered DDL migrations of the `SQLite` record: files, and behind them the steps of
//! [`crate::table`].
//!
//! A released migration never changes; new ones are appended. The version of a file is in its `PRAGMA user_version`.

use std::borrow::Cow;

use crate::table::{STEPS, in_order, sqlite_steps};

/// Each with how many steps come before it.
const FILES: &[(u32, &str)] = &[
    (0, include_str!("../sqlite/0001_record.sql")),
    (0, include_str!("../sqlite/0002_group_identity.sql")),
    (0, include_str!("../sqlite/0003_exchange_digest.sql")),
    (0, include_str!("../sqlite/0004_clients.sql")),
    (0, include_str!("../sqlite/0005_watermarks.sql")),
    (0, include_str!("../sqlite/0006_legacy_answers.sql")),
    (0, include_str!("../sqlite/0007_set_tallies.sql")),
    (0, include_str!("../sqlite/0008_terms.sql")),
    (0, include_str!("../sqlite/0009_decisions_order.sql")),
    (3, include_str!("../sqlite/0010_counted.sql")),
    (4, include_str!("../sqlite/0011_audit.sql")),
    (4, include_str!("../sqlite/0012_marks.sql")),
    (4, include_str!("../sqlite/0013_group_times.sql")),
    (4, include_str!("../sqlite/0014_block_sums.sql")),
    (4, include_str!("../sqlite/0015_replaced_rows.sql")),
    (4, include_str!("../sqlite/0016_taken_rows.sql")),
];

/// The version that this program reads and writes.
pub const VERSION: u32 = FILES.len() as u32 + STEPS;

/// `(version, SQL)` in ascending order, from 1 on; each runs in one transaction.
pub fn migrations() -> impl Iterator<Item = (u32, Cow<'static, str>)> {
    (1..).zip(in_order(FILES, sqlite_steps()))
}
