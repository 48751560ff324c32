//! Moving records from the topic into the tables, whatever the topic contains and whatever fails meanwhile.

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

mod dead_letters;

/// A sink that runs in this process.
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
    // So are later records, and a second sink does not read those again that the first one committed.
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
    // The last table of the batch refuses its rows, after the others have stored theirs.
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
    // It stays in its group, so there is no rebalance.
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
    // A static member does not leave its group when it ends.
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
