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
mod decisions;
mod forms;
mod history;
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

use std::cell::RefCell;

use clickhouse::Row;
use parity_schemas::audit::Audit;
use parity_schemas::decisions::DecisionLine;
use parity_schemas::evidence::carried::Redecide;
use parity_schemas::evidence::{Evidence, LeftOutSpan, Window};
use parity_schemas::history::History;
use parity_schemas::record::Mismatch;
use parity_schemas::report::Report;
use parity_schemas::tally::Identity;
use parity_schemas::time::Timestamp;
use serde::Deserialize;
use tokio::runtime::Runtime;
use uuid::Uuid;

use self::replicas::{ORIGIN, Replicas, SETTINGS};
use super::answered::{AnsweredFilter, Chosen};
use super::assemble::{Sums, nothing};
use super::audit::AuditFilter;
use super::carry::{Read, ReadEarlier, carry_over};
use super::decisions::{Counted, CountedWindow, DecisionFilter, FoundTerms, TermsFilter};
use super::groups::EXAMPLES_TRIED;
use super::history::HistoryFilter;
use super::in_force::last_in_force;
use super::mark::Mark;
use super::neighbours::{Beside, Side};
use super::recent::recent;
use super::{Found, Known, MismatchFilter, RecordReader, Selection};
use crate::clickhouse::{Server, schema, within};
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
    /// Read once for all that is read together.
    marks: RefCell<Option<(Identity, Marks)>>,
}

impl ClickHouseReader {
    pub(super) fn open(
        store: &StoreConfig,
        remembered: Option<Remembered>,
    ) -> Result<Self, StoreError> {
        let server = Server::of(store)?.with_settings(&SETTINGS);
        let runtime = runtime()?;
        runtime.block_on(schema::check(&server))?;
        Ok(Self {
            server,
            runtime,
            replicas: Replicas::default(),
            remembered,
            marks: RefCell::default(),
        })
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

    /// Calls `each` with every row of a query as it arrives.
    fn each<T>(
        &self,
        question: clickhouse::query::Query,
        mut each: impl FnMut(T) -> Result<(), StoreError>,
    ) -> Result<(), StoreError>
    where
        T: clickhouse::RowOwned + clickhouse::RowRead,
    {
        let mut refused = Ok(());
        let rows = async {
            let mut rows = question.fetch::<T>()?;
            while let Some(row) = rows.next().await? {
                refused = each(row);
                if refused.is_err() {
                    break;
                }
            }
            Ok(())
        };
        self.runtime
            .block_on(within(ANSWERED_WITHIN, rows))
            .map_err(|fault| self.server.failed("read", &fault))?;
        refused
    }

    /// The identity that was last in force.
    fn identity(&self, selection: &Selection) -> Result<Option<Identity>, StoreError> {
        let counted = self.newest(selection)?;
        let runs = self.run_times(selection.migration())?;
        Ok(last_in_force(runs, selection, counted))
    }

    /// What the newest matching interval counts for, and when it began.
    fn newest(&self, selection: &Selection) -> Result<Option<(Identity, Timestamp)>, StoreError> {
        let versions = [
            (" AND legacy_version = ?", &selection.legacy_version),
            (" AND candidate_version = ?", &selection.candidate_version),
        ];
        let mut condition = "WHERE migration = ?".to_owned();
        for (of_version, version) in &versions {
            if version.is_some() {
                condition.push_str(of_version);
            }
        }
        condition.push_str(since_condition(selection));
        // Its time first, which reads one column, and then the few rows of that time.
        let sql = format!(
            "SELECT legacy_version, candidate_version, rules_hash, toUnixTimestamp64Micro(t.interval_start) AS began_at, \
             {ORIGIN} FROM tallies AS t {condition} \
             AND t.interval_start = (SELECT max(t.interval_start) FROM tallies AS t {condition}) \
             ORDER BY toString(id) DESC LIMIT 1",
        );
        let mut question = self.server.client().query(&sql);
        for _of_both in 0..2 {
            question = question.bind(selection.migration());
            for (_, version) in &versions {
                if let Some(version) = version {
                    question = question.bind(version);
                }
            }
            if let Some(since) = selection.since {
                question = question.bind(since.as_micros());
            }
        }
        let Some(found) = self.ask::<Newest>(question)?.pop() else {
            return Ok(None);
        };
        self.came_from(found.shard, found.server)?;
        let identity = Identity {
            migration: selection.migration().to_owned(),
            legacy_version: found.legacy_version,
            candidate_version: found.candidate_version,
            rules_hash: found.rules_hash,
        };
        Ok(Some((identity, Timestamp::from_micros(found.began_at))))
    }
}

impl ClickHouseReader {
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
        let rows = self.ask::<NameRow>(question)?;
        Ok(rows.into_iter().map(|row| row.name).collect())
    }

