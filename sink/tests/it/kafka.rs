//! Writing records to a topic: none is lost while there is room on disk, whatever happens to the broker and the
//! process.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use parity_schemas::record::{Record, TYPE_HEADER, VERSION_HEADER};
use parity_schemas::tally::Tally;
use parity_schemas::time::Timestamp;
use parity_sink::{Reader, StoreConfig, StoreUrl, Writer, WriterOptions, record_decision};
use rdkafka::message::{Message as _, OwnedMessage};

use crate::servers::{Kafka, header};
use crate::support::{
    PATIENCE, book, group_tally, matched, mismatch, mismatched, route, tally, wait_until,
};

/// A topic with a spool in a folder.
fn store(url: &str, folder: &Path) -> StoreConfig {
    let mut store = StoreConfig::from(url.parse::<StoreUrl>().expect("a URL"));
    store.spool.folder = folder.join("spool");
    store
}

fn open(store: &StoreConfig) -> Writer {
    Writer::open(store, book("here"), WriterOptions::default()).expect("it opens")
}

fn of_type(messages: &[OwnedMessage], wanted: &str) -> Vec<OwnedMessage> {
    messages
        .iter()
        .filter(|message| header(message, TYPE_HEADER).as_deref() == Some(wanted))
        .cloned()
        .collect()
}

fn keys(messages: &[OwnedMessage]) -> BTreeSet<String> {
    messages
        .iter()
        .map(|message| String::from_utf8_lossy(message.key().unwrap_or_default()).into_owned())
        .collect()
}

fn some_mismatch(body: usize) -> Record {
    Record::Mismatch(Box::new(mismatch("f00d", Timestamp::now(), body)))
}

/// The sum of the latest revisions, as a sink would see it.
fn received(messages: &[OwnedMessage]) -> u64 {
    let mut latest = BTreeMap::<_, Tally>::new();
    for message in of_type(messages, "tally") {
        let tally: Tally =
            serde_json::from_slice(message.payload().unwrap_or_default()).expect("a tally");
        let known = latest.entry(tally.id).or_insert_with(|| tally.clone());
        if tally.revision > known.revision {
            *known = tally;
        }
    }
    latest.values().map(|tally| tally.counts.received).sum()
}

#[test]
#[ignore = "needs Kafka and ClickHouse: run tests/run"]
fn every_type_arrives_with_its_id_type_and_version() {
    let kafka = Kafka::shared();
    let folder = tempfile::tempdir().expect("a folder");
    let topic = kafka.topic(2);
    let store = store(&kafka.url(&topic), folder.path());
    let book = book("here");
    let writer = Writer::open(&store, book.clone(), WriterOptions::default()).expect("it opens");
    let (sender, recorder, route) = (writer.handle(), book.recorder(book.generation()), route());
    let counts = tally("GET /a", Timestamp::now(), 5);
    let group = group_tally(&counts, "f00d", 1, counts.id);
    let records = [
        mismatched(&recorder, &route, 500),
        Record::Tally(Box::new(counts)),
        Record::GroupTally(Box::new(group)),
        Record::Decision(Box::new(crate::opening::decision())),
    ];
    for record in &records {
        sender.send(record.clone()).expect("there is room");
    }
    let finished = writer.finish(PATIENCE).expect("the writer ends");
    assert_eq!(finished.records_dropped, 0);
    assert_eq!((finished.spooled_records, finished.failure), (0, None));
    // Those four, and the count of the one request with its group and set.
    assert_eq!(finished.rows_written, 7);

    let (watermarks, messages): (Vec<_>, Vec<_>) = kafka
        .read(&topic)
        .into_iter()
        .partition(|message| header(message, TYPE_HEADER).as_deref() == Some("watermark"));
    assert_eq!(messages.len(), 7);
    let last = watermarks.last().and_then(|message| message.payload());
    let last = String::from_utf8_lossy(last.expect("a last word")).into_owned();
    assert!(last.contains("\"ended\":true"), "{last}");
    for message in &messages {
        assert_eq!(header(message, VERSION_HEADER).as_deref(), Some("1"));
    }
    for record in &records {
        let mut json = Vec::new();
        record.write_json(&mut json);
        let found = messages.iter().find(|message| {
            message.payload() == Some(&json[..])
                && message.key() == Some(record.id().to_string().as_bytes())
        });
        let word = header(found.expect("it arrived"), TYPE_HEADER);
        assert_eq!(word.as_deref(), Some(record.record_type().as_str()));
    }
    assert_eq!(received(&messages), 6);
    let left: Vec<_> = std::fs::read_dir(folder.path().join("spool"))
        .expect("the spool")
        .map(|entry| entry.expect("an entry").file_name())
        .collect();
    assert_eq!(left.len(), 2, "{left:?}");

    for error in [
        Reader::open(&store).map(drop).expect_err("refused"),
        record_decision(&store, &crate::opening::decision()).expect_err("refused"),
    ] {
        assert!(error.to_string().contains("only be written to"), "{error}");
    }
}

