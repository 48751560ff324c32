//! Records, as they travel, into rows of the four tables.
//!
//! The only way in is a record's JSON, whoever wrote it: what a sink finds in Kafka and what a mirror writes itself are
//! the same bytes. Texts are borrowed from it and written once. A record that does not fit is told by its reason and
//! leaves the batch as it was.

use std::borrow::Cow;
use std::fmt;

use parity_schemas::evidence::Decision;
use parity_schemas::record::{MismatchClass, RecordType};
use parity_schemas::tally::{GroupTally, Identity, Tally};
use parity_schemas::time::Timestamp;
use parity_schemas::verdict::{Explanation, Kind, Part};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use uuid::Uuid;

use super::encode::{Encoder, Rows};
use super::slice::Table;

/// A record from further back than anything is kept would be removed at once; together with the limit ahead it also
/// bounds how many monthly partitions one batch can touch (the server refuses an insert into more than 100).
const OLDEST_MICROS: i64 = 400 * DAY_MICROS;
/// A clock may be wrong by a time zone; a record from beyond would outlive all retention.
const AHEAD_MICROS: i64 = DAY_MICROS;
const DAY_MICROS: i64 = 24 * 60 * 60 * 1_000_000;
/// What is kept of a parser's message.
const MAX_WHY_BYTES: usize = 200;

/// Why a record can never be stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Poison {
    /// It is not what its type says.
    Malformed(String),
    /// Its clock was wrong, or it is older than anything that is kept.
    TimeOutOfRange(Timestamp),
}

impl Poison {
    /// The word for it in headers and metrics.
    pub(crate) const fn reason(&self) -> &'static str {
        match self {
            Self::Malformed(_) => "malformed",
            Self::TimeOutOfRange(_) => "time_out_of_range",
        }
    }
}

impl fmt::Display for Poison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(why) => f.write_str(why),
            Self::TimeOutOfRange(time) => write!(
                f,
                "its time is {time}, which is over {} days ago or over {} day ahead",
                OLDEST_MICROS / DAY_MICROS,
                AHEAD_MICROS / DAY_MICROS
            ),
        }
    }
}

/// Rows of all tables, and which record each came from.
#[derive(Default)]
pub(crate) struct Batch {
    tables: [Building; RecordType::ALL.len()],
}

#[derive(Default)]
struct Building {
    rows: Rows,
    /// For each row, the number that its record was added under.
    sources: Vec<usize>,
}

impl Batch {
    /// Adds a record under a number of the caller's, by which a refused row is told later.
    pub(crate) fn add(
        &mut self,
        record: RecordType,
        json: &[u8],
        source: usize,
        now: Timestamp,
    ) -> Result<(), Poison> {
        let table = &mut self.tables[place(record)];
        table.rows.add(|row| match record {
            RecordType::Mismatch => mismatch(row, json, now),
            RecordType::Tally => tally(row, json, now),
            RecordType::GroupTally => group_tally(row, json, now),
            RecordType::Decision => decision(row, json, now),
        })?;
        table.sources.push(source);
        Ok(())
    }

    /// Tables with rows, in the order in which they should be inserted.
    pub(crate) fn into_tables(self) -> impl Iterator<Item = Table> {
        RecordType::ALL
            .into_iter()
            .zip(self.tables)
            .filter(|(_, building)| building.rows.len() > 0)
            .map(|(table, building)| {
                let (bytes, ends) = building.rows.into_parts();
                Table::new(table, bytes, ends, building.sources)
            })
    }
}

fn place(record: RecordType) -> usize {
    RecordType::ALL
        .iter()
        .position(|known| *known == record)
        .expect("ALL has every type")
}

/// The columns of a table in the order in which its rows are written here.
pub(crate) const fn columns(record: RecordType) -> &'static str {
    match record {
        RecordType::Mismatch => {
            "id, migration, legacy_version, candidate_version, rules_hash, time, instance, route, method, path, query, \
             fingerprints, findings, findings_cut, tolerated, legacy_status, candidate_status, legacy_us, candidate_us, \
             trace_id, class, sample"
        }
        RecordType::Tally => {
            "id, revision, migration, legacy_version, candidate_version, rules_hash, instance, interval_start, \
             interval_us, route, received, match, mismatch, not_compared, rule_hits, legacy_latency, candidate_latency"
        }
        RecordType::GroupTally => {
            "tally_id, revision, migration, legacy_version, candidate_version, rules_hash, interval_start, route, \
             fingerprint, part, pattern, kind, explanation, legacy_status, candidate_status, count, first_seen, \
             last_seen, example_id"
        }
        RecordType::Decision => {
            "id, migration, time, outcome, legacy_version, candidate_version, rules_hash, thresholds, document"
        }
    }
}

/// A text that is borrowed where it holds no escape, also within lists.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

impl AsRef<str> for Text<'_> {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

