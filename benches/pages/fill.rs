//! One hour of a record, by the code that a mirror writes with.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parity_schemas::clients::ClientOutcome;
use parity_schemas::digest::ExchangeDigest;
use parity_schemas::record::{
    Mismatch, MismatchClass, Record, RecordedFinding, RecordedMessage, Sample,
};
use parity_schemas::route::Route;
use parity_schemas::tally::{Group, GroupTally, Identity, SetTally, Tally, set_id};
use parity_schemas::time::Timestamp;
use parity_schemas::verdict::{Kind, Part};
use parity_schemas::watermark::Watermark;
use parity_sink::tally::TargetKey;
use parity_sink::write::Retention;
use parity_sink::{StoreConfig, TallyBook, TallyConfig, Writer, WriterOptions};
use uuid::Uuid;

const MINUTE: i64 = 60_000_000;
/// Routes that count.
const ROUTES: u64 = 100;
/// Compared requests of a route in a minute.
const REQUESTS: u64 = 100;
/// Mismatches in a minute: a million in ten days.
const MISMATCHES: u64 = 70;
/// Hours of which the watermark of a run has the sums.
const VERIFIED_HOURS: i64 = 36;
/// One in so many mismatches is stored with both answers.
const SAMPLED: u64 = 20;

/// Hours of ten days.
const TEN_DAYS: u64 = 240;

/// What is filled in.
pub(crate) struct Shape {
    /// Groups of one hour.
    groups: u64,
    /// Hours have these in turns, each under other names.
    pub(crate) variants: u64,
    /// How many hours there are.
    pub(crate) hours: u64,
}

impl Shape {
    /// Shows that the benchmark works, in seconds.
    pub(crate) const TRIED: Self = Self {
        groups: 200,
        variants: 1,
        hours: 2,
    };
    pub(crate) const USUAL: Self = Self {
        groups: 200,
        variants: 1,
        hours: TEN_DAYS,
    };
    pub(crate) const MANY: Self = Self {
        groups: 3_333,
        variants: 3,
        hours: TEN_DAYS,
    };

    pub(crate) const fn all_groups(&self) -> u64 {
        self.groups * self.variants
    }
}

/// The migration whose pages are measured. Another one pads the store.
pub(crate) const MEASURED: &str = "default";

/// An id of this minute: SQL that shifts a row in time can shift its id, too.
fn id(minute: i64) -> Uuid {
    let millis = u64::try_from(minute * MINUTE / 1_000).expect("after 1970");
    uuid::Builder::from_unix_timestamp_millis(
        millis,
        Uuid::new_v4().as_bytes().first_chunk().expect("ten"),
    )
    .into_uuid()
}

fn identity() -> Identity {
    Identity {
        migration: MEASURED.to_owned(),
        legacy_version: "go-4.2.1".to_owned(),
        candidate_version: "rust-0.9.0".to_owned(),
        rules_hash: "5f0d2a7c1b3e4d6f".to_owned(),
    }
}

fn group(number: u64) -> Group {
    Group {
        // SQL finds this begin when it makes others of them.
        fingerprint: format!(
            "fff0{:012x}",
            number.wrapping_mul(0x9e37_79b9_7f4a) & 0xffff_ffff_ffff
        ),
        part: Part::Body,
        pattern: format!("/v0/items/*/field{number}"),
        kind: Kind::Value,
        explanation: None,
        shape: "integer→integer".to_owned(),
        legacy_status: 200,
        candidate_status: 200,
    }
}

fn route(number: u64) -> String {
    format!("GET /api/v1/resource{number}/{{id}}")
}

fn message(body: String) -> RecordedMessage {
    RecordedMessage {
        headers: vec![
            ("content-type".to_owned(), "application/json".to_owned()),
            ("content-length".to_owned(), body.len().to_string()),
        ],
        body_bytes: body.len() as u64,
        body,
        body_cut: false,
    }
}

