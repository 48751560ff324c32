//! Rows of all columns of a table, and the expressions that select them.

use clickhouse::Row;
use parity_schemas::audit::Audit;
use parity_schemas::record::{Mismatch, MismatchClass};
use parity_schemas::table::{self, Column, Fold};
use parity_schemas::tally::{GroupTally, SetTally, Tally};
use parity_schemas::targets::FREQUENT;
use parity_schemas::terms::Terms;
use serde::Deserialize;
use uuid::Uuid;

use super::forms::{FromColumn, SelectColumn};
use crate::error::StoreError;
use crate::read::groups::{SUMS, Spread, Sum};

/// A struct with all columns of a table in their order, behind those that are given, with the conversion to its record.
/// `$columns` has the expression of each column's form.
macro_rules! rows {
    ([$row:ident { $($before:ident: $type:ty),* }, $record:ident, $columns:ident]
     $($role:ident $(($fold:ident))? $name:ident: $form:ident = $($path:ident).+ $(, since $step:literal)?;)*) => {
        #[derive(Clone, Row, Deserialize)]
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
parity_schemas::tally_columns!(rows TallyRow { shard: u32, server: String, extent: f64 }, Tally, TALLY);
parity_schemas::group_tally_columns!(rows GroupRow { shard: u32, server: String, extent: f64, parts: Parts }, GroupTally, GROUP);
parity_schemas::set_tally_columns!(rows SetRow { shard: u32, server: String, extent: f64 }, SetTally, SET);
parity_schemas::terms_columns!(rows TermsRow {}, Terms, TERMS);
parity_schemas::audit_columns!(rows AuditRow {}, Audit, AUDIT);

/// What [`SUMS`] count of a group: by day and process, and each of them in the order of these.
pub(super) type Parts = (Vec<(i32, u128)>, Vec<Vec<u64>>);

/// The expression of [`Parts`].
pub(super) fn parts() -> String {
    let counted = SUMS.map(|sum| match sum {
        Sum::Count => "t.count".to_owned(),
        Sum::Asked => format!(
            "toUInt64(arraySum(mapValues(t.classes)) - t.classes['{}'])",
            MismatchClass::Unconfirmed
        ),
        Sum::Of(evidence) => format!("t.evidence['{evidence}']"),
    });
    let arrays = counted.map(|sum| format!("[{sum}]")).join(", ");
    let sums: Vec<String> = (2..SUMS.len() + 2)
        .map(|place| format!("sums.{place}"))
        .collect();
    format!(
        "((sumMap([(toInt32(toDate32(t.interval_start, 'UTC')), toUInt128(t.run))], {arrays}) AS sums).1, [{}]) AS parts",
        sums.join(", ")
    )
}

impl GroupRow {
    /// The sums of a group, and how they are spread.
    pub(super) fn into_spread(mut self) -> Result<(GroupTally, Spread), StoreError> {
        let (keys, sums) = std::mem::take(&mut self.parts);
        let mut spread = Spread::with_room_for(keys.len());
        for (place, (day, run)) in keys.into_iter().enumerate() {
            let mut part = [0; SUMS.len()];
            for (count, of_each) in part.iter_mut().zip(&sums) {
                *count = of_each.get(place).copied().unwrap_or(0);
            }
            spread.add(day, Uuid::from_u128(run), &part);
        }
        Ok((self.into_record()?, spread))
    }
}

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
    if column.fold == Fold::Apart || !column.is_read(with_details) {
        let name_of_type = column.sent.replace('\'', "\\'");
        return format!("defaultValueOfTypeName('{name_of_type}')");
    }
    let is_map = column.sent.starts_with("Map(");
    match column.fold {
        Fold::By | Fold::Nothing | Fold::Apart => plain(column),
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

/// What the rows count altogether, as a double, because their sums may overflow.
pub(super) fn extent(columns: &[Column], with_details: bool) -> String {
    let counted = columns.iter().filter(|column| {
        matches!(column.fold, Fold::Sum | Fold::Detail | Fold::Frequent)
            && column.is_read(with_details)
    });
    let counted = counted.map(|column| {
        if column.sent.starts_with("Map(") {
            format!(
                "arraySum(arrayMap(count -> toFloat64(count), mapValues(t.{})))",
                column.name
            )
        } else {
            format!("toFloat64(t.{})", column.name)
        }
    });
    format!("sum({}) AS extent", counted.collect::<Vec<_>>().join(" + "))
}

/// What rows are grouped by.
pub(super) fn grouped_by(columns: &[Column]) -> String {
    let columns = columns.iter().filter(|column| column.fold == Fold::By);
    columns.map(plain).collect::<Vec<_>>().join(", ")
}
