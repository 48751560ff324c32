//! `parity mirror` as its users run it: between curl and two services, controlled, and stopped.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::support::process::Place;
use crate::support::service::{Answer, Service, nobody};
use crate::support::{client, wait_for};

#[test]
fn the_client_gets_the_legacy_and_the_report_what_differs() {
    let legacy = Service::start(|request| match request.target.as_str() {
        "/users/1" => Answer::json("{\"id\":1,\"name\":\"Ada\"}\n").header("x-served-by", "legacy"),
        _ => Answer::new(404, "no such page\n").header("content-type", "text/plain"),
    });
    let candidate = Service::start(|request| match request.target.as_str() {
        "/users/1" => Answer::json("{\"name\":\"ada\",\"id\":1.0}"),
        _ => Answer::new(404, "no such page\n").header("content-type", "text/plain"),
    });
    let place = Place::new();
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    let answer = mirror.get("/users/1");
    assert_eq!(
        (answer.status, answer.text().as_str()),
        (200, "{\"id\":1,\"name\":\"Ada\"}\n")
    );
    assert_eq!(answer.header("x-served-by"), Some("legacy"));
    assert_eq!(mirror.get("/nothing/here").status, 404);
    let posted = client::send(mirror.address, "POST", "/users", &[], b"{}");
    assert_eq!(posted.status, 404);

    let report = mirror.settled(3);
    assert_eq!((report.count("match"), report.count("mismatch")), (1, 1));
    assert_eq!(
        report.not_compared().into_iter().collect::<Vec<_>>(),
        [("unsafe_method".to_owned(), 1)]
    );
    assert_eq!(
        report.groups(),
        [
            "GET /users/{id} body /name value case_only",
            "GET /users/{id} header x-served-by missing -",
        ]
    );
    assert_eq!(candidate.seen(), 2, "the POST must not reach the candidate");
    let (code, log) = mirror.stop();
    assert_eq!(code, 0, "{log}");
    let text = place.run(&["report"]);
    assert!(
        text.stdout.contains("\nFAIL") || text.stdout.contains("\nUNDECIDED"),
        "{}",
        text.stdout
    );
    for expected in [
        "GET /users/{id}",
        "/name",
        "\"Ada\"",
        "\"ada\"",
        "case_only",
        "unsafe_method",
    ] {
        assert!(
            text.stdout.contains(expected),
            "{expected} is missing in\n{}",
            text.stdout
        );
    }
    assert!(!text.stdout.contains('\u{1b}'), "colours off a terminal");
}

#[test]
fn routes_allow_writes_and_rules_excuse_differences() {
    static SERIAL: AtomicUsize = AtomicUsize::new(0);
    let answer = || {
        let serial = SERIAL.fetch_add(1, Ordering::SeqCst);
        Answer::json(format!(
            "{{\"quote\":\"12.50\",\"request\":{serial},\"tags\":[{}]}}",
            if serial.is_multiple_of(2) {
                "1,2"
            } else {
                "2,1"
            }
        ))
    };
    let (legacy, candidate) = (
        Service::start(move |_| answer()),
        Service::start(move |_| answer()),
    );
    let place = Place::new();
    place.write(
        "parity.toml",
        "[[route]]\nmatch = \"POST /quotes\"\nshadow = true\n\
         [[rule]]\nid = \"serial\"\npath = \"/request\"\naction = \"ignore\"\n\
         [[rule]]\nid = \"tags\"\nroute = \"POST /quotes\"\npath = \"/tags\"\naction = \"unordered\"\n",
    );
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    for _ in 0..4 {
        assert_eq!(
            client::send(mirror.address, "POST", "/quotes", &[], b"{\"a\":1}").status,
            200
        );
    }
    let report = mirror.settled(4);
    assert_eq!(report.count("match"), 4, "{:?}", report.groups());
    let rules = report.0["rules"].as_array().expect("a list");
    assert_eq!(
        (rules[0]["id"].as_str(), rules[0]["hits"].as_u64()),
        (Some("serial"), Some(4))
    );
    mirror.stop();
}

