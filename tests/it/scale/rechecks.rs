//! Classes of mismatches by way of Kafka into `ClickHouse`, to the unit, while mirrors and sinks come and go.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::tables;
use crate::rechecks::conserved::{ask, often, open, pair, traffic, waiting};
use crate::servers::{ClickHouse, Kafka};
use crate::support::process::{Mirror, Place};
use crate::support::{Stop, length, wait_for};

#[test]
#[ignore = "needs Kafka and ClickHouse: run tests/run"]
fn classes_are_counted_once_whoever_is_killed_or_replaced_on_the_way() {
    let (kafka, server) = (Kafka::shared(), ClickHouse::shared());
    let database = server.database();
    let place = Place::new();
    let url = tables(&place, &database);
    let topic = kafka.url(&kafka.topic(3));
    let services = pair();
    let (legacy, candidate) = (services.0.url(), services.1.url());
    let start = || -> Mirror<'_> {
        let more = ["--store", &topic, "--handover", "handover.sock"];
        place.mirror_with(&legacy, &candidate, &more, often)
    };
    let mut running = start();
    let address = running.address;
    let (stop, sent) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let _stop = Stop(&stop);
        for _ in 0..2 {
            scope.spawn(|| traffic(address, &stop, &sent));
        }
        for round in 0..length(3, 30) {
            let sink = place.sink(&topic, &url, &["--instance", "sink-1"]);
            let before = sent.load(Ordering::Relaxed);
            wait_for("traffic", || {
                let more = sent.load(Ordering::Relaxed) > before + 150;
                (more && waiting(&running) > 0).then_some(())
            });
            if round % 2 == 0 {
                let next = start();
                let (code, log) = std::mem::replace(&mut running, next).ended();
                assert_eq!(code, 0, "{log}");
            }
            sink.kill();
        }
    });
    // A drain with second looks due.
    ask(&running, 100);
    let sink = place.sink(&topic, &url, &["--instance", "sink-1"]);
    let received = sent.load(Ordering::Relaxed) + 100;
    assert_eq!(running.stop().0, 0);
    let report = wait_for("the record to settle", || {
        let report = place.report_of(&url);
        let all = report.count("received") >= received && open(&report) == 0;
        (all && report.grouped() >= report.count("mismatch")).then_some(report)
    });
    let (rows, ids) = (
        database.number("SELECT count() FROM mismatches_final"),
        database.number("SELECT uniqExact(id) FROM mismatches"),
    );
    assert_eq!((rows, ids), (report.count("mismatch"), rows));
    // Each record says the class that it was counted with.
    for class in ["confirmed", "noise", "transient", "unconfirmed"] {
        let counted = report.0["classes"][class].as_u64().unwrap_or(0);
        let sql = format!("SELECT count() FROM mismatches_final WHERE class = '{class}'");
        assert_eq!(database.number(&sql), counted, "{class}: {}", report.0);
        assert!(counted > 0, "{class}: {}", report.0);
    }
    assert_eq!(sink.stop().0, 0);
}
