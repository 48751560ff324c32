//! Queries on a `ClickHouse` database.
//!
//! The server sums counts by route and group, so a report over a year reads a few hundred rows; `assemble` builds the
//! report from them, as for every store. Tallies and groups are read with FINAL, which keeps the highest revision of
//! each; mismatches that were written twice are identical, and deduplicated by id. A process that serves pages remembers the
//! sums, and asks for those of what has changed.
//!
//! Groups and sets are read before tallies, because there is no transaction over both. So a report may show a mismatch in
//! the counts before its group, but never a group without its counts.

mod answered;
mod asking;
mod counted_for;
mod decisions;
mod forms;
mod history;
mod identities;
mod kept;
mod mark;
mod marks;
mod mismatches;
mod older_examples;
mod parts;
mod replicas;
mod rows;
mod stored;
mod sums;
mod watermarks;

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use clickhouse::Row;
use parity_schemas::audit::Audit;
use parity_schemas::decisions::DecisionLine;
use parity_schemas::evidence::carried::Redecide;
use parity_schemas::evidence::{Evidence, LeftOutSpan, Window};
use parity_schemas::history::History;
use parity_schemas::record::{Mismatch, RecordType};
use parity_schemas::report::Report;
use parity_schemas::tally::Identity;
use parity_schemas::time::Timestamp;
use serde::Deserialize;
use tokio::runtime::Runtime;
use uuid::Uuid;

use self::kept::KeptRows;
use self::parts::Seen;
use self::replicas::{Replicas, SETTINGS};
use super::answered::{AnsweredFilter, Chosen};
use super::assemble::{Sums, nothing};
use super::audit::AuditFilter;
use super::carry::{Read, ReadEarlier, carry_over};
use super::decisions::{Counted, CountedWindow, DecisionFilter, FoundTerms, TermsFilter};
use super::groups::EXAMPLES_TRIED;
use super::history::{HistoryFilter, Minute, MinutesFilter, Versions};
use super::in_force::RunTimes;
use super::mark::Mark;
use super::neighbours::{Beside, Side};
use super::recent::recent;
use super::seen::RunSeen;
use super::{Found, Known, MismatchFilter, RecordReader, Selection};
use crate::clickhouse::{Server, within};
use crate::error::StoreError;
use crate::remembered::{Marks, Remembered};
use crate::runtime::runtime;
use crate::store::StoreConfig;

/// Time limit of one query of a reader.
const ANSWERED_WITHIN: std::time::Duration = std::time::Duration::from_mins(2);

/// A database, open for reading.
pub(super) struct ClickHouseReader {
    server: Server,
    runtime: Runtime,
    replicas: Replicas,
    remembered: Option<Remembered>,
    /// Rows that are the same while their tables are.
    kept: Option<Arc<KeptRows>>,
    /// What the tables consist of.
    seen: RefCell<Option<Arc<Seen>>>,
    /// Whether anything was asked since then.
    asked: Cell<bool>,
    /// Read once for all that is read together.
    marks: RefCell<Option<(Identity, Marks)>>,
}

impl ClickHouseReader {
    pub(super) fn open(
        store: &StoreConfig,
        remembered: Option<Remembered>,
    ) -> Result<Self, StoreError> {
        let server = Server::of(store)?.with_settings(&SETTINGS);
        let reader = Self {
            server,
            runtime: runtime()?,
            replicas: Replicas::default(),
            kept: remembered.as_ref().map(Remembered::kind),
            remembered,
            seen: RefCell::default(),
            asked: Cell::default(),
            marks: RefCell::default(),
        };
        reader.of_one_replica(|| reader.check())?;
        Ok(reader)
    }

    /// All rows of a query that has few.
    fn ask<T>(&self, question: clickhouse::query::Query) -> Result<Vec<T>, StoreError>
    where
        T: clickhouse::RowOwned + clickhouse::RowRead,
    {
        let mut rows = Vec::new();
        self.each(question, |row| {
            rows.push(row);
            Ok(())
        })?;
        Ok(rows)
    }

    /// Calls `each` with every row of a query as it arrives. Returns how many bytes they were.
    fn each<T>(
        &self,
        question: clickhouse::query::Query,
        mut each: impl FnMut(T) -> Result<(), StoreError>,
    ) -> Result<u64, StoreError>
    where
        T: clickhouse::RowOwned + clickhouse::RowRead,
    {
        self.asked.set(true);
        let mut refused = Ok(());
        let rows = async {
            let mut rows = question.fetch::<T>()?;
            while let Some(row) = rows.next().await? {
                refused = each(row);
                if refused.is_err() {
                    break;
                }
            }
            Ok(rows.decoded_bytes())
        };
        let bytes = self
            .runtime
            .block_on(within(ANSWERED_WITHIN, rows))
            .map_err(|fault| self.server.failed("read", &fault))?;
        refused.map(|()| bytes)
    }

