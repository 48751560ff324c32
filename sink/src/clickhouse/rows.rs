//! Conversion of one record's JSON into one row: decoded with borrowed texts, checked, and written column by column.

use parity_schemas::audit::Audit;
use parity_schemas::evidence::{Decision, DecisionRow};
use parity_schemas::table;
use parity_schemas::tally::{GroupTally, SetTally, Tally};
use parity_schemas::terms::Terms;
use parity_schemas::time::Timestamp;
use parity_schemas::watermark::Watermark;
use serde::Deserialize;

use super::encode::{Block, Encoder};
use super::forms::{BorrowedColumn, WriteColumn};
use super::poison::{AHEAD_MICROS, OLDEST_MICROS, Poison};

/// Longest message of a parser that is kept.
const MAX_WHY_BYTES: usize = 200;

/// A struct with the columns of a record, borrowed from its JSON, and the function that writes them.
macro_rules! borrowed {
    ([$name:ident, $write:ident] $($role:ident $(($fold:ident))? $field:ident: $form:ident = $($path:ident).+ $(, since $step:literal)?;)*) => {
        #[derive(Deserialize)]
        #[serde(bound(deserialize = "'de: 'a"))]
        struct $name<'a> {
            $(
                // Records of older programs do not have this field.
                $(#[doc = stringify!($step)] #[serde(default)])?
                $field: <table::$form as BorrowedColumn>::Value<'a>,
            )*
        }

        fn $write(row: &mut Encoder<'_>, record: &$name<'_>) {
            $(<table::$form as WriteColumn<_>>::write(&record.$field, row);)*
        }
    };
}
parity_schemas::mismatch_columns!(borrowed MismatchJson, write_mismatch);

/// The function that writes the columns of a record in the order of its table.
macro_rules! written {
    ([$write:ident, $record:ty] $($role:ident $(($fold:ident))? $field:ident: $form:ident = $($path:ident).+ $(, since $step:literal)?;)*) => {
        fn $write(row: &mut Encoder<'_>, record: &$record) {
            $(<table::$form as WriteColumn<_>>::write(&record.$($path).+, row);)*
        }
    };
}
parity_schemas::tally_columns!(written write_tally, Tally);
parity_schemas::group_tally_columns!(written write_group_tally, GroupTally);
parity_schemas::set_tally_columns!(written write_set_tally, SetTally);
parity_schemas::watermark_columns!(written write_watermark, Watermark);
parity_schemas::terms_columns!(written write_terms, Terms);
parity_schemas::audit_columns!(written write_audit, Audit);
parity_schemas::decision_columns!(written write_decision, DecisionRow<'_>);

pub(super) fn mismatch(block: &mut Block, json: &[u8], now: Timestamp) -> Result<(), Poison> {
    let mismatch: MismatchJson<'_> = read(json)?;
    within_range(mismatch.time, now)?;
    block.add(|row| write_mismatch(row, &mismatch));
    Ok(())
}

pub(super) fn tally(block: &mut Block, json: &[u8], now: Timestamp) -> Result<(), Poison> {
    let tally: Tally = read(json)?;
    within_range(tally.interval_start, now)?;
    block.add(|row| write_tally(row, &tally));
    Ok(())
}

pub(super) fn group_tally(block: &mut Block, json: &[u8], now: Timestamp) -> Result<(), Poison> {
    let group: GroupTally = read(json)?;
    within_range(group.interval_start, now)?;
    block.add(|row| write_group_tally(row, &group));
    Ok(())
}

pub(super) fn set_tally(block: &mut Block, json: &[u8], now: Timestamp) -> Result<(), Poison> {
    let set: SetTally = read(json)?;
    within_range(set.interval_start, now)?;
    block.add(|row| write_set_tally(row, &set));
    Ok(())
}

pub(super) fn decision(block: &mut Block, json: &[u8], now: Timestamp) -> Result<(), Poison> {
    let decision: Decision = read(json)?;
    within_range(decision.time, now)?;
    block.add(|row| write_decision(row, &decision.row()));
    Ok(())
}

pub(super) fn terms(block: &mut Block, json: &[u8], now: Timestamp) -> Result<(), Poison> {
    let terms: Terms = read(json)?;
    within_range(terms.time, now)?;
    block.add(|row| write_terms(row, &terms));
    Ok(())
}

pub(super) fn audit(block: &mut Block, json: &[u8], now: Timestamp) -> Result<(), Poison> {
    let audit: Audit = read(json)?;
    within_range(audit.time, now)?;
    block.add(|row| write_audit(row, &audit));
    Ok(())
}

pub(super) fn watermark(block: &mut Block, json: &[u8], now: Timestamp) -> Result<(), Poison> {
    let watermark: Watermark = read(json)?;
    within_range(watermark.written, now)?;
    block.add(|row| write_watermark(row, &watermark));
    Ok(())
}

fn read<'a, T: Deserialize<'a>>(json: &'a [u8]) -> Result<T, Poison> {
    serde_json::from_slice(json).map_err(|error| {
        let mut why = error.to_string();
        why.truncate(why.floor_char_boundary(MAX_WHY_BYTES));
        Poison::Malformed(why)
    })
}

fn within_range(time: Timestamp, now: Timestamp) -> Result<(), Poison> {
    let oldest = now.saturating_add_micros(-OLDEST_MICROS);
    let newest = now.saturating_add_micros(AHEAD_MICROS);
    if (oldest..=newest).contains(&time) {
        Ok(())
    } else {
        Err(Poison::TimeOutOfRange(time))
    }
}
