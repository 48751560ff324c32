//! Conversion of values to columns of `ClickHouse`, and their borrowed forms in JSON.

use std::borrow::Cow;
use std::collections::BTreeMap;

use parity_schemas::digest::ExchangeDigest;
use parity_schemas::histogram::Histogram;
use parity_schemas::record::MismatchClass;
use parity_schemas::table::{
    Buckets, ClientCounts, Count, Counts, Document, Findings, Flag, Form, Hash, Hashes, Id, Label,
    Number, OptionalDocument, OptionalWord, Registers, Run, Span, Status, Text, Texts, Time,
    Tolerations, Word,
};
use parity_schemas::targets::{DistinctTargets, FrequentTargets};
use parity_schemas::time::Timestamp;
use parity_schemas::verdict::{Explanation, Kind, Part};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use uuid::Uuid;

use super::encode::Encoder;
use crate::word::Word as Vocabulary;

/// Writes a value of a column of this form.
pub(super) trait WriteColumn<T> {
    fn write(value: &T, row: &mut Encoder<'_>);
}

/// The type of a column of this form when it is read from a record's JSON, with borrowed texts.
pub(super) trait BorrowedColumn {
    type Value<'a>;
}

/// A text, borrowed if it contains no escape sequence. A type of its own, because serde borrows a `Cow` within lists
/// only so.
#[derive(Default, Deserialize)]
pub(super) struct BorrowedText<'a>(#[serde(borrow)] Cow<'a, str>);

impl AsRef<str> for BorrowedText<'_> {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

/// A JSON value as it was received.
#[derive(Deserialize)]
pub(super) struct RawJson<'a>(#[serde(borrow)] &'a RawValue);

/// The fields of [`parity_schemas::record::RecordedFinding`], borrowed.
#[derive(Deserialize)]
pub(super) struct FindingJson<'a> {
    #[serde(borrow)]
    fingerprint: BorrowedText<'a>,
    part: Part,
    #[serde(borrow)]
    path: BorrowedText<'a>,
    #[serde(borrow)]
    candidate_path: Option<BorrowedText<'a>>,
    #[serde(borrow)]
    pattern: BorrowedText<'a>,
    kind: Kind,
    #[serde(borrow)]
    legacy: Option<BorrowedText<'a>>,
    #[serde(borrow)]
    candidate: Option<BorrowedText<'a>>,
    explanation: Option<Explanation>,
    #[serde(borrow)]
    text_diff: Option<BorrowedText<'a>>,
}

#[derive(Deserialize)]
pub(super) struct ToleratedJson<'a> {
    part: Part,
    #[serde(borrow)]
    path: BorrowedText<'a>,
    #[serde(borrow)]
    why: BorrowedText<'a>,
}

macro_rules! borrowed {
    ($($form:ident: $value:ty;)*) => {$(
        impl BorrowedColumn for $form {
            type Value<'a> = $value;
        }
    )*};
}
borrowed! {
    Id: Uuid;
    Time: Timestamp;
    Status: u16;
    Number: u32;
    Count: u64;
    Flag: bool;
    Text: BorrowedText<'a>;
    Label: BorrowedText<'a>;
    Hash: BorrowedText<'a>;
    Word: MismatchClass;
    Texts: Vec<BorrowedText<'a>>;
    Findings: Vec<FindingJson<'a>>;
    Tolerations: Vec<ToleratedJson<'a>>;
    OptionalDocument: Option<RawJson<'a>>;
}

macro_rules! write_column {
    ($($form:ident: $value:ty = |$row:ident, $name:ident| $write:expr;)*) => {$(
        impl WriteColumn<$value> for $form {
            fn write($name: &$value, $row: &mut Encoder<'_>) {
                $write;
            }
        }
    )*};
}
write_column! {
    Id: Uuid = |row, id| row.uuid(*id);
    Run: Uuid = |row, id| row.uuid(*id);
    Time: Timestamp = |row, time| row.time(*time);
    Span: i64 = |row, micros| row.i64(*micros);
    Status: u16 = |row, status| row.u16(*status);
    Number: u32 = |row, number| row.u32(*number);
    Number: ExchangeDigest = |row, digest| row.u32(digest.number());
    Count: u64 = |row, count| row.u64(*count);
    Flag: bool = |row, flag| row.bool(*flag);
}

impl<T: AsRef<str>> WriteColumn<T> for Text {
    fn write(text: &T, row: &mut Encoder<'_>) {
        row.string(text.as_ref());
    }
}

impl<T: AsRef<str>> WriteColumn<T> for Label {
    fn write(text: &T, row: &mut Encoder<'_>) {
        row.string(text.as_ref());
    }
}