    /// Routes of which something was compared in the times that a selection leaves out, under any rules.
    fn routes_outside(
        &self,
        identity: &Identity,
        selection: &Selection,
    ) -> Result<Vec<String>, StoreError> {
        let outside: Vec<String> = selection.outside().into_iter().map(of_window).collect();
        if outside.is_empty() {
            return Ok(Vec::new());
        }
        let sql = format!(
            "SELECT DISTINCT toString(t.route) AS name FROM tallies AS t WHERE t.migration = ? AND t.legacy_version = ? \
             AND t.candidate_version = ? AND ({}) AND t.`match` + t.mismatch > 0 ORDER BY name",
            outside.join(" OR ")
        );
        let question = self.server.client().query(&sql);
        let question = question
            .bind(&identity.migration)
            .bind(&identity.legacy_version)
            .bind(&identity.candidate_version);
        let rows = self.kept::<NameRow>(&[RecordType::Tally], question)?;
        Ok(rows.iter().map(|row| row.name.clone()).collect())
    }

    fn read_evidence(
        &self,
        selection: &Selection,
        redecide: Option<Redecide>,
    ) -> Result<Found<Option<Evidence>>, StoreError> {
        let Some(identity) = self.identity(selection)? else {
            return Ok(Found {
                value: None,
                instead: Some(self.names(selection.migration())?),
            });
        };
        let mut runs_seen = self.run_watermarks(&identity, selection)?;
        let mut sums = self.sums(&identity, selection, selection.with_latency)?;
        sums.recent = recent(self, (&identity, selection), sums.window())?;
        if let Some(redecide) = redecide {
            carry_over(
                self,
                redecide,
                (&identity, selection, selection.with_latency),
                &mut sums,
                &mut runs_seen,
            )?;
        }
        sums.outside = self.routes_outside(&identity, selection)?;
        Ok(sums.into_evidence(identity, runs_seen).into())
    }

    fn read_report(
        &self,
        selection: &Selection,
        redecide: Option<Redecide>,
    ) -> Result<Found<Report>, StoreError> {
        let Some(identity) = self.identity(selection)? else {
            return Ok(Found {
                value: nothing(selection)?,
                instead: Some(self.names(selection.migration())?),
            });
        };
        let mut runs_seen = self.run_watermarks(&identity, selection)?;
        let mut sums = self.sums(&identity, selection, true)?;
        sums.recent = recent(self, (&identity, selection), sums.window())?;
        if let Some(redecide) = redecide {
            carry_over(
                self,
                redecide,
                (&identity, selection, true),
                &mut sums,
                &mut runs_seen,
            )?;
        }
        // Only the newest example of each. Older ones are fetched only if that one is missing, because they cost several
        // times as much as all the rest.
        let ids: Vec<Uuid> = sums.groups.example_ids(1).collect();
        let mut examples = self.examples(&identity, &ids)?;
        if self.add_older_examples(&mut sums, &identity, selection, |id| {
            examples.contains_key(id)
        })? {
            let ids: Vec<Uuid> = sums
                .groups
                .example_ids(EXAMPLES_TRIED)
                .filter(|id| !examples.contains_key(id))
                .collect();
            examples.extend(self.examples(&identity, &ids)?);
        }
        sums.outside = self.routes_outside(&identity, selection)?;
        sums.into_report(identity, runs_seen, |id| Ok(examples.get(&id).cloned()))
            .map(Found::from)
    }
}

impl ReadEarlier for ClickHouseReader {
    fn counted(&self, identity: &Identity, selection: &Selection) -> Result<Read, StoreError> {
        // As always: first how much there must be, then what there is.
        let runs_seen = self.run_watermarks(identity, selection)?;
        Ok(Read {
            sums: self.sums(identity, selection, true)?,
            runs_seen,
        })
    }

    fn sums_of(&self, identity: &Identity, selection: &Selection) -> Result<Sums, StoreError> {
        self.sums(identity, selection, false)
    }

    fn terms(&self, filter: &TermsFilter) -> Result<FoundTerms, StoreError> {
        self.find_terms(filter)
    }
}

impl RecordReader for ClickHouseReader {
    fn evidence(
        &self,
        selection: &Selection,
        redecide: Option<Redecide>,
    ) -> Result<Found<Option<Evidence>>, StoreError> {
        self.of_one_replica(|| self.read_evidence(selection, redecide))
    }

    fn report(
        &self,
        selection: &Selection,
        redecide: Option<Redecide>,
    ) -> Result<Found<Report>, StoreError> {
        self.of_one_replica(|| self.read_report(selection, redecide))
    }

