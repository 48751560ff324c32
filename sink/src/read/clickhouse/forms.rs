//! Conversion of column values to values.

use std::collections::{BTreeMap, HashMap};
use std::str::FromStr;

use parity_schemas::digest::ExchangeDigest;
use parity_schemas::histogram::Histogram;
use parity_schemas::record::RecordedFinding;
use parity_schemas::table::{
    Buckets, ClientCounts, Count, Counts, Document, Findings, Flag, Hash, Hashes, Id, Label,
    Number, OptionalDocument, OptionalWord, Registers, Run, Span, Status, Text, Texts, Time,
    Tolerations, Word,
};
use parity_schemas::targets::{DistinctTargets, FrequentTargets};
use parity_schemas::time::Timestamp;
use parity_schemas::verdict::Tolerated;
use serde::de::DeserializeOwned;
use uuid::Uuid;

use super::{optional_word, word};
use crate::error::StoreError;

/// How a column of this form is selected.
pub(super) trait SelectColumn {
    /// The expression, with `{}` for the column, or for what rows are added up to.
    const AS: &'static str = "{}";
    /// The type of the result.
    type Value;
}

/// Converts the result.
pub(super) trait FromColumn<T>: SelectColumn {
    fn from_column(value: Self::Value, column: &'static str) -> Result<T, StoreError>;
}

/// One finding as a tuple, because the crate only reads tuples without names.
type FindingRow = (
    String,
    String,
    String,
    Option<String>,
    String,
    String,
    Option<String>,
    Option<String>,
    String,
    Option<String>,
);

/// Where a value was read that is not what it must be. The column says in which table.
const TABLE: &str = "record";

macro_rules! select_column {
    ($($form:ident: $value:ty $(= $as:literal)?;)*) => {$(
        impl SelectColumn for $form {
            $(const AS: &'static str = $as;)?
            type Value = $value;
        }
    )*};
}
select_column! {
    Id: String = "toString({})";
    Run: String = "toString({})";
    Time: i64 = "toUnixTimestamp64Micro({})";
    Span: i64;
    Status: u16;
    Number: u32;
    Count: u64;
    Flag: bool;
    Text: String;
    Label: String;
    Hash: String;
    Word: String;
    OptionalWord: String;
    Counts: HashMap<String, u64>;
    ClientCounts: HashMap<String, u64>;
    Buckets: HashMap<u16, u64>;
    Registers: HashMap<u8, u8>;
    Hashes: HashMap<u64, u64>;
    Texts: Vec<String>;
    Document: String;
    OptionalDocument: String;
    Findings: Vec<FindingRow> = "CAST({}, 'Array(Tuple(String, String, String, Nullable(String), String, String, Nullable(String), Nullable(String), String, Nullable(String)))')";
    Tolerations: Vec<(String, String, String)> = "CAST({}, 'Array(Tuple(String, String, String))')";
}

macro_rules! as_it_is {
    ($($form:ident: $value:ty),*) => {$(
        impl FromColumn<$value> for $form {
            fn from_column(value: $value, _column: &'static str) -> Result<$value, StoreError> {
                Ok(value)
            }
        }
    )*};
}
as_it_is!(
    Span: i64, Status: u16, Number: u32, Count: u64, Flag: bool, Text: String, Label: String, Hash: String,
    Texts: Vec<String>
);

impl FromColumn<Uuid> for Id {
    fn from_column(id: String, column: &'static str) -> Result<Uuid, StoreError> {
        word(TABLE, column, &id)
    }
}

impl FromColumn<Timestamp> for Time {
    fn from_column(micros: i64, _column: &'static str) -> Result<Timestamp, StoreError> {
        Ok(Timestamp::from_micros(micros))
    }
}

impl<T: FromStr> FromColumn<T> for Word {
    fn from_column(text: String, column: &'static str) -> Result<T, StoreError> {
        word(TABLE, column, &text)
    }
}

impl<T: FromStr> FromColumn<Option<T>> for OptionalWord {
    fn from_column(text: String, column: &'static str) -> Result<Option<T>, StoreError> {
        optional_word(TABLE, column, &text)
    }
}

impl FromColumn<Uuid> for Run {
    fn from_column(id: String, column: &'static str) -> Result<Uuid, StoreError> {
        word(TABLE, column, &id)
    }
}

impl FromColumn<ExchangeDigest> for Number {
    fn from_column(number: u32, _column: &'static str) -> Result<ExchangeDigest, StoreError> {
        Ok(ExchangeDigest::from_number(number))
    }
}

impl FromColumn<Histogram> for Buckets {
    fn from_column(
        buckets: HashMap<u16, u64>,
        _column: &'static str,
    ) -> Result<Histogram, StoreError> {
        Ok(buckets.into_iter().collect())
    }
}

impl FromColumn<DistinctTargets> for Registers {
    fn from_column(
        registers: HashMap<u8, u8>,
        column: &'static str,
    ) -> Result<DistinctTargets, StoreError> {
        let wrong = || StoreError::value(TABLE, column, "a register that holds no rank");
        DistinctTargets::from_registers(registers).ok_or_else(wrong)
    }
}

impl FromColumn<FrequentTargets> for Hashes {
    fn from_column(
        counts: HashMap<u64, u64>,
        _column: &'static str,
    ) -> Result<FrequentTargets, StoreError> {
        Ok(FrequentTargets::from_counts(counts))
    }
}

macro_rules! counts {
    ($($form:ident),*) => {$(
        impl<K: FromStr + Ord> FromColumn<BTreeMap<K, u64>> for $form {
            fn from_column(
                counts: HashMap<String, u64>,
                column: &'static str,
            ) -> Result<BTreeMap<K, u64>, StoreError> {
                let counted = counts.into_iter().filter(|(_, count)| *count > 0);
                counted
                    .map(|(text, count)| Ok((word(TABLE, column, &text)?, count)))
                    .collect()
            }
        }
    )*};
}
counts!(Counts, ClientCounts);

impl<T: DeserializeOwned> FromColumn<T> for Document {
    fn from_column(json: String, column: &'static str) -> Result<T, StoreError> {
        serde_json::from_str(&json).map_err(|_| StoreError::value(TABLE, column, &json))
    }
}

impl<T: DeserializeOwned> FromColumn<Option<T>> for OptionalDocument {
    fn from_column(json: String, column: &'static str) -> Result<Option<T>, StoreError> {
        if json.is_empty() {
            return Ok(None);
        }
        let read = serde_json::from_str(&json);
        read.map(Some)
            .map_err(|_| StoreError::value(TABLE, column, &json))
    }
}

impl FromColumn<Vec<Tolerated>> for Tolerations {
    fn from_column(
        rows: Vec<(String, String, String)>,
        column: &'static str,
    ) -> Result<Vec<Tolerated>, StoreError> {
        rows.into_iter()
            .map(|(part, path, why)| {
                Ok(Tolerated {
                    part: word(TABLE, column, &part)?,
                    path,
                    why: why.into(),
                })
            })
            .collect()
    }
}

impl FromColumn<Vec<RecordedFinding>> for Findings {
    fn from_column(
        rows: Vec<FindingRow>,
        column: &'static str,
    ) -> Result<Vec<RecordedFinding>, StoreError> {
        rows.into_iter()
            .map(|row| {
                let (
                    fingerprint,
                    part,
                    path,
                    candidate_path,
                    pattern,
                    kind,
                    legacy,
                    candidate,
                    explanation,
                    text_diff,
                ) = row;
                Ok(RecordedFinding {
                    fingerprint,
                    part: word(TABLE, column, &part)?,
                    path,
                    candidate_path,
                    pattern,
                    kind: word(TABLE, column, &kind)?,
                    legacy,
                    candidate,
                    explanation: optional_word(TABLE, column, &explanation)?,
                    text_diff,
                })
            })
            .collect()
    }
}
