//! How fast the `SQLite` store is on this machine and disk: counting, writing, and reading a large record back.
//!
//! `cargo run --release -p parity-sink --example store_speed -- FOLDER` (about a gigabyte is written and removed).

use std::error::Error;
use std::io::Write;
use std::time::{Duration, Instant};

use parity_schemas::clients::ClientOutcome;
use parity_schemas::digest::ExchangeDigest;
use parity_schemas::histogram::Histogram;
use parity_schemas::id::new_id;
use parity_schemas::record::{
    Mismatch, MismatchClass, Record, RecordedFinding, RecordedMessage, Sample,
};
use parity_schemas::route::Route;
use parity_schemas::tally::{Counts, Group, GroupTally, Identity, Tally};
use parity_schemas::time::Timestamp;
use parity_schemas::verdict::{Kind, Part, Reason};
use parity_sink::{
    MismatchFilter, Reader, RecordSender, Selection, StoreConfig, StoreUrl, TallyBook, TallyConfig,
    Writer, WriterOptions,
};

const MISMATCHES: u32 = 1_000_000;
const WITH_SAMPLE: u32 = 50_000;
const TALLIES: u32 = 100_000;
const GROUPS_PER_TALLY: u32 = 2;
const COUNTED: u32 = 5_000_000;
const FINISH: Duration = Duration::from_mins(10);

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| ".".to_owned());
    let folder = tempfile::tempdir_in(folder)?;
    let path = folder.path().join("speed.db");
    let url = StoreConfig::from(StoreUrl::Sqlite(path.clone()));
    let mut out = std::io::stdout();
    let started = Timestamp::now();

    let book = TallyBook::new(TallyConfig::new(identity(), "speed", Vec::new()));
    let (recorder, route) = (
        book.recorder(book.generation()),
        Route::new("GET /users/{id}"),
    );
    let began = Instant::now();
    for request in 0..COUNTED {
        recorder.received(&route);
        recorder.answered(&route, 200);
        recorder.client(&route, ClientOutcome::Success);
        recorder.matched(&route, u64::from(request % 5_000), 900);
    }
    let each = began.elapsed() / COUNTED;
    writeln!(out, "counting one compared request: {each:?}")?;

    // A second book, so that the reports below are of the written tallies alone.
    let book = TallyBook::new(TallyConfig::new(identity(), "speed", Vec::new()));
    let writer = Writer::open(&url, book, WriterOptions::default())?;
    let sender = writer.handle();
    let began = Instant::now();
    for number in 0..MISMATCHES {
        send(&sender, || mismatch(number, started, false));
    }
    wait_until_written(&writer);
    let rate = f64::from(MISMATCHES) / began.elapsed().as_secs_f64();
    writeln!(out, "mismatches without sample: {rate:.0} rows/s")?;
    let began = Instant::now();
    for number in 0..WITH_SAMPLE {
        send(&sender, || mismatch(number, started, true));
    }
    wait_until_written(&writer);
    let rate = f64::from(WITH_SAMPLE) / began.elapsed().as_secs_f64();
    writeln!(out, "mismatches with a 6 KB sample: {rate:.0} rows/s")?;
    let began = Instant::now();
    for number in 0..TALLIES {
        for record in tally(number, started) {
            send(&sender, || record.clone());
        }
    }
    wait_until_written(&writer);
    let rate = f64::from(TALLIES * (1 + GROUPS_PER_TALLY)) / began.elapsed().as_secs_f64();
    writeln!(out, "tallies and groups: {rate:.0} rows/s")?;
    let finished = writer.finish(FINISH)?;
    let bytes = path.metadata()?.len();
    writeln!(out, "file: {} MB, {finished:?}", bytes >> 20)?;

    let selection = Selection::default();
    for _ in 0..2 {
        let began = Instant::now();
        let reader = Reader::open(&url)?;
        let report = reader.report(&selection)?;
        writeln!(
            out,
            "report: {:?}, {} groups",
            began.elapsed(),
            report.groups.len()
        )?;
        let began = Instant::now();
        reader.evidence(&selection)?;
        writeln!(out, "evidence: {:?}", began.elapsed())?;
        for fingerprint in ["0000000000000001", "there is none"] {
            let began = Instant::now();
            let filter = MismatchFilter {
                fingerprint: Some(fingerprint.to_owned()),
                ..MismatchFilter::default()
            };
            let found = reader.mismatches(&filter, 50)?.len();
            writeln!(
                out,
                "{found} mismatches of {fingerprint}: {:?}",
                began.elapsed()
            )?;
        }
    }
    Ok(())
}

