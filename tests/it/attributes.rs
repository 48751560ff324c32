//! What is special about requests that differ, with real traffic: a cause is planted on each route, and must be told first.

use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value;

use crate::servers::{ClickHouse, Kafka};
use crate::support::client::send;
use crate::support::process::{Mirror, Place};
use crate::support::report::Report;
use crate::support::service::{Answer, Service};

/// Requests of each route, of which a fourth has what is planted.
const REQUESTS: usize = 80;
const CONFIG: &str = "[attributes]
headers = [\"x-tenant-tier\"]
candidate_instance = \"x-pod\"
[[route]]
match = \"POST /size\"
shadow = true
";
/// Each route with what must be told first of its differences.
const PLANTED: [(&str, &str, &str); 5] = [
    ("GET /query", "query", "debug"),
    ("GET /client", "client", "okhttp"),
    ("GET /tier", "header x-tenant-tier", "gold"),
    ("GET /pod", "candidate_instance", "b"),
    ("POST /size", "body_size", "1 to 10 KiB"),
];

/// A legacy, and a candidate that is wrong where something is planted.
fn pair() -> (Service, Service) {
    let asked = AtomicU64::new(0);
    let candidate = Service::start(move |request| {
        let turn = asked.fetch_add(1, Ordering::SeqCst);
        // In step with nothing else that is planted.
        let pod = if turn.is_multiple_of(3) { "b" } else { "a" };
        let wrong = match request.target.split('?').next().unwrap_or_default() {
            "/query" => request.target.contains("debug="),
            "/client" => request.header("user-agent") == Some("okhttp/4.12"),
            "/tier" => request.header("x-tenant-tier") == Some("gold"),
            "/pod" => pod == "b",
            _ => request.body.len() > 1_024,
        };
        let body = if wrong { r#"{"v":2}"# } else { r#"{"v":1}"# };
        Answer::json(body).header("x-pod", pod)
    });
    let legacy = Service::start(|_| Answer::json(r#"{"v":1}"#).header("x-pod", "legacy"));
    (legacy, candidate)
}

fn traffic(mirror: &Mirror<'_>) -> u64 {
    for at in 0..REQUESTS {
        let planted = at % 4 == 0;
        let pick = |yes, no| if planted { yes } else { no };
        let other = if at % 2 == 0 {
            "curl/8.5"
        } else {
            "Go-http-client/1.1"
        };
        let address = mirror.address;
        let get = |path: &str, headers: &[(&str, &str)]| {
            assert_eq!(send(address, "GET", path, headers, b"").status, 200);
        };
        let target = pick("/query?page=1&debug=sesame-open", "/query?page=1");
        get(target, &[("user-agent", other)]);
        get("/client", &[("user-agent", pick("okhttp/4.12", other))]);
        get(
            "/tier",
            &[
                ("x-tenant-tier", pick("gold", "basic")),
                ("x-unlisted", "sesame-open"),
            ],
        );
        get("/pod", &[("user-agent", other)]);
        let body = "x".repeat(if planted { 2_000 } else { 100 });
        let sent = send(address, "POST", "/size", &[], body.as_bytes());
        assert_eq!(sent.status, 200);
    }
    (REQUESTS * PLANTED.len()) as u64
}

/// What is told first of each route.
fn told(report: &Report) -> Vec<(String, String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let groups = report.0["groups"].as_array().expect("a list");
    let body = groups.iter().filter(|group| group["part"] == "body");
    body.map(|group| {
        let first = &group["special"][0];
        (
            text(&group["route"]),
            text(&first["attribute"]),
            text(&first["value"]),
        )
    })
    .collect()
}

fn check(report: &Report) {
    let told = told(report);
    for (route, attribute, value) in PLANTED {
        let expected = (route.to_owned(), attribute.to_owned(), value.to_owned());
        assert!(told.contains(&expected), "{expected:?} is not in {told:?}");
    }
    assert!(!report.0.to_string().contains("sesame-open"));
}

/// The header by which the two services always differ is ignored.
const RULE: &str = "[[rule]]
id = \"pod\"
part = \"header\"
path = \"x-pod\"
action = \"ignore\"
";

fn started<'a>(
    place: &'a Place,
    pair: &(Service, Service),
    more: &[&str],
    text: &str,
) -> Mirror<'a> {
    place.write("parity.toml", format!("{text}{RULE}"));
    place.mirror(&pair.0.url(), &pair.1.url(), more)
}

#[test]
fn what_is_planted_is_told_first_in_report_text_and_page() {
    let (place, pair) = (Place::new(), pair());
    let mirror = started(&place, &pair, &[], CONFIG);
    let received = traffic(&mirror);
    check(&mirror.settled(received));
    let page = mirror.ask("/report").text();
    assert!(
        page.contains("special: query debug: 100 % of these, 0 % of the others"),
        "{page}"
    );
    check(&Report(mirror.ask("/api/v1/report").json()));
    mirror.stop();
    let text = place.run(&["report"]).stdout;
    for line in [
        "special: query debug: 100 % of these, 0 % of the others",
        "special: client okhttp: 100 % of these, 0 % of the others",
        "special: body size 1 to 10 KiB: 100 % of these, 0 % of the others",
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
}

/// Eight routes share a cause, and eight more another one. What is planted on the least frequent route of each is seen although a
/// report lists only some of them.
#[test]
fn what_is_planted_on_a_group_that_is_not_listed_is_told_everywhere() {
    const ROUTES: usize = 8;
    const EACH: usize = 30;
    let body = |target: &str, right: bool| -> String {
        let path = target.split('?').next().unwrap_or_default();
        let (kind, number) = path.trim_start_matches('/').split_at(1);
        match (kind, right) {
            ("r", true) => "{\"v\":1}".to_owned(),
            ("r", false) => "{\"v\":2}".to_owned(),
            (_, true) => format!("{{\"state{number}\":\"OPEN\"}}"),
            (_, false) => format!("{{\"state{number}\":\"open\"}}"),
        }
    };
    let legacy = Service::start(move |request| Answer::json(body(&request.target, true)));
    let candidate = Service::start(move |request| {
        let target = &request.target;
        let is_last = target.starts_with("/r7") || target.starts_with("/s7");
        let right = is_last && !target.contains("debug=") && !target.contains("trace=");
        Answer::json(body(target, right))
    });
    let place = Place::new();
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    let mut sent = 0;
    for (kind, planted) in [("r", "debug"), ("s", "trace")] {
        for route in 0..ROUTES - 1 {
            for _ in 0..EACH {
                mirror.get(&format!("/{kind}{route}"));
                sent += 1;
            }
        }
        for at in 0..4 * EACH {
            let query = if at % 5 == 0 { planted } else { "page" };
            mirror.get(&format!("/{kind}7?{query}=1"));
            sent += 1;
        }
    }
    mirror.settled(sent);
    let page = mirror.ask("/report").text();
    mirror.stop();
    let text = place.run(&["report"]).stdout;
    let markdown = place.run(&["report", "--output", "markdown"]).stdout;
    for told in [&page, &text, &markdown] {
        for planted in ["debug", "trace"] {
            let line = format!("query {planted}: 100 % of these, 0 % of the others");
            assert!(told.contains(&line), "{line} is not in\n{told}");
        }
    }
}

#[test]
fn nothing_is_counted_where_it_is_switched_off() {
    let (place, pair) = (Place::new(), pair());
    let off = CONFIG.replace("[attributes]\n", "[attributes]\nenabled = false\n");
    let mirror = started(&place, &pair, &[], &off);
    let received = traffic(&mirror);
    let report = mirror.settled(received);
    assert!(report.count("mismatch") >= 5 * REQUESTS as u64 / 4 - 1);
    for list in ["routes", "groups"] {
        for entry in report.0[list].as_array().expect("a list") {
            assert_eq!(entry["attributes"], serde_json::json!({}), "{entry}");
        }
    }
    assert!(
        told(&report)
            .iter()
            .all(|(_, attribute, _)| attribute.is_empty())
    );
    mirror.stop();
}

#[test]
fn a_header_that_may_carry_a_secret_is_refused() {
    let place = Place::new();
    for (name, setting) in [
        ("authorization", "headers = [\"authorization\"]"),
        ("x-api-key", "headers = [\"x-tenant-tier\", \"x-api-key\"]"),
        ("set-cookie", "candidate_instance = \"set-cookie\""),
        ("x-session", "headers = [\"x-session\"]"),
        ("x-key", "headers = [\"x-key\"]"),
        ("x-wsse", "headers = [\"x-wsse\"]"),
        ("dpop", "headers = [\"dpop\"]"),
        ("x-amzn-oidc-data", "headers = [\"x-amzn-oidc-data\"]"),
        (
            "x-ms-client-principal",
            "headers = [\"x-ms-client-principal\"]",
        ),
        ("x-sig", "headers = [\"x-sig\"]"),
    ] {
        place.write("parity.toml", format!("[attributes]\n{setting}\n"));
        let ended = place.run(&["config", "check"]);
        assert_eq!(ended.code, 2, "{}", ended.stdout);
        let line = ended
            .stderr
            .lines()
            .find(|line| line.contains("parity.toml:2:"));
        let line = line.unwrap_or_else(|| panic!("no line in {}", ended.stderr));
        assert!(
            line.contains(&format!("`{name}` may carry a secret")),
            "{line}"
        );
    }
    let many: Vec<String> = (0..9).map(|at| format!("\"x-{at}\"")).collect();
    place.write(
        "parity.toml",
        format!("[attributes]\nheaders = [{}]\n", many.join(", ")),
    );
    let ended = place.run(&["config", "check"]);
    assert!(
        ended.stderr.contains("9 headers are listed; at most 8"),
        "{}",
        ended.stderr
    );
}

#[test]
#[ignore = "needs Kafka and ClickHouse: run tests/run"]
fn what_is_planted_is_told_first_by_way_of_a_broker() {
    let (kafka, server) = (Kafka::shared(), ClickHouse::shared());
    let (place, pair) = (Place::new(), pair());
    let database = server.database();
    let url = database.url();
    let applied = place.run(&["schema", "apply", "--clickhouse", &url]);
    assert_eq!(applied.code, 0, "{}", applied.stderr);
    let topic = kafka.url(&kafka.topic(3));
    let mirror = started(&place, &pair, &["--store", &topic], CONFIG);
    let sink = place.sink(&topic, &url, &[]);
    let received = traffic(&mirror);
    check(&mirror.settled_in(&url, received));
    assert_eq!(mirror.stop().0, 0);
    assert_eq!(sink.stop().0, 0);
}
