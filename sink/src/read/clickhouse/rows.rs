//! Rows of all columns of a table, and the expressions that select them.

use clickhouse::Row;
use parity_schemas::record::Mismatch;
use parity_schemas::table::{self, Column, Fold};
use parity_schemas::tally::{GroupTally, SetTally, Tally};
use parity_schemas::targets::FREQUENT;
use parity_schemas::terms::Terms;
use serde::Deserialize;

use super::forms::{FromColumn, SelectColumn};
use crate::error::StoreError;

/// A struct with all columns of a table in their order, behind those that are given, with the conversion to its record.
/// `$columns` has the expression of each column's form.
macro_rules! rows {
    ([$row:ident { $($before:ident: $type:ty),* }, $record:ident, $columns:ident]
     $($role:ident $(($fold:ident))? $name:ident: $form:ident = $($path:ident).+ $(, since $step:literal)?;)*) => {
        #[derive(Row, Deserialize)]
        pub(super) struct $row {
            $(pub(super) $before: $type,)*
            $($name: <table::$form as SelectColumn>::Value,)*
        }

        impl $row {
            pub(super) fn into_record(self) -> Result<$record, StoreError> {
                let mut record = $record::default();
                $(record.$($path).+ = <table::$form as FromColumn<_>>::from_column(self.$name, stringify!($name))?;)*
                Ok(record)
            }
        }

        pub(super) const $columns: &[&str] = &[$(<table::$form as SelectColumn>::AS),*];
    };
}
parity_schemas::mismatch_columns!(rows MismatchRow {}, Mismatch, MISMATCH);
parity_schemas::tally_columns!(rows TallyRow { shard: u32, server: String }, Tally, TALLY);
parity_schemas::group_tally_columns!(rows GroupRow { shard: u32, server: String }, GroupTally, GROUP);
parity_schemas::set_tally_columns!(rows SetRow { shard: u32, server: String }, SetTally, SET);
parity_schemas::terms_columns!(rows TermsRow {}, Terms, TERMS);

/// The list of columns of a SELECT, by `of` from a table that is called `t`.
pub(super) fn select(columns: &[Column], forms: &[&str], of: impl Fn(&Column) -> String) -> String {
    let selected = columns.iter().zip(forms).map(|(column, form)| {
        let expression = form.replace("{}", &of(column));
        format!("{expression} AS {}", column.name)
    });
    selected.collect::<Vec<_>>().join(", ")
}

/// A column as it is.
pub(super) fn plain(column: &Column) -> String {
    format!("t.{}", column.name)
}

/// What the rows of one GROUP BY have in a column when they are added up.
pub(super) fn folded(column: &Column, with_details: bool) -> String {
    let name = column.name;
    if !column.is_read(with_details) {
        let name_of_type = column.sent.replace('\'', "\\'");
        return format!("defaultValueOfTypeName('{name_of_type}')");
    }
    let is_map = column.sent.starts_with("Map(");
    match column.fold {
        Fold::By | Fold::Nothing => plain(column),
        Fold::ByDay => day(column),
        Fold::Any => format!("any(t.{name})"),
        Fold::Sum | Fold::Detail if is_map => format!("sumMap(t.{name})"),
        Fold::Sum | Fold::Detail => format!("sum(t.{name})"),
        Fold::Min => format!("min(t.{name})"),
        Fold::Max if is_map => format!("maxMap(t.{name})"),
        Fold::Max => format!("max(t.{name})"),
        Fold::Frequent => format!(
            "CAST(arraySlice(arrayReverseSort(entry -> entry.2, \
             CAST(sumMap(t.{name}), 'Array(Tuple(UInt64, UInt64))')), 1, {kept}), '{type_}')",
            kept = FREQUENT + 1,
            type_ = column.sent
        ),
        Fold::Interval => format!(
            "max(toUnixTimestamp64Micro(t.interval_start) + t.{name}) - min(toUnixTimestamp64Micro(t.interval_start))"
        ),
        Fold::Newest => format!("argMax(t.{name}, (t.last_seen, toUInt128(t.{name})))"),
        // As `ExchangeDigest::add` does it.
        Fold::Digest => format!(
            "toUInt32(if(min(t.{name}) = 0, 0, (sum(t.{name}) - 1) % {modulus} + 1))",
            modulus = u32::MAX
        ),
    }
}

/// Where the day begins that a time is in.
fn day(column: &Column) -> String {
    format!("toDateTime64(toDate(t.{}, 'UTC'), 6, 'UTC')", column.name)
}

/// What rows are grouped by.
pub(super) fn grouped_by(columns: &[Column]) -> String {
    let columns = columns.iter().filter_map(|column| match column.fold {
        Fold::By => Some(plain(column)),
        Fold::ByDay => Some(day(column)),
        _ => None,
    });
    columns.collect::<Vec<_>>().join(", ")
}