fn identity() -> Identity {
    Identity {
        migration: "default".to_owned(),
        legacy_version: "go-4.2.1".to_owned(),
        candidate_version: "rust-0.9.0".to_owned(),
        rules_hash: "0123456789abcdef".to_owned(),
    }
}

fn send(sender: &RecordSender, record: impl Fn() -> Record) {
    while sender.send(record()).is_err() {
        std::thread::park_timeout(Duration::from_millis(1));
    }
}

fn wait_until_written(writer: &Writer) {
    while writer.health().queued_records > 0 {
        std::thread::park_timeout(Duration::from_millis(1));
    }
}

fn mismatch(number: u32, started: Timestamp, sampled: bool) -> Record {
    let message = || RecordedMessage {
        headers: vec![("content-type".to_owned(), "application/json".to_owned())],
        body: "x".repeat(2_000),
        body_bytes: 2_000,
        body_cut: false,
    };
    let fingerprint = format!("{:016x}", number % 1_000);
    let finding = RecordedFinding {
        fingerprint: fingerprint.clone(),
        part: Part::Body,
        path: "/items/0/price".to_owned(),
        candidate_path: None,
        pattern: "/items/*/price".to_owned(),
        kind: Kind::Value,
        legacy: Some("12.50".to_owned()),
        candidate: Some("12.51".to_owned()),
        explanation: None,
        text_diff: None,
    };
    Record::Mismatch(Box::new(Mismatch {
        id: new_id(),
        identity: identity(),
        time: started.saturating_add_micros(i64::from(number)),
        instance: "speed".to_owned(),
        route: "GET /users/{id}/orders".to_owned(),
        method: "GET".to_owned(),
        path: format!("/users/{number}/orders"),
        query: "page=2&limit=50".to_owned(),
        fingerprints: vec![fingerprint],
        findings: vec![finding],
        legacy_status: 200,
        candidate_status: 200,
        legacy_us: 1_200,
        candidate_us: 900,
        trace_id: "0af7651916cd43dd8448eb211c80319c".to_owned(),
        sample: sampled.then(|| Sample {
            request: message(),
            legacy: message(),
            candidate: message(),
        }),
        ..Mismatch::default()
    }))
}

fn tally(number: u32, started: Timestamp) -> Vec<Record> {
    let start = started.saturating_add_micros(i64::from(number / 10) * 60_000_000);
    let mut latency = Histogram::default();
    for bucket in 20..40 {
        latency.add(bucket, u64::from(number) % 7 + 1);
    }
    let mut tally = Tally {
        id: new_id(),
        revision: 1,
        identity: identity(),
        instance: "speed".to_owned(),
        interval_start: start,
        interval_us: 60_000_000,
        route: format!("GET /route/{}", number % 10),
        counts: Counts {
            received: 1_000,
            clients: [
                (ClientOutcome::Success, 998),
                (ClientOutcome::ClientAborted, 2),
            ]
            .into(),
            matched: 980,
            mismatch: 10,
            classes: [(MismatchClass::Unconfirmed, 10)].into(),
            not_compared: [(Reason::UnsafeMethod, 5), (Reason::CandidateTimeout, 5)].into(),
            legacy_answers: [(ClientOutcome::Success, 990)].into(),
            ..Counts::default()
        },
        rule_hits: [("updated-at".to_owned(), 980)].into(),
        legacy_latency: latency.clone(),
        candidate_latency: latency.clone(),
        legacy_head_latency: latency.clone(),
        candidate_head_latency: latency,
        ..Tally::default()
    };
    tally.run = new_id();
    let groups = (0..GROUPS_PER_TALLY).map(|group| {
        Record::GroupTally(Box::new(GroupTally {
            tally_id: tally.id,
            identity: tally.identity.clone(),
            interval_start: tally.interval_start,
            route: tally.route.clone(),
            revision: 1,
            group: Group {
                fingerprint: format!("{:016x}", (number + group) % 1_000),
                part: Part::Body,
                pattern: "/items/*/price".to_owned(),
                kind: Kind::Value,
                explanation: None,
                shape: "integer→integer".to_owned(),
                legacy_status: 200,
                candidate_status: 200,
            },
            count: 5,
            first_seen: start,
            last_seen: start,
            example_id: new_id(),
            exchange_digest: ExchangeDigest::of(new_id()),
            run: tally.run,
            classes: [(MismatchClass::Unconfirmed, 5)].into(),
            ..GroupTally::default()
        }))
    });
    let groups: Vec<_> = groups.collect();
    groups
        .into_iter()
        .chain([Record::Tally(Box::new(tally))])
        .collect()
}
