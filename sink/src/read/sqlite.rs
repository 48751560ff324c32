//! Queries on the `SQLite` file.
//!
//! A report is read in one transaction, so that its tallies and groups are consistent while a mirror writes.

mod answered;
pub(crate) mod blocks;
mod counting;
mod decisions;
mod fields;
mod forms;
mod history;
mod identities;
mod mark;
mod mismatches;
mod rows;
mod watermarks;

use std::path::{Path, PathBuf};
use std::rc::Rc;

use parity_schemas::audit::Audit;
use parity_schemas::decisions::DecisionLine;
use parity_schemas::evidence::carried::Redecide;
use parity_schemas::evidence::{Evidence, LeftOutSpan, Window};
use parity_schemas::history::History;
use parity_schemas::record::{Mismatch, RecordType};
use parity_schemas::report::Report;
use parity_schemas::tally::Identity;
use parity_schemas::time::Timestamp;
use rusqlite::types::Value;
use rusqlite::{Connection, Row};
use uuid::Uuid;

use self::fields::Fields;
use self::rows::{all_of, mismatch};
use super::answered::{AnsweredFilter, Chosen};
use super::assemble::{Sums, nothing};
use super::audit::AuditFilter;
use super::carry::{Read, ReadEarlier, carry_over};
use super::counting::{Counting, count_up};
use super::decisions::{Counted, CountedWindow, DecisionFilter, FoundTerms, TermsFilter};
use super::groups::ExampleRow;
use super::history::{HistoryFilter, Minute, MinutesFilter};
use super::in_force::RunTimes;
use super::mark::Mark;
use super::neighbours::{Beside, Side};
use super::recent::recent;
use super::seen::RunSeen;
use super::{Found, Known, MismatchFilter, RecordReader, Selection};
use crate::error::StoreError;
use crate::remembered::Remembered;
use crate::sqlite::begun::{self, Note};
use crate::sqlite::{failed, open_read_only};

/// The file, open for reading.
pub(crate) struct SqliteReader {
    connection: Connection,
    path: PathBuf,
    remembered: Option<Remembered>,
}

impl SqliteReader {
    pub(crate) fn open(path: &Path, remembered: Option<Remembered>) -> Result<Self, StoreError> {
        Ok(Self {
            connection: open_read_only(path)?,
            path: path.into(),
            remembered,
        })
    }
}

