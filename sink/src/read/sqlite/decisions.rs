//! Queries on stored decisions and changes, and on the terms and tallies that one rests on.

use parity_schemas::audit::Audit;
use parity_schemas::decisions::DecisionLine;
use parity_schemas::record::RecordType;
use parity_schemas::tally::Identity;
use parity_schemas::terms::Terms;
use rusqlite::ToSql;
use rusqlite::types::ToSqlOutput;
use uuid::Uuid;

use super::rows::{all_of, audit, needed_of, tally, terms};
use super::{OF_IDENTITY, SqliteReader, within};
use crate::error::StoreError;
use crate::read::audit::AuditFilter;
use crate::read::charged::Charged;
use crate::read::conditions::{Conditions, Spelling, Value};
use crate::read::counting::since;
use crate::read::decisions::{
    Counted, CountedSums, CountedWindow, DecisionFilter, FoundTerms, InForce, MAX_TERMS,
    TermsFilter,
};

impl SqliteReader {
    pub(super) fn list_decisions(
        &self,
        filter: &DecisionFilter,
        limit: usize,
    ) -> Result<Vec<DecisionLine>, StoreError> {
        let conditions = Conditions::of_decisions(filter, &SPELLING);
        let sql = lines(&conditions, limit);
        let values = rusqlite::params_from_iter(&conditions.values);
        self.rows(&sql, values, "decisions", |row| {
            Ok(DecisionLine {
                id: row.word(0, "id")?,
                time: row.time(1, "time")?,
                migration: row.text(2, "migration")?.to_owned(),
                outcome: row.word(3, "outcome")?,
                legacy_version: row.text(4, "legacy_version")?.to_owned(),
                candidate_version: row.text(5, "candidate_version")?.to_owned(),
                rules_hash: row.text(6, "rules_hash")?.to_owned(),
                headline: row.text(7, "document")?.to_owned(),
            })
        })
    }

    pub(super) fn list_changes(
        &self,
        filter: &AuditFilter,
        limit: usize,
    ) -> Result<Vec<Audit>, StoreError> {
        let conditions = Conditions::of_changes(filter, &SPELLING);
        let sql = format!(
            "SELECT {} FROM audit {} {} LIMIT {limit}",
            all_of(RecordType::Audit),
            conditions.sql(),
            conditions.order()
        );
        let values = rusqlite::params_from_iter(&conditions.values);
        self.rows(&sql, values, "audit", audit)
    }

    pub(super) fn find_decision(&self, id: Uuid) -> Result<Option<String>, StoreError> {
        let sql = "SELECT document FROM decisions WHERE id = ?1";
        let found = self.rows(sql, [id.to_string()], "decisions", |row| {
            Ok(row.text(0, "document")?.to_owned())
        })?;
        Ok(found.into_iter().next())
    }

    pub(super) fn find_terms(&self, filter: &TermsFilter) -> Result<FoundTerms, StoreError> {
        // Read first, so that what it names is there.
        let named = self.terms_in_force(filter)?;
        let found = self.select_terms(filter)?;
        FoundTerms::in_force_first(found, named, |id| {
            Ok(self.select_terms(&filter.only(id))?.pop())
        })
    }

    fn select_terms(&self, filter: &TermsFilter) -> Result<Vec<Terms>, StoreError> {
        let conditions = Conditions::of_terms(filter, &SPELLING);
        let values = rusqlite::params_from_iter(&conditions.values);
        self.rows(&of_terms(&conditions), values, "terms", terms)
    }

    /// What the latest watermark names; nothing for who asks for certain terms.
    fn terms_in_force(&self, filter: &TermsFilter) -> Result<Option<InForce>, StoreError> {
        if !filter.ids.is_empty() {
            return Ok(None);
        }
        let conditions = Conditions::of_terms(filter, &SPELLING);
        let sql = format!(
            "SELECT terms, terms_since FROM watermarks {} AND terms <> '' ORDER BY terms_since DESC, id DESC LIMIT 1",
            conditions.sql()
        );
        let values = rusqlite::params_from_iter(&conditions.values);
        let found = self.rows(&sql, values, "watermarks", |row| {
            Ok((row.word(0, "terms")?, row.time(1, "terms_since")?))
        })?;
        Ok(found.into_iter().next())
    }