#[test]
#[ignore = "needs Kafka and ClickHouse: run tests/run"]
fn a_broker_that_stops_and_starts_under_load_loses_nothing() {
    let mut kafka = Kafka::own();
    let folder = tempfile::tempdir().expect("a folder");
    let topic = kafka.topic(3);
    let store = store(&kafka.url(&topic), folder.path());
    let book = book("here");
    let writer = Writer::open(&store, book.clone(), WriterOptions::default()).expect("it opens");
    let (sender, recorder, route) = (writer.handle(), book.recorder(book.generation()), route());
    let mut sent = BTreeSet::new();
    let mut requests = 0;
    let mut send = |count: usize| {
        for _ in 0..count {
            let record = mismatched(&recorder, &route, 300);
            matched(&recorder, &route);
            requests += 2;
            sent.insert(record.id().to_string());
            wait_until("the queue takes a record", || {
                sender.send(record.clone()).is_ok()
            });
        }
        requests
    };
    send(500);
    for round in 0..2 {
        if round == 0 {
            kafka.stop();
        } else {
            kafka.kill();
        }
        send(3_000);
        wait_until("the records wait on disk", || {
            writer.health().spool_bytes > 1_000_000 && writer.health().queued_records == 0
        });
        wait_until("the failure is told", || writer.health().failure.is_some());
        kafka.start();
        send(500);
        wait_until("all is sent", || {
            writer.health().spool_bytes == 0 && writer.health().failure.is_none()
        });
    }
    let requests = send(10);
    let finished = writer.finish(PATIENCE).expect("the writer ends");
    assert_eq!((finished.records_dropped, finished.spooled_records), (0, 0));
    let messages = kafka.read(&topic);
    assert_eq!(keys(&of_type(&messages, "mismatch")), sent);
    assert_eq!(received(&messages), requests);
}

#[test]
#[ignore = "needs Kafka and ClickHouse: run tests/run"]
fn what_a_full_spool_cannot_take_is_counted_to_the_unit() {
    let mut kafka = Kafka::own();
    let folder = tempfile::tempdir().expect("a folder");
    let topic = kafka.topic(1);
    let mut store = store(&kafka.url(&topic), folder.path());
    store.spool.max_bytes = 2 << 20;
    let writer = open(&store);
    let sender = writer.handle();
    kafka.stop();
    let mut attempts = 0;
    // Many times the capacity of spool and client together, but never more at once than the queue takes.
    for _ in 0..60_000 {
        if attempts % 1_000 == 0 {
            wait_until("the queue has room", || {
                writer.health().queued_records < 1_000
            });
        }
        attempts += 1;
        sender.send(some_mismatch(1_000)).expect("there is room");
        if writer.health().dropped_records > 500 {
            break;
        }
    }
    wait_until("the queue is empty", || writer.health().queued_records == 0);
    assert!(writer.health().spool_bytes <= 2 << 20);
    kafka.start();
    wait_until("all is sent", || writer.health().spool_bytes == 0);
    let finished = writer.finish(PATIENCE).expect("the writer ends");
    assert!(finished.records_dropped > 500, "{finished:?}");
    let messages = kafka.read(&topic);
    let arrived = keys(&of_type(&messages, "mismatch")).len() as u64;
    assert_eq!(arrived + finished.records_dropped, attempts, "{finished:?}");
}