impl RecordReader for SqliteReader {
    fn evidence(
        &self,
        selection: &Selection,
        redecide: Option<Redecide>,
    ) -> Result<Found<Option<Evidence>>, StoreError> {
        let notes = self.notes()?;
        let _moment = self.moment()?;
        let Some(identity) = self.identity(selection)? else {
            return Ok(Found {
                value: None,
                instead: Some(self.known(selection.migration())?),
            });
        };
        let mut sums = self.sums(&identity, selection, selection.with_latency)?;
        let mut runs_seen = self.run_watermarks(&identity, selection, notes)?;
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

    fn report(
        &self,
        selection: &Selection,
        redecide: Option<Redecide>,
    ) -> Result<Found<Report>, StoreError> {
        let notes = self.notes()?;
        let _moment = self.moment()?;
        let Some(identity) = self.identity(selection)? else {
            return Ok(Found {
                value: nothing(selection)?,
                instead: Some(self.known(selection.migration())?),
            });
        };
        let mut sums = self.sums(&identity, selection, true)?;
        let mut runs_seen = self.run_watermarks(&identity, selection, notes)?;
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
        sums.outside = self.routes_outside(&identity, selection)?;
        sums.into_report(identity, runs_seen, |id| self.example(id))
            .map(Found::from)
    }

    fn known(&self, migration: &str) -> Result<Known, StoreError> {
        let migrations = self.rows(SELECT_MIGRATIONS, (), "tallies", |row| {
            Ok(row.text(0, "migration")?.to_owned())
        })?;
        Ok(Known {
            migrations,
            candidate_versions: self.versions(migration)?,
        })
    }

    fn newest_migration(&self) -> Result<Option<String>, StoreError> {
        let found = self.rows(SELECT_NEWEST_MIGRATION, (), "tallies", |row| {
            Ok(row.text(0, "migration")?.to_owned())
        })?;
        Ok(found.into_iter().next())
    }

    fn mark(&self) -> Result<Mark, StoreError> {
        self.read_mark()
    }

    fn history(&self, filter: &HistoryFilter, now: Timestamp) -> Result<History, StoreError> {
        self.read_history(filter, now)
    }

    fn minutes(&self, filter: &MinutesFilter) -> Result<Vec<Minute>, StoreError> {
        self.read_minutes(filter)
    }

    fn run_times(&self, migration: &str) -> Result<Vec<RunTimes>, StoreError> {
        self.list_runs(migration)
    }

    fn seen(&self, migration: &str, since: Timestamp) -> Result<Vec<RunSeen>, StoreError> {
        self.list_seen(migration, since)
    }

    fn mismatch(&self, id: Uuid) -> Result<Option<Mismatch>, StoreError> {
        let columns = all_of(RecordType::Mismatch);
        let sql = format!("SELECT {columns} FROM mismatches WHERE id = ?1");
        let found = self.rows(&sql, [id.to_string()], "mismatches", mismatch)?;
        Ok(found.into_iter().next())
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
        self.count(identity, asked)
    }

    fn terms(&self, filter: &TermsFilter) -> Result<FoundTerms, StoreError> {
        self.find_terms(filter)
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
        _fingerprints: &[String],
        chosen: &mut Chosen<'_>,
    ) -> Result<(), StoreError> {
        self.list_with_answers(filter, chosen)
    }

    fn answered(&self, filter: &AnsweredFilter, ids: &[Uuid]) -> Result<Vec<Mismatch>, StoreError> {
        self.with_answers(filter, ids)
    }
}

impl ReadEarlier for SqliteReader {
    fn counted(&self, identity: &Identity, selection: &Selection) -> Result<Read, StoreError> {
        Ok(Read {
            sums: self.sums(identity, selection, true)?,
            // A run that the file has not heard of is among those that go on.
            runs_seen: self.run_watermarks(identity, selection, Vec::new())?,
        })
    }

    fn sums_of(&self, identity: &Identity, selection: &Selection) -> Result<Sums, StoreError> {
        self.sums(identity, selection, false)
    }

    fn terms(&self, filter: &TermsFilter) -> Result<FoundTerms, StoreError> {
        self.find_terms(filter)
    }
}

impl SqliteReader {
    /// A transaction: everything that is read while it lives is one consistent snapshot.
    fn moment(&self) -> Result<rusqlite::Transaction<'_>, StoreError> {
        self.connection
            .unchecked_transaction()
            .map_err(|error| self.failed(error))
    }

    /// The runs that the file has not heard of. To be read before the file, see [`begun`].
    fn notes(&self) -> Result<Vec<Note>, StoreError> {
        begun::list(&self.path).map_err(|error| StoreError::Unguarded {
            path: self.path.clone(),
            why: format!("its folder cannot be read: {error}"),
        })
    }