    fn mark(&self) -> Result<Mark, StoreError> {
        self.read_mark()
    }

    fn history(&self, filter: &HistoryFilter, now: Timestamp) -> Result<History, StoreError> {
        self.of_one_replica(|| self.read_history(filter, now))
    }

    fn counted_versions(&self, of: &Selection) -> Result<Vec<(Versions, i64)>, StoreError> {
        self.of_one_replica(|| self.list_counted(of))
    }

    fn minutes(&self, filter: &MinutesFilter) -> Result<Vec<Minute>, StoreError> {
        self.of_one_replica(|| self.read_minutes(filter))
    }

    fn run_times(&self, migration: &str) -> Result<Vec<RunTimes>, StoreError> {
        self.of_one_replica(|| self.list_runs(migration))
    }

    fn seen(&self, migration: &str, since: Timestamp) -> Result<Vec<RunSeen>, StoreError> {
        self.of_one_replica(|| self.list_seen(migration, since))
    }

    fn decision(&self, id: Uuid) -> Result<Option<String>, StoreError> {
        self.find_decision(id)
    }

    fn decisions(
        &self,
        filter: &DecisionFilter,
        limit: usize,
    ) -> Result<Vec<DecisionLine>, StoreError> {
        self.of_one_replica(|| self.list_decisions(filter, limit))
    }

    fn changes(&self, filter: &AuditFilter, limit: usize) -> Result<Vec<Audit>, StoreError> {
        self.of_one_replica(|| self.list_changes(filter, limit))
    }

    fn counted(&self, identity: &Identity, asked: &CountedWindow) -> Result<Counted, StoreError> {
        self.of_one_replica(|| self.count(identity, asked))
    }

    fn terms(&self, filter: &TermsFilter) -> Result<FoundTerms, StoreError> {
        self.of_one_replica(|| self.find_terms(filter))
    }

    fn known(&self, migration: &str) -> Result<Known, StoreError> {
        self.of_one_replica(|| self.names(migration))
    }

    fn newest_migration(&self) -> Result<Option<String>, StoreError> {
        self.of_one_replica(|| self.find_newest_migration())
    }

    fn mismatch(&self, id: Uuid) -> Result<Option<Mismatch>, StoreError> {
        self.find_mismatch(id)
    }

    fn mismatches(
        &self,
        filter: &MismatchFilter,
        limit: usize,
    ) -> Result<Vec<Mismatch>, StoreError> {
        self.of_one_replica(|| self.list_mismatches(filter, limit))
    }

    fn beside(
        &self,
        filter: &MismatchFilter,
        of: (Timestamp, Uuid),
        side: Side,
    ) -> Result<Beside, StoreError> {
        self.of_one_replica(|| self.list_beside(filter, of, side))
    }

    fn list_answered(
        &self,
        filter: &AnsweredFilter,
        fingerprints: &[String],
        chosen: &mut Chosen<'_>,
    ) -> Result<(), StoreError> {
        self.list_with_answers(filter, fingerprints, chosen)
    }

    fn answered(&self, filter: &AnsweredFilter, ids: &[Uuid]) -> Result<Vec<Mismatch>, StoreError> {
        self.with_answers(filter, ids)
    }
}

/// The condition that an interval is one of those that a span touches.
fn touched(span: &LeftOutSpan) -> String {
    of_window(span.minutes())
}

fn of_window(window: Window) -> String {
    format!(
        "(t.interval_start >= {} AND t.interval_start < {})",
        time(window.from.as_micros()),
        time(window.to.as_micros())
    )
}

/// A time as it is compared with a column.
fn time(micros: i64) -> String {
    // What the column can hold: 1900 to 2299. Beyond that the server would wrap around.
    const HELD: std::ops::RangeInclusive<i64> = -2_208_988_800_000_000..=10_413_791_999_000_000;
    let micros = micros.clamp(*HELD.start(), *HELD.end());
    format!("fromUnixTimestamp64Micro(toInt64({micros}), 'UTC')")
}

fn since_condition(selection: &Selection) -> &'static str {
    if selection.since.is_some() {
        " AND t.interval_start >= fromUnixTimestamp64Micro(toInt64(?), 'UTC')"
    } else {
        ""
    }
}

#[derive(Row, Deserialize)]
struct NameRow {
    name: String,
}

fn word<T: std::str::FromStr>(
    table: &'static str,
    column: &'static str,
    text: &str,
) -> Result<T, StoreError> {
    text.parse()
        .map_err(|_| StoreError::value(table, column, text))
}

fn optional_word<T: std::str::FromStr>(
    table: &'static str,
    column: &'static str,
    text: &str,
) -> Result<Option<T>, StoreError> {
    if text.is_empty() {
        Ok(None)
    } else {
        word(table, column, text).map(Some)
    }
}