#[test]
#[ignore = "needs Kafka and ClickHouse: run tests/run"]
fn a_mirror_starts_without_a_broker_and_the_next_run_sends_what_waits() {
    let mut kafka = Kafka::own();
    let folder = tempfile::tempdir().expect("a folder");
    let topic = kafka.topic(1);
    let store = store(&kafka.url(&topic), folder.path());
    kafka.stop();
    let book = book("here");
    let writer = Writer::open(&store, book.clone(), WriterOptions::default()).expect("it opens");
    let (sender, recorder, route) = (writer.handle(), book.recorder(book.generation()), route());
    let mut sent = BTreeSet::new();
    for _ in 0..100 {
        let record = mismatched(&recorder, &route, 100);
        sent.insert(record.id().to_string());
        sender.send(record).expect("there is room");
    }
    wait_until("the failure is told", || writer.health().failure.is_some());
    let began = Instant::now();
    let finished = writer.finish(PATIENCE).expect("the writer ends");
    assert!(began.elapsed() < PATIENCE / 4, "it does not wait in vain");
    assert_eq!(
        (finished.records_dropped, finished.spooled_records),
        (0, 100)
    );
    assert_eq!((finished.unwritten_tallies, finished.failure), (0, None));

    // Another topic must not get them, and a second process must not touch them.
    let other = store_with_topic(&store, &kafka.url("other"));
    let refused = |store: &StoreConfig| {
        Writer::open(store, crate::support::book("x"), WriterOptions::default())
            .map(drop)
            .expect_err("refused")
            .to_string()
    };
    assert!(refused(&other).contains(&topic), "{}", refused(&other));
    kafka.start();
    let writer = open(&store);
    assert!(refused(&store).contains("another process"));
    wait_until("all is sent", || writer.health().spool_bytes == 0);
    writer.finish(PATIENCE).expect("the writer ends");
    let messages = kafka.read(&topic);
    assert_eq!(keys(&of_type(&messages, "mismatch")), sent);
    assert_eq!(received(&messages), 100);
}

fn store_with_topic(store: &StoreConfig, url: &str) -> StoreConfig {
    let mut store = store.clone();
    store.url = url.parse().expect("a URL");
    store
}

#[test]
#[ignore = "needs Kafka and ClickHouse: run tests/run"]
fn damage_on_disk_costs_what_is_damaged_and_nothing_else() {
    let mut kafka = Kafka::own();
    let folder = tempfile::tempdir().expect("a folder");
    let topic = kafka.topic(1);
    let store = store(&kafka.url(&topic), folder.path());
    kafka.stop();
    let writer = open(&store);
    let sender = writer.handle();
    for _ in 0..100 {
        sender.send(some_mismatch(200)).expect("there is room");
    }
    wait_until("the queue is empty", || writer.health().queued_records == 0);
    writer.finish(Duration::ZERO).expect("the writer ends");
    let spool = folder.path().join("spool");
    let segment = std::fs::read_dir(&spool)
        .expect("the spool")
        .map(|entry| entry.expect("an entry").path())
        .find(|path| path.extension().is_some_and(|suffix| suffix == "spool"))
        .expect("a segment");
    let mut bytes = std::fs::read(&segment).expect("readable");
    // One record in the middle, and the last one torn.
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x40;
    bytes.truncate(bytes.len() - 3);
    std::fs::write(&segment, &bytes).expect("writable");
    // And files of other programs.
    for (name, content) in [
        ("0000000900.spool", &b"not ours"[..]),
        ("0000000901.spool", b""),
        ("notes.txt", b"hello"),
        ("0000000902.spool", b"prtyspl1\xff\xff\xff\xff\0\0\0\0rest"),
    ] {
        std::fs::write(spool.join(name), content).expect("writable");
    }
    kafka.start();
    let writer = open(&store);
    let sender = writer.handle();
    sender.send(some_mismatch(10)).expect("there is room");
    wait_until("all is sent", || writer.health().spool_bytes == 0);
    writer.finish(PATIENCE).expect("the writer ends");
    let arrived = keys(&of_type(&kafka.read(&topic), "mismatch")).len();
    assert_eq!(arrived, 99, "100 less two, and one more");
    assert!(spool.join("notes.txt").exists());
}

