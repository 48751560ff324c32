//! Which rows are removed, and when: by age, and by the size of the file.
//!
//! For space, samples (full exchanges) go first, then the slim rows of mismatches, oldest first. Tallies are removed by age only
//! and decisions never, because what a decision rests on is not given up for space. Sums that only make readers faster are small
//! beside what they save: without them a page of a full store takes ten times as long. So they go last, unless they are a large
//! part of the file. Each step touches a few hundred rows in a transaction of its own, so an insert never waits for more than some
//! milliseconds of it.

use std::time::Duration;

use parity_schemas::time::Timestamp;
use rusqlite::{Connection, TransactionBehavior};

use crate::retention::Retention;

/// Full exchanges cleared per step: a sample may be hundreds of kilobytes, each page of which is touched.
const SAMPLES_PER_STEP: u32 = 100;
/// Sums of six hours removed per step: each may be some megabytes.
const BLOCKS_PER_STEP: u32 = 4;
/// The part of the allowed size above which sums of six hours go before what is evidence. Those of ten days of a busy service
/// take a hundredth of the default size.
const BLOCKS_PART: u64 = 16;
/// Slim rows or tallies removed per step.
const ROWS_PER_STEP: u32 = 500;
/// Free pages that stay in the file (16 MiB of 4 KiB pages), because the next batches use them again. Shrinking the
/// file and growing it again would be wasted work.
const FREE_PAGES_KEPT: i64 = 4_096;
/// Pages given back to the file system per step.
const PAGES_PER_STEP: u32 = 512;

/// The result of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// There may be more to do.
    More,
    /// All is within the limits.
    Done,
    /// The file is too large, and nothing that may be removed is left.
    Exhausted,
}

/// Does the first thing that there is to do.
pub(super) fn step(connection: &mut Connection, retention: &Retention) -> rusqlite::Result<Step> {
    let now = Timestamp::now();
    if remove_old(connection, retention, now)? {
        return Ok(Step::More);
    }
    let pages = Pages::of(connection)?;
    if pages.used_bytes() > retention.max_bytes {
        let forever = i64::MAX;
        let are_large = blocks_bytes(connection)? > retention.max_bytes / BLOCKS_PART;
        let removed = are_large && remove_blocks(connection)?
            || clear_samples(connection, forever)?
            || remove_mismatches(connection, forever)?
            || remove_blocks(connection)?;
        return Ok(if removed { Step::More } else { Step::Exhausted });
    }
    if pages.free > FREE_PAGES_KEPT {
        // SQLite frees one page for each row that is read, so read until there are no more.
        let sql = format!("PRAGMA incremental_vacuum({PAGES_PER_STEP})");
        let mut statement = connection.prepare(&sql)?;
        let mut rows = statement.query(())?;
        while rows.next()?.is_some() {}
        return Ok(Step::More);
    }
    Ok(Step::Done)
}

fn remove_old(
    connection: &mut Connection,
    retention: &Retention,
    now: Timestamp,
) -> rusqlite::Result<bool> {
    let before = |age: Duration| {
        let age = i64::try_from(age.as_micros()).unwrap_or(i64::MAX);
        now.as_micros().saturating_sub(age)
    };
    Ok(clear_samples(connection, before(retention.samples))?
        || remove_mismatches(connection, before(retention.mismatches))?
        || remove_tallies(connection, before(retention.tallies))?
        || remove_watermarks(connection, before(retention.tallies))?
        || remove_changes(connection, before(retention.tallies))?)
}

/// What the sums of six hours take. Their lengths are in the heads of their rows, so that none is read.
fn blocks_bytes(connection: &Connection) -> rusqlite::Result<u64> {
    let bytes: i64 = connection
        .prepare_cached(
            "SELECT coalesce(sum(octet_length(sums) + octet_length(runs)), 0) FROM block_sums",
        )?
        .query_row((), |row| row.get(0))?;
    Ok(u64::try_from(bytes).unwrap_or(0))
}