impl<T: AsRef<str>> WriteColumn<T> for Hash {
    fn write(text: &T, row: &mut Encoder<'_>) {
        row.string(text.as_ref());
    }
}

impl<T: Vocabulary> WriteColumn<T> for Word {
    fn write(word: &T, row: &mut Encoder<'_>) {
        row.string(word.word());
    }
}

impl<T: Vocabulary> WriteColumn<Option<T>> for OptionalWord {
    fn write(word: &Option<T>, row: &mut Encoder<'_>) {
        row.string(word.as_ref().map_or("", Vocabulary::word));
    }
}

impl<T: Serialize> WriteColumn<T> for Document {
    fn write(value: &T, row: &mut Encoder<'_>) {
        let text = serde_json::to_string(value);
        row.string(&text.expect("records are made of strings, numbers and lists only"));
    }
}

impl WriteColumn<Option<RawJson<'_>>> for OptionalDocument {
    fn write(json: &Option<RawJson<'_>>, row: &mut Encoder<'_>) {
        row.string(json.as_ref().map_or("", |json| json.0.get()));
    }
}

impl WriteColumn<Histogram> for Buckets {
    fn write(histogram: &Histogram, row: &mut Encoder<'_>) {
        let pieces = Self::PIECES - 1;
        row.list(pieces, histogram.iter(), |row, (bucket, count)| {
            row.u16(bucket);
            row.u64(count);
        });
    }
}

impl WriteColumn<DistinctTargets> for Registers {
    fn write(targets: &DistinctTargets, row: &mut Encoder<'_>) {
        let set: Vec<(u8, u8)> = targets.set_registers().collect();
        row.list(
            Self::PIECES - 1,
            set.into_iter(),
            |row, (register, rank)| {
                row.u8(register);
                row.u8(rank);
            },
        );
    }
}

impl WriteColumn<FrequentTargets> for Hashes {
    fn write(targets: &FrequentTargets, row: &mut Encoder<'_>) {
        let counters: Vec<(u64, u64)> = targets.counters().collect();
        row.list(
            Self::PIECES - 1,
            counters.into_iter(),
            |row, (hash, count)| {
                row.u64(hash);
                row.u64(count);
            },
        );
    }
}

impl<K: Vocabulary> WriteColumn<BTreeMap<K, u64>> for Counts {
    fn write(counts: &BTreeMap<K, u64>, row: &mut Encoder<'_>) {
        send_counts(counts, row);
    }
}

impl<K: Vocabulary> WriteColumn<BTreeMap<K, u64>> for ClientCounts {
    fn write(counts: &BTreeMap<K, u64>, row: &mut Encoder<'_>) {
        send_counts(counts, row);
    }
}

fn send_counts<K: Vocabulary>(counts: &BTreeMap<K, u64>, row: &mut Encoder<'_>) {
    row.list(Counts::PIECES - 1, counts.iter(), |row, (word, count)| {
        row.string(word.word());
        row.u64(*count);
    });
}

impl<T: AsRef<str>> WriteColumn<Vec<T>> for Texts {
    fn write(texts: &Vec<T>, row: &mut Encoder<'_>) {
        row.list(Self::PIECES - 1, texts.iter(), |row, text| {
            row.string(text.as_ref());
        });
    }
}

impl WriteColumn<Vec<FindingJson<'_>>> for Findings {
    fn write(findings: &Vec<FindingJson<'_>>, row: &mut Encoder<'_>) {
        row.list(Self::PIECES - 1, findings.iter(), |row, finding| {
            row.string(finding.fingerprint.as_ref());
            row.string(finding.part.as_str());
            row.string(finding.path.as_ref());
            row.optional_string(optional(finding.candidate_path.as_ref()));
            row.string(finding.pattern.as_ref());
            row.string(finding.kind.as_str());
            row.optional_string(optional(finding.legacy.as_ref()));
            row.optional_string(optional(finding.candidate.as_ref()));
            row.string(finding.explanation.map_or("", Explanation::as_str));
            row.optional_string(optional(finding.text_diff.as_ref()));
        });
    }
}

impl WriteColumn<Vec<ToleratedJson<'_>>> for Tolerations {
    fn write(tolerated: &Vec<ToleratedJson<'_>>, row: &mut Encoder<'_>) {
        row.list(Self::PIECES - 1, tolerated.iter(), |row, tolerated| {
            row.string(tolerated.part.as_str());
            row.string(tolerated.path.as_ref());
            row.string(tolerated.why.as_ref());
        });
    }
}

fn optional<'a>(text: Option<&'a BorrowedText<'_>>) -> Option<&'a str> {
    text.map(AsRef::as_ref)
}