/// The fields of [`parity_schemas::record::Mismatch`], borrowed.
#[derive(Deserialize)]
struct MismatchJson<'a> {
    id: Uuid,
    #[serde(borrow)]
    migration: Text<'a>,
    #[serde(borrow)]
    legacy_version: Text<'a>,
    #[serde(borrow)]
    candidate_version: Text<'a>,
    #[serde(borrow)]
    rules_hash: Text<'a>,
    time: Timestamp,
    #[serde(borrow)]
    instance: Text<'a>,
    #[serde(borrow)]
    route: Text<'a>,
    #[serde(borrow)]
    method: Text<'a>,
    #[serde(borrow)]
    path: Text<'a>,
    #[serde(borrow)]
    query: Text<'a>,
    #[serde(borrow)]
    fingerprints: Vec<Text<'a>>,
    #[serde(borrow)]
    findings: Vec<FindingJson<'a>>,
    findings_cut: bool,
    #[serde(borrow)]
    tolerated: Vec<ToleratedJson<'a>>,
    legacy_status: u16,
    candidate_status: u16,
    legacy_us: u64,
    candidate_us: u64,
    #[serde(borrow)]
    trace_id: Text<'a>,
    class: MismatchClass,
    #[serde(borrow)]
    sample: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct FindingJson<'a> {
    #[serde(borrow)]
    fingerprint: Text<'a>,
    part: Part,
    #[serde(borrow)]
    path: Text<'a>,
    #[serde(borrow)]
    candidate_path: Option<Text<'a>>,
    #[serde(borrow)]
    pattern: Text<'a>,
    kind: Kind,
    #[serde(borrow)]
    legacy: Option<Text<'a>>,
    #[serde(borrow)]
    candidate: Option<Text<'a>>,
    explanation: Option<Explanation>,
    #[serde(borrow)]
    text_diff: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct ToleratedJson<'a> {
    part: Part,
    #[serde(borrow)]
    path: Text<'a>,
    #[serde(borrow)]
    why: Text<'a>,
}

fn mismatch(row: &mut Encoder<'_>, json: &[u8], now: Timestamp) -> Result<(), Poison> {
    let mismatch: MismatchJson<'_> = read(json)?;
    within_range(mismatch.time, now)?;
    row.uuid(mismatch.id);
    row.string(mismatch.migration.as_ref());
    row.string(mismatch.legacy_version.as_ref());
    row.string(mismatch.candidate_version.as_ref());
    row.string(mismatch.rules_hash.as_ref());
    row.time(mismatch.time);
    row.string(mismatch.instance.as_ref());
    row.string(mismatch.route.as_ref());
    row.string(mismatch.method.as_ref());
    row.string(mismatch.path.as_ref());
    row.string(mismatch.query.as_ref());
    row.length(mismatch.fingerprints.len());
    for fingerprint in &mismatch.fingerprints {
        row.string(fingerprint.as_ref());
    }
    row.length(mismatch.findings.len());
    for finding in &mismatch.findings {
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
    }
    row.bool(mismatch.findings_cut);
    row.length(mismatch.tolerated.len());
    for tolerated in &mismatch.tolerated {
        row.string(tolerated.part.as_str());
        row.string(tolerated.path.as_ref());
        row.string(tolerated.why.as_ref());
    }
    row.u16(mismatch.legacy_status);
    row.u16(mismatch.candidate_status);
    row.u64(mismatch.legacy_us);
    row.u64(mismatch.candidate_us);
    row.string(mismatch.trace_id.as_ref());
    row.string(match mismatch.class {
        MismatchClass::Unconfirmed => "unconfirmed",
    });
    row.string(mismatch.sample.map_or("", RawValue::get));
    Ok(())
}

fn tally(row: &mut Encoder<'_>, json: &[u8], now: Timestamp) -> Result<(), Poison> {
    let tally: Tally = read(json)?;
    within_range(tally.interval_start, now)?;
    row.uuid(tally.id);
    row.u32(tally.revision);
    identity(row, &tally.identity);
    row.string(&tally.instance);
    row.time(tally.interval_start);
    row.i64(tally.interval_us);
    row.string(&tally.route);
    row.u64(tally.counts.received);
    row.u64(tally.counts.matched);
    row.u64(tally.counts.mismatch);
    row.length(tally.counts.not_compared.len());
    for (reason, count) in &tally.counts.not_compared {
        row.string(reason.as_str());
        row.u64(*count);
    }
    row.length(tally.rule_hits.len());
    for (rule, hits) in &tally.rule_hits {
        row.string(rule);
        row.u64(*hits);
    }
    for histogram in [&tally.legacy_latency, &tally.candidate_latency] {
        row.length(histogram.0.len());
        for (bucket, count) in &histogram.0 {
            row.u16(*bucket);
            row.u64(*count);
        }
    }
    Ok(())
}