fn body(number: u64, value: u64) -> String {
    let rest: Vec<String> = (0..40)
        .map(|at| format!("{{\"id\":{at},\"name\":\"item {at}\",\"price\":\"12.{at}\"}}"))
        .collect();
    format!(
        "{{\"v0\":{{\"items\":[{{\"field{number}\":{value}}},{}]}}}}",
        rest.join(",")
    )
}

fn mismatch(minute: i64, run: &str, group: &Group, of: u64, number: u64) -> Mismatch {
    let (legacy, candidate) = (number * 17, number * 17 + 1);
    Mismatch {
        id: id(minute),
        identity: identity(),
        time: Timestamp::from_micros(
            minute * MINUTE + i64::try_from(number).expect("few") * 700_000,
        ),
        instance: run.to_owned(),
        route: route(of % ROUTES),
        method: "GET".to_owned(),
        path: format!("/api/v1/resource{}/{}", of % ROUTES, number + 1_000),
        query: "page=2&limit=50".to_owned(),
        fingerprints: vec![group.fingerprint.clone()],
        findings: vec![RecordedFinding {
            fingerprint: group.fingerprint.clone(),
            part: Part::Body,
            path: format!("/v0/items/0/field{of}"),
            candidate_path: None,
            pattern: group.pattern.clone(),
            kind: Kind::Value,
            legacy: Some(legacy.to_string()),
            candidate: Some(candidate.to_string()),
            explanation: None,
            text_diff: None,
        }],
        legacy_status: 200,
        candidate_status: 200,
        legacy_us: 4_000,
        candidate_us: 3_000,
        trace_id: "4bf92f3577b34da6a3ce929d0e0e4736".to_owned(),
        sample: number.is_multiple_of(SAMPLED).then(|| Sample {
            request: message(String::new()),
            legacy: message(body(of, legacy)),
            candidate: message(body(of, candidate)),
        }),
        ..Mismatch::default()
    }
}

/// Tallies of one minute, without a mismatch: with times, targets and attributes as they are counted.
fn counted() -> Vec<Tally> {
    let key = TargetKey::new(b"0123456789abcdef0123456789abcdef");
    let config = TallyConfig {
        target_key: key.name().to_owned(),
        ..TallyConfig::new(identity(), "mirror-1", vec!["updated-at".to_owned()])
    };
    let book = TallyBook::new(config);
    let recorder = book.recorder(book.generation());
    for number in 0..ROUTES {
        let route = Route::new(route(number));
        for request in 0..REQUESTS {
            let epoch = recorder.received(&route);
            let target = format!("/api/v1/resource{number}/{request}");
            recorder.compared(&route, 200, key.hash("GET", &target));
            recorder.answered(&route, 200);
            recorder.client(&route, ClientOutcome::Success);
            let time = 2_000 + request * request * 13 % 9_000;
            recorder.matched(&route, time, time - 500);
            recorder.rule_hits(&route, &[(0, 1)]);
            recorder.settled(epoch);
        }
    }
    book.snapshot_now().tallies
}

/// What is counted of one mismatch, besides its route.
fn tallied(tally: &Tally, run: Uuid, group: &Group, record: &Mismatch) -> (GroupTally, SetTally) {
    let mut digest = ExchangeDigest::UNKNOWN;
    digest.add(ExchangeDigest::of(record.id));
    let of_group = GroupTally {
        tally_id: tally.id,
        revision: 1,
        identity: identity(),
        interval_start: tally.interval_start,
        run,
        route: tally.route.clone(),
        count: 1,
        first_seen: record.time,
        last_seen: record.time,
        example_id: record.id,
        exchange_digest: digest,
        classes: [(MismatchClass::Confirmed, 1)].into(),
        group: group.clone(),
        ..GroupTally::default()
    };
    let of_set = SetTally {
        tally_id: tally.id,
        revision: 1,
        identity: identity(),
        interval_start: tally.interval_start,
        run,
        route: tally.route.clone(),
        set_id: set_id([group.fingerprint.as_str()]),
        fingerprints: vec![group.fingerprint.clone()],
        classes: [(MismatchClass::Confirmed, 1)].into(),
        never_asked: 0,
    };
    (of_group, of_set)
}

