//! Sinks and mirrors that are killed, and a broker that goes down, while there is traffic.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::{pair, producing, tables};
use crate::servers::{ClickHouse, Database, Kafka};
use crate::support::process::{Mirror, Place};
use crate::support::report::Report;
use crate::support::{Stop, length, wait_for, wait_or_tell};

/// Sends requests until it is told to stop, and counts them.
fn traffic(mirrors: &[&Mirror<'_>], stop: &AtomicBool, sent: &AtomicU64) {
    let mut next = 0_usize;
    while !stop.load(Ordering::Relaxed) {
        let mirror = mirrors[next % mirrors.len()];
        next += 1;
        let answer = mirror.get(&format!("/items/{next}"));
        assert_eq!(
            (answer.status, answer.text()),
            (200, "{\"a\":1}".to_owned())
        );
        sent.fetch_add(1, Ordering::Relaxed);
    }
}

fn distinct_mismatches(database: &Database<'_>) -> (u64, u64) {
    (
        database.number("SELECT count() FROM mismatches_final"),
        database.number("SELECT uniqExact(id) FROM mismatches"),
    )
}

/// The way of the records, to find out where a sum is not what it must be.
struct Way<'a> {
    mirrors: &'a [&'a Mirror<'a>],
    kafka: &'a Kafka,
    topic: &'a str,
    database: &'a Database<'a>,
}

impl Way<'_> {
    /// Every request was compared and differs, and the store has each of them once.
    fn has_brought_all(&self, report: &Report, sent: u64) {
        let counted = report.count("mismatch");
        assert!(
            counted == sent,
            "{sent} requests were sent and {counted} differ; not compared: {:?}\n{}",
            report.not_compared(),
            self.account()
        );
        wait_or_tell(
            || (distinct_mismatches(self.database) == (sent, sent)).then_some(()),
            || format!("{sent} mismatches\n{}", self.account()),
        );
        let instances = self.mirrors.len();
        let account = self.account();
        assert_eq!(
            account.matches("\nmirror-").count(),
            2 * instances,
            "{account}"
        );
    }

    /// What each station on the way has counted.
    fn account(&self) -> String {
        let mut lines = Vec::new();
        for mirror in self.mirrors {
            let log = mirror.log();
            lines.push(format!("mirror: {:#}\n{log}", mirror.status()));
        }
        for partition in self.kafka.offsets(self.topic) {
            lines.push(format!("broker: {partition:?}"));
        }
        for (what, sql) in [
            (
                "tallies: instance, received, match, mismatch, not compared",
                "SELECT instance, sum(received), sum(match), sum(mismatch), sumMap(not_compared) \
                 FROM tallies_final GROUP BY instance",
            ),
            (
                "mismatches: instance, rows, ids, first, last",
                "SELECT instance, count(), uniqExact(id), min(time), max(time) \
                 FROM mismatches GROUP BY instance",
            ),
        ] {
            let rows = self.database.sql(sql);
            lines.push(format!("{what}\n{rows}"));
        }
        lines.join("\n")
    }
}

#[test]
#[ignore = "needs Kafka and ClickHouse: run tests/run"]
fn sinks_killed_at_any_moment_lose_nothing_and_double_nothing() {
    let (kafka, server) = (Kafka::shared(), ClickHouse::shared());
    let database = server.database();
    let place = Place::new();
    let url = tables(&place, &database);
    let topic = kafka.topic(4);
    let source = kafka.url(&topic);
    let services = pair();
    let one = producing(&place, &services, "mirror-1", &source);
    let two = producing(&place, &services, "mirror-2", &source);
    let (stop, sent) = (AtomicBool::new(false), AtomicU64::new(0));
    // Seeded by the clock, and printed to help investigate a failure.
    let mut random = Instant::now().elapsed().subsec_nanos() ^ std::process::id();
    std::thread::scope(|scope| {
        let _stop = Stop(&stop);
        scope.spawn(|| traffic(&[&one, &two], &stop, &sent));
        for _ in 0..length(5, 200) {
            let sink = place.sink(&source, &url, &["--instance", "sink-1"]);
            wait_for("the sink to store", || {
                let health = sink.ask("/api/v1/status").json();
                (health["ready"] == true).then_some(())
            });
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let pause = Duration::from_millis(u64::from(random >> 16) % 400);
            let before = sent.load(Ordering::Relaxed);
            let until = Instant::now() + pause;
            wait_for("more traffic", || {
                (Instant::now() > until && sent.load(Ordering::Relaxed) > before + 20).then_some(())
            });
            sink.kill();
        }
    });
    let sent = sent.load(Ordering::Relaxed);
    let sink = place.sink(&source, &url, &["--instance", "sink-1"]);
    let report = sink.settled_in(&url, sent);
    assert_eq!(
        report.0["instances"],
        serde_json::json!(["mirror-1", "mirror-2"])
    );
    let way = Way {
        mirrors: &[&one, &two],
        kafka,
        topic: &topic,
        database: &database,
    };
    way.has_brought_all(&report, sent);
    wait_for("every commit", || (kafka.lag(&topic) == 0).then_some(()));
    for mirror in [one, two] {
        let status = mirror.ask("/api/v1/status").json();
        assert_eq!(status["records_dropped"], 0);
        assert_eq!(mirror.stop().0, 0);
    }
    assert_eq!(sink.stop().0, 0);
    assert_eq!(kafka.read(&format!("{topic}.dead")).len(), 0);
}