fn group_tally(row: &mut Encoder<'_>, json: &[u8], now: Timestamp) -> Result<(), Poison> {
    let group: GroupTally = read(json)?;
    within_range(group.interval_start, now)?;
    row.uuid(group.tally_id);
    row.u32(group.revision);
    identity(row, &group.identity);
    row.time(group.interval_start);
    row.string(&group.route);
    row.string(&group.group.fingerprint);
    row.string(group.group.part.as_str());
    row.string(&group.group.pattern);
    row.string(group.group.kind.as_str());
    row.string(group.group.explanation.map_or("", Explanation::as_str));
    row.u16(group.group.legacy_status);
    row.u16(group.group.candidate_status);
    row.u64(group.count);
    row.time(group.first_seen);
    row.time(group.last_seen);
    row.uuid(group.example_id);
    Ok(())
}

fn decision(row: &mut Encoder<'_>, json: &[u8], now: Timestamp) -> Result<(), Poison> {
    let decision: Decision = read(json)?;
    within_range(decision.time, now)?;
    row.uuid(decision.decision_id);
    row.string(&decision.migration);
    row.time(decision.time);
    row.string(decision.outcome.as_str());
    let (legacy_version, candidate_version, rules_hash) = decision.versions();
    row.string(legacy_version);
    row.string(candidate_version);
    row.string(rules_hash);
    row.string(&text_of(&decision.thresholds));
    row.string(&text_of(&decision));
    Ok(())
}

fn identity(row: &mut Encoder<'_>, identity: &Identity) {
    row.string(&identity.migration);
    row.string(&identity.legacy_version);
    row.string(&identity.candidate_version);
    row.string(&identity.rules_hash);
}

fn optional<'a>(text: Option<&'a Text<'_>>) -> Option<&'a str> {
    text.map(AsRef::as_ref)
}

fn text_of<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("records are made of strings, numbers and lists only")
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

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(rules_hash: &str) -> Vec<u8> {
        let tally = Tally {
            id: parity_schemas::id::new_id(),
            revision: 1,
            identity: Identity {
                rules_hash: rules_hash.to_owned(),
                ..Identity::default()
            },
            instance: String::new(),
            interval_start: Timestamp::now(),
            interval_us: 1,
            route: "GET /".to_owned(),
            counts: parity_schemas::tally::Counts::default(),
            rule_hits: std::collections::BTreeMap::new(),
            legacy_latency: parity_schemas::histogram::Histogram::default(),
            candidate_latency: parity_schemas::histogram::Histogram::default(),
        };
        serde_json::to_vec(&tally).expect("it is JSON")
    }

    #[test]
    fn halving_ends_at_single_rows_and_loses_none() {
        let mut batch = Batch::default();
        for number in 0..7 {
            batch
                .add(
                    RecordType::Tally,
                    &tally(&"x".repeat(number)),
                    number,
                    Timestamp::now(),
                )
                .expect("a record of ours");
        }
        let table = batch.into_tables().next().expect("one table");
        let (mut parts, mut singles) = (vec![table.whole()], Vec::new());
        while let Some(part) = parts.pop() {
            if part.len() > 1 {
                let (first, second) = part.halves();
                assert_ne!(first.token("t"), second.token("t"));
                parts.extend([second, first]);
            } else {
                singles.push((part.sources.to_vec(), part.rows.bytes.to_vec()));
            }
        }
        let bytes: Vec<u8> = singles
            .iter()
            .flat_map(|(_, bytes)| bytes.clone())
            .collect();
        let sources: Vec<usize> = singles.iter().flat_map(|(one, _)| one.clone()).collect();
        assert_eq!(bytes, table.whole().rows.bytes.to_vec());
        assert_eq!(sources, (0..7).collect::<Vec<_>>());
    }

    #[test]
    fn poison_is_told_by_its_reason_and_leaves_nothing() {
        let now = Timestamp::now();
        let mut batch = Batch::default();
        let mut reason = |record, json: &[u8]| {
            batch
                .add(record, json, 0, now)
                .expect_err("it is poison")
                .reason()
        };
        assert_eq!(reason(RecordType::Mismatch, b"{}"), "malformed");
        assert_eq!(reason(RecordType::Mismatch, b""), "malformed");
        assert_eq!(reason(RecordType::Tally, b"\xff"), "malformed");
        let text = String::from_utf8(tally("x")).expect("UTF-8");
        for time in ["1970-01-01T00:00:00.000000Z", "2999-01-01T00:00:00.000000Z"] {
            let stamp = now.to_string();
            let day = stamp.get(..10).expect("a date");
            let begin = text.find(day).expect("the time stands in it");
            let mut shifted = text.clone();
            shifted.replace_range(begin..begin + time.len(), time);
            assert_eq!(
                reason(RecordType::Tally, shifted.as_bytes()),
                "time_out_of_range"
            );
        }
        assert_eq!(batch.into_tables().count(), 0);
    }
}
