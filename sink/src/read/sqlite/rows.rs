//! Conversion of rows of the file to records.

use parity_schemas::record::{Mismatch, RecordType};
use parity_schemas::table::{self, column_name};
use parity_schemas::tally::{Counts, GroupTally};
use parity_schemas::watermark::Watermark;
use uuid::Uuid;

use super::fields::Fields;
use super::forms::FromColumn;
use crate::error::StoreError;
use crate::read::assemble::{CountsRow, DetailsRow};

pub(super) fn counts<'a>(row: &'a Fields<'_>) -> Result<CountsRow<'a>, StoreError> {
    let received = row.count(4, "received")?;
    let run = match row.text(8, "run")? {
        "" => Uuid::nil(),
        _ => row.word(8, "run")?,
    };
    Ok(CountsRow {
        instance: row.text(0, "instance")?,
        run,
        interval_start: row.time(1, "interval_start")?,
        interval_us: row.integer(2, "interval_us")?,
        route: row.text(3, "route")?,
        counts: Counts {
            received,
            clients: row
                .optional_json(9, "clients")?
                .unwrap_or_else(|| Counts::clients_not_recorded(received)),
            matched: row.count(5, "match")?,
            mismatch: row.count(6, "mismatch")?,
            not_compared: row.json(7, "not_compared")?,
            legacy_answers: row.json(10, "legacy_answers")?,
        },
    })
}

pub(super) fn details(row: &Fields<'_>) -> Result<DetailsRow, StoreError> {
    Ok(DetailsRow {
        rule_hits: row.json(11, "rule_hits")?,
        legacy_latency: row.histogram(12, "legacy_latency")?,
        candidate_latency: row.histogram(13, "candidate_latency")?,
        legacy_head_latency: row.histogram(14, "legacy_head_latency")?,
        candidate_head_latency: row.histogram(15, "candidate_head_latency")?,
    })
}

macro_rules! whole {
    ([$function:ident, $record:ident] $($role:ident $name:ident: $form:ident = $($path:ident).+ $(, since $step:literal)?;)*) => {
        /// A row of all columns of its table, in their order.
        pub(super) fn $function(row: &Fields<'_>) -> Result<$record, StoreError> {
            let mut record = $record::default();
            let mut places = 0..;
            $({
                let at = places.next().unwrap_or_default();
                record.$($path).+ =
                    <table::$form as FromColumn<_>>::from_column(row, at, column_name(stringify!($name)))?;
            })*
            Ok(record)
        }
    };
}
parity_schemas::mismatch_columns!(whole mismatch, Mismatch);
parity_schemas::group_tally_columns!(whole group_tally, GroupTally);
parity_schemas::watermark_columns!(whole watermark, Watermark);

/// The columns of a table for a SELECT, in their order.
pub(super) fn all_of(table: RecordType) -> String {
    let names = table.columns().iter().map(|column| column.name);
    names.collect::<Vec<_>>().join(", ")
}
