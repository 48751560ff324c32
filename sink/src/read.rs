//! Queries on a store.
//!
//! Each store fetches rows, and `assemble` builds the report from them. So a query has the same result on every store,
//! and order and rounding are decided in one place. Reading never creates or changes anything.

mod answered;
mod assemble;
mod audit;
mod carry;
mod charged;
mod clickhouse;
mod conditions;
mod counting;
mod decisions;
mod groups;
mod hints;
pub mod history;
mod in_force;
mod mark;
mod neighbours;
mod others;
mod recent;
mod runs;
mod seen;
mod sets;
pub(crate) mod sqlite;

use std::sync::Arc;
use std::time::Duration;

use parity_schemas::audit::Audit;
use parity_schemas::decisions::DecisionLine;
use parity_schemas::evidence::carried::Redecide;
use parity_schemas::evidence::{Evidence, LeftOutSpan, Window};
use parity_schemas::history::History;
use parity_schemas::record::{Mismatch, MismatchClass};
use parity_schemas::report::Report;
use parity_schemas::tally::Identity;
use parity_schemas::terms::{RuleText, RulesText};
use parity_schemas::time::Timestamp;
use parity_schemas::watermark::CLOCKS_APART_MICROS;
use uuid::Uuid;

pub use self::answered::{AnsweredFilter, Examples, MAX_EXAMPLES};
pub use self::audit::{AuditFilter, MAX_CHANGES};
pub use self::decisions::{
    Counted, CountedWindow, DecisionFilter, FoundTerms, MAX_DECISIONS, MAX_TERMS, TermsFilter,
};
pub use self::in_force::RunTimes;
pub use self::mark::Mark;
pub use self::seen::RunSeen;

pub use self::neighbours::{MAX_NEIGHBOURS, Neighbours};

use self::answered::Chosen;
use self::clickhouse::ClickHouseReader;
use self::history::{HistoryFilter, Minute, MinutesFilter, Versions, versions};
use self::neighbours::{Beside, Side};
use self::sqlite::SqliteReader;
use crate::error::StoreError;
use crate::store::StoreConfig;
use crate::url::StoreUrl;

/// The migration that is recorded and read by default.
pub const DEFAULT_MIGRATION: &str = "default";

/// Selects evidence. Of everything that matches, only the identity (migration, versions, rules) of the newest interval
/// is read: evidence of different identities is not added up, but for what [`Reader::carrying`] proves to hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// The migration; [`DEFAULT_MIGRATION`] if `None`.
    pub migration: Option<String>,
    /// Only of this version of the legacy.
    pub legacy_version: Option<String>,
    /// Only of this version of the candidate.
    pub candidate_version: Option<String>,
    /// Only what was counted under the rules with this hash, as it was counted: nothing of others is carried over. Those that
    /// were last in force if `None`.
    pub rules_hash: Option<String>,
    /// Only intervals that begin at this time or later.
    pub since: Option<Timestamp>,
    /// Whether the evidence is to have times to the first byte, which take as long to read as all other counts.
    pub with_latency: bool,
    /// Spans of which nothing is counted.
    pub left_out: Vec<LeftOutSpan>,
    /// Nothing that was counted under other rules, whatever [`Reader::carrying`] says.
    pub strict_rules: bool,
    /// Rules of the configuration of who asks that have a date: what has expired by them excuses nothing, although the mirror
    /// that counted had a later date or none.
    pub dated: Arc<[RuleText]>,
    /// Whether the evidence is to say what was counted last, which takes three more reads of that.
    pub with_recent: bool,
}

/// How long before [`Selection::since`] is looked for routes that are not in what is selected. A gate may look every few seconds, so
/// not at all that was ever recorded: what nobody asked for in a day is no part of the same decision.
const LOOKED_BACK_MICROS: i64 = 24 * 60 * 60 * 1_000_000;

