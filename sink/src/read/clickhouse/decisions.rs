//! Queries on stored decisions and changes, and on the terms and tallies that one rests on.

use clickhouse::Row;
use parity_schemas::audit::Audit;
use parity_schemas::decisions::DecisionLine;
use parity_schemas::record::RecordType;
use parity_schemas::table;
use parity_schemas::tally::Identity;
use parity_schemas::terms::Terms;
use parity_schemas::time::Timestamp;
use serde::Deserialize;
use uuid::Uuid;

use super::rows::{AUDIT, AuditRow, TERMS, TermsRow, plain, select};
use super::{ClickHouseReader, touched, word};
use crate::error::StoreError;
use crate::read::audit::AuditFilter;
use crate::read::charged::Charged;
use crate::read::conditions::{Conditions, Spelling, Value};
use crate::read::decisions::{
    Counted, CountedSums, CountedWindow, DecisionFilter, FoundTerms, InForce, MAX_TERMS,
    TermsFilter,
};

/// The columns of a line, as they are selected.
#[derive(Clone, Row, Deserialize)]
struct LineRow {
    decision_id: String,
    decided_at: i64,
    migration_name: String,
    outcome_word: String,
    legacy: String,
    candidate: String,
    rules: String,
    headline: String,
}

#[derive(Row, Deserialize)]
struct DocumentRow {
    text: String,
}

#[derive(Row, Deserialize)]
struct InForceRow {
    named: String,
    since: i64,
}

impl ClickHouseReader {
    pub(super) fn list_decisions(
        &self,
        filter: &DecisionFilter,
        limit: usize,
    ) -> Result<Vec<DecisionLine>, StoreError> {
        let conditions = Conditions::of_decisions(filter, &OF_DECISIONS);
        let (sql, order) = (conditions.sql(), conditions.order());
        let sql = format!("{SELECT_LINES} {sql} {order} LIMIT 1 BY d.id LIMIT {limit}");
        let rows = self.kept::<LineRow>(&[RecordType::Decision], self.bound(&sql, &conditions))?;
        rows.iter().cloned().map(LineRow::into_line).collect()
    }

    pub(super) fn list_changes(
        &self,
        filter: &AuditFilter,
        limit: usize,
    ) -> Result<Vec<Audit>, StoreError> {
        let conditions = Conditions::of_changes(filter, &OF_TERMS);
        let sql = format!(
            "SELECT {} FROM audit AS t FINAL {} {} LIMIT {limit}",
            select(table::AUDIT, AUDIT, plain),
            conditions.sql(),
            conditions.order()
        );
        let rows = self.kept::<AuditRow>(&[RecordType::Audit], self.bound(&sql, &conditions))?;
        rows.iter().cloned().map(AuditRow::into_record).collect()
    }

    pub(super) fn find_decision(&self, id: Uuid) -> Result<Option<String>, StoreError> {
        let sql = "SELECT d.document AS text FROM decisions AS d WHERE d.id = toUUID(?) LIMIT 1";
        let question = self.server.client().query(sql).bind(id.to_string());
        Ok(self.ask::<DocumentRow>(question)?.pop().map(|row| row.text))
    }

    pub(super) fn find_terms(&self, filter: &TermsFilter) -> Result<FoundTerms, StoreError> {
        // Read first, so that what it names may be there.
        let named = self.terms_in_force(filter)?;
        let found = self.select_terms(filter)?;
        FoundTerms::in_force_first(found, named, |id| {
            Ok(self.select_terms(&filter.only(id))?.pop())
        })
    }

