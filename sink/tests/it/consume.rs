//! From the topic into the tables, whatever stands in the topic and whatever happens on the way.

use std::thread::JoinHandle;
use std::time::Duration;

use parity_schemas::id::new_id;
use parity_schemas::record::{Record, TYPE_HEADER, VERSION_HEADER};
use parity_schemas::time::Timestamp;
use parity_sink::{
    Reader, Selection, Sink, SinkError, SinkHandle, SinkOptions, SinkReport, Stopper, StoreConfig,
    StoreUrl,
};

use rdkafka::message::OwnedMessage;

use crate::servers::{ClickHouse, Database, Kafka, Raw, header};
use crate::support::{group_tally, mismatch, tally, wait_until, with_tables};

/// A sink at work in this process.
struct Running {
    handle: SinkHandle,
    stopper: Stopper,
    thread: JoinHandle<Result<SinkReport, SinkError>>,
}

impl Running {
    fn start(kafka: &Kafka, topic: &str, target: &StoreConfig, options: SinkOptions) -> Self {
        let source = StoreConfig::from(kafka.url(topic).parse::<StoreUrl>().expect("a URL"));
        let sink = Sink::open(&source, target, options).expect("it opens");
        let (handle, stopper) = (sink.handle(), sink.stopper());
        let thread = std::thread::spawn(move || sink.run());
        Self {
            handle,
            stopper,
            thread,
        }
    }

    fn stop(self) -> SinkReport {
        self.stopper.stop();
        self.thread.join().expect("no panic").expect("no failure")
    }
}

fn options() -> SinkOptions {
    SinkOptions {
        batch_interval: Duration::from_millis(100),
        session_timeout: Duration::from_secs(6),
        ..SinkOptions::default()
    }
}

/// Sends records as a mirror does.
fn send(kafka: &Kafka, topic: &str, records: &[Record]) {
    let encoded: Vec<(String, Vec<u8>, &str)> = records
        .iter()
        .map(|record| {
            let mut json = Vec::new();
            record.write_json(&mut json);
            (record.id().to_string(), json, record.record_type().as_str())
        })
        .collect();
    let headers: Vec<[(&str, &str); 2]> = encoded
        .iter()
        .map(|(_, _, word)| [(TYPE_HEADER, *word), (VERSION_HEADER, "1")])
        .collect();
    kafka.produce(
        topic,
        encoded
            .iter()
            .zip(&headers)
            .map(|((key, json, _), headers)| Raw {
                key,
                payload: json,
                headers,
                partition: None,
            }),
    );
}

fn mismatches(count: usize) -> Vec<Record> {
    (0..count)
        .map(|_| Record::Mismatch(Box::new(mismatch("f00d", Timestamp::now(), 100))))
        .collect()
}

fn stored(database: &Database<'_>) -> u64 {
    database.number("SELECT count() FROM mismatches_final")
}

fn wait_stored(database: &Database<'_>, count: u64) {
    wait_until("all is stored", || stored(database) == count);
}

#[test]
#[ignore = "needs Kafka and ClickHouse: run tests/run"]
fn every_type_lands_and_what_is_committed_is_done() {
    let (kafka, server) = (Kafka::shared(), ClickHouse::shared());
    let database = server.database();
    let target = with_tables(&database);
    let topic = kafka.topic(3);
    let counts = {
        let mut counts = tally("GET /a", Timestamp::now(), 90);
        counts.counts.received = 100;
        counts.counts.mismatch = 10;
        counts
    };
    let example = mismatch("f00d", Timestamp::now(), 100);
    let group = group_tally(&counts, "f00d", 10, example.id);
    let mut records = mismatches(500);
    records.push(Record::Mismatch(Box::new(example)));
    records.push(Record::Tally(Box::new(counts)));
    records.push(Record::GroupTally(Box::new(group)));
    records.push(Record::Decision(Box::new(crate::opening::decision())));
    send(kafka, &topic, &records);

    let sink = Running::start(kafka, &topic, &target, options());
    wait_stored(&database, 501);
    wait_until("all is committed", || kafka.lag(&topic) == 0);
    // Later ones, too, and those that a second sink finds are none that the first had.
    send(kafka, &topic, &mismatches(20));
    wait_stored(&database, 521);
    wait_until("it is well", || sink.handle.health().ready);
    let report = sink.stop();
    assert_eq!((report.dead_letters, report.unfinished), (0, 0));
    assert_eq!(report.stored, 524);
    let again = Running::start(kafka, &topic, &target, options());
    send(kafka, &topic, &mismatches(1));
    wait_stored(&database, 522);
    assert_eq!(again.stop().stored, 1);

    let report = Reader::open(&target)
        .expect("it opens")
        .report(&Selection::default())
        .expect("it is read");
    assert_eq!((report.counts.received, report.counts.mismatch), (100, 10));
    assert!(report.groups[0].example.is_some());
    assert_eq!(database.number("SELECT count() FROM decisions_final"), 1);
}

