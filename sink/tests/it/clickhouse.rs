//! The ClickHouse record: read as the SQLite record is, written to directly, and refused for clear reasons.

use std::io::{Read, Write};
use std::net::TcpListener;

use parity_schemas::clickhouse::{Layout, VERSION, migrations, version_table};
use parity_schemas::digest::ExchangeDigest;
use parity_schemas::evidence::{Evidence, LeftOutSpan};
use parity_schemas::id::new_id;
use parity_schemas::record::{MismatchClass, Record};
use parity_schemas::report::Report;
use parity_schemas::time::Timestamp;
use parity_schemas::verdict::{Explanation, Reason, Tolerated, Why};
use parity_schemas::watermark::{Run, Watermark};
use parity_sink::write::Retention;
use parity_sink::{
    MismatchFilter, Reader, Selection, StoreConfig, StoreError, StoreUrl, Writer, WriterOptions,
    apply_schema, record_decision,
};
use uuid::Uuid;

use crate::servers::{ClickHouse, Database};
use crate::support::{
    PATIENCE, Store, book, fill, group_tally, matched, mismatch, mismatched, route, tally,
    wait_until, with_tables,
};

/// Minutes ago, on the minute, so that both stores see the same whatever the clock does meanwhile.
fn minutes_ago(minutes: i64) -> Timestamp {
    let minute = Timestamp::now().as_micros() / 60_000_000 - minutes;
    Timestamp::from_micros(minute * 60_000_000)
}

fn of(record: parity_schemas::record::Mismatch) -> Record {
    Record::Mismatch(Box::new(record))
}

/// Everything that a report can show: versions, routes, instances, groups with and without their example, odd text.
fn traffic() -> Vec<Record> {
    let mut records = Vec::new();
    for (ago, version) in [(100, "rust-1"), (90, "rust-2")] {
        for minute in 0..6 {
            let start = minutes_ago(ago - minute);
            for name in ["GET /a", "GET /b/{id}", "POST /ö\u{202e}\n'\\"] {
                let mut tally = tally(name, start, 100);
                version.clone_into(&mut tally.identity.candidate_version);
                tally.instance = format!("mirror-{}", minute % 2);
                tally.counts.mismatch = 3;
                tally.counts.received += 5;
                tally.counts.not_compared =
                    [(Reason::CandidateTimeout, 1), (Reason::UnsafeMethod, 1)].into();
                tally.rule_hits = [("updated-at".to_owned(), 7), ("it's".to_owned(), 1)].into();
                tally.legacy_latency.add(20, 60 + minute as u64);
                tally.legacy_latency.add(40, 40);
                tally.candidate_latency.add(21, 100);
                for (index, fingerprint) in ["aaaa", "bbbb"].into_iter().enumerate() {
                    let mut one = mismatch(fingerprint, start.saturating_add_micros(5), 300);
                    one.identity = tally.identity.clone();
                    one.route.clone_from(&tally.route);
                    one.path = format!("/{minute}/\u{0}\u{1b}[31m\"é");
                    one.findings[0].candidate_path = Some("/x".to_owned());
                    one.findings[0].explanation = Some(Explanation::EqualDouble);
                    one.findings[0].legacy = None;
                    one.findings[0].text_diff = Some("-a\n+\u{0}".to_owned());
                    one.tolerated = vec![Tolerated {
                        part: one.findings[0].part,
                        path: "/t".to_owned(),
                        why: Why::Rule("x".to_owned()),
                    }];
                    // The newest example of one group was never stored.
                    let example = if minute == 5 && index == 1 {
                        new_id()
                    } else {
                        one.id
                    };
                    let mut group = group_tally(&tally, fingerprint, 2, example);
                    if index == 0 {
                        // The same mismatches are in one more group, and are the example of a third.
                        group.exchange_digest = ExchangeDigest::of(one.id);
                        for (other, digest) in [
                            ("cccc", group.exchange_digest),
                            ("dddd", ExchangeDigest::UNKNOWN),
                        ] {
                            let mut finding = one.findings[0].clone();
                            other.clone_into(&mut finding.fingerprint);
                            one.fingerprints.push(other.to_owned());
                            one.findings.push(finding);
                            let mut group = group_tally(&tally, other, 2, example);
                            group.exchange_digest = digest;
                            records.push(Record::GroupTally(Box::new(group)));
                        }
                    }
                    records.push(of(one));
                    records.push(Record::GroupTally(Box::new(group)));
                }
                records.push(Record::Tally(Box::new(tally)));
            }
        }
    }
    records
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string_pretty(value).expect("it is JSON")
}