    /// All counts of an identity, added up.
    fn sums(
        &self,
        identity: &Identity,
        selection: &Selection,
        with_details: bool,
    ) -> Result<Sums, StoreError> {
        let counting = Counting {
            identity,
            selection,
            with_details,
        };
        let mut sums = count_up(self, self.remembered.as_ref(), &counting)?;
        // In one transaction nothing is newer than what it is a part of.
        sums.look_for_contradictions();
        Ok(sums)
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
            "SELECT DISTINCT route FROM tallies WHERE migration = ?1 AND legacy_version = ?2 AND candidate_version = ?3 \
             AND ({}) AND \"match\" + mismatch > 0 ORDER BY route",
            outside.join(" OR ")
        );
        let values = [
            &identity.migration,
            &identity.legacy_version,
            &identity.candidate_version,
        ];
        self.rows(&sql, values, "tallies", |row| {
            Ok(row.text(0, "route")?.to_owned())
        })
    }

    /// Calls `each` with every row of a query on the counts of an identity.
    fn each(
        &self,
        sql: &str,
        table: RecordType,
        identity: &Identity,
        (from, to): (i64, Option<i64>),
        mut each: impl FnMut(&Fields<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let failed = |error| self.failed(error);
        let mut statement = self.connection.prepare_cached(sql).map_err(failed)?;
        let of_identity = [
            &identity.migration,
            &identity.legacy_version,
            &identity.candidate_version,
            &identity.rules_hash,
        ];
        let values = of_identity.map(|text| Value::from(text.clone()));
        let limits = [Some(from), to].into_iter().flatten().map(Value::from);
        let mut rows = statement
            .query(rusqlite::params_from_iter(values.into_iter().chain(limits)))
            .map_err(failed)?;
        while let Some(row) = rows.next().map_err(failed)? {
            each(&self.fields(row, table.table()))?;
        }
        Ok(())
    }

    fn example(&self, id: Uuid) -> Result<Option<Rc<ExampleRow>>, StoreError> {
        let sql = "SELECT route, path, query, findings FROM mismatches WHERE id = ?1";
        let found = self.rows(sql, [id.to_string()], "mismatches", |row| {
            Ok(ExampleRow {
                route: row.text(0, "route")?.to_owned(),
                path: row.text(1, "path")?.to_owned(),
                query: row.text(2, "query")?.to_owned(),
                findings: row.json(3, "findings")?,
            })
        })?;
        Ok(found.into_iter().next().map(Rc::new))
    }

    fn rows<T>(
        &self,
        sql: &str,
        values: impl rusqlite::Params,
        table: &'static str,
        read: impl Fn(&Fields<'_>) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        let failed = |error| self.failed(error);
        let mut statement = self.connection.prepare_cached(sql).map_err(failed)?;
        let mut rows = statement.query(values).map_err(failed)?;
        let mut found = Vec::new();
        while let Some(row) = rows.next().map_err(failed)? {
            found.push(read(&self.fields(row, table))?);
        }
        Ok(found)
    }

    fn fields<'a>(&'a self, row: &'a Row<'a>, table: &'static str) -> Fields<'a> {
        Fields::new(row, table, &self.path)
    }

    fn failed(&self, error: rusqlite::Error) -> StoreError {
        failed("read", &self.path, error)
    }
}

/// The condition that an interval is one of those that a span touches.
fn within(span: &LeftOutSpan) -> String {
    of_window(span.minutes())
}

fn of_window(window: Window) -> String {
    format!(
        "(interval_start >= {} AND interval_start < {})",
        window.from.as_micros(),
        window.to.as_micros()
    )
}

const OF_IDENTITY: &str = "WHERE migration = ?1 AND legacy_version = ?2 AND candidate_version = ?3 \
     AND rules_hash = ?4 AND interval_start >= ?5";

/// The same, and of each name only the end of the index. A run that has counted nothing has begun.
const SELECT_NEWEST_MIGRATION: &str = "WITH RECURSIVE names(name) AS (SELECT min(migration) FROM tallies UNION ALL \
     SELECT (SELECT min(migration) FROM tallies WHERE migration > name) FROM names WHERE name IS NOT NULL) \
     SELECT migration FROM (SELECT name AS migration, (SELECT max(interval_start) FROM tallies WHERE migration = name) AS began \
     FROM names WHERE name IS NOT NULL UNION ALL SELECT migration, max(started) FROM watermarks GROUP BY migration) \
     ORDER BY began DESC, migration LIMIT 1";

/// From name to name by the index: to read all rows for a few names takes as long as a report.
const SELECT_MIGRATIONS: &str = "WITH RECURSIVE names(name) AS (SELECT min(migration) FROM tallies UNION ALL \
     SELECT (SELECT min(migration) FROM tallies WHERE migration > name) FROM names WHERE name IS NOT NULL) \
     SELECT name FROM names WHERE name IS NOT NULL UNION SELECT migration FROM watermarks ORDER BY 1 LIMIT 100";