    pub(super) fn count(
        &self,
        identity: &Identity,
        asked: &CountedWindow,
    ) -> Result<Counted, StoreError> {
        let mut sql = format!(
            "SELECT {} FROM tallies {OF_IDENTITY} AND interval_start < {} AND interval_start + interval_us <= {}",
            needed_of(RecordType::Tally, false),
            asked.window.to.as_micros(),
            asked.closed_by.as_micros()
        );
        for span in &asked.left_out {
            sql.extend([" AND NOT ", &within(span)]);
        }
        let mut sums = CountedSums::default();
        let mut charged = Charged::default();
        let from = since(&asked.since());
        self.each(&sql, RecordType::Tally, identity, (from, None), |row| {
            let tally = tally(row)?;
            charged.row(&tally)?;
            sums.add(tally);
            Ok(())
        })?;
        Ok(sums.into_counted())
    }
}

/// How this store writes conditions.
pub(super) const SPELLING: Spelling = Spelling {
    prefix: "",
    id: "id",
    micros: "time",
    time: "?",
};

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        match self {
            Self::Text(text) => text.to_sql(),
            Self::Number(number) => number.to_sql(),
        }
    }
}

fn lines(conditions: &Conditions, limit: usize) -> String {
    format!(
        "SELECT id, time, migration, outcome, legacy_version, candidate_version, rules_hash, \
         CASE WHEN json_valid(document) THEN coalesce(json_extract(document, '$.headline'), '') ELSE '' END \
         FROM decisions {} {} LIMIT {limit}",
        conditions.sql(),
        conditions.order()
    )
}

fn of_terms(conditions: &Conditions) -> String {
    format!(
        "SELECT {} FROM terms {} {} LIMIT {}",
        all_of(RecordType::Terms),
        conditions.sql(),
        conditions.order(),
        MAX_TERMS + 1
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use parity_schemas::evidence::Outcome;
    use parity_schemas::time::Timestamp;
    use rusqlite::Connection;

    /// How the file would look for what is asked for.
    fn plan(sql: &str, conditions: &Conditions) -> String {
        let connection = Connection::open_in_memory().expect("it opens");
        for (_, sql) in parity_schemas::sqlite::migrations() {
            connection.execute_batch(&sql).expect("a migration");
        }
        let sql = format!("EXPLAIN QUERY PLAN {sql}");
        let mut statement = connection.prepare(&sql).expect("SQL");
        let values = rusqlite::params_from_iter(&conditions.values);
        let lines = statement.query_map(values, |row| row.get::<_, String>(3));
        let lines: Result<Vec<String>, _> = lines.expect("a plan").collect();
        lines.expect("text").join("\n")
    }

    #[test]
    fn a_page_of_decisions_is_read_in_the_order_of_an_index_and_sorts_nothing() {
        let of = |migration: bool, outcome: bool, before: bool| DecisionFilter {
            migration: migration.then(|| "default".to_owned()),
            outcome: outcome.then_some(Outcome::Pass),
            before: before.then(|| (Timestamp::from_micros(1), Uuid::nil())),
            ..DecisionFilter::default()
        };
        for asked in 0..8 {
            let filter = of(asked & 1 > 0, asked & 2 > 0, asked & 4 > 0);
            let conditions = Conditions::of_decisions(&filter, &SPELLING);
            let plan = plan(&lines(&conditions, 50), &conditions);
            let index = match filter.migration {
                Some(_) => "decisions_by_migration",
                None => "decisions_by_time",
            };
            assert!(
                plan.contains(index) && !plan.contains("TEMP B-TREE"),
                "{filter:?}: {plan}"
            );
            let is_searched = filter.migration.is_some() || filter.before.is_some();
            assert_eq!(plan.contains("SEARCH"), is_searched, "{filter:?}: {plan}");
        }
    }

    #[test]
    fn terms_are_found_by_the_hash_of_their_rules() {
        let filter = TermsFilter {
            versions: Some((String::new(), String::new())),
            ids: vec![Uuid::nil()],
            ..TermsFilter::default()
        };
        let conditions = Conditions::of_terms(&filter, &SPELLING);
        let plan = plan(&of_terms(&conditions), &conditions);
        assert!(plan.contains("SEARCH terms"), "{plan}");
    }
}
