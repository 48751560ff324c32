//! What rows are selected by, written once for all stores: each spells columns and times in its own way ([`Spelling`]), and
//! what is asked for is the same.
//!
//! Only conditions that are asked for are written. One that is switched off by a value (`?1 IS NULL OR …`) would keep the store
//! from using its index or order.

use parity_schemas::record::MismatchClass;
use parity_schemas::time::Timestamp;
use uuid::Uuid;

use super::MismatchFilter;
use super::audit::AuditFilter;
use super::decisions::{DecisionFilter, TermsFilter};

/// How a store writes what is not the same everywhere.
pub(super) struct Spelling {
    /// Before the name of a column.
    pub(super) prefix: &'static str,
    /// The id as text.
    pub(super) id: &'static str,
    /// The time in microseconds.
    pub(super) micros: &'static str,
    /// A value in microseconds, as a time.
    pub(super) time: &'static str,
}

/// A value of a condition, in the order of the conditions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Text(String),
    Number(i64),
}

/// Conditions that all must hold.
pub(super) struct Conditions {
    spelling: &'static Spelling,
    all: Vec<String>,
    pub(super) values: Vec<Value>,
}

impl Conditions {
    fn new(spelling: &'static Spelling) -> Self {
        Self {
            spelling,
            all: Vec::new(),
            values: Vec::new(),
        }
    }

    /// Those of a list of decisions.
    pub(super) fn of_decisions(filter: &DecisionFilter, spelling: &'static Spelling) -> Self {
        let mut conditions = Self::new(spelling);
        if let Some(migration) = &filter.migration {
            conditions.is("migration", migration);
        }
        if let Some(outcome) = filter.outcome {
            conditions.is("outcome", outcome.as_str());
        }
        if let Some(version) = &filter.candidate_version {
            conditions.is("candidate_version", version);
        }
        conditions.is_within(filter.since, filter.until);
        if let Some((time, id)) = filter.before {
            conditions.is_before(time, id);
        }
        conditions
    }

    /// Those of a list of changes.
    pub(super) fn of_changes(filter: &AuditFilter, spelling: &'static Spelling) -> Self {
        let mut conditions = Self::new(spelling);
        if let Some(migration) = &filter.migration {
            conditions.is("migration", migration);
        }
        if let Some(action) = filter.action {
            conditions.is("action", action.as_str());
        }
        if let Some(outcome) = filter.outcome {
            conditions.is("outcome", outcome.as_str());
        }
        conditions.is_within(filter.since, filter.until);
        if let Some((time, id)) = filter.before {
            conditions.is_before(time, id);
        }
        conditions
    }

    /// Those of terms.
    pub(super) fn of_terms(filter: &TermsFilter, spelling: &'static Spelling) -> Self {
        let mut conditions = Self::new(spelling);
        conditions.is("migration", &filter.migration);
        conditions.is("rules_hash", &filter.rules_hash);
        if let Some((legacy, candidate)) = &filter.versions {
            conditions.is("legacy_version", legacy);
            conditions.is("candidate_version", candidate);
        }
        conditions.is_one_of(&filter.ids);
        conditions
    }

    /// Those of mismatches, but for where a page of them begins. `holds` is true of a row that has the fingerprint which is its
    /// value: each store has its own form of a list.
    pub(super) fn of_mismatches(
        filter: &MismatchFilter,
        holds: (&str, Option<String>),
        spelling: &'static Spelling,
    ) -> Self {
        let mut conditions = Self::new(spelling);
        for (column, value) in [
            ("migration", filter.migration.as_deref()),
            ("candidate_version", filter.candidate_version.as_deref()),
            ("route", filter.route.as_deref()),
            ("class", filter.class.map(MismatchClass::as_str)),
        ] {
            if let Some(value) = value {
                conditions.is(column, value);
            }
        }
        if let (condition, Some(fingerprint)) = holds {
            conditions.all.push(condition.to_owned());
            conditions.values.push(Value::Text(fingerprint));
        }
        conditions.is_within(filter.since, filter.until);
        conditions
    }

    pub(super) fn is(&mut self, column: &str, value: &str) {
        let prefix = self.spelling.prefix;
        self.all.push(format!("{prefix}{column} = ?"));
        self.values.push(Value::Text(value.to_owned()));
    }

    /// From a time on, and before another one.
    fn is_within(&mut self, since: Option<Timestamp>, until: Option<Timestamp>) {
        let Spelling {
            prefix, time: at, ..
        } = self.spelling;
        for (compared, time) in [(">=", since), ("<", until)] {
            if let Some(time) = time {
                self.all.push(format!("{prefix}time {compared} {at}"));
                self.values.push(Value::Number(time.as_micros()));
            }
        }
    }

    /// Earlier than a row, so behind it in [`Conditions::order`].
    pub(super) fn is_before(&mut self, time: Timestamp, id: Uuid) {
        self.is_beside('<', time, id);
    }

    /// Later than a row.
    pub(super) fn is_after(&mut self, time: Timestamp, id: Uuid) {
        self.is_beside('>', time, id);
    }

    fn is_beside(&mut self, sign: char, time: Timestamp, id: Uuid) {
        let Spelling {
            prefix,
            id: row,
            micros,
            time: at,
        } = self.spelling;
        // The first says nothing more, but a store finds its place by it.
        self.all.push(format!("{prefix}time {sign}= {at}"));
        self.all.push(format!("({micros}, {row}) {sign} (?, ?)"));
        let time = Value::Number(time.as_micros());
        let more = [time.clone(), time, Value::Text(id.to_string())];
        self.values.extend(more);
    }

    /// Of these; of all if there are none.
    fn is_one_of(&mut self, ids: &[Uuid]) {
        if ids.is_empty() {
            return;
        }
        let row = self.spelling.id;
        let places = vec!["?"; ids.len()].join(", ");
        self.all.push(format!("{row} IN ({places})"));
        self.values
            .extend(ids.iter().map(|id| Value::Text(id.to_string())));
    }

    /// As SQL, with the word before them.
    pub(super) fn sql(&self) -> String {
        if self.all.is_empty() {
            return String::new();
        }
        format!("WHERE {}", self.all.join(" AND "))
    }

    /// The same with one more, which begins with `AND`, or with none.
    pub(super) fn sql_with(&self, further: &str) -> String {
        let sql = self.sql();
        match further.strip_prefix("AND ") {
            Some(only) if sql.is_empty() => format!("WHERE {only}"),
            _ => format!("{sql} {further}"),
        }
    }

    /// The newest first.
    pub(super) fn order(&self) -> String {
        let Spelling { prefix, id, .. } = self.spelling;
        format!("ORDER BY {prefix}time DESC, {id} DESC")
    }

    /// The oldest first.
    pub(super) fn order_by_age(&self) -> String {
        let Spelling { prefix, id, .. } = self.spelling;
        format!("ORDER BY {prefix}time, {id}")
    }
}
