//! Mirrors, broker, sinks and database as processes: no record is lost or counted twice, whichever of them is killed.
//!
//! `PARITY_TEST_LENGTH=long` (tests/long) runs the same checks at full length.

mod kills;
mod month;
mod reader;
mod rechecks;

use std::collections::BTreeSet;
use std::net::TcpListener;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::servers::{ClickHouse, Database, Kafka};
use crate::support::client;
use crate::support::process::{Mirror, Place};
use crate::support::report::Report;
use crate::support::service::Service;
use crate::support::{root, wait_for, wait_or_tell};

fn pair() -> (Service, Service) {
    (Service::json("{\"a\":1}"), Service::json("{\"a\":2}"))
}

fn tables(place: &Place, database: &Database<'_>) -> String {
    let url = database.url();
    let ended = place.run(&["schema", "apply", "--clickhouse", &url]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    url
}

/// A mirror that produces to a topic.
fn producing<'a>(
    place: &'a Place,
    services: &(Service, Service),
    instance: &str,
    store: &str,
) -> Mirror<'a> {
    let spool = format!("spool-{instance}");
    let (legacy, candidate) = (services.0.url(), services.1.url());
    // By one key, so that the estimated number of targets is the same.
    std::fs::write(place.path().join("key"), [7; 64]).expect("a file");
    let more = [
        "--store",
        store,
        "--instance",
        instance,
        "--spool",
        &spool,
        "--redaction-key-file",
        "key",
    ];
    place.mirror(&legacy, &candidate, &more)
}

/// A report without what depends on time and place.
fn timeless(report: &Report) -> Value {
    let mut report = report.0.clone();
    for field in ["window", "complete_until", "watermarks"] {
        report[field] = Value::Null;
    }
    for group in report["groups"].as_array_mut().expect("a list") {
        for field in ["first_seen", "last_seen", "example_id"] {
            group[field] = Value::Null;
        }
        group["example"]["target"] = Value::Null;
    }
    for route in report["routes"].as_array_mut().expect("a list") {
        for times in [
            "legacy_us",
            "candidate_us",
            "legacy_head_us",
            "candidate_head_us",
        ] {
            route[times] = Value::Null;
        }
    }
    report
}

#[test]
#[ignore = "needs Kafka and ClickHouse: run tests/run"]
fn one_traffic_gives_one_report_by_way_of_every_store() {
    let (kafka, server) = (Kafka::shared(), ClickHouse::shared());
    let (direct, moved) = (server.database(), server.database());
    let place = Place::new();
    let (direct, moved) = (tables(&place, &direct), tables(&place, &moved));
    let topic = kafka.url(&kafka.topic(3));
    let services = pair();
    let mut reports = Vec::new();
    for store in ["sqlite:parity.db", &direct, &topic] {
        let mirror = producing(&place, &services, "test", store);
        for number in 0..30 {
            // So few targets that each has a counter, also where a minute ends in between.
            mirror.get(&format!("/items/{}", number % 15));
            client::send(mirror.address, "POST", "/quotes", &[], b"");
        }
        let read = if store == topic {
            moved.as_str()
        } else {
            store
        };
        let sink = (store == topic).then(|| place.sink(&topic, &moved, &[]));
        let report = mirror.answered_in(read, 60);
        let gate = |store: &str| {
            let ended = place.run(&["gate", "--store", store, "--output", "json"]);
            (ended.code, ended.json()["routes"].clone())
        };
        reports.push((timeless(&report), gate(read)));
        assert_eq!(mirror.stop().0, 0);
        if let Some(sink) = sink {
            // The pages of a sink are those of its database.
            assert_eq!(sink.ask("/api/v1/report").json()["received"], 60);
            assert!(sink.ask("/").text().contains("GET /items/{id}"));
            let route = sink.ask("/routes?of_route=GET%20/items/%7Bid%7D");
            let told = route.text();
            for wanted in [
                "fail</span> GET /items/{id}",
                "at least ",
                "30 of 30 requests",
                "href=\"/mismatches/",
                "<th scope=\"row\">p99</th>",
            ] {
                assert!(
                    route.status == 200 && told.contains(wanted),
                    "{wanted}: {told}"
                );
            }
            let metrics = wait_for("the lag, which is known once a second", || {
                let metrics = sink.ask("/metrics").text();
                metrics
                    .contains("parity_sink_lag_records{partition=\"0\"}")
                    .then_some(metrics)
            });
            for name in [
                "parity_sink_batch_records_count",
                "parity_sink_insert_seconds_sum{table=\"mismatches\"}",
                "parity_sink_retries_total",
                "parity_sink_dead_letters_total{reason=\"malformed\"} 0",
                "parity_sink_stored_records_total{table=\"tallies\"}",
            ] {
                assert!(metrics.contains(name), "{name} is missing in\n{metrics}");
            }
            assert_eq!(sink.ask("/readyz").status, 200);
            let status = sink.ask("/api/v1/status").json();
            assert_eq!(
                (&status["ready"], &status["partitions"]),
                (&true.into(), &3.into())
            );
            let (code, log) = sink.stop();
            assert_eq!(code, 0, "{log}");
            assert!(log.contains("0 to the dead-letter topic"), "{log}");
        }
    }
    let (sqlite, rest) = reports.split_first().expect("three");
    for other in rest {
        assert_eq!(sqlite, other);
    }
}