/// Without the times of writing, which differ between the stores.
fn timeless(mut report: Report) -> Report {
    report.complete_until = None;
    for watermark in &mut report.watermarks {
        watermark.complete_until = None;
        watermark.started = None;
        watermark.last_heard = None;
    }
    report
}

fn timeless_run(mut run: Run) -> Run {
    run.watermark = run.watermark.map(|_| Watermark::default());
    run.succeeded = run.succeeded.map(|_| Timestamp::default());
    run
}

#[test]
#[ignore = "needs Kafka and ClickHouse: run tests/run"]
fn one_traffic_reads_the_same_out_of_both_stores() {
    let sqlite = Store::new();
    let database = ClickHouse::shared().database();
    let store = with_tables(&database);
    let records = traffic();
    sqlite.fill(records.clone());
    fill(&store, &records);

    let (one, other) = (sqlite.reader(), Reader::open(&store).expect("it opens"));
    let version = |version: &str| Selection {
        candidate_version: Some(version.to_owned()),
        ..Selection::default()
    };
    let since = |minutes| Selection {
        since: Some(minutes_ago(minutes)),
        ..Selection::default()
    };
    for selection in [
        Selection::default(),
        version("rust-1"),
        version("rust-2"),
        version("it's not there\\"),
        since(87),
        since(1),
        Selection {
            left_out: vec![LeftOutSpan {
                from: minutes_ago(98),
                to: minutes_ago(87),
                reason: "restart".to_owned(),
            }],
            ..Selection::default()
        },
        Selection {
            legacy_version: Some("go-1".to_owned()),
            ..since(98)
        },
        Selection {
            migration: Some("another".to_owned()),
            ..Selection::default()
        },
    ] {
        let report = timeless(one.report(&selection).expect("it is read"));
        let same = timeless(other.report(&selection).expect("it is read"));
        assert_eq!(json(&report), json(&same), "{selection:?}");
        let evidence = |reader: &Reader| {
            let evidence = reader.evidence(&selection).expect("it is read");
            evidence.map(|evidence| Evidence {
                runs: evidence.runs.into_iter().map(timeless_run).collect(),
                ..evidence
            })
        };
        assert_eq!(evidence(&one), evidence(&other), "{selection:?}");
    }
    let report = other.report(&Selection::default()).expect("it is read");
    assert_eq!(report.counts.received, report.counts.settled());
    assert!(
        report
            .groups
            .iter()
            .flat_map(parity_schemas::report::GroupReport::members)
            .all(|member| member.example.is_some())
    );
    assert_eq!(
        report
            .groups
            .iter()
            .filter(|group| group.also.len() == 1)
            .count(),
        3,
        "one a route"
    );

    for record in &records {
        let Record::Mismatch(mismatch) = record else {
            continue;
        };
        let read = other.mismatch(mismatch.id).expect("it is read");
        assert_eq!(read.as_ref(), Some(&**mismatch));
    }
    assert_eq!(other.mismatch(Uuid::nil()).expect("it is read"), None);
    let mut filter = MismatchFilter::default();
    for (route, fingerprint, class) in [
        (None, None, None),
        (Some("GET /a"), None, None),
        (None, Some("bbbb"), None),
        (Some("GET /a"), None, Some(MismatchClass::Unconfirmed)),
        (None, None, Some(MismatchClass::Confirmed)),
    ] {
        filter.class = class;
        filter.route = route.map(str::to_owned);
        filter.fingerprint = fingerprint.map(str::to_owned);
        filter.before = None;
        loop {
            let page = one.mismatches(&filter, 7).expect("it is read");
            assert_eq!(page, other.mismatches(&filter, 7).expect("it is read"));
            let Some(last) = page.last() else { break };
            let of = (last.time, last.id);
            let beside = one.neighbours(&filter, of).expect("it is read");
            assert_eq!(beside, other.neighbours(&filter, of).expect("it is read"));
            filter.before = Some(of);
        }
    }
}

