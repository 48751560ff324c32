//! Conversion of values to column values of the file.

use std::collections::BTreeMap;

use parity_schemas::digest::ExchangeDigest;
use parity_schemas::histogram::Histogram;
use parity_schemas::table::{
    Buckets, ClientCounts, Count, Counts, Document, Findings, Flag, Hash, Hashes, Id, Label,
    Number, OptionalDocument, OptionalWord, Registers, Run, Span, Status, Text, Texts, Time,
    Tolerations, Word,
};
use parity_schemas::targets::{DistinctTargets, FrequentTargets};
use parity_schemas::time::Timestamp;
use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use serde::Serialize;
use uuid::Uuid;

use crate::word::Word as Vocabulary;

/// Converts a value for a column of this form.
pub(super) trait ToColumn<T> {
    fn to_column(value: &T) -> ToSqlOutput<'_>;
}

impl ToColumn<Uuid> for Id {
    fn to_column(id: &Uuid) -> ToSqlOutput<'_> {
        text(id.to_string())
    }
}

impl ToColumn<Uuid> for Run {
    fn to_column(run: &Uuid) -> ToSqlOutput<'_> {
        if run.is_nil() {
            text(String::new())
        } else {
            text(run.to_string())
        }
    }
}

impl ToColumn<Timestamp> for Time {
    fn to_column(time: &Timestamp) -> ToSqlOutput<'_> {
        integer(time.as_micros())
    }
}

impl ToColumn<i64> for Span {
    fn to_column(micros: &i64) -> ToSqlOutput<'_> {
        integer(*micros)
    }
}

impl ToColumn<u16> for Status {
    fn to_column(status: &u16) -> ToSqlOutput<'_> {
        integer(i64::from(*status))
    }
}

impl ToColumn<u32> for Number {
    fn to_column(number: &u32) -> ToSqlOutput<'_> {
        integer(i64::from(*number))
    }
}

impl ToColumn<ExchangeDigest> for Number {
    fn to_column(digest: &ExchangeDigest) -> ToSqlOutput<'_> {
        integer(i64::from(digest.number()))
    }
}

impl ToColumn<u64> for Count {
    /// 63 bits are enough for a request per nanosecond and three centuries.
    fn to_column(count: &u64) -> ToSqlOutput<'_> {
        integer(i64::try_from(*count).unwrap_or(i64::MAX))
    }
}

impl ToColumn<bool> for Flag {
    fn to_column(flag: &bool) -> ToSqlOutput<'_> {
        integer(i64::from(*flag))
    }
}

impl<T: Vocabulary> ToColumn<T> for Word {
    fn to_column(word: &T) -> ToSqlOutput<'_> {
        borrowed(word.word())
    }
}

impl<T: Vocabulary> ToColumn<Option<T>> for OptionalWord {
    fn to_column(word: &Option<T>) -> ToSqlOutput<'_> {
        optional(word.as_ref().map(|word| borrowed(word.word())))
    }
}

impl<T: Serialize> ToColumn<Option<T>> for OptionalDocument {
    fn to_column(value: &Option<T>) -> ToSqlOutput<'_> {
        optional(value.as_ref().map(json))
    }
}

impl ToColumn<Histogram> for Buckets {
    fn to_column(histogram: &Histogram) -> ToSqlOutput<'_> {
        text(histogram.to_runs())
    }
}

impl ToColumn<DistinctTargets> for Registers {
    fn to_column(targets: &DistinctTargets) -> ToSqlOutput<'_> {
        text(targets.to_text())
    }
}

impl ToColumn<FrequentTargets> for Hashes {
    fn to_column(targets: &FrequentTargets) -> ToSqlOutput<'_> {
        text(targets.to_text())
    }
}

impl<K: Serialize> ToColumn<BTreeMap<K, u64>> for Counts {
    fn to_column(counts: &BTreeMap<K, u64>) -> ToSqlOutput<'_> {
        json(counts)
    }
}

impl<K: Serialize> ToColumn<BTreeMap<K, u64>> for ClientCounts {
    fn to_column(counts: &BTreeMap<K, u64>) -> ToSqlOutput<'_> {
        json(counts)
    }
}

macro_rules! forms {
    ($make:ident of $bound:path: $($form:ident),*) => {$(
        impl<T: $bound> ToColumn<T> for $form {
            fn to_column(value: &T) -> ToSqlOutput<'_> {
                $make(value)
            }
        }
    )*};
}
forms!(borrowed of AsRef<str>: Text, Label, Hash);
forms!(json of Serialize: Texts, Findings, Tolerations, Document);

fn borrowed<T: AsRef<str> + ?Sized>(value: &T) -> ToSqlOutput<'_> {
    ToSqlOutput::Borrowed(ValueRef::Text(value.as_ref().as_bytes()))
}

fn json<'a, T: Serialize>(value: &T) -> ToSqlOutput<'a> {
    text(serde_json::to_string(value).expect("records are made of strings, numbers and lists only"))
}

fn text<'a>(text: String) -> ToSqlOutput<'a> {
    ToSqlOutput::Owned(Value::Text(text))
}

fn integer<'a>(number: i64) -> ToSqlOutput<'a> {
    ToSqlOutput::Owned(Value::Integer(number))
}

fn optional(value: Option<ToSqlOutput<'_>>) -> ToSqlOutput<'_> {
    value.unwrap_or(ToSqlOutput::Owned(Value::Null))
}
