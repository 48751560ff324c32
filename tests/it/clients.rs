//! Clients without an answer are the first thing in every report, whatever is known of the candidate.

use std::collections::BTreeMap;
use std::io::Write as _;

use crate::support::process::{Mirror, Place};
use crate::support::report::Report;
use crate::support::service::{Service, nobody};
use crate::support::wait_for;

/// Failures of the candidate that open the breaker.
const OPENS: u64 = 50;
const OUTAGE: u64 = 30;

fn clients(document: &serde_json::Value) -> BTreeMap<String, u64> {
    serde_json::from_value(document["clients"].clone()).unwrap_or_default()
}

/// Waits until every request is settled, by its verdict and for its client.
fn settled(mirror: &Mirror<'_>, received: u64) -> Report {
    wait_for("all clients to be settled", || {
        let report = mirror.settled(received);
        (clients(&report.0).values().sum::<u64>() == received).then_some(report)
    })
}

#[test]
fn a_legacy_outage_stands_first_while_the_breaker_is_open() {
    let legacy =
        Service::misbehaving(|request, stream| {
            if request.target.starts_with("/up") {
                drop(stream.write_all(
                    b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\n1",
                ));
            }
        });
    let place = Place::new();
    let mirror = place.mirror(&legacy.url(), &nobody(), &[]);
    let healthy = OPENS + 10;
    for _ in 0..healthy {
        assert_eq!(mirror.get("/up").status, 200);
    }
    settled(&mirror, healthy);
    let page = mirror.ask("/report").text();
    assert!(
        page.contains("all 60 got the legacy&#39;s whole answer"),
        "{page}"
    );
    assert!(!page.contains("clients get errors"), "{page}");
    for _ in 0..OUTAGE {
        assert_eq!(mirror.get("/down/a").status, 502);
    }
    let report = settled(&mirror, healthy + OUTAGE);
    assert!(report.not_compared().contains_key("breaker_open"));
    let expected: BTreeMap<String, u64> = [
        ("2xx".to_owned(), healthy),
        ("legacy_unreachable".to_owned(), OUTAGE),
    ]
    .into();
    assert_eq!(clients(&report.0), expected);
    let routes = report.0["routes"].as_array().expect("a list");
    let down = routes.iter().find(|route| route["route"] == "GET /down/a");
    assert_eq!(
        down.expect("its route")["clients"]["legacy_unreachable"],
        OUTAGE
    );

    let page = mirror.ask("/report").text();
    let place_of = |text: &str| {
        page.find(text)
            .unwrap_or_else(|| panic!("{text} is not in\n{page}"))
    };
    assert!(place_of("30 of 90 got no whole answer (33.33 %)") < place_of("<h1>"));
    assert!(place_of("got 502 from parity") < place_of("<h1>"));
    let down = place_of("The legacy does not answer since ");
    assert!(down < place_of(": clients get errors"));
    place_of("last client without a whole answer");
    place_of("<title>clients fail");
    let status = mirror.ask("/api/v1/status").json();
    assert_eq!(clients(&status), expected);
    assert!(status["last_failed_client"].is_string(), "{status}");
    let metrics = mirror.ask("/metrics").text();
    let line = "parity_clients_total{route=\"GET /down/a\",outcome=\"legacy_unreachable\"} 30";
    assert!(metrics.contains(line), "{metrics}");
    let api = mirror.ask("/api/v1/report").text();
    let before = |first: &str, second: &str| api.find(first) < api.find(second);
    assert!(before("\"clients\"", "\"match\"") && before("\"clients\"", "\"routes\""));
    mirror.stop();

    let text = place.run(&["report"]).stdout;
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[0],
        "CLIENTS 30 of 90 got no whole answer (33.33 %) · 2xx 60"
    );
    assert!(
        lines[1].starts_with("    30 × legacy_unreachable   got 502"),
        "{text}"
    );
    assert_eq!(lines[2], "         30 on GET /down/a");
    let gate = place.run(&["gate"]).stdout;
    assert!(
        gate.starts_with("CLIENTS 30 of 90 got no whole answer"),
        "{gate}"
    );
}

#[test]
fn a_tap_says_that_clients_are_served_elsewhere() {
    let service = Service::json("1");
    let place = Place::new();
    let mirror = place.mirror(&service.url(), &service.url(), &["--mode", "tap"]);
    for _ in 0..3 {
        assert_eq!(mirror.get("/x").status, 204);
    }
    let report = settled(&mirror, 3);
    assert_eq!(clients(&report.0), [("tapped".to_owned(), 3)].into());
    let page = mirror.ask("/report").text();
    assert!(
        page.contains("not seen here: 3 copies came from a proxy"),
        "{page}"
    );
    mirror.stop();
    let text = place.run(&["report"]).stdout;
    assert!(
        text.starts_with("CLIENTS not seen here: 3 copies"),
        "{text}"
    );
}