#[test]
#[ignore = "needs Kafka and ClickHouse: run tests/run"]
fn clients_notice_nothing_of_a_broker_that_goes_and_comes() {
    let mut kafka = Kafka::own();
    let database = ClickHouse::shared().database();
    let place = Place::new();
    let url = tables(&place, &database);
    let topic = kafka.topic(2);
    let source = kafka.url(&topic);
    let services = pair();
    let mirror = producing(&place, &services, "mirror-1", &source);
    let (stop, sent) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let _stop = Stop(&stop);
        scope.spawn(|| traffic(&[&mirror], &stop, &sent));
        for round in 0..length(2, 10) {
            if round % 2 == 0 {
                kafka.stop();
            } else {
                kafka.kill();
            }
            let status = || mirror.ask("/api/v1/status").json();
            wait_for("the spool to fill", || {
                let status = status();
                (status["spool_bytes"].as_u64() > Some(10_000) && status["store_error"].is_string())
                    .then_some(())
            });
            assert_eq!(mirror.ask("/readyz").status, 200);
            kafka.start();
            wait_for("the spool to empty", || {
                // Traffic goes on, so some record is always under way.
                let status = status();
                (status["spool_bytes"].as_u64() < Some(1_000_000)
                    && status["store_error"].is_null())
                .then_some(())
            });
        }
    });
    let sent = sent.load(Ordering::Relaxed);
    let sink = place.sink(&source, &url, &[]);
    let report = sink.settled_in(&url, sent);
    let way = Way {
        mirrors: &[&mirror],
        kafka: &kafka,
        topic: &topic,
        database: &database,
    };
    way.has_brought_all(&report, sent);
    assert_eq!(mirror.ask("/api/v1/status").json()["records_dropped"], 0);
    assert_eq!(mirror.stop().0, 0);
    assert_eq!(sink.stop().0, 0);
}

#[test]
#[ignore = "needs Kafka and ClickHouse: run tests/run"]
fn a_mirror_killed_while_it_sends_loses_half_a_second_at_most() {
    let kafka = Kafka::shared();
    let database = ClickHouse::shared().database();
    let place = Place::new();
    let url = tables(&place, &database);
    let source = kafka.url(&kafka.topic(2));
    let services = pair();
    let sink = place.sink(&source, &url, &[]);
    let mut must_be_there = 0;
    let mut sent = 0_u64;
    for _ in 0..length(3, 20) {
        let mirror = producing(&place, &services, "mirror-1", &source);
        let mut answered = Vec::new();
        let began = Instant::now();
        while began.elapsed() < Duration::from_millis(1_500) {
            mirror.get("/items/1");
            answered.push(Instant::now());
        }
        mirror.kill();
        let killed = Instant::now();
        sent += answered.len() as u64;
        // The promise is half a second; a busy machine may stop the mirror itself for as long.
        let old = |at: &&Instant| killed.duration_since(**at) > Duration::from_secs(1);
        must_be_there += answered.iter().filter(old).count() as u64;
    }
    // The next start sends what was left on disk.
    let mirror = producing(&place, &services, "mirror-1", &source);
    wait_for("the spool to empty", || {
        (mirror.ask("/api/v1/status").json()["spool_bytes"] == 0).then_some(())
    });
    wait_for("what must be there", || {
        let report = place.report_of(&url);
        (report.count("received") >= must_be_there).then_some(())
    });
    let report = place.report_of(&url);
    assert!(report.count("received") <= sent);
    // The sink still writes: two queries at two times are equal only when it is done.
    let ids = wait_for("each mismatch to be there once", || {
        let (rows, ids) = distinct_mismatches(&database);
        (rows == ids && ids >= must_be_there).then_some(ids)
    });
    assert!(
        (must_be_there..=sent).contains(&ids),
        "{must_be_there} {ids} {sent}"
    );
    assert_eq!(mirror.stop().0, 0);
    assert_eq!(sink.stop().0, 0);
}