/// Nothing that a compressor could make small.
fn incompressible(bytes: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        Some(state as u8)
    };
    std::iter::from_fn(next).take(bytes).collect()
}

/// The reason that it should be refused for, its payload, its headers.
type Poison<'a> = (&'static str, &'a [u8], Vec<(&'static str, &'static str)>);

#[test]
#[ignore = "needs Kafka and ClickHouse: run tests/run"]
fn poison_goes_aside_with_its_reason_and_the_rest_goes_on() {
    let (kafka, server) = (Kafka::shared(), ClickHouse::shared());
    let database = server.database();
    let target = with_tables(&database);
    let topic = kafka.topic(1);
    // The topic of dead letters takes less than the other one, as a careless operator may have it.
    kafka.make_topic(
        &format!("{topic}.dead"),
        1,
        &[("max.message.bytes", "100000")],
    );
    let mut good = Vec::new();
    Record::Mismatch(Box::new(mismatch("f00d", Timestamp::now(), 0))).write_json(&mut good);
    let text = String::from_utf8(good.clone()).expect("JSON");
    let shifted = |time: &str| {
        let mut record = mismatch("f00d", Timestamp::now(), 0);
        record.time = time.parse().expect("a time");
        let mut json = Vec::new();
        Record::Mismatch(Box::new(record)).write_json(&mut json);
        json
    };
    let (past, future) = (
        shifted("1970-01-01T00:00:01Z"),
        shifted("2031-01-01T00:00:00Z"),
    );
    let huge = incompressible(900_000);
    let cut = &good[..good.len() - 5];
    let word = text.replace("\"value\"", "\"novelty\"");
    let typed = |word| [(TYPE_HEADER, word), (VERSION_HEADER, "1")];
    let mismatch_headers = typed("mismatch");
    let poison: Vec<Poison<'_>> = vec![
        ("malformed", b"{\"half\":", mismatch_headers.to_vec()),
        ("malformed", b"", mismatch_headers.to_vec()),
        ("malformed", b"\xff\xfe\x00", mismatch_headers.to_vec()),
        ("malformed", cut, mismatch_headers.to_vec()),
        ("malformed", word.as_bytes(), mismatch_headers.to_vec()),
        ("malformed", &good, typed("tally").to_vec()),
        ("malformed", &huge, mismatch_headers.to_vec()),
        ("time_out_of_range", &past, mismatch_headers.to_vec()),
        ("time_out_of_range", &future, mismatch_headers.to_vec()),
        ("no_type", &good, vec![("other", "x")]),
        ("no_type", &good, vec![]),
        ("no_version", &good, vec![(TYPE_HEADER, "mismatch")]),
        (
            "newer_version",
            &good,
            vec![(TYPE_HEADER, "mismatch"), (VERSION_HEADER, "999")],
        ),
        ("unknown_type", &good, typed("gossip").to_vec()),
    ];
    send(kafka, &topic, &mismatches(10));
    kafka.produce(
        &topic,
        poison.iter().map(|(_, payload, headers)| Raw {
            key: "key",
            payload,
            headers,
            partition: None,
        }),
    );
    send(kafka, &topic, &mismatches(10));

    let sink = Running::start(kafka, &topic, &target, options());
    wait_stored(&database, 20);
    wait_until("all is committed", || kafka.lag(&topic) == 0);
    assert_eq!(sink.handle.health().dead_letters, poison.len() as u64);
    let report = sink.stop();
    assert_eq!(report.dead_letters, poison.len() as u64);

    check_letters(&kafka.read(&format!("{topic}.dead")), &topic, &poison);
}

