//! One record's JSON into one row: read with its texts borrowed, checked, and written column by column.

use std::borrow::Cow;

use parity_schemas::evidence::Decision;
use parity_schemas::histogram::Histogram;
use parity_schemas::record::MismatchClass;
use parity_schemas::tally::{GroupTally, Identity, Tally};
use parity_schemas::time::Timestamp;
use parity_schemas::verdict::{Explanation, Kind, Part};
use parity_schemas::watermark::Watermark;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use uuid::Uuid;

use super::batch::{AHEAD_MICROS, OLDEST_MICROS, Poison};
use super::columns::{FINDING_PIECES, TOLERATED_PIECES};
use super::encode::{Block, Encoder};

/// What is kept of a parser's message.
const MAX_WHY_BYTES: usize = 200;

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

pub(super) fn mismatch(block: &mut Block, json: &[u8], now: Timestamp) -> Result<(), Poison> {
    let mismatch: MismatchJson<'_> = read(json)?;
    within_range(mismatch.time, now)?;
    block.add(|row| write_mismatch(row, &mismatch));
    Ok(())
}

fn write_mismatch(row: &mut Encoder<'_>, mismatch: &MismatchJson<'_>) {
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
    row.list(1, mismatch.fingerprints.iter(), |row, fingerprint| {
        row.string(fingerprint.as_ref());
    });
    row.list(FINDING_PIECES, mismatch.findings.iter(), |row, finding| {
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
    row.bool(mismatch.findings_cut);
    row.list(
        TOLERATED_PIECES,
        mismatch.tolerated.iter(),
        |row, tolerated| {
            row.string(tolerated.part.as_str());
            row.string(tolerated.path.as_ref());
            row.string(tolerated.why.as_ref());
        },
    );
    row.u16(mismatch.legacy_status);
    row.u16(mismatch.candidate_status);
    row.u64(mismatch.legacy_us);
    row.u64(mismatch.candidate_us);
    row.string(mismatch.trace_id.as_ref());
    row.string(match mismatch.class {
        MismatchClass::Unconfirmed => "unconfirmed",
    });
    row.string(mismatch.sample.map_or("", RawValue::get));
}

pub(super) fn tally(block: &mut Block, json: &[u8], now: Timestamp) -> Result<(), Poison> {
    let tally: Tally = read(json)?;
    within_range(tally.interval_start, now)?;
    block.add(|row| write_tally(row, &tally));
    Ok(())
}

fn write_tally(row: &mut Encoder<'_>, tally: &Tally) {
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
    row.list(
        2,
        tally.counts.not_compared.iter(),
        |row, (reason, count)| {
            row.string(reason.as_str());
            row.u64(*count);
        },
    );
    row.list(2, tally.rule_hits.iter(), |row, (rule, hits)| {
        row.string(rule);
        row.u64(*hits);
    });
    histograms(row, [&tally.legacy_latency, &tally.candidate_latency]);
    row.list(2, tally.counts.clients.iter(), |row, (outcome, count)| {
        row.string(outcome.as_str());
        row.u64(*count);
    });
    histograms(
        row,
        [&tally.legacy_head_latency, &tally.candidate_head_latency],
    );
    row.uuid(tally.run);
    row.list(
        2,
        tally.counts.legacy_answers.iter(),
        |row, (class, count)| {
            row.string(class.as_str());
            row.u64(*count);
        },
    );
}

fn histograms(row: &mut Encoder<'_>, both: [&Histogram; 2]) {
    for histogram in both {
        row.list(2, histogram.0.iter(), |row, (bucket, count)| {
            row.u16(*bucket);
            row.u64(*count);
        });
    }
}

pub(super) fn group_tally(block: &mut Block, json: &[u8], now: Timestamp) -> Result<(), Poison> {
    let group: GroupTally = read(json)?;
    within_range(group.interval_start, now)?;
    block.add(|row| write_group_tally(row, &group));
    Ok(())
}

fn write_group_tally(row: &mut Encoder<'_>, group: &GroupTally) {
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
    row.u32(group.exchange_digest.number());
}

pub(super) fn decision(block: &mut Block, json: &[u8], now: Timestamp) -> Result<(), Poison> {
    let decision: Decision = read(json)?;
    within_range(decision.time, now)?;
    block.add(|row| write_decision(row, &decision));
    Ok(())
}

fn write_decision(row: &mut Encoder<'_>, decision: &Decision) {
    row.uuid(decision.decision_id);
    row.string(&decision.migration);
    row.time(decision.time);
    row.string(decision.outcome.as_str());
    let (legacy_version, candidate_version, rules_hash) = decision.versions();
    row.string(legacy_version);
    row.string(candidate_version);
    row.string(rules_hash);
    row.string(&text_of(&decision.thresholds));
    row.string(&text_of(decision));
}

pub(super) fn watermark(block: &mut Block, json: &[u8], now: Timestamp) -> Result<(), Poison> {
    let watermark: Watermark = read(json)?;
    within_range(watermark.written, now)?;
    block.add(|row| write_watermark(row, &watermark));
    Ok(())
}

fn write_watermark(row: &mut Encoder<'_>, watermark: &Watermark) {
    row.uuid(watermark.id);
    row.u32(watermark.revision);
    identity(row, &watermark.identity);
    row.string(&watermark.instance);
    row.time(watermark.started);
    row.time(watermark.written);
    row.time(watermark.complete_until);
    row.bool(watermark.ended);
    row.string(&text_of(&watermark.under_way));
    row.time(watermark.counted_from);
    row.time(watermark.open_from);
    row.u64(watermark.tallies);
    row.u64(watermark.received);
    row.u64(watermark.settled);
    row.string(&text_of(&watermark.open));
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