const FOLDER: &str = "PARITY_TEST_SPOOL_OF_CHILD";
const URL: &str = "PARITY_TEST_KAFKA_OF_CHILD";
/// The greatest age of a lost result. The promise is half a second; a busy machine may stop the whole child for longer
/// than that.
const ALLOWED_LOSS: Duration = Duration::from_millis(1_500);

fn child(kafka: &Kafka, topic: &str, folder: &Path) -> Child {
    Command::new(std::env::current_exe().expect("this binary"))
        .args([
            "kafka::child_that_sends_until_it_is_killed",
            "--exact",
            "--nocapture",
        ])
        .env(FOLDER, folder)
        .env(URL, kafka.url(topic))
        .stdout(Stdio::piped())
        .spawn()
        .expect("this binary starts again")
}

/// Prints each id once the queue has accepted its record.
#[test]
fn child_that_sends_until_it_is_killed() {
    let (Some(folder), Ok(url)) = (std::env::var_os(FOLDER), std::env::var(URL)) else {
        return;
    };
    let store = store(&url, Path::new(&folder));
    let book = book("child");
    let writer = Writer::open(&store, book.clone(), WriterOptions::default()).expect("it opens");
    let (sender, recorder, route) = (writer.handle(), book.recorder(book.generation()), route());
    let mut out = std::io::stdout();
    loop {
        let record = mismatched(&recorder, &route, 100);
        sender.send(record.clone()).expect("there is room");
        writeln!(out, "id {}", record.id()).expect("the parent listens");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
#[ignore = "needs Kafka and ClickHouse: run tests/run"]
fn a_killed_process_loses_half_a_second_at_most_with_and_without_a_broker() {
    let mut kafka = Kafka::own();
    let folder = tempfile::tempdir().expect("a folder");
    let topic = kafka.topic(1);
    let mut must_arrive = BTreeSet::new();
    for round in 0..3 {
        // In the second round the broker stops while the process runs, in the third it never runs.
        let mut child = child(&kafka, &topic, folder.path());
        let mut told: Vec<(Instant, String)> = Vec::new();
        let began = Instant::now();
        for line in BufReader::new(child.stdout.take().expect("a pipe")).lines() {
            if let Some(id) = line.expect("text").trim().strip_prefix("id ") {
                told.push((Instant::now(), id.to_owned()));
            }
            if round == 1 && told.len() == 300 {
                kafka.kill();
            }
            if began.elapsed() > ALLOWED_LOSS * 2 {
                break;
            }
        }
        let killed_at = Instant::now();
        child.kill().expect("it was running");
        child.wait().expect("it ended");
        let old = told
            .into_iter()
            .filter(|(at, _)| killed_at.duration_since(*at) >= ALLOWED_LOSS)
            .map(|(_, id)| id);
        let before = must_arrive.len();
        must_arrive.extend(old);
        assert!(must_arrive.len() > before + 100, "it ran for long enough");
    }
    kafka.start();
    let writer = open(&store(&kafka.url(&topic), folder.path()));
    wait_until("all is sent", || writer.health().spool_bytes == 0);
    writer.finish(PATIENCE).expect("the writer ends");
    let messages = kafka.read(&topic);
    let arrived = keys(&of_type(&messages, "mismatch"));
    let missing: Vec<_> = must_arrive.difference(&arrived).collect();
    assert!(
        missing.is_empty(),
        "{} of {}",
        missing.len(),
        must_arrive.len()
    );
    // The counts were kept beside the records.
    let counted = received(&messages);
    assert!(
        counted >= must_arrive.len() as u64,
        "{counted} of {}",
        must_arrive.len()
    );
}