#[test]
#[ignore = "needs Kafka and ClickHouse: run tests/run"]
fn writing_twice_is_writing_once_and_a_lower_revision_changes_nothing() {
    let database = ClickHouse::shared().database();
    let store = with_tables(&database);
    let start = minutes_ago(3);
    let (first, mut second) = (tally("GET /a", start, 10), tally("GET /a", start, 25));
    second.id = first.id;
    second.revision = 2;
    let one = mismatch("f00d", start, 10);
    let group =
        |tally, count| Record::GroupTally(Box::new(group_tally(tally, "f00d", count, one.id)));
    let (older, newer) = (group(&first, 1), group(&second, 4));
    let (first, second) = (
        Record::Tally(Box::new(first)),
        Record::Tally(Box::new(second)),
    );
    for records in [
        vec![first.clone(), older.clone(), of(one.clone())],
        vec![second, newer, of(one.clone())],
        vec![first, older, of(one.clone())],
    ] {
        fill(&store, &records);
    }
    let reader = Reader::open(&store).expect("it opens");
    let report = reader.report(&Selection::default()).expect("it is read");
    assert_eq!(report.counts.received, 25);
    assert_eq!(report.groups[0].count, 4);
    let listed = reader.mismatches(&MismatchFilter::default(), 10);
    assert_eq!(listed.expect("it is read"), [one]);
    assert_eq!(database.number("SELECT count() FROM mismatches_final"), 1);
    assert_eq!(
        database.number("SELECT sum(received) FROM tallies_final"),
        25
    );
}

#[test]
#[ignore = "needs Kafka and ClickHouse: run tests/run"]
fn a_schema_is_applied_once_and_a_newer_one_is_refused() {
    let database = ClickHouse::shared().database();
    let store = StoreConfig::from(database.url().parse::<StoreUrl>().expect("a URL"));
    let apply = || apply_schema(&store, &Layout::Single, &Retention::default());
    let refused = |what: &str| {
        let errors = [
            Reader::open(&store).map(drop).expect_err("refused"),
            Writer::open(&store, book("x"), WriterOptions::default())
                .map(drop)
                .expect_err("refused"),
            record_decision(&store, &crate::opening::decision()).expect_err("refused"),
        ];
        for error in errors {
            assert!(error.to_string().contains(what), "{error}");
        }
    };
    refused("parity schema apply");
    std::thread::scope(|scope| {
        // Applying it twice at once does no harm.
        let both = [scope.spawn(apply), scope.spawn(apply)];
        for one in both {
            assert_eq!(one.join().expect("no panic").expect("applied").to, VERSION);
        }
    });
    assert_eq!(apply().expect("applied").from, VERSION);
    assert_eq!(
        database.number("SELECT count() FROM parity_schema FINAL"),
        u64::from(VERSION)
    );
    drop(Reader::open(&store).expect("it opens"));

    database.sql(&format!(
        "INSERT INTO parity_schema (version, program) VALUES ({}, 'later')",
        VERSION + 1
    ));
    refused("use the newer parity");
    let error = apply().expect_err("refused");
    assert!(matches!(error, StoreError::NewerTables { .. }), "{error}");
}

#[test]
#[ignore = "needs Kafka and ClickHouse: run tests/run"]
fn retention_is_what_the_configuration_says() {
    let database = ClickHouse::shared().database();
    let store = with_tables(&database);
    let retention = Retention {
        mismatches: std::time::Duration::from_hours(1),
        ..Retention::default()
    };
    apply_schema(&store, &Layout::Single, &retention).expect("applied");
    fill(
        &store,
        &[
            of(mismatch("old", minutes_ago(90), 10)),
            of(mismatch("new", minutes_ago(10), 10)),
        ],
    );
    database.sql("OPTIMIZE TABLE mismatches FINAL");
    assert_eq!(
        database.sql("SELECT fingerprints[1] FROM mismatches_final"),
        "new"
    );
    let made = database.sql("SHOW CREATE TABLE mismatches");
    assert!(made.contains("toIntervalSecond(1209600)"), "{made}");
}

#[test]
#[ignore = "needs Kafka and ClickHouse: run tests/run"]
fn the_form_for_a_cluster_is_understood_by_the_server() {
    let layout = Layout::Cluster("it's a cluster".to_owned());
    let statements = version_table(&layout).into_iter().chain(
        migrations(&layout)
            .into_iter()
            .flat_map(|migration| migration.statements),
    );
    let mut count = 0;
    for statement in statements {
        let parsed = ClickHouse::shared().ask("default", &format!("EXPLAIN AST {statement}"));
        assert!(parsed.is_ok(), "{statement}\n{parsed:?}");
        count += 1;
    }
    assert!(count > 12, "{count}");
}

