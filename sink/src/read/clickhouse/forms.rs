//! Conversion of column values to values.

use std::str::FromStr;

use parity_schemas::record::RecordedFinding;
use parity_schemas::table::{
    Count, Findings, Flag, Hash, Id, Label, Number, OptionalDocument, Status, Text, Texts, Time,
    Tolerations, Word,
};
use parity_schemas::time::Timestamp;
use parity_schemas::verdict::Tolerated;
use serde::de::DeserializeOwned;
use uuid::Uuid;

use super::{optional_word, word};
use crate::error::StoreError;

/// How a column of this form is selected.
pub(super) trait SelectColumn {
    /// The expression, with `{}` for the name of the column; the table is called `m`.
    const AS: &'static str = "m.{} AS {}";
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

const TABLE: &str = "mismatches";

macro_rules! select_column {
    ($($form:ident: $value:ty $(= $as:literal)?;)*) => {$(
        impl SelectColumn for $form {
            $(const AS: &'static str = $as;)?
            type Value = $value;
        }
    )*};
}
select_column! {
    Id: String = "toString(m.{}) AS {}";
    Time: i64 = "toUnixTimestamp64Micro(m.{}) AS {}";
    Status: u16;
    Number: u32;
    Count: u64;
    Flag: bool;
    Text: String;
    Label: String;
    Hash: String;
    Word: String;
    Texts: Vec<String>;
    OptionalDocument: String;
    Findings: Vec<FindingRow> = "CAST(m.{}, 'Array(Tuple(String, String, String, Nullable(String), String, String, Nullable(String), Nullable(String), String, Nullable(String)))') AS {}";
    Tolerations: Vec<(String, String, String)> = "CAST(m.{}, 'Array(Tuple(String, String, String))') AS {}";
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
    Status: u16, Number: u32, Count: u64, Flag: bool, Text: String, Label: String, Hash: String,
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
                    why,
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
