//! Records as rows of the file.
//!
//! Every statement is idempotent by the record's own id; a tally is replaced by a higher revision only.

use parity_schemas::evidence::Decision;
use parity_schemas::record::{Mismatch, MismatchClass, Record, RecordType};
use parity_schemas::tally::{GroupTally, Tally};
use parity_schemas::verdict::Explanation;
use parity_schemas::watermark::Watermark;
use rusqlite::{Transaction, params};
use serde::Serialize;
use uuid::Uuid;

/// A record with its lists and maps as text.
pub(super) enum Row<'a> {
    Mismatch {
        mismatch: &'a Mismatch,
        fingerprints: String,
        findings: String,
        tolerated: String,
        sample: Option<String>,
    },
    Tally {
        tally: &'a Tally,
        clients: String,
        not_compared: String,
        rule_hits: String,
        legacy_latency: String,
        candidate_latency: String,
        legacy_head_latency: String,
        candidate_head_latency: String,
        legacy_answers: String,
    },
    Group(&'a GroupTally),
    Decision(&'a Decision),
    Watermark {
        watermark: &'a Watermark,
        under_way: String,
        open: String,
    },
}

impl<'a> Row<'a> {
    pub(super) fn of(record: &'a Record) -> Self {
        match record {
            Record::Mismatch(mismatch) => Self::Mismatch {
                mismatch,
                fingerprints: json(&mismatch.fingerprints),
                findings: json(&mismatch.findings),
                tolerated: json(&mismatch.tolerated),
                sample: mismatch.sample.as_ref().map(json),
            },
            Record::Tally(tally) => Self::tally(tally),
            Record::GroupTally(group) => Self::Group(group),
            Record::Decision(decision) => Self::Decision(decision),
            Record::Watermark(watermark) => Self::watermark(watermark),
        }
    }

    pub(super) fn watermark(watermark: &'a Watermark) -> Self {
        Self::Watermark {
            watermark,
            under_way: json(&watermark.under_way),
            open: json(&watermark.open),
        }
    }

    pub(super) fn tally(tally: &'a Tally) -> Self {
        Self::Tally {
            tally,
            clients: json(&tally.counts.clients),
            not_compared: json(&tally.counts.not_compared),
            rule_hits: json(&tally.rule_hits),
            legacy_latency: tally.legacy_latency.to_runs(),
            candidate_latency: tally.candidate_latency.to_runs(),
            legacy_head_latency: tally.legacy_head_latency.to_runs(),
            candidate_head_latency: tally.candidate_head_latency.to_runs(),
            legacy_answers: json(&tally.counts.legacy_answers),
        }
    }

    pub(super) fn table(&self) -> &'static str {
        match self {
            Self::Mismatch { .. } => RecordType::Mismatch,
            Self::Tally { .. } => RecordType::Tally,
            Self::Group(_) => RecordType::GroupTally,
            Self::Decision(_) => RecordType::Decision,
            Self::Watermark { .. } => RecordType::Watermark,
        }
        .table()
    }

    pub(super) fn insert(&self, transaction: &Transaction<'_>) -> rusqlite::Result<usize> {
        match self {
            Self::Mismatch {
                mismatch,
                fingerprints,
                findings,
                tolerated,
                sample,
            } => transaction
                .prepare_cached(INSERT_MISMATCH)?
                .execute(params![
                    mismatch.id.to_string(),
                    mismatch.identity.migration,
                    mismatch.identity.legacy_version,
                    mismatch.identity.candidate_version,
                    mismatch.identity.rules_hash,
                    mismatch.time.as_micros(),
                    mismatch.instance,
                    mismatch.route,
                    mismatch.method,
                    mismatch.path,
                    mismatch.query,
                    fingerprints,
                    findings,
                    mismatch.findings_cut,
                    tolerated,
                    mismatch.legacy_status,
                    mismatch.candidate_status,
                    integer(mismatch.legacy_us),
                    integer(mismatch.candidate_us),
                    mismatch.trace_id,
                    match mismatch.class {
                        MismatchClass::Unconfirmed => "unconfirmed",
                    },
                    sample,
                ]),
            Self::Tally {
                tally,
                clients,
                not_compared,
                rule_hits,
                legacy_latency,
                candidate_latency,
                legacy_head_latency,
                candidate_head_latency,
                legacy_answers,
            } => transaction.prepare_cached(INSERT_TALLY)?.execute(params![
                tally.id.to_string(),
                tally.revision,
                tally.identity.migration,
                tally.identity.legacy_version,
                tally.identity.candidate_version,
                tally.identity.rules_hash,
                tally.instance,
                tally.interval_start.as_micros(),
                tally.interval_us,
                tally.route,
                integer(tally.counts.received),
                integer(tally.counts.matched),
                integer(tally.counts.mismatch),
                not_compared,
                rule_hits,
                legacy_latency,
                candidate_latency,
                clients,
                legacy_head_latency,
                candidate_head_latency,
                run(tally.run),
                legacy_answers,
            ]),
            Self::Group(group) => transaction.prepare_cached(INSERT_GROUP)?.execute(params![
                group.tally_id.to_string(),
                group.revision,
                group.group.fingerprint,
                group.group.part.as_str(),
                group.group.pattern,
                group.group.kind.as_str(),
                group.group.explanation.map(Explanation::as_str),
                group.group.legacy_status,
                group.group.candidate_status,
                integer(group.count),
                group.first_seen.as_micros(),
                group.last_seen.as_micros(),
                group.example_id.to_string(),
                group.identity.migration,
                group.identity.legacy_version,
                group.identity.candidate_version,
                group.identity.rules_hash,
                group.interval_start.as_micros(),
                group.route,
                group.exchange_digest.number(),
            ]),
            Self::Decision(decision) => insert_decision(transaction, decision),
            Self::Watermark {
                watermark,
                under_way,
                open,
            } => insert_watermark(transaction, watermark, under_way, open),
        }
    }
}

