//! Values out of the file.

use std::str::FromStr;

use parity_schemas::digest::ExchangeDigest;
use parity_schemas::table::{
    Count, Document, Findings, Flag, Hash, Id, Label, Number, OptionalDocument, OptionalWord,
    Status, Text, Texts, Time, Tolerations, Word,
};
use parity_schemas::time::Timestamp;
use serde::de::DeserializeOwned;
use uuid::Uuid;

use super::fields::Fields;
use crate::error::StoreError;

/// What a column of this form says.
pub(super) trait Found<T> {
    fn found(row: &Fields<'_>, at: usize, column: &'static str) -> Result<T, StoreError>;
}

macro_rules! found {
    ($($form:ident: $value:ty = |$row:ident, $at:ident, $column:ident| $read:expr;)*) => {$(
        impl Found<$value> for $form {
            fn found(
                $row: &Fields<'_>,
                $at: usize,
                $column: &'static str,
            ) -> Result<$value, StoreError> {
                $read
            }
        }
    )*};
}
found! {
    Id: Uuid = |row, at, column| row.word(at, column);
    Time: Timestamp = |row, at, column| row.time(at, column);
    Status: u16 = |row, at, column| row.number(at, column);
    Number: u32 = |row, at, column| row.number(at, column);
    Number: ExchangeDigest = |row, at, column| row.number(at, column).map(ExchangeDigest::from_number);
    Count: u64 = |row, at, column| row.count(at, column);
    Flag: bool = |row, at, column| Ok(row.integer(at, column)? != 0);
    Text: String = |row, at, column| row.text(at, column).map(str::to_owned);
    Label: String = |row, at, column| row.text(at, column).map(str::to_owned);
    Hash: String = |row, at, column| row.text(at, column).map(str::to_owned);
    Texts: Vec<String> = |row, at, column| row.json(at, column);
}

impl<T: FromStr> Found<T> for Word {
    fn found(row: &Fields<'_>, at: usize, column: &'static str) -> Result<T, StoreError> {
        row.word(at, column)
    }
}

impl<T: FromStr> Found<Option<T>> for OptionalWord {
    fn found(row: &Fields<'_>, at: usize, column: &'static str) -> Result<Option<T>, StoreError> {
        row.optional_word(at, column)
    }
}

impl<T: DeserializeOwned> Found<Option<T>> for OptionalDocument {
    fn found(row: &Fields<'_>, at: usize, column: &'static str) -> Result<Option<T>, StoreError> {
        row.optional_json(at, column)
    }
}

macro_rules! json {
    ($($form:ident),*) => {$(
        impl<T: DeserializeOwned> Found<T> for $form {
            fn found(row: &Fields<'_>, at: usize, column: &'static str) -> Result<T, StoreError> {
                row.json(at, column)
            }
        }
    )*};
}
json!(Findings, Tolerations, Document);