impl Selection {
    /// The times that it leaves out of what it would have else, as far as they are looked at.
    fn outside(&self) -> Vec<Window> {
        let mut outside: Vec<Window> = self.left_out.iter().map(LeftOutSpan::minutes).collect();
        outside.extend(self.since.map(|since| Window {
            from: since.saturating_add_micros(-LOOKED_BACK_MICROS),
            to: since,
        }));
        outside
    }

    /// Whether it includes these versions.
    fn allows(&self, identity: &Identity) -> bool {
        let same = |asked: &Option<String>, found: &str| {
            asked.as_deref().is_none_or(|asked| asked == found)
        };
        same(&self.legacy_version, &identity.legacy_version)
            && same(&self.candidate_version, &identity.candidate_version)
            && same(&self.rules_hash, &identity.rules_hash)
    }

    /// The name of the selected migration.
    pub fn migration(&self) -> &str {
        self.migration.as_deref().unwrap_or(DEFAULT_MIGRATION)
    }
}

/// Selects mismatches, newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MismatchFilter {
    /// Only of this migration; of all if `None`.
    pub migration: Option<String>,
    /// Only of this route.
    pub route: Option<String>,
    /// Only with a finding of this group.
    pub fingerprint: Option<String>,
    /// Only of this class.
    pub class: Option<MismatchClass>,
    /// Only of this version of the candidate.
    pub candidate_version: Option<String>,
    /// Only of requests that were received at this time or later.
    pub since: Option<Timestamp>,
    /// Only of requests that were received before this time.
    pub until: Option<Timestamp>,
    /// Only those after this one, for paging: time and id of the last mismatch of the previous page.
    pub before: Option<(Timestamp, Uuid)>,
}

/// Most mismatches of one query: a page to look at, not an export.
pub const MAX_MISMATCHES: usize = 1_000;

/// What a store holds, to help somebody who selected something that it does not hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// Migrations, by name; a hundred at most.
    pub migrations: Vec<String>,
    /// Candidate versions of the selected migration, newest first; a hundred at most.
    pub candidate_versions: Vec<String>,
}

/// What a selection has. If nothing is recorded for it, what the store holds instead; both are from one read.
pub struct Found<T> {
    /// What was asked for; empty if nothing is recorded.
    pub value: T,
    /// What is recorded instead of nothing.
    pub instead: Option<Known>,
}

impl<T> From<T> for Found<T> {
    fn from(value: T) -> Self {
        Self {
            value,
            instead: None,
        }
    }
}

/// A store that is open for reading.
pub struct Reader {
    store: Box<dyn RecordReader>,
    clocks_apart: Duration,
    redecide: Option<Redecide>,
}