/// Removes the oldest sums of six hours.
fn remove_blocks(connection: &Connection) -> rusqlite::Result<bool> {
    let changed = connection
        .prepare_cached(
            "DELETE FROM block_sums WHERE rowid IN (SELECT rowid FROM block_sums ORDER BY block LIMIT ?1)",
        )?
        .execute([BLOCKS_PER_STEP])?;
    Ok(changed > 0)
}

fn clear_samples(connection: &Connection, before: i64) -> rusqlite::Result<bool> {
    let changed = connection
        .prepare_cached(
            "UPDATE mismatches SET sample = NULL WHERE rowid IN (SELECT rowid FROM mismatches \
             WHERE sample IS NOT NULL AND time < ?1 ORDER BY time LIMIT ?2)",
        )?
        .execute((before, SAMPLES_PER_STEP))?;
    Ok(changed > 0)
}

fn remove_mismatches(connection: &Connection, before: i64) -> rusqlite::Result<bool> {
    let changed = connection
        .prepare_cached(
            "DELETE FROM mismatches WHERE rowid IN \
             (SELECT rowid FROM mismatches WHERE time < ?1 ORDER BY time LIMIT ?2)",
        )?
        .execute((before, ROWS_PER_STEP))?;
    Ok(changed > 0)
}

fn remove_tallies(connection: &mut Connection, before: i64) -> rusqlite::Result<bool> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Deferred)?;
    let old: Vec<String> = transaction
        .prepare_cached(
            "SELECT id FROM tallies WHERE interval_start < ?1 ORDER BY interval_start LIMIT ?2",
        )?
        .query_map((before, ROWS_PER_STEP), |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    for id in &old {
        for remove in [
            "DELETE FROM group_tallies WHERE tally_id = ?1",
            "DELETE FROM set_tallies WHERE tally_id = ?1",
            "DELETE FROM tallies WHERE id = ?1",
        ] {
            transaction.prepare_cached(remove)?.execute([id])?;
        }
    }
    if !old.is_empty() && old.len() < ROWS_PER_STEP as usize {
        // What is gone changes no more.
        transaction
            .prepare_cached("DELETE FROM slot_marks WHERE slot < ?1 / 300000000")?
            .execute([before])?;
    }
    transaction.commit()?;
    Ok(!old.is_empty())
}

/// Removes the watermarks of runs that have been silent for as long as tallies are kept.
fn remove_watermarks(connection: &Connection, before: i64) -> rusqlite::Result<bool> {
    let changed = connection
        .prepare_cached(
            "DELETE FROM watermarks WHERE rowid IN \
             (SELECT rowid FROM watermarks WHERE written < ?1 LIMIT ?2)",
        )?
        .execute((before, ROWS_PER_STEP))?;
    Ok(changed > 0)
}

/// Removes the lines of changes that are as old as tallies get.
fn remove_changes(connection: &Connection, before: i64) -> rusqlite::Result<bool> {
    let changed = connection
        .prepare_cached(
            "DELETE FROM audit WHERE rowid IN \
             (SELECT rowid FROM audit WHERE time < ?1 ORDER BY time LIMIT ?2)",
        )?
        .execute((before, ROWS_PER_STEP))?;
    Ok(changed > 0)
}

struct Pages {
    total: i64,
    free: i64,
    bytes: i64,
}

impl Pages {
    fn of(connection: &Connection) -> rusqlite::Result<Self> {
        let pragma = |name| connection.pragma_query_value(None, name, |row| row.get(0));
        Ok(Self {
            total: pragma("page_count")?,
            free: pragma("freelist_count")?,
            bytes: pragma("page_size")?,
        })
    }

    fn used_bytes(&self) -> u64 {
        u64::try_from((self.total - self.free) * self.bytes).unwrap_or(0)
    }
}