/// Writes the last whole hour of the ten days.
pub(crate) fn hour(store: &StoreConfig, shape: &Shape) {
    let own = Identity {
        migration: "filler".to_owned(),
        ..identity()
    };
    let book = TallyBook::new(TallyConfig::new(own, "filler", Vec::new()));
    let options = WriterOptions {
        retention: Retention {
            samples: Duration::MAX,
            mismatches: Duration::MAX,
            tallies: Duration::MAX,
            max_bytes: u64::MAX,
        },
        ..WriterOptions::default()
    };
    let writer = Writer::open(store, Arc::clone(&book), options).expect("the store opens");
    let sender = writer.handle();
    let send = |record: Record| {
        let began = Instant::now();
        while sender.send(record.clone()).is_err() {
            assert!(
                began.elapsed() < Duration::from_mins(1),
                "the store takes records"
            );
            std::thread::park_timeout(Duration::from_millis(2));
        }
    };
    let last = Timestamp::now().as_micros() / MINUTE;
    let run = id(last - 60);
    let templates = counted();
    for minute in last - 60..last {
        let mut tallies: Vec<Tally> = (0..ROUTES)
            .map(|number| {
                let of = route(number);
                let found = templates.iter().find(|tally| tally.route == of);
                Tally {
                    id: id(minute),
                    run,
                    interval_start: Timestamp::from_micros(minute * MINUTE),
                    interval_us: MINUTE,
                    ..found.expect("it was counted").clone()
                }
            })
            .collect();
        for number in 0..MISMATCHES {
            let past = u64::try_from(minute - (last - 60)).expect("in this hour");
            let of = (past * MISMATCHES + number) * 7_919 % shape.groups;
            let group = group(of);
            let record = mismatch(minute, "mirror-1", &group, of, number);
            let tally = &mut tallies[usize::try_from(of % ROUTES).expect("small")];
            tally.counts.matched -= 1;
            tally.counts.mismatch += 1;
            *tally
                .counts
                .classes
                .entry(MismatchClass::Confirmed)
                .or_default() += 1;
            let (of_group, of_set) = tallied(tally, run, &group, &record);
            send(Record::GroupTally(Box::new(of_group)));
            send(Record::SetTally(Box::new(of_set)));
            send(Record::Mismatch(Box::new(record)));
        }
        for tally in tallies {
            send(Record::Tally(Box::new(tally)));
        }
    }
    let ended = Timestamp::from_micros(last * MINUTE);
    send(Record::Watermark(Box::new(Watermark {
        id: run,
        revision: 1_000_000,
        identity: identity(),
        instance: "mirror-1".to_owned(),
        started: ended.saturating_add_micros(-MINUTE * 60 * 24 * 10),
        written: ended,
        complete_until: ended,
        ended: true,
        // A reader verifies the tallies of up to two days.
        counted_from: ended.saturating_add_micros(-MINUTE * 60 * VERIFIED_HOURS),
        open_from: ended,
        tallies: VERIFIED_HOURS.unsigned_abs() * 60 * ROUTES,
        received: VERIFIED_HOURS.unsigned_abs() * 60 * ROUTES * REQUESTS,
        settled: VERIFIED_HOURS.unsigned_abs() * 60 * ROUTES * REQUESTS,
        in_groups: VERIFIED_HOURS.unsigned_abs() * 60 * MISMATCHES,
        in_sets: VERIFIED_HOURS.unsigned_abs() * 60 * MISMATCHES,
        ..Watermark::default()
    })));
    let report = writer
        .finish(Duration::from_mins(1))
        .expect("the writer ends");
    assert_eq!(report.failure, None);
}
