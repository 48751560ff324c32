//! Values as they are sent.

use std::borrow::Cow;
use std::collections::BTreeMap;

use parity_schemas::digest::ExchangeDigest;
use parity_schemas::histogram::Histogram;
use parity_schemas::record::MismatchClass;
use parity_schemas::table::{
    Buckets, ClientCounts, Count, Counts, Document, Findings, Flag, Form, Hash, Id, Label, Number,
    OptionalDocument, OptionalWord, Run, Span, Status, Text, Texts, Time, Tolerations, Word,
};
use parity_schemas::time::Timestamp;
use parity_schemas::verdict::{Explanation, Kind, Part};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use uuid::Uuid;

use super::encode::Encoder;
use crate::word::Word as Vocabulary;

/// What is sent for a value of a column of this form.
pub(super) trait Sent<T> {
    fn send(value: &T, row: &mut Encoder<'_>);
}

/// What a column of this form is read as out of a record's JSON, with its texts borrowed.
pub(super) trait Borrowed {
    type Value<'a>;
}

/// A text that is borrowed where it holds no escape, also within lists.
#[derive(Default, Deserialize)]
pub(super) struct Json<'a>(#[serde(borrow)] Cow<'a, str>);

impl AsRef<str> for Json<'_> {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

/// JSON as it stands there.
#[derive(Deserialize)]
pub(super) struct Whole<'a>(#[serde(borrow)] &'a RawValue);

/// The fields of [`parity_schemas::record::RecordedFinding`], borrowed.
#[derive(Deserialize)]
pub(super) struct FindingJson<'a> {
    #[serde(borrow)]
    fingerprint: Json<'a>,
    part: Part,
    #[serde(borrow)]
    path: Json<'a>,
    #[serde(borrow)]
    candidate_path: Option<Json<'a>>,
    #[serde(borrow)]
    pattern: Json<'a>,
    kind: Kind,
    #[serde(borrow)]
    legacy: Option<Json<'a>>,
    #[serde(borrow)]
    candidate: Option<Json<'a>>,
    explanation: Option<Explanation>,
    #[serde(borrow)]
    text_diff: Option<Json<'a>>,
}

#[derive(Deserialize)]
pub(super) struct ToleratedJson<'a> {
    part: Part,
    #[serde(borrow)]
    path: Json<'a>,
    #[serde(borrow)]
    why: Json<'a>,
}

macro_rules! borrowed {
    ($($form:ident: $value:ty;)*) => {$(
        impl Borrowed for $form {
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
    Text: Json<'a>;
    Label: Json<'a>;
    Hash: Json<'a>;
    Word: MismatchClass;
    Texts: Vec<Json<'a>>;
    Findings: Vec<FindingJson<'a>>;
    Tolerations: Vec<ToleratedJson<'a>>;
    OptionalDocument: Option<Whole<'a>>;
}

macro_rules! sent {
    ($($form:ident: $value:ty = |$row:ident, $name:ident| $write:expr;)*) => {$(
        impl Sent<$value> for $form {
            fn send($name: &$value, $row: &mut Encoder<'_>) {
                $write;
            }
        }
    )*};
}
sent! {
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

impl<T: AsRef<str>> Sent<T> for Text {
    fn send(text: &T, row: &mut Encoder<'_>) {
        row.string(text.as_ref());
    }
}

impl<T: AsRef<str>> Sent<T> for Label {
    fn send(text: &T, row: &mut Encoder<'_>) {
        row.string(text.as_ref());
    }
}

impl<T: AsRef<str>> Sent<T> for Hash {
    fn send(text: &T, row: &mut Encoder<'_>) {
        row.string(text.as_ref());
    }
}

impl<T: Vocabulary> Sent<T> for Word {
    fn send(word: &T, row: &mut Encoder<'_>) {
        row.string(word.word());
    }
}

impl<T: Vocabulary> Sent<Option<T>> for OptionalWord {
    fn send(word: &Option<T>, row: &mut Encoder<'_>) {
        row.string(word.as_ref().map_or("", Vocabulary::word));
    }
}

impl<T: Serialize> Sent<T> for Document {
    fn send(value: &T, row: &mut Encoder<'_>) {
        let text = serde_json::to_string(value);
        row.string(&text.expect("records are made of strings, numbers and lists only"));
    }
}

impl Sent<Option<Whole<'_>>> for OptionalDocument {
    fn send(json: &Option<Whole<'_>>, row: &mut Encoder<'_>) {
        row.string(json.as_ref().map_or("", |json| json.0.get()));
    }
}

impl Sent<Histogram> for Buckets {
    fn send(histogram: &Histogram, row: &mut Encoder<'_>) {
        let pieces = Self::PIECES - 1;
        row.list(pieces, histogram.0.iter(), |row, (bucket, count)| {
            row.u16(*bucket);
            row.u64(*count);
        });
    }
}

impl<K: Vocabulary> Sent<BTreeMap<K, u64>> for Counts {
    fn send(counts: &BTreeMap<K, u64>, row: &mut Encoder<'_>) {
        send_counts(counts, row);
    }
}

impl<K: Vocabulary> Sent<BTreeMap<K, u64>> for ClientCounts {
    fn send(counts: &BTreeMap<K, u64>, row: &mut Encoder<'_>) {
        send_counts(counts, row);
    }
}

fn send_counts<K: Vocabulary>(counts: &BTreeMap<K, u64>, row: &mut Encoder<'_>) {
    row.list(Counts::PIECES - 1, counts.iter(), |row, (word, count)| {
        row.string(word.word());
        row.u64(*count);
    });
}

impl<T: AsRef<str>> Sent<Vec<T>> for Texts {
    fn send(texts: &Vec<T>, row: &mut Encoder<'_>) {
        row.list(Self::PIECES - 1, texts.iter(), |row, text| {
            row.string(text.as_ref());
        });
    }
}

impl Sent<Vec<FindingJson<'_>>> for Findings {
    fn send(findings: &Vec<FindingJson<'_>>, row: &mut Encoder<'_>) {
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

impl Sent<Vec<ToleratedJson<'_>>> for Tolerations {
    fn send(tolerated: &Vec<ToleratedJson<'_>>, row: &mut Encoder<'_>) {
        row.list(Self::PIECES - 1, tolerated.iter(), |row, tolerated| {
            row.string(tolerated.part.as_str());
            row.string(tolerated.path.as_ref());
            row.string(tolerated.why.as_ref());
        });
    }
}

fn optional<'a>(text: Option<&'a Json<'_>>) -> Option<&'a str> {
    text.map(AsRef::as_ref)
}
