//! Adds up the rows of each six hours, once they are over, and keeps the sums for readers ([`blocks`]).
//!
//! The writer thread does it between its batches, a few rows at a time, as it does retention: so an insert never waits for more than
//! some milliseconds of it. Rows that change later change the mark of their block, and the block is added up again. It reads
//! by a connection of its own, and a block that changed while it was read is not kept. What fails is tried again later: nothing
//! but speed depends on it.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use parity_schemas::tally::Identity;
use parity_schemas::time::Timestamp;
use rusqlite::{Connection, params};

use crate::error::StoreError;
use crate::read::sqlite::SqliteReader;
use crate::read::sqlite::blocks::{BLOCK_MICROS, BLOCK_SLOTS, BlockOf, Folding};
use crate::retention::Retention;

/// How long after its end a block is added up: what is late by some minutes is in it.
const SETTLED_MICROS: i64 = 15 * 60_000_000;
/// How often it is looked whether there is a block to add up, when there was none.
const LOOK_PERIOD: Duration = Duration::from_mins(10);
/// Rows are read for this long in one step, or a minute of them; there are some steps in a second.
const STEP_TIME: Duration = Duration::from_millis(20);
const STEP_MICROS: i64 = 60_000_000;
/// Old blocks that are removed at once: each may be some megabytes.
const BLOCKS_PER_LOOK: u32 = 4;

/// What is to be added up.
pub(super) struct Condenser {
    path: PathBuf,
    next_look: Instant,
    reader: Option<SqliteReader>,
    /// The blocks that were found, the newest last.
    waiting: Vec<(Identity, i64)>,
    under_way: Option<UnderWay>,
}

/// A block that is being added up.
struct UnderWay {
    identity: Identity,
    block: i64,
    /// Its mark before the first row was read.
    mark: i64,
    /// What began before is added up.
    read_to: i64,
    folding: Folding,
}

impl Condenser {
    pub(super) fn of(path: &Path) -> Self {
        Self {
            path: path.into(),
            next_look: Instant::now(),
            reader: None,
            waiting: Vec::new(),
            under_way: None,
        }
    }

    /// Does a little of what there is to do. Returns whether there is more.
    pub(super) fn step(&mut self, connection: &Connection, retention: &Retention) -> bool {
        let done = self.try_step(connection, retention);
        done.unwrap_or_else(|error| {
            tracing::debug!(%error, path = %self.path.display(), "counts of six hours cannot be added up; trying again later");
            self.under_way = None;
            self.waiting.clear();
            self.reader = None;
            false
        })
    }

    fn try_step(
        &mut self,
        connection: &Connection,
        retention: &Retention,
    ) -> Result<bool, StoreError> {
        let Some(mut of_block) = self.under_way.take() else {
            return self.begin(connection, retention);
        };
        let reader = self.reader()?;
        let end = (of_block.block + 1) * BLOCK_MICROS;
        let began = Instant::now();
        let mut read = Ok(());
        while of_block.read_to < end && began.elapsed() < STEP_TIME {
            let to = of_block.read_to + STEP_MICROS;
            let times = (of_block.read_to, to);
            read = reader.fold_rows(&of_block.identity, &mut of_block.folding, times);
            if read.is_err() || of_block.folding.is_too_large() {
                break;
            }
            of_block.read_to = to;
        }
        if let Err(error) = &read {
            // Who reads these rows is told; here other blocks must not wait for them.
            tracing::debug!(%error, block = of_block.block, "six hours cannot be added up");
        }
        if read.is_err() || of_block.folding.is_too_large() {
            of_block.folding = Folding::default();
            return self.keep(connection, of_block, false).map(|()| true);
        }
        if of_block.read_to < end {
            self.under_way = Some(of_block);
        } else if reader.mark_of_block(&of_block.identity, of_block.block)? == of_block.mark {
            self.keep(connection, of_block, true)?;
        }
        Ok(true)
    }

    /// Begins with the next block, if there is one.
    fn begin(
        &mut self,
        connection: &Connection,
        retention: &Retention,
    ) -> Result<bool, StoreError> {
        if self.waiting.is_empty() {
            if Instant::now() < self.next_look {
                return Ok(false);
            }
            self.next_look = Instant::now() + LOOK_PERIOD;
            self.look(connection, retention)?;
        }
        let Some((identity, block)) = self.waiting.pop() else {
            // Until there is something to do, nothing is held open.
            self.reader = None;
            return Ok(false);
        };
        let mark = self.reader()?.mark_of_block(&identity, block)?;
        self.under_way = Some(UnderWay {
            identity,
            block,
            mark,
            read_to: block * BLOCK_MICROS,
            folding: Folding::default(),
        });
        Ok(true)
    }

    /// Finds what has changed, and forgets what retention has removed.
    fn look(&mut self, connection: &Connection, retention: &Retention) -> Result<(), StoreError> {
        let now = Timestamp::now().as_micros();
        let age = i64::try_from(retention.tallies.as_micros()).unwrap_or(i64::MAX);
        // Of the oldest block rows go all the time.
        let first = now.saturating_sub(age).max(0) / BLOCK_MICROS + 1;
        let end = (now - SETTLED_MICROS) / BLOCK_MICROS;
        connection
            .execute(FORGET, params![first, BLOCKS_PER_LOOK])
            .map_err(|error| self.failed(error))?;
        // A store that is younger has nothing to read, and then the file is not opened again.
        let is_old: bool = connection
            .query_row(IS_OLD, [end * BLOCK_SLOTS], |row| row.get(0))
            .map_err(|error| self.failed(error))?;
        if is_old {
            self.waiting = self.reader()?.changed_blocks(first, end)?;
        }
        Ok(())
    }

    /// Keeps a block: its sums, or only that its rows are to be read, until they change.
    fn keep(
        &self,
        connection: &Connection,
        of_block: UnderWay,
        has_sums: bool,
    ) -> Result<(), StoreError> {
        let UnderWay {
            identity,
            block,
            mark,
            folding,
            ..
        } = of_block;
        let of = BlockOf {
            identity: &identity,
            block,
            mark,
        };
        let texts = has_sums.then(|| folding.into_texts(of).ok()).flatten();
        let [sums, runs] = texts.unwrap_or_else(Folding::none);
        let values = params![
            identity.migration,
            identity.candidate_version,
            identity.legacy_version,
            identity.rules_hash,
            block,
            mark,
            sums,
            runs,
        ];
        connection
            .execute(KEEP, values)
            .map_err(|error| self.failed(error))?;
        Ok(())
    }

    fn reader(&mut self) -> Result<&SqliteReader, StoreError> {
        let reader = match self.reader.take() {
            Some(reader) => reader,
            None => SqliteReader::open(&self.path, None)?,
        };
        Ok(self.reader.insert(reader))
    }

    fn failed(&self, error: rusqlite::Error) -> StoreError {
        crate::sqlite::failed("add up counts in", &self.path, error)
    }
}

const IS_OLD: &str = "SELECT EXISTS (SELECT 1 FROM slot_marks WHERE slot < ?1)";

const FORGET: &str = "DELETE FROM block_sums WHERE rowid IN (SELECT rowid FROM block_sums WHERE block < ?1 LIMIT ?2)";

const KEEP: &str = "INSERT OR REPLACE INTO block_sums (migration, candidate_version, legacy_version, rules_hash, block, mark, \
     sums, runs) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