/// Every poison has its letter, as it was, and with its reason.
fn check_letters(dead: &[OwnedMessage], topic: &str, poison: &[Poison<'_>]) {
    assert_eq!(dead.len(), poison.len());
    for (offset, (reason, payload, headers)) in (10_i64..).zip(poison) {
        let place = format!("{topic}/0@{offset}");
        let letter = dead
            .iter()
            .find(|letter| header(letter, "parity-dead-source").as_ref() == Some(&place))
            .expect("every one has its letter");
        assert_eq!(
            header(letter, "parity-dead-reason").as_deref(),
            Some(*reason)
        );
        assert!(header(letter, "parity-dead-why").is_some_and(|why| !why.is_empty()));
        for (key, value) in headers {
            assert_eq!(header(letter, key).as_deref(), Some(*value));
        }
        let kept = rdkafka::message::Message::payload(letter).unwrap_or_default();
        if payload.len() > 100_000 {
            assert!(kept.is_empty(), "{place}");
            assert_eq!(
                header(letter, "parity-dead-payload-bytes").as_deref(),
                Some("900000")
            );
        } else {
            assert!(
                kept == *payload,
                "{place}: {} of {} bytes, {reason}",
                kept.len(),
                payload.len()
            );
        }
        assert_eq!(rdkafka::message::Message::key(letter), Some(&b"key"[..]));
    }
}

#[test]
#[ignore = "needs Kafka and ClickHouse: run tests/run"]
fn a_row_that_a_table_refuses_goes_aside_alone() {
    let (kafka, server) = (Kafka::shared(), ClickHouse::shared());
    let database = server.database();
    let target = with_tables(&database);
    database.sql("ALTER TABLE mismatches ADD CONSTRAINT c CHECK path != '/bad'");
    let topic = kafka.topic(1);
    let mut records = mismatches(200);
    for number in [0, 77, 199] {
        if let Record::Mismatch(one) = &mut records[number] {
            "/bad".clone_into(&mut one.path);
        }
    }
    send(kafka, &topic, &records);
    let sink = Running::start(kafka, &topic, &target, options());
    wait_stored(&database, 197);
    wait_until("all is committed", || kafka.lag(&topic) == 0);
    assert_eq!(sink.stop().dead_letters, 3);
    let dead = kafka.read(&format!("{topic}.dead"));
    let reasons: Vec<_> = dead
        .iter()
        .filter_map(|letter| header(letter, "parity-dead-reason"))
        .collect();
    assert_eq!(reasons, ["refused"; 3]);
    // After the cause is mended a sink on the dead letters stores them.
    database.sql("ALTER TABLE mismatches DROP CONSTRAINT c");
    let again = Running::start(kafka, &format!("{topic}.dead"), &target, options());
    wait_stored(&database, 200);
    assert_eq!(again.stop().stored, 3);
}

#[test]
#[ignore = "needs Kafka and ClickHouse: run tests/run"]
fn a_table_that_is_gone_stops_the_sink_and_nothing_is_committed() {
    let (kafka, server) = (Kafka::shared(), ClickHouse::shared());
    let database = server.database();
    let target = with_tables(&database);
    let topic = kafka.topic(1);
    let mut records = mismatches(30);
    records.push(Record::Tally(Box::new(tally(
        "GET /a",
        Timestamp::now(),
        9,
    ))));
    let sink = Running::start(kafka, &topic, &target, options());
    wait_until("it has joined", || sink.handle.health().ready);
    // The last table of the batch refuses; those before have taken it.
    database.sql("RENAME TABLE mismatches TO hidden");
    send(kafka, &topic, &records);
    let error = sink.thread.join().expect("no panic").expect_err("it stops");
    assert!(matches!(error, SinkError::Permanent { .. }), "{error}");
    assert!(error.to_string().contains("mismatches"), "{error}");
    assert_eq!(kafka.lag(&topic), 31);

    database.sql("RENAME TABLE hidden TO mismatches");
    let again = Running::start(kafka, &topic, &target, options());
    wait_stored(&database, 30);
    wait_until("all is committed", || kafka.lag(&topic) == 0);
    again.stop();
    assert_eq!(
        database.number("SELECT sum(received) FROM tallies_final"),
        9
    );
    assert_eq!(kafka.read(&format!("{topic}.dead")).len(), 0);
}

#[test]
#[ignore = "needs Kafka and ClickHouse: run tests/run"]
fn clickhouse_stopped_and_started_loses_nothing() {
    let kafka = Kafka::shared();
    let mut server = ClickHouse::own();
    let name = crate::servers::name("stopped");
    let target = with_tables(&server.named(&name));
    let topic = kafka.topic(3);
    let sink = Running::start(kafka, &topic, &target, options());
    send(kafka, &topic, &mismatches(100));
    wait_stored(&server.named(&name), 100);
    server.kill();
    send(kafka, &topic, &mismatches(100));
    wait_until("the failure is told", || {
        let health = sink.handle.health();
        !health.ready && health.failure.is_some()
    });
    send(kafka, &topic, &mismatches(100));
    // It stays in its group, so nothing is moved to and fro.
    assert_eq!(sink.handle.health().partitions, 3);
    server.start();
    wait_stored(&server.named(&name), 300);
    wait_until("it is well again", || sink.handle.health().ready);
    assert_eq!(sink.stop().unfinished, 0);
    assert_eq!(kafka.lag(&topic), 0);
    let database = server.named(&name);
    assert_eq!(database.number("SELECT uniqExact(id) FROM mismatches"), 300);
    assert_eq!(stored(&database), 300);
}

#[test]
#[ignore = "needs Kafka and ClickHouse: run tests/run"]
fn a_second_sink_joins_and_leaves_under_flow() {
    let (kafka, server) = (Kafka::shared(), ClickHouse::shared());
    let database = server.database();
    let target = with_tables(&database);
    let topic = kafka.topic(4);
    let first = Running::start(kafka, &topic, &target, options());
    wait_until("the first has all", || {
        first.handle.health().partitions == 4
    });
    let mut sent = 0;
    let mut flow = |count| {
        send(kafka, &topic, &mismatches(count));
        sent += count as u64;
    };
    flow(500);
    let second = Running::start(kafka, &topic, &target, options());
    wait_until("they share", || {
        flow(20);
        first.handle.health().partitions == 2 && second.handle.health().partitions == 2
    });
    flow(500);
    second.stop();
    wait_until("the first has all again", || {
        flow(20);
        first.handle.health().partitions == 4
    });
    flow(500);
    wait_stored(&database, sent);
    wait_until("all is committed", || kafka.lag(&topic) == 0);
    first.stop();
    assert_eq!(stored(&database), sent);
}

#[test]
#[ignore = "needs Kafka and ClickHouse: run tests/run"]
fn a_sink_that_is_started_again_on_another_topic_moves_that_one() {
    let (kafka, server) = (Kafka::shared(), ClickHouse::shared());
    let database = server.database();
    let target = with_tables(&database);
    let (before, now) = (kafka.topic(4), kafka.topic(4));
    let options = SinkOptions {
        group: Some(crate::servers::name("group")),
        instance: Some("sink-1".to_owned()),
        // Longer than the restart takes, so that the broker still knows the member.
        session_timeout: Duration::from_secs(15),
        ..options()
    };
    let first = Running::start(kafka, &before, &target, options.clone());
    wait_until("the first has its partitions", || {
        let health = first.handle.health();
        health.ready && health.partitions == 4
    });
    // A member with a name does not leave its group when it ends, as if it were killed.
    first.stop();

    send(kafka, &now, &mismatches(50));
    send(kafka, &before, &mismatches(7));
    let second = Running::start(kafka, &now, &target, options.clone());
    wait_until("it says that it is ready", || second.handle.health().ready);
    assert_eq!(
        second.handle.health().partitions,
        4,
        "those of its own topic"
    );
    wait_stored(&database, 50);
    assert_eq!(second.stop().stored, 50, "nothing of the other topic");
}

#[test]
#[ignore = "needs Kafka and ClickHouse: run tests/run"]
fn duplicates_are_one_and_the_same_offsets_of_another_topic_are_not() {
    let (kafka, server) = (Kafka::shared(), ClickHouse::shared());
    let database = server.database();
    let target = with_tables(&database);
    let topic = kafka.topic(1);
    let records = mismatches(50);
    send(kafka, &topic, &records);
    send(kafka, &topic, &records);
    let sink = Running::start(kafka, &topic, &target, options());
    wait_until("all is committed", || kafka.lag(&topic) == 0);
    sink.stop();
    assert_eq!(stored(&database), 50);
    // The same number of records at the same offsets: the name of the batch must tell them apart.
    let other = kafka.topic(1);
    send(kafka, &other, &mismatches(100));
    let sink = Running::start(kafka, &other, &target, options());
    wait_stored(&database, 150);
    sink.stop();
}

#[test]
#[ignore = "needs Kafka and ClickHouse: run tests/run"]
fn memory_is_bounded_while_the_database_is_away() {
    let kafka = Kafka::shared();
    let mut server = ClickHouse::own();
    let name = crate::servers::name("bounded");
    let target = with_tables(&server.named(&name));
    let topic = kafka.topic(2);
    let limited = SinkOptions {
        memory: 1 << 20,
        ..options()
    };
    let sink = Running::start(kafka, &topic, &target, limited);
    wait_until("it has joined", || sink.handle.health().ready);
    server.stop();
    let large: Vec<Record> = (0..2_000)
        .map(|_| Record::Mismatch(Box::new(mismatch("f00d", Timestamp::now(), 4_000))))
        .collect();
    send(kafka, &topic, &large);
    wait_until("it holds what it may", || {
        sink.handle.health().buffered_bytes >= 1 << 20
    });
    let most = sink.handle.health().buffered_bytes;
    assert!(
        most < 6 << 20,
        "{most} bytes are held, of 8 MB in the topic"
    );
    server.start();
    wait_stored(&server.named(&name), 2_000);
    sink.stop();
}

#[test]
#[ignore = "needs Kafka and ClickHouse: run tests/run"]
fn what_is_wrong_at_the_start_is_said_at_the_start() {
    let (kafka, server) = (Kafka::shared(), ClickHouse::shared());
    let database = server.database();
    let target = StoreConfig::from(database.url().parse::<StoreUrl>().expect("a URL"));
    let source = |url: &str| StoreConfig::from(url.parse::<StoreUrl>().expect("a URL"));
    let refused = |source: &StoreConfig, target: &StoreConfig| {
        Sink::open(source, target, options())
            .map(drop)
            .expect_err("it is refused")
            .to_string()
    };
    let topic = kafka.url(&format!("t{}", new_id()));
    let message = refused(&source(&topic), &target);
    assert!(message.contains("parity schema apply"), "{message}");
    let message = refused(&source("sqlite:x.db"), &target);
    assert!(message.contains("is not a Kafka topic"), "{message}");
    let message = refused(&source(&topic), &source("sqlite:x.db"));
    assert!(message.contains("is not a ClickHouse"), "{message}");
    with_tables(&database);
    let message = refused(&source("kafka://127.0.0.1:1/t"), &target);
    assert!(message.contains("cannot reach"), "{message}");
}