    /// What the latest watermark names; nothing for who asks for certain terms.
    fn terms_in_force(&self, filter: &TermsFilter) -> Result<Option<InForce>, StoreError> {
        if !filter.ids.is_empty() {
            return Ok(None);
        }
        let conditions = Conditions::of_terms(filter, &OF_TERMS);
        let sql = format!(
            "SELECT toString(t.terms) AS named, toUnixTimestamp64Micro(t.terms_since) AS since \
             FROM watermarks AS t FINAL {} AND t.terms != toUUID('{}') \
             ORDER BY since DESC, toString(t.id) DESC LIMIT 1",
            conditions.sql(),
            Uuid::nil()
        );
        let found =
            self.kept::<InForceRow>(&[RecordType::Watermark], self.bound(&sql, &conditions))?;
        found
            .first()
            .map(|row| {
                let id = word("watermarks", "terms", &row.named)?;
                Ok((id, Timestamp::from_micros(row.since)))
            })
            .transpose()
    }

    fn select_terms(&self, filter: &TermsFilter) -> Result<Vec<Terms>, StoreError> {
        let conditions = Conditions::of_terms(filter, &OF_TERMS);
        let sql = format!(
            "SELECT {} FROM terms AS t FINAL {} {} LIMIT {}",
            select(table::TERMS, TERMS, plain),
            conditions.sql(),
            conditions.order(),
            MAX_TERMS + 1
        );
        let rows = self.kept::<TermsRow>(&[RecordType::Terms], self.bound(&sql, &conditions))?;
        rows.iter().cloned().map(TermsRow::into_record).collect()
    }

    pub(super) fn bound(&self, sql: &str, conditions: &Conditions) -> clickhouse::query::Query {
        let question = self.server.client().query(sql);
        let values = conditions.values.iter();
        values.fold(question, |question, value| match value {
            Value::Text(text) => question.bind(text),
            Value::Number(number) => question.bind(number),
        })
    }

    pub(super) fn count(
        &self,
        identity: &Identity,
        asked: &CountedWindow,
    ) -> Result<Counted, StoreError> {
        let mut condition = format!(
            "AND t.interval_start < fromUnixTimestamp64Micro(toInt64({}), 'UTC') \
             AND toUnixTimestamp64Micro(t.interval_start) + t.interval_us <= {}",
            asked.window.to.as_micros(),
            asked.closed_by.as_micros()
        );
        for span in &asked.left_out {
            condition.extend([" AND NOT ", &touched(span)]);
        }
        let mut sums = CountedSums::default();
        let of = (identity, &asked.since(), condition.as_str());
        self.tallies(of, false, &mut Charged::default(), |tally| sums.add(tally))?;
        Ok(sums.into_counted())
    }
}

impl LineRow {
    fn into_line(self) -> Result<DecisionLine, StoreError> {
        Ok(DecisionLine {
            id: word("decisions", "id", &self.decision_id)?,
            time: Timestamp::from_micros(self.decided_at),
            migration: self.migration_name,
            outcome: word("decisions", "outcome", &self.outcome_word)?,
            legacy_version: self.legacy,
            candidate_version: self.candidate,
            rules_hash: self.rules,
            headline: self.headline,
        })
    }
}

const SELECT_LINES: &str = "SELECT toString(d.id) AS decision_id, toUnixTimestamp64Micro(d.time) AS decided_at, \
     toString(d.migration) AS migration_name, toString(d.outcome) AS outcome_word, toString(d.legacy_version) AS legacy, \
     toString(d.candidate_version) AS candidate, toString(d.rules_hash) AS rules, \
     JSONExtractString(d.document, 'headline') AS headline FROM decisions AS d";

const OF_DECISIONS: Spelling = Spelling {
    prefix: "d.",
    id: "toString(d.id)",
    micros: "toUnixTimestamp64Micro(d.time)",
    time: TIME,
};

/// How a table is asked that is named `t`.
pub(super) const OF_TERMS: Spelling = Spelling {
    prefix: "t.",
    id: "toString(t.id)",
    micros: "toUnixTimestamp64Micro(t.time)",
    time: TIME,
};

const TIME: &str = "fromUnixTimestamp64Micro(toInt64(?), 'UTC')";