fn insert_watermark(
    transaction: &Transaction<'_>,
    watermark: &Watermark,
    under_way: &str,
    open: &str,
) -> rusqlite::Result<usize> {
    transaction
        .prepare_cached(INSERT_WATERMARK)?
        .execute(params![
            watermark.id.to_string(),
            watermark.revision,
            watermark.identity.migration,
            watermark.identity.legacy_version,
            watermark.identity.candidate_version,
            watermark.identity.rules_hash,
            watermark.instance,
            watermark.started.as_micros(),
            watermark.written.as_micros(),
            watermark.complete_until.as_micros(),
            watermark.ended,
            under_way,
            watermark.counted_from.as_micros(),
            watermark.open_from.as_micros(),
            integer(watermark.tallies),
            integer(watermark.received),
            integer(watermark.settled),
            open,
        ])
}

/// The id of a run; empty for programs without.
fn run(run: Uuid) -> String {
    if run.is_nil() {
        String::new()
    } else {
        run.to_string()
    }
}

pub(super) fn insert_decision(
    transaction: &Transaction<'_>,
    decision: &Decision,
) -> rusqlite::Result<usize> {
    let (legacy_version, candidate_version, rules_hash) = decision.versions();
    transaction
        .prepare_cached(INSERT_DECISION)?
        .execute(params![
            decision.decision_id.to_string(),
            decision.migration,
            decision.time.as_micros(),
            decision.outcome.as_str(),
            legacy_version,
            candidate_version,
            rules_hash,
            json(&decision.thresholds),
            json(decision),
        ])
}

fn json<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("records are made of strings, numbers and lists only")
}

/// A count as `SQLite` holds it: 63 bits are enough for a request per nanosecond and three centuries.
fn integer(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

const INSERT_MISMATCH: &str = "INSERT INTO mismatches (id, migration, legacy_version, candidate_version, rules_hash, \
    time, instance, route, method, path, query, fingerprints, findings, findings_cut, tolerated, legacy_status, \
    candidate_status, legacy_us, candidate_us, trace_id, class, sample) \
    VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,?18,?19,?20,?21,?22) \
    ON CONFLICT (id) DO NOTHING";

const INSERT_TALLY: &str = "INSERT INTO tallies (id, revision, migration, legacy_version, candidate_version, \
    rules_hash, instance, interval_start, interval_us, route, received, \"match\", mismatch, not_compared, rule_hits, \
    legacy_latency, candidate_latency, clients, legacy_head_latency, candidate_head_latency, run, \
    legacy_answers) \
    VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,?18,?19,?20,?21,?22) \
    ON CONFLICT (id) DO UPDATE SET revision = excluded.revision, interval_us = excluded.interval_us, \
    received = excluded.received, \"match\" = excluded.\"match\", mismatch = excluded.mismatch, \
    not_compared = excluded.not_compared, rule_hits = excluded.rule_hits, \
    legacy_latency = excluded.legacy_latency, candidate_latency = excluded.candidate_latency, \
    clients = excluded.clients, legacy_head_latency = excluded.legacy_head_latency, \
    candidate_head_latency = excluded.candidate_head_latency, legacy_answers = excluded.legacy_answers \
    WHERE excluded.revision > tallies.revision";

const INSERT_GROUP: &str = "INSERT INTO group_tallies (tally_id, revision, fingerprint, part, pattern, kind, \
    explanation, legacy_status, candidate_status, count, first_seen, last_seen, example_id, migration, legacy_version, \
    candidate_version, rules_hash, interval_start, route, exchange_digest) \
    VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,?18,?19,?20) \
    ON CONFLICT (tally_id, fingerprint) DO UPDATE SET revision = excluded.revision, count = excluded.count, \
    first_seen = excluded.first_seen, last_seen = excluded.last_seen, example_id = excluded.example_id, \
    exchange_digest = excluded.exchange_digest \
    WHERE excluded.revision > group_tallies.revision";

const INSERT_WATERMARK: &str = "INSERT INTO watermarks (id, revision, migration, legacy_version, candidate_version, \
    rules_hash, instance, started, written, complete_until, ended, under_way, counted_from, open_from, tallies, \
    received, settled, open) \
    VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,?18) \
    ON CONFLICT (id) DO UPDATE SET revision = excluded.revision, written = excluded.written, \
    complete_until = excluded.complete_until, ended = excluded.ended, under_way = excluded.under_way, \
    counted_from = excluded.counted_from, open_from = excluded.open_from, tallies = excluded.tallies, \
    received = excluded.received, settled = excluded.settled, open = excluded.open \
    WHERE excluded.revision > watermarks.revision";

const INSERT_DECISION: &str = "INSERT INTO decisions (id, migration, time, outcome, legacy_version, \
    candidate_version, rules_hash, thresholds, document) VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9) \
    ON CONFLICT (id) DO NOTHING";