#[test]
fn shadowing_is_stopped_and_started_by_the_admin_port_and_by_signals() {
    let (legacy, candidate) = (Service::json("1"), Service::json("1"));
    let place = Place::new();
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &["--shadow", "off"]);
    mirror.get("/a");
    let status = client::send(mirror.admin, "POST", "/api/v1/shadowing/on", &[], b"").json();
    assert_eq!(status["shadowing"], true);
    mirror.get("/b");
    mirror.signal("USR1");
    wait_for("SIGUSR1", || {
        (mirror.ask("/api/v1/status").json()["shadowing"] == false).then_some(())
    });
    mirror.get("/c");
    mirror.signal("USR2");
    wait_for("SIGUSR2", || {
        (mirror.ask("/api/v1/status").json()["shadowing"] == true).then_some(())
    });
    mirror.get("/d");
    let report = mirror.settled(4);
    assert_eq!(
        (
            report.count("match"),
            report.not_compared()["shadowing_off"]
        ),
        (2, 2)
    );
    assert_eq!((legacy.seen(), candidate.seen()), (4, 2));
    mirror.stop();
}

#[test]
fn a_drain_finishes_accepted_requests_and_stores_what_was_compared() {
    // The legacy answers only when the mirror has been told to end.
    let told = std::sync::Arc::new(std::sync::Barrier::new(5));
    let wait = std::sync::Arc::clone(&told);
    let legacy = Service::start(move |_| {
        wait.wait();
        Answer::json("{\"done\":true}")
    });
    let candidate = Service::json("{\"done\":true}");
    let place = Place::new();
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    let address = mirror.address;
    let clients: Vec<_> = (0..4)
        .map(|_| thread::spawn(move || client::get(address, "/slow")))
        .collect();
    wait_for("the requests to arrive", || {
        (legacy.seen() == 4).then_some(())
    });
    mirror.signal("TERM");
    wait_for("the drain to begin", || {
        mirror.log().contains("draining").then_some(())
    });
    told.wait();
    for client in clients {
        assert_eq!(client.join().expect("no panic").text(), "{\"done\":true}");
    }
    let (code, log) = mirror.ended();
    assert_eq!(code, 0, "{log}");
    let report = place.report();
    assert_eq!((report.count("received"), report.count("match")), (4, 4));
}

#[test]
fn a_second_signal_ends_at_once() {
    let legacy = Service::misbehaving(|_, _| thread::park());
    let candidate = Service::json("1");
    let place = Place::new();
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    let mut connection = client::Connection::open(mirror.address);
    connection.send("GET", "/hang", &[], b"");
    wait_for("the request to arrive", || {
        (legacy.seen() == 1).then_some(())
    });
    mirror.signal("INT");
    wait_for("the drain to begin", || {
        mirror.log().contains("draining").then_some(())
    });
    let (code, log) = mirror.stop();
    assert_eq!(code, 2, "{log}");
    assert!(log.contains("before the drain was over"), "{log}");
}

#[test]
fn a_legacy_that_is_down_gives_502_and_its_own_reason() {
    let candidate = Service::json("1");
    let place = Place::new();
    let mirror = place.mirror(&nobody(), &candidate.url(), &[]);
    let answer = mirror.get("/x");
    assert_eq!(answer.status, 502);
    assert!(
        answer
            .header("content-type")
            .is_some_and(|value| value.starts_with("text/plain"))
    );
    let report = mirror.settled(1);
    assert_eq!(report.not_compared()["legacy_unreachable"], 1);
    mirror.stop();
}

#[test]
fn concurrent_traffic_is_counted_to_the_unit() {
    let legacy =
        Service::start(|request| Answer::json(format!("{{\"path\":\"{}\"}}", request.target)));
    let candidate = Service::start(|request| {
        if request.target.ends_with('7') {
            return Answer::json("{\"path\":\"seven\"}");
        }
        Answer::json(format!("{{ \"path\" : \"{}\" }}", request.target))
    });
    let place = Place::new();
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &["--workers", "2"]);
    let address = mirror.address;
    let clients: Vec<_> = (0..8)
        .map(|client| {
            thread::spawn(move || {
                let mut connection = client::Connection::open(address);
                for number in 0..100 {
                    let path = format!("/items/{client}{number:02}");
                    connection.send("GET", &path, &[], b"");
                    let answer = connection.answer("GET").expect("answered");
                    assert_eq!(answer.text(), format!("{{\"path\":\"{path}\"}}"));
                }
            })
        })
        .collect();
    for client in clients {
        client.join().expect("no panic");
    }
    let report = mirror.settled(800);
    assert_eq!((report.count("match"), report.count("mismatch")), (720, 80));
    let metrics = mirror.ask("/metrics").text();
    let samples = metrics.lines().filter(|line| {
        line.starts_with("parity_comparisons_total{") && line.contains("result=\"match\"")
    });
    let total: f64 = samples
        .filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok())
        .sum();
    assert!((total - 720.0).abs() < f64::EPSILON, "{metrics}");
    assert_eq!(mirror.stop().0, 0);
    assert_eq!(place.report().settled(), 800);
}
