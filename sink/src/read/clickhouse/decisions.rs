//! Queries on stored decisions, and on the tallies that one rests on.

use clickhouse::Row;
use parity_schemas::decisions::DecisionLine;
use parity_schemas::tally::Identity;
use parity_schemas::time::Timestamp;
use serde::Deserialize;
use uuid::Uuid;

use super::{ClickHouseReader, touched, word};
use crate::error::StoreError;
use crate::read::assemble::Sums;
use crate::read::decisions::{Counted, CountedWindow, DecisionFilter};

/// The columns of a line, as they are selected.
#[derive(Row, Deserialize)]
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

impl ClickHouseReader {
    pub(super) fn list_decisions(
        &self,
        filter: &DecisionFilter,
        limit: usize,
    ) -> Result<Vec<DecisionLine>, StoreError> {
        let mut conditions = vec!["1"];
        if filter.migration.is_some() {
            conditions.push("d.migration = ?");
        }
        if filter.outcome.is_some() {
            conditions.push("d.outcome = ?");
        }
        if filter.before.is_some() {
            conditions.push("(toUnixTimestamp64Micro(d.time), toString(d.id)) < (?, ?)");
        }
        let sql = format!(
            "{SELECT_LINES} WHERE {} {IN_ORDER}",
            conditions.join(" AND ")
        );
        let mut question = self.server.client().query(&sql);
        if let Some(migration) = &filter.migration {
            question = question.bind(migration);
        }
        if let Some(outcome) = filter.outcome {
            question = question.bind(outcome.as_str());
        }
        if let Some((time, id)) = filter.before {
            question = question.bind(time.as_micros()).bind(id.to_string());
        }
        let rows = self.ask::<LineRow>(question.bind(limit))?;
        rows.into_iter().map(LineRow::into_line).collect()
    }

    pub(super) fn find_decision(&self, id: Uuid) -> Result<Option<String>, StoreError> {
        let sql = "SELECT d.document AS text FROM decisions AS d WHERE d.id = toUUID(?) LIMIT 1";
        let question = self.server.client().query(sql).bind(id.to_string());
        Ok(self.ask::<DocumentRow>(question)?.pop().map(|row| row.text))
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
        let mut sums = Sums::default();
        self.tallies(&mut sums, (identity, &asked.since(), &condition), false)?;
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

const IN_ORDER: &str = "ORDER BY d.time DESC, toString(d.id) DESC LIMIT 1 BY d.id LIMIT ?";
