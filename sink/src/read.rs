//! Answers out of a store.
//!
//! A store fetches rows; `assemble` makes the report of them. So a question has one answer whatever the store, and
//! the order and the rounding of everything printed are decided in one place. Reading never creates or changes
//! anything.

mod assemble;
mod causes;
mod clickhouse;
mod groups;
mod hints;
mod others;
mod sqlite;

use std::time::Duration;

use parity_schemas::evidence::Evidence;
use parity_schemas::record::Mismatch;
use parity_schemas::report::Report;
use parity_schemas::time::Timestamp;
use parity_schemas::watermark::CLOCKS_APART_MICROS;
use uuid::Uuid;

use self::clickhouse::ClickHouseReader;
use self::sqlite::SqliteReader;
use crate::error::StoreError;
use crate::store::StoreConfig;
use crate::url::StoreUrl;

/// The migration that is recorded and read when none is named.
pub const DEFAULT_MIGRATION: &str = "default";

/// Which evidence is asked for. Of all that fits, it is the identity (migration, versions, rules) of the newest
/// interval: evidence of different identities is never added up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// The effort; [`DEFAULT_MIGRATION`] unless named.
    pub migration: Option<String>,
    /// Only of this version of the legacy.
    pub legacy_version: Option<String>,
    /// Only of this version of the candidate.
    pub candidate_version: Option<String>,
    /// Only intervals that begin at this time or later.
    pub since: Option<Timestamp>,
}

impl Selection {
    /// The effort that is meant.
    pub fn migration(&self) -> &str {
        self.migration.as_deref().unwrap_or(DEFAULT_MIGRATION)
    }
}

/// Which mismatches are asked for, newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MismatchFilter {
    /// Those of this effort; of all unless named.
    pub migration: Option<String>,
    /// Those of this route.
    pub route: Option<String>,
    /// Those with a finding of this group.
    pub fingerprint: Option<String>,
    /// Those behind this one in the order of the answer: time and id of the last one of the page before.
    pub before: Option<(Timestamp, Uuid)>,
}

/// Most mismatches of one answer: a page of a screen, not an export.
pub const MAX_MISMATCHES: usize = 1_000;

/// What a store holds, for who asked for something that it does not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// Efforts, by name; a hundred at most.
    pub migrations: Vec<String>,
    /// Versions of the candidate in the effort that was asked for, the newest first; a hundred at most.
    pub candidate_versions: Vec<String>,
}

/// A store that is open for reading.
pub struct Reader {
    store: Box<dyn RecordReader>,
    clocks_apart: Duration,
}

/// What a store must answer. Everything else about a question is the same for all of them.
trait RecordReader: Send {
    fn evidence(&self, selection: &Selection) -> Result<Option<Evidence>, StoreError>;
    fn report(&self, selection: &Selection) -> Result<Report, StoreError>;
    fn known(&self, migration: &str) -> Result<Known, StoreError>;
    fn mismatch(&self, id: Uuid) -> Result<Option<Mismatch>, StoreError>;
    fn mismatches(
        &self,
        filter: &MismatchFilter,
        limit: usize,
    ) -> Result<Vec<Mismatch>, StoreError>;
}

impl Reader {
    /// Opens an existing store.
    pub fn open(config: &StoreConfig) -> Result<Self, StoreError> {
        let clocks_apart = match &config.url {
            StoreUrl::Sqlite(_) => Duration::ZERO,
            StoreUrl::ClickHouse(_) | StoreUrl::Kafka(_) => {
                Duration::from_micros(CLOCKS_APART_MICROS.unsigned_abs())
            }
        };
        let store: Box<dyn RecordReader> = match &config.url {
            StoreUrl::Sqlite(path) => Box::new(SqliteReader::open(path)?),
            StoreUrl::ClickHouse(_) => Box::new(ClickHouseReader::open(config)?),
            StoreUrl::Kafka(url) => return Err(StoreError::WriteOnly { url: url.clone() }),
        };
        Ok(Self {
            store,
            clocks_apart,
        })
    }

    /// The tallies of a selection, added up; `None` when there are none.
    pub fn evidence(&self, selection: &Selection) -> Result<Option<Evidence>, StoreError> {
        self.store.evidence(selection)
    }

    /// The report of a selection; of nothing, when nothing was recorded.
    pub fn report(&self, selection: &Selection) -> Result<Report, StoreError> {
        self.store.report(selection)
    }

    /// How far the clocks of who wrote here may be from this one: a file is written on this machine only.
    pub fn clocks_apart(&self) -> Duration {
        self.clocks_apart
    }

    /// What there is instead of what was asked for.
    pub fn known(&self, migration: &str) -> Result<Known, StoreError> {
        self.store.known(migration)
    }

    /// One mismatch by its id.
    pub fn mismatch(&self, id: Uuid) -> Result<Option<Mismatch>, StoreError> {
        self.store.mismatch(id)
    }

    /// Up to `limit` mismatches, newest first; never more than one over [`MAX_MISMATCHES`].
    pub fn mismatches(
        &self,
        filter: &MismatchFilter,
        limit: usize,
    ) -> Result<Vec<Mismatch>, StoreError> {
        // One more than the most, so that a caller can see whether there is a next page.
        self.store.mismatches(filter, limit.min(MAX_MISMATCHES + 1))
    }
}
