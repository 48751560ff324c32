//! Conversion of rows of the file to records.

use parity_schemas::audit::Audit;
use parity_schemas::record::{Mismatch, RecordType};
use parity_schemas::table::{self, column_name};
use parity_schemas::tally::{GroupTally, SetTally, Tally};
use parity_schemas::terms::Terms;
use parity_schemas::watermark::Watermark;

use super::fields::Fields;
use super::forms::FromColumn;
use crate::error::StoreError;

macro_rules! whole {
    ([$function:ident, $record:ident] $($role:ident $(($fold:ident))? $name:ident: $form:ident = $($path:ident).+ $(, since $step:literal)?;)*) => {
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
parity_schemas::tally_columns!(whole tally, Tally);
parity_schemas::group_tally_columns!(whole group_tally, GroupTally);
parity_schemas::set_tally_columns!(whole set_tally, SetTally);
parity_schemas::terms_columns!(whole terms, Terms);
parity_schemas::audit_columns!(whole audit, Audit);
parity_schemas::watermark_columns!(whole watermark, Watermark);

/// The columns of a table for a SELECT, in their order.
pub(super) fn all_of(table: RecordType) -> String {
    let names = table.columns().iter().map(|column| column.name.to_owned());
    names.collect::<Vec<_>>().join(", ")
}

/// The same for a table whose rows are added up: columns that are not needed are as in a row that lacks them.
pub(super) fn needed_of(table: RecordType, with_details: bool) -> String {
    let columns = table.columns().iter();
    let selected = columns.map(|column| {
        if column.is_read(with_details) {
            format!("\"{}\"", column.name)
        } else {
            column.absent.to_owned()
        }
    });
    selected.collect::<Vec<_>>().join(", ")
}
