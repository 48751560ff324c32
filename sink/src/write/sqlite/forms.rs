//! Values as the file has them.

use std::collections::BTreeMap;

use parity_schemas::digest::ExchangeDigest;
use parity_schemas::histogram::Histogram;
use parity_schemas::table::{
    Buckets, ClientCounts, Count, Counts, Document, Findings, Flag, Hash, Id, Label, Number,
    OptionalDocument, OptionalWord, Run, Span, Status, Text, Texts, Time, Tolerations, Word,
};
use parity_schemas::time::Timestamp;
use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use serde::Serialize;
use uuid::Uuid;

use crate::word::Word as Vocabulary;

/// What a column of this form has for a value.
pub(super) trait Kept<T> {
    fn kept(value: &T) -> ToSqlOutput<'_>;
}

impl Kept<Uuid> for Id {
    fn kept(id: &Uuid) -> ToSqlOutput<'_> {
        text(id.to_string())
    }
}

impl Kept<Uuid> for Run {
    fn kept(run: &Uuid) -> ToSqlOutput<'_> {
        if run.is_nil() {
            text(String::new())
        } else {
            text(run.to_string())
        }
    }
}

impl Kept<Timestamp> for Time {
    fn kept(time: &Timestamp) -> ToSqlOutput<'_> {
        integer(time.as_micros())
    }
}

impl Kept<i64> for Span {
    fn kept(micros: &i64) -> ToSqlOutput<'_> {
        integer(*micros)
    }
}

impl Kept<u16> for Status {
    fn kept(status: &u16) -> ToSqlOutput<'_> {
        integer(i64::from(*status))
    }
}

impl Kept<u32> for Number {
    fn kept(number: &u32) -> ToSqlOutput<'_> {
        integer(i64::from(*number))
    }
}

impl Kept<ExchangeDigest> for Number {
    fn kept(digest: &ExchangeDigest) -> ToSqlOutput<'_> {
        integer(i64::from(digest.number()))
    }
}

impl Kept<u64> for Count {
    /// 63 bits are enough for a request per nanosecond and three centuries.
    fn kept(count: &u64) -> ToSqlOutput<'_> {
        integer(i64::try_from(*count).unwrap_or(i64::MAX))
    }
}

impl Kept<bool> for Flag {
    fn kept(flag: &bool) -> ToSqlOutput<'_> {
        integer(i64::from(*flag))
    }
}

impl<T: Vocabulary> Kept<T> for Word {
    fn kept(word: &T) -> ToSqlOutput<'_> {
        borrowed(word.word())
    }
}

impl<T: Vocabulary> Kept<Option<T>> for OptionalWord {
    fn kept(word: &Option<T>) -> ToSqlOutput<'_> {
        optional(word.as_ref().map(|word| borrowed(word.word())))
    }
}

impl<T: Serialize> Kept<Option<T>> for OptionalDocument {
    fn kept(value: &Option<T>) -> ToSqlOutput<'_> {
        optional(value.as_ref().map(json))
    }
}

impl Kept<Histogram> for Buckets {
    fn kept(histogram: &Histogram) -> ToSqlOutput<'_> {
        text(histogram.to_runs())
    }
}

impl<K: Serialize> Kept<BTreeMap<K, u64>> for Counts {
    fn kept(counts: &BTreeMap<K, u64>) -> ToSqlOutput<'_> {
        json(counts)
    }
}

impl<K: Serialize> Kept<BTreeMap<K, u64>> for ClientCounts {
    fn kept(counts: &BTreeMap<K, u64>) -> ToSqlOutput<'_> {
        json(counts)
    }
}

macro_rules! forms {
    ($make:ident of $bound:path: $($form:ident),*) => {$(
        impl<T: $bound> Kept<T> for $form {
            fn kept(value: &T) -> ToSqlOutput<'_> {
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