    fn read_evidence(
        &self,
        selection: &Selection,
        redecide: Option<Redecide>,
    ) -> Result<Found<Option<Evidence>>, StoreError> {
        let Some(identity) = self.identity(selection)? else {
            return Ok(Found {
                value: None,
                instead: Some(self.known(selection.migration())?),
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
                instead: Some(self.known(selection.migration())?),
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

    fn decision(&self, id: Uuid) -> Result<Option<String>, StoreError> {
        self.find_decision(id)
    }

    fn decisions(
        &self,
        filter: &DecisionFilter,
        limit: usize,
    ) -> Result<Vec<DecisionLine>, StoreError> {
        self.list_decisions(filter, limit)
    }

    fn changes(&self, filter: &AuditFilter, limit: usize) -> Result<Vec<Audit>, StoreError> {
        self.list_changes(filter, limit)
    }

    fn counted(&self, identity: &Identity, asked: &CountedWindow) -> Result<Counted, StoreError> {
        self.of_one_replica(|| self.count(identity, asked))
    }

    fn terms(&self, filter: &TermsFilter) -> Result<FoundTerms, StoreError> {
        self.find_terms(filter)
    }

    fn known(&self, migration: &str) -> Result<Known, StoreError> {
        let names = |question: clickhouse::query::Query| {
            let rows = self.ask::<NameRow>(question)?;
            Ok::<_, StoreError>(rows.into_iter().map(|row| row.name).collect())
        };
        let client = self.server.client();
        Ok(Known {
            migrations: names(client.query(SELECT_MIGRATIONS))?,
            candidate_versions: names(
                client
                    .query(SELECT_VERSIONS)
                    .bind(migration)
                    .bind(migration),
            )?,
        })
    }

    fn newest_migration(&self) -> Result<Option<String>, StoreError> {
        let found = self.ask::<NameRow>(self.server.client().query(SELECT_NEWEST_MIGRATION))?;
        Ok(found.into_iter().next().map(|row| row.name))
    }

    fn mismatch(&self, id: Uuid) -> Result<Option<Mismatch>, StoreError> {
        self.find_mismatch(id)
    }

    fn mismatches(
        &self,
        filter: &MismatchFilter,
        limit: usize,
    ) -> Result<Vec<Mismatch>, StoreError> {
        self.list_mismatches(filter, limit)
    }

    fn beside(
        &self,
        filter: &MismatchFilter,
        of: (Timestamp, Uuid),
        side: Side,
    ) -> Result<Beside, StoreError> {
        self.list_beside(filter, of, side)
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

/// The newest interval.
#[derive(Row, Deserialize)]
struct Newest {
    legacy_version: String,
    candidate_version: String,
    rules_hash: String,
    began_at: i64,
    shard: u32,
    server: String,
}

#[derive(Row, Deserialize)]
struct NameRow {
    name: String,
}

const SELECT_MIGRATIONS: &str = "SELECT DISTINCT name FROM (SELECT toString(migration) AS name FROM tallies UNION ALL \
     SELECT toString(migration) FROM watermarks) ORDER BY name LIMIT 100";

const SELECT_NEWEST_MIGRATION: &str = "SELECT name FROM (\
     SELECT toString(migration) AS name, max(interval_start) AS began FROM tallies GROUP BY migration UNION ALL \
     SELECT toString(migration), max(started) FROM watermarks GROUP BY migration) \
     GROUP BY name ORDER BY max(began) DESC, name LIMIT 1";

const SELECT_VERSIONS: &str = "SELECT name FROM (\
     SELECT toString(candidate_version) AS name, interval_start AS began FROM tallies WHERE migration = ? UNION ALL \
     SELECT toString(candidate_version), started FROM watermarks WHERE migration = ?) \
     GROUP BY name ORDER BY max(began) DESC LIMIT 100";

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