#[test]
#[ignore = "needs Kafka and ClickHouse: run tests/run"]
fn a_row_that_the_table_refuses_costs_that_row() {
    let database = ClickHouse::shared().database();
    let store = with_tables(&database);
    database.sql("ALTER TABLE mismatches ADD CONSTRAINT c CHECK path != '/bad'");
    let writer = Writer::open(&store, book("x"), WriterOptions::default()).expect("it opens");
    let sender = writer.handle();
    for number in 0..100 {
        let mut one = mismatch("f00d", minutes_ago(1), 0);
        if number == 42 {
            "/bad".clone_into(&mut one.path);
        }
        sender.send(of(one)).expect("there is room");
    }
    let finished = writer.finish(PATIENCE).expect("the writer ends");
    assert_eq!((finished.records_dropped, finished.failure), (1, None));
    assert_eq!(database.number("SELECT count() FROM mismatches_final"), 99);
}

#[test]
#[ignore = "needs Kafka and ClickHouse: run tests/run"]
fn a_server_that_is_away_for_a_while_costs_nothing_that_fits_the_queue() {
    let mut server = ClickHouse::own();
    let name = crate::servers::name("away");
    let url = server.named(&name).url();
    let store = StoreConfig::from(url.parse::<StoreUrl>().expect("a URL"));
    apply_schema(&store, &Layout::Single, &Retention::default()).expect("applied");
    let book = book("here");
    let writer = Writer::open(&store, book.clone(), WriterOptions::default()).expect("it opens");
    let (sender, recorder, route) = (writer.handle(), book.recorder(book.generation()), route());
    let send = |count: usize| {
        for _ in 0..count {
            matched(&recorder, &route);
            let record = mismatched(&recorder, &route, 100);
            sender.send(record).expect("there is room");
        }
    };
    send(50);
    wait_until("the first are written", || {
        writer.health().last_write.is_some() && writer.health().queued_records == 0
    });
    server.kill();
    send(50);
    wait_until("the failure is told", || {
        writer
            .health()
            .failure
            .is_some_and(|failure| !failure.message.is_empty())
    });
    send(50);
    server.start();
    wait_until("it works again", || writer.health().failure.is_none());
    let finished = writer.finish(PATIENCE).expect("the writer ends");
    assert_eq!((finished.records_dropped, finished.failure), (0, None));
    let reader = Reader::open(&store).expect("it opens");
    let report = reader.report(&Selection::default()).expect("it is read");
    assert_eq!((report.counts.received, report.counts.mismatch), (300, 150));
    let database = server.named(&name);
    assert_eq!(database.number("SELECT count() FROM mismatches_final"), 150);
}

/// The message that a user with a wrong server or login gets.
fn message(database: &Database<'_>, change: impl FnOnce(&mut StoreConfig)) -> String {
    let mut store = StoreConfig::from(database.url().parse::<StoreUrl>().expect("a URL"));
    change(&mut store);
    Reader::open(&store)
        .map(drop)
        .expect_err("it is refused")
        .to_string()
}

#[test]
#[ignore = "needs Kafka and ClickHouse: run tests/run"]
fn a_wrong_server_is_told_from_a_wrong_login() {
    let database = ClickHouse::shared().database();
    let refused = message(&database, |store| {
        if let StoreUrl::ClickHouse(url) = &mut store.url {
            url.user = Some("nobody".to_owned());
        }
        store.clickhouse.password = Some(parity_sink::Secret::new("hunter2"));
    });
    assert!(refused.contains("refuses us"), "{refused}");
    assert!(!refused.contains("hunter2"), "{refused}");

    let nobody = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = nobody.local_addr().expect("an address").port();
    drop(nobody);
    let refused = message(&database, |store| {
        if let StoreUrl::ClickHouse(url) = &mut store.url {
            url.port = port;
        }
    });
    assert!(refused.contains("cannot reach"), "{refused}");
}

#[test]
fn a_server_of_another_kind_is_an_error_and_no_panic() {
    for answer in [
        &b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"[..],
        b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\ncut",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"",
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("clickhouse://{}/x", listener.local_addr().expect("bound"));
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a client");
            let _head = stream.read(&mut [0; 4096]);
            let _gone = stream.write_all(answer);
        });
        let store = StoreConfig::from(url.parse::<StoreUrl>().expect("a URL"));
        let error = Reader::open(&store).map(drop).expect_err("it is refused");
        assert!(error.to_string().contains(&url), "{error}");
        server.join().expect("no panic");
    }
}