#[test]
#[ignore = "needs Kafka and ClickHouse: run tests/run"]
fn the_example_of_two_mirrors_and_two_sinks_works_as_it_stands() {
    let (kafka, server) = (Kafka::shared(), ClickHouse::shared());
    let database = server.database();
    let url = database.url();
    let place = Place::new();
    let services = pair();
    // Taken and given back; nobody else of this test run takes ports from there.
    let ports: Vec<u16> = (0..6)
        .map(|_| TcpListener::bind("127.0.0.1:0").expect("a port"))
        .collect::<Vec<_>>()
        .iter()
        .map(|listener| listener.local_addr().expect("bound").port())
        .collect();
    let log = place.path().join("up.log");
    let source = kafka.url(&kafka.topic(4));
    let admin: Vec<String> = ports[2..].iter().map(u16::to_string).collect();
    let mut up = Command::new(root().join("examples/scale/up"))
        .current_dir(place.path())
        .env("PROGRAM", env!("CARGO_BIN_EXE_parity"))
        .env("MIRROR_1", format!("127.0.0.1:{}", ports[0]))
        .env("MIRROR_2", format!("127.0.0.1:{}", ports[1]))
        .env("PORTS", admin.join(" "))
        .env("PARITY_LEGACY", services.0.url())
        .env("PARITY_CANDIDATE", services.1.url())
        .env("PARITY_STORE", &source)
        .env("PARITY_SINK_KAFKA", &source)
        .env("PARITY_SINK_CLICKHOUSE", &url)
        .stdout(Stdio::null())
        .stderr(std::fs::File::create(&log).expect("a log can be made"))
        .spawn()
        .expect("bash is there");
    let at = |port: u16| std::net::SocketAddr::from(([127, 0, 0, 1], port));
    for port in &ports[2..] {
        wait_for("all four to be ready", || {
            std::net::TcpStream::connect(at(*port)).ok()?;
            (client::get(at(*port), "/readyz").status == 200).then_some(())
        });
    }
    for number in 0..40 {
        let answer = client::get(at(ports[number % 2]), &format!("/items/{number}"));
        assert_eq!(answer.status, 200);
    }
    let report = wait_for("the record to settle", || {
        let report = place.run(&[
            "report",
            "--output",
            "json",
            "--store",
            &url,
            "--migration",
            "payments-rust",
        ]);
        let report = Report(report.json());
        (report.count("received") == 40 && report.settled() == 40).then_some(report)
    });
    assert_eq!(report.count("mismatch"), 40);
    assert_eq!(
        report.0["instances"],
        serde_json::json!(["mirror-1", "mirror-2"])
    );
    wait_for("the sinks to share the partitions", || {
        let own =
            |port: &u16| client::get(at(*port), "/api/v1/status").json()["partitions"].as_u64();
        (ports[4..].iter().filter_map(own).sum::<u64>() == 4).then_some(())
    });
    let told = Command::new("kill")
        .args(["-TERM", &up.id().to_string()])
        .status();
    assert!(told.expect("kill can be run").success());
    let ended = wait_or_tell(
        || up.try_wait().expect("it can be asked"),
        || {
            format!(
                "the end of all:\n{}",
                std::fs::read_to_string(&log).expect("kept")
            )
        },
    );
    assert_eq!(ended.code(), Some(0));
}

#[test]
#[ignore = "needs Kafka and ClickHouse: run tests/run"]
fn a_sink_that_cannot_go_on_ends_with_2_and_says_why() {
    let (kafka, server) = (Kafka::shared(), ClickHouse::shared());
    let database = server.database();
    let place = Place::new();
    let source = kafka.url(&kafka.topic(1));
    let url = database.url();
    let ended = place.run(&["sink", "--kafka", &source, "--clickhouse", &url]);
    assert_eq!(ended.code, 2);
    assert!(
        ended.stderr.contains("parity schema apply"),
        "{}",
        ended.stderr
    );
    let sink = place.sink(&source, &url, &["--migrate"]);
    wait_for("it to join", || {
        (sink.ask("/readyz").status == 200).then_some(())
    });
    database.sql("RENAME TABLE mismatches TO hidden");
    let services = pair();
    let mirror = producing(&place, &services, "m", &source);
    mirror.get("/x");
    let (code, log) = sink.ended();
    assert_eq!(code, 2, "{log}");
    assert!(log.contains("cannot insert into mismatches"), "{log}");
    mirror.stop();
    for store in [&source, "clickhouse://127.0.0.1:1/x"] {
        let ended = place.run(&["report", "--store", store]);
        assert_eq!(ended.code, 2);
        assert!(ended.stderr.starts_with("error: "), "{}", ended.stderr);
    }
}

#[test]
fn the_schema_is_printed_for_a_server_and_for_a_cluster() {
    let place = Place::new();
    let single = place.run(&["schema", "print"]);
    assert_eq!(single.code, 0);
    assert!(
        single
            .stdout
            .contains("ENGINE = ReplacingMergeTree(revision)")
    );
    let cluster = place.run(&["schema", "print", "--cluster", "main"]);
    assert!(cluster.stdout.contains("ON CLUSTER 'main'"));
    let tables = |text: &str| -> BTreeSet<String> {
        text.lines()
            .filter_map(|line| line.strip_prefix("CREATE TABLE IF NOT EXISTS "))
            .map(|rest| rest.split(' ').next().unwrap_or_default().to_owned())
            .collect()
    };
    let plain = tables(&single.stdout);
    assert_eq!(plain.len(), 9, "{plain:?}");
    let both = tables(&cluster.stdout);
    for table in plain {
        assert!(
            both.contains(&table) && both.contains(&format!("{table}_local")),
            "{both:?}"
        );
    }
}
