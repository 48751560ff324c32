//! Inserting records as rows of the file.
//!
//! Every statement is idempotent by the record's own id; a tally is replaced by a higher revision only.

use parity_schemas::audit::Audit;
use parity_schemas::evidence::Decision;
use parity_schemas::record::{Record, RecordType};
use parity_schemas::table::{self, Role};
use parity_schemas::tally::{GroupTally, SetTally, Tally};
use parity_schemas::terms::Terms;
use parity_schemas::watermark::Watermark;
use rusqlite::types::ToSqlOutput;
use rusqlite::{Transaction, params_from_iter};

use super::forms::ToColumn;

/// The values of the columns of a record, in their order.
macro_rules! values {
    ([$record:ident] $($role:ident $(($fold:ident))? $name:ident: $form:ident = $($path:ident).+ $(, since $step:literal)?;)*) => {
        vec![$(<table::$form as ToColumn<_>>::to_column(&$record.$($path).+)),*]
    };
}

/// A record as the values of its columns, lists and maps as text.
pub(super) struct Row<'a> {
    pub(super) table: RecordType,
    values: Values<'a>,
}

enum Values<'a> {
    Ready(Vec<ToSqlOutput<'a>>),
    /// There are few, so their text is built when they are written.
    Decision(&'a Decision),
}

impl<'a> Row<'a> {
    pub(super) fn of(record: &'a Record) -> Self {
        match record {
            Record::Mismatch(mismatch) => Self::ready(
                RecordType::Mismatch,
                parity_schemas::mismatch_columns!(values mismatch),
            ),
            Record::Tally(tally) => Self::tally(tally),
            Record::GroupTally(group) => Self::group(group),
            Record::SetTally(set) => Self::set(set),
            Record::Decision(decision) => Self::decision(decision),
            Record::Terms(terms) => Self::terms(terms),
            Record::Audit(audit) => Self::audit(audit),
            Record::Watermark(watermark) => Self::watermark(watermark),
        }
    }

    pub(super) fn tally(tally: &'a Tally) -> Self {
        Self::ready(
            RecordType::Tally,
            parity_schemas::tally_columns!(values tally),
        )
    }

    pub(super) fn group(group: &'a GroupTally) -> Self {
        Self::ready(
            RecordType::GroupTally,
            parity_schemas::group_tally_columns!(values group),
        )
    }

    pub(super) fn set(set: &'a SetTally) -> Self {
        Self::ready(
            RecordType::SetTally,
            parity_schemas::set_tally_columns!(values set),
        )
    }

    pub(super) fn terms(terms: &'a Terms) -> Self {
        Self::ready(
            RecordType::Terms,
            parity_schemas::terms_columns!(values terms),
        )
    }

    pub(super) fn audit(audit: &'a Audit) -> Self {
        Self::ready(
            RecordType::Audit,
            parity_schemas::audit_columns!(values audit),
        )
    }

    pub(super) fn watermark(watermark: &'a Watermark) -> Self {
        Self::ready(
            RecordType::Watermark,
            parity_schemas::watermark_columns!(values watermark),
        )
    }

    pub(super) fn decision(decision: &'a Decision) -> Self {
        Self {
            table: RecordType::Decision,
            values: Values::Decision(decision),
        }
    }

    fn ready(table: RecordType, values: Vec<ToSqlOutput<'a>>) -> Self {
        Self {
            table,
            values: Values::Ready(values),
        }
    }

    pub(super) fn insert(
        &self,
        transaction: &Transaction<'_>,
        statements: &Statements,
    ) -> rusqlite::Result<usize> {
        let mut statement = transaction.prepare_cached(statements.of(self.table))?;
        match &self.values {
            Values::Ready(values) => statement.execute(params_from_iter(values)),
            Values::Decision(decision) => {
                let row = decision.row();
                let values: Vec<ToSqlOutput<'_>> = parity_schemas::decision_columns!(values row);
                statement.execute(params_from_iter(values))
            }
        }
    }
}

/// The INSERT statement of each table.
pub(super) struct Statements([String; RecordType::ALL.len()]);

impl Statements {
    pub(super) fn new() -> Self {
        Self(RecordType::ALL.map(insert))
    }

    fn of(&self, table: RecordType) -> &str {
        let known = RecordType::ALL.iter().position(|known| *known == table);
        &self.0[known.expect("ALL has every type")]
    }
}

fn insert(record: RecordType) -> String {
    let (table, columns) = (record.table(), record.columns());
    let with = |role: Role, write: fn(&str) -> String| {
        let names = columns.iter().filter(|column| column.role == role);
        let parts: Vec<String> = names.map(|column| write(column.name)).collect();
        parts.join(", ")
    };
    let names: Vec<String> = columns.iter().map(|column| quoted(column.name)).collect();
    let places: Vec<String> = (1..=columns.len()).map(|at| format!("?{at}")).collect();
    let grown = with(Role::Grown, |name| {
        format!("{0} = excluded.{0}", quoted(name))
    });
    let repeated = if grown.is_empty() {
        "DO NOTHING".to_owned()
    } else {
        format!("DO UPDATE SET {grown} WHERE excluded.revision > {table}.revision")
    };
    format!(
        "INSERT INTO {table} ({}) VALUES ({}) ON CONFLICT ({}) {repeated}",
        names.join(", "),
        places.join(","),
        with(Role::Key, quoted)
    )
}

fn quoted(name: &str) -> String {
    format!("\"{name}\"")
}