/// The queries that each store implements.
trait RecordReader: Send {
    fn evidence(
        &self,
        selection: &Selection,
        redecide: Option<Redecide>,
    ) -> Result<Found<Option<Evidence>>, StoreError>;
    fn report(
        &self,
        selection: &Selection,
        redecide: Option<Redecide>,
    ) -> Result<Found<Report>, StoreError>;
    fn known(&self, migration: &str) -> Result<Known, StoreError>;
    fn newest_migration(&self) -> Result<Option<String>, StoreError>;
    fn mark(&self) -> Result<Mark, StoreError>;
    fn history(&self, filter: &HistoryFilter, now: Timestamp) -> Result<History, StoreError>;
    /// As [`versions::in_range`] takes them, of the migration of a selection: whoever asks looks at its versions and time.
    fn counted_versions(&self, of: &Selection) -> Result<Vec<(Versions, i64)>, StoreError>;
    fn minutes(&self, filter: &MinutesFilter) -> Result<Vec<Minute>, StoreError>;
    fn run_times(&self, migration: &str) -> Result<Vec<RunTimes>, StoreError>;
    fn seen(&self, migration: &str, since: Timestamp) -> Result<Vec<RunSeen>, StoreError>;
    fn mismatch(&self, id: Uuid) -> Result<Option<Mismatch>, StoreError>;
    fn terms(&self, filter: &TermsFilter) -> Result<FoundTerms, StoreError>;
    fn decision(&self, id: Uuid) -> Result<Option<String>, StoreError>;
    fn decisions(
        &self,
        filter: &DecisionFilter,
        limit: usize,
    ) -> Result<Vec<DecisionLine>, StoreError>;
    fn changes(&self, filter: &AuditFilter, limit: usize) -> Result<Vec<Audit>, StoreError>;
    fn counted(&self, identity: &Identity, asked: &CountedWindow) -> Result<Counted, StoreError>;
    fn mismatches(
        &self,
        filter: &MismatchFilter,
        limit: usize,
    ) -> Result<Vec<Mismatch>, StoreError>;
    fn beside(
        &self,
        filter: &MismatchFilter,
        of: (Timestamp, Uuid),
        side: Side,
    ) -> Result<Beside, StoreError>;
    fn list_answered(
        &self,
        filter: &AnsweredFilter,
        fingerprints: &[String],
        chosen: &mut Chosen<'_>,
    ) -> Result<(), StoreError>;
    fn answered(&self, filter: &AnsweredFilter, ids: &[Uuid]) -> Result<Vec<Mismatch>, StoreError>;
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
            StoreUrl::Sqlite(path) => {
                Box::new(SqliteReader::open(path, config.remembered().cloned())?)
            }
            StoreUrl::ClickHouse(_) => Box::new(ClickHouseReader::open(
                config,
                config.remembered().cloned(),
            )?),
            StoreUrl::Kafka(url) => return Err(StoreError::WriteOnly { url: url.clone() }),
        };
        Ok(Self {
            store,
            clocks_apart,
            redecide: None,
        })
    }

    /// From now on counts include what was counted under earlier rules of the same versions, as far as `redecide` says that
    /// it holds under the present ones, and not what was counted with a rule that has expired since.
    #[must_use]
    pub fn carrying(self, redecide: Redecide) -> Self {
        Self {
            redecide: Some(redecide),
            ..self
        }
    }

    /// The tallies of a selection, added up; `None` when there are none.
    pub fn evidence(&self, selection: &Selection) -> Result<Option<Evidence>, StoreError> {
        Ok(self.find_evidence(selection)?.value)
    }

    /// The same, and if there are none, what is recorded instead.
    pub fn find_evidence(
        &self,
        selection: &Selection,
    ) -> Result<Found<Option<Evidence>>, StoreError> {
        self.store.evidence(selection, self.redecide_for(selection))
    }

    /// The report of a selection; an empty one if nothing was recorded.
    pub fn report(&self, selection: &Selection) -> Result<Report, StoreError> {
        Ok(self.find_report(selection)?.value)
    }

    /// The same, and if nothing was recorded, what is recorded instead.
    pub fn find_report(&self, selection: &Selection) -> Result<Found<Report>, StoreError> {
        self.store.report(selection, self.redecide_for(selection))
    }

    /// What becomes of counts under earlier rules, unless one wants those of some rules alone.
    fn redecide_for(&self, selection: &Selection) -> Option<Redecide> {
        self.redecide.filter(|_| selection.rules_hash.is_none())
    }

    /// What the store holds: migrations, and versions of the candidate of this one.
    pub fn known(&self, migration: &str) -> Result<Known, StoreError> {
        self.store.known(migration)
    }

    /// The migration that counted last; `None` where nothing is recorded.
    pub fn newest_migration(&self) -> Result<Option<String>, StoreError> {
        self.store.newest_migration()
    }

    /// Another one when the record has changed, whatever was asked of it.
    pub fn mark(&self) -> Result<Mark, StoreError> {
        self.store.mark()
    }

    /// How the counts of a selection came about over time, of all versions and rules.
    pub fn history(&self, filter: &HistoryFilter) -> Result<History, StoreError> {
        self.store.history(filter, Timestamp::now())
    }

    /// Which versions of both services counted in the range of a history, the newest first.
    pub fn counted_versions(&self, filter: &HistoryFilter) -> Result<Vec<Versions>, StoreError> {
        let counted = self.store.counted_versions(&filter.selection)?;
        Ok(versions::in_range(counted, filter, Timestamp::now()))
    }

    /// What each minute of some spans had, by version of the candidate, in order; minutes without tallies are absent.
    pub fn minutes(&self, filter: &MinutesFilter) -> Result<Vec<Minute>, StoreError> {
        self.store.minutes(filter)
    }

    /// When each run of a migration was at work, of all versions and rules.
    pub fn run_times(&self, migration: &str) -> Result<Vec<RunTimes>, StoreError> {
        self.store.run_times(migration)
    }

    /// What the runs of a migration have seen of their candidates that wrote at this time or later, in the order in which they began;
    /// runs of older programs do not tell.
    pub fn seen(&self, migration: &str, since: Timestamp) -> Result<Vec<RunSeen>, StoreError> {
        self.store.seen(migration, since)
    }

    /// The document of a stored decision, byte for byte as it was stored.
    pub fn decision(&self, id: Uuid) -> Result<Option<String>, StoreError> {
        self.store.decision(id)
    }

    /// Up to `limit` stored decisions, newest first; never more than one over [`MAX_DECISIONS`].
    pub fn decisions(
        &self,
        filter: &DecisionFilter,
        limit: usize,
    ) -> Result<Vec<DecisionLine>, StoreError> {
        // One more than the most, so that a caller can see whether there is a next page.
        self.store.decisions(filter, limit.min(MAX_DECISIONS + 1))
    }

    /// Up to `limit` changes of running processes, newest first; never more than one over [`MAX_CHANGES`].
    pub fn changes(&self, filter: &AuditFilter, limit: usize) -> Result<Vec<Audit>, StoreError> {
        // One more than the most, so that a caller can see whether there is a next page.
        self.store.changes(filter, limit.min(MAX_CHANGES + 1))
    }

    /// The tallies of one identity within a window, added up; to check a decision once more.
    pub fn counted(
        &self,
        identity: &Identity,
        asked: &CountedWindow,
    ) -> Result<Counted, StoreError> {
        self.store.counted(identity, asked)
    }

    /// The terms that are selected, the latest first; [`MAX_TERMS`] at most.
    pub fn terms(&self, filter: &TermsFilter) -> Result<FoundTerms, StoreError> {
        self.store.terms(filter)
    }

    /// The text of the rules that have this hash; `None` if only older programs counted under them.
    pub fn rule_text(
        &self,
        migration: &str,
        rules_hash: &str,
    ) -> Result<Option<RulesText>, StoreError> {
        let found = self.terms(&TermsFilter {
            migration: migration.to_owned(),
            rules_hash: rules_hash.to_owned(),
            ..TermsFilter::default()
        })?;
        Ok(found.terms.into_iter().next().map(|terms| terms.rules))
    }

    /// How far the clocks of the writers may differ from ours. Zero for a file, which only this machine writes.
    pub fn clocks_apart(&self) -> Duration {
        self.clocks_apart
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

    /// Where a mismatch stands among those that are selected, the newest first; where a page begins does not matter.
    pub fn neighbours(
        &self,
        filter: &MismatchFilter,
        of: (Timestamp, Uuid),
    ) -> Result<Neighbours, StoreError> {
        let beside = |side| self.store.beside(filter, of, side);
        Ok(Neighbours::between(
            &beside(Side::Newer)?,
            &beside(Side::Older)?,
        ))
    }

    /// Up to `each` mismatches of each of these groups whose answers are stored, spread over all that have them.
    pub fn examples(
        &self,
        filter: &AnsweredFilter,
        fingerprints: &[String],
        each: usize,
    ) -> Result<Examples, StoreError> {
        let mut chosen = Chosen::of(fingerprints, each);
        if !fingerprints.is_empty() {
            self.store
                .list_answered(filter, fingerprints, &mut chosen)?;
        }
        Ok(chosen.finish())
    }

    /// Mismatches by their ids, as [`Reader::examples`] names them; without those that retention has removed since.
    pub fn answered(
        &self,
        filter: &AnsweredFilter,
        ids: &[Uuid],
    ) -> Result<Vec<Mismatch>, StoreError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        self.store.answered(filter, ids)
    }
}
