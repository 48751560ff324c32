//! Conversion of column values of the file to values.

use std::str::FromStr;

use parity_schemas::digest::ExchangeDigest;
use parity_schemas::histogram::Histogram;
use parity_schemas::table::{
    Buckets, ClientCounts, Count, Counts, Document, Findings, Flag, Hash, Hashes, Id, Label,
    Number, OptionalDocument, OptionalWord, Registers, Run, Span, Status, Text, Texts, Time,
    Tolerations, Word,
};
use parity_schemas::targets::{DistinctTargets, FrequentTargets};
use parity_schemas::time::Timestamp;
use serde::de::DeserializeOwned;
use uuid::Uuid;

use super::fields::Fields;
use crate::error::StoreError;

/// Reads a value of a column of this form.
pub(super) trait FromColumn<T> {
    fn from_column(row: &Fields<'_>, at: usize, column: &'static str) -> Result<T, StoreError>;
}

macro_rules! from_column {
    ($($form:ident: $value:ty = |$row:ident, $at:ident, $column:ident| $read:expr;)*) => {$(
        impl FromColumn<$value> for $form {
            fn from_column(
                $row: &Fields<'_>,
                $at: usize,
                $column: &'static str,
            ) -> Result<$value, StoreError> {
                $read
            }
        }
    )*};
}
from_column! {
    Id: Uuid = |row, at, column| row.word(at, column);
    Run: Uuid = |row, at, column| match row.text(at, column)? {
        "" => Ok(Uuid::nil()),
        _ => row.word(at, column),
    };
    Time: Timestamp = |row, at, column| row.time(at, column);
    Span: i64 = |row, at, column| row.integer(at, column);
    Status: u16 = |row, at, column| row.number(at, column);
    Number: u32 = |row, at, column| row.number(at, column);
    Number: ExchangeDigest = |row, at, column| row.number(at, column).map(ExchangeDigest::from_number);
    Count: u64 = |row, at, column| row.count(at, column);
    Flag: bool = |row, at, column| Ok(row.integer(at, column)? != 0);
    Text: String = |row, at, column| row.text(at, column).map(str::to_owned);
    Label: String = |row, at, column| row.text(at, column).map(str::to_owned);
    Hash: String = |row, at, column| row.text(at, column).map(str::to_owned);
    Buckets: Histogram = |row, at, column| row.read(at, column, Histogram::from_text);
    Registers: DistinctTargets = |row, at, column| row.read(at, column, DistinctTargets::from_text);
    Hashes: FrequentTargets = |row, at, column| row.read(at, column, FrequentTargets::from_text);
    Texts: Vec<String> = |row, at, column| row.json(at, column);
}

impl<T: FromStr> FromColumn<T> for Word {
    fn from_column(row: &Fields<'_>, at: usize, column: &'static str) -> Result<T, StoreError> {
        row.word(at, column)
    }
}

impl<T: FromStr> FromColumn<Option<T>> for OptionalWord {
    fn from_column(
        row: &Fields<'_>,
        at: usize,
        column: &'static str,
    ) -> Result<Option<T>, StoreError> {
        row.optional_word(at, column)
    }
}

impl<T: DeserializeOwned> FromColumn<Option<T>> for OptionalDocument {
    fn from_column(
        row: &Fields<'_>,
        at: usize,
        column: &'static str,
    ) -> Result<Option<T>, StoreError> {
        row.optional_json(at, column)
    }
}

impl<T: DeserializeOwned + Default> FromColumn<T> for ClientCounts {
    fn from_column(row: &Fields<'_>, at: usize, column: &'static str) -> Result<T, StoreError> {
        row.optional_json(at, column).map(Option::unwrap_or_default)
    }
}

macro_rules! json {
    ($($form:ident),*) => {$(
        impl<T: DeserializeOwned> FromColumn<T> for $form {
            fn from_column(row: &Fields<'_>, at: usize, column: &'static str) -> Result<T, StoreError> {
                row.json(at, column)
            }
        }
    )*};
}
json!(Counts, Findings, Tolerations, Document);
