//! The admin port: health, metrics, API and pages, and who is let in.

use parity_schemas::documents::MismatchPage;

use crate::support::client;
use crate::support::process::Place;
use crate::support::service::{Service, nobody};

#[test]
fn mismatches_are_listed_newest_first_and_page_by_page() {
    let (legacy, candidate) = (Service::json("{\"a\":1}"), Service::json("{\"a\":2}"));
    let place = Place::new();
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    for path in ["/x/1", "/x/2", "/y/3", "/x/4", "/x/5"] {
        mirror.get(path);
    }
    let report = mirror.settled(5);
    let paths = |query: &str| -> (Vec<String>, Option<String>) {
        let page = mirror.ask(&format!("/api/v1/mismatches?{query}")).json();
        assert_eq!(page["schema"], "parity.mismatches/v1", "{page}");
        serde_json::from_value::<MismatchPage>(page.clone()).expect("of its schema");
        let listed = page["mismatches"].as_array().expect("a list");
        let text = |value: &serde_json::Value| value.as_str().map(str::to_owned);
        (
            listed.iter().filter_map(|one| text(&one["path"])).collect(),
            text(&page["next"]),
        )
    };
    let (all, next) = paths("");
    assert_eq!(all, ["/x/5", "/x/4", "/y/3", "/x/2", "/x/1"]);
    assert_eq!(next, None);
    let (first, next) = paths("route=GET%20/x/%7Bid%7D&limit=3");
    assert_eq!(first, ["/x/5", "/x/4", "/x/2"]);
    let after = next.expect("one more");
    let (last, next) = paths(&format!("route=GET%20/x/%7Bid%7D&limit=3&after={after}"));
    assert_eq!((last, next), (vec!["/x/1".to_owned()], None));
    let group = report.0["groups"][0]["fingerprint"]
        .as_str()
        .expect("a group");
    let of_group = report.0["groups"][0]["count"].as_u64().expect("a count");
    assert_eq!(
        paths(&format!("fingerprint={group}")).0.len() as u64,
        of_group
    );
    for bad in ["limit=0", "limit=1001", "after=x", "rout=x"] {
        let answer = mirror.ask(&format!("/api/v1/mismatches?{bad}"));
        assert_eq!(answer.status, 400, "{bad}");
    }
}

#[test]
fn health_metrics_report_and_gate_are_served() {
    let (legacy, candidate) = (Service::json("{\"a\":1}"), Service::json("{\"a\":2}"));
    let place = Place::new();
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    mirror.get("/items/1");
    mirror.settled(1);
    assert_eq!(mirror.ask("/healthz").status, 200);
    assert_eq!(mirror.ask("/readyz").status, 200);
    let metrics = mirror.ask("/metrics").text();
    for name in [
        "parity_requests_total{",
        "parity_comparisons_total{",
        "parity_mismatches_total{",
        "parity_upstream_request_duration_seconds_bucket{",
        "parity_proxy_overhead_seconds_bucket{",
        "parity_shadow_requests_total{",
        "parity_shadow_queue_depth",
        "parity_sink_dropped_total",
        "parity_last_comparison_timestamp_seconds",
        "parity_build_info{",
    ] {
        assert!(metrics.contains(name), "{name} is missing in\n{metrics}");
    }
    // The mirror runs, so its watermark changes between two answers.
    let still = |mut report: serde_json::Value| {
        report["complete_until"].take();
        report["watermarks"].take();
        report
    };
    assert_eq!(
        still(mirror.ask("/api/v1/report").json()),
        still(place.report().0)
    );
    let loose = mirror.ask("/report?max_mismatch_rate=1");
    assert!(
        loose.text().contains("100.00 % allowed"),
        "{}",
        loose.text()
    );
    let refused = mirror.ask("/report?max_mismatch_rate=2");
    assert_eq!(refused.status, 400);
    assert!(
        refused
            .text()
            .contains("max_mismatch_rate: <code>2</code> is not a share")
    );
    assert_eq!(
        mirror.ask("/api/v1/gate?max_mismatch_rate=0.5&max_dropped=0.1&max_uncomparable=0.2&max_errors=0.3&min_requests=4")
            .json()["schema"],
        "parity.gate/v1"
    );
    let page = mirror.ask("/report").text();
    for text in ["GET /items/{id}", "<code>/a</code>", "Stop shadowing"] {
        assert!(page.contains(text), "{text} is missing in\n{page}");
    }
    let policy = mirror
        .ask("/")
        .header("content-security-policy")
        .expect("a policy")
        .to_owned();
    assert!(
        policy.contains("default-src 'none'") && !policy.contains("unsafe"),
        "{policy}"
    );
    mirror.stop();
}

#[test]
fn questions_that_cannot_be_answered_say_why() {
    let place = Place::new();
    let mirror = place.mirror(&nobody(), &nobody(), &[]);
    mirror.get("/items/1");
    mirror.settled(1);
    for bad in [
        "/api/v1/report?nonsense=1",
        "/api/v1/gate?confidence=2",
        "/api/v1/gate?max_dropped=2",
        "/api/v1/gate?max_uncomparable=-1",
        "/?max_errors=nan",
        "/api/v1/mismatches/x",
        "/api/v1/report?since=x",
    ] {
        assert_eq!(mirror.ask(bad).status, 400, "{bad}");
    }
    assert_eq!(
        mirror
            .ask("/api/v1/mismatches/00000000-0000-7000-8000-000000000000")
            .status,
        404
    );
    for (asked, status, told) in [
        (
            "/api/v1/report?migration=nope",
            404,
            "no traffic recorded for migration `nope`; recorded are `default`",
        ),
        (
            "/api/v1/gate?max_mismatch_rate=1%25",
            400,
            "max_mismatch_rate: `1%` is not a share; write a number between 0 and 1, for example 0.25",
        ),
        (
            "/api/v1/mismatches?limit=many",
            400,
            "limit: `many` is not a number from 1 to 1000",
        ),
        (
            "/api/v1/report?zzz=1",
            400,
            "there is no parameter `zzz`; use one of migration, candidate_version",
        ),
        (
            "/api/v1/decisions?outcom=pass",
            400,
            "there is no parameter `outcom`; did you mean `outcome`?",
        ),
        (
            "/api/v1/gate?openapi=/etc/passwd",
            400,
            "openapi is only a flag of `parity gate`: no request makes",
        ),
        ("/api/v1/reports", 404, "nothing is at `/api/v1/reports`"),
        ("/nowhere", 404, "nothing is at `/nowhere`"),
    ] {
        let answer = mirror.ask(asked);
        assert_eq!(answer.status, status, "{asked}");
        let error = answer.json()["error"].clone();
        assert!(
            error.as_str().is_some_and(|error| error.starts_with(told)),
            "{error}"
        );
    }
    let page = mirror.ask("/report?max_mismatch_rate=1%25");
    assert_eq!(page.status, 400);
    assert!(page.text().contains("is not a share"), "{}", page.text());
    mirror.stop();
}

/// What is asked by flags and by parameters: the name with dashes, and the value.
const ASKED: [(&str, &str); 10] = [
    ("require-route", "GET /items/{id}"),
    ("require-route", "GET /never"),
    ("min-duration", "1ms"),
    ("min-distinct", "2"),
    ("min-fields", "0.25"),
    ("max-not-compared", "stream=0.01"),
    ("max-candidate-errors", "0.5"),
    ("max-latency", "p50=1000x+5ms"),
    ("max-transient", "0.1"),
    ("confidence", "0.9"),
];

#[test]
fn the_api_is_asked_as_the_command_is() {
    let place = Place::new();
    let mirror = place.mirror(&nobody(), &nobody(), &[]);
    mirror.get("/items/1");
    mirror.settled(1);
    let encoded = |value: &str| {
        value
            .replace('{', "%7B")
            .replace('}', "%7D")
            .replace(' ', "+")
    };
    let query = |asked: &[(&str, &str)]| {
        let asked = asked.iter().map(|(name, value)| {
            let value = encoded(&value.replace('+', "%2B"));
            format!("{}={value}", name.replace('-', "_"))
        });
        asked.collect::<Vec<_>>().join("&")
    };
    let flags = ASKED.map(|(name, value)| format!("--{name}={value}"));
    let switches = ["--require-all-routes", "--one-look", "--strict-rules"];
    let mut arguments = vec!["gate", "--dry-run", "--output", "json"];
    arguments.extend(flags.iter().map(String::as_str));
    arguments.extend(switches);
    let told = place.run(&arguments).json();
    let query_of_all = query(&ASKED) + "&require_all_routes=true&one_look=true&strict_rules=true";
    let asked = mirror.ask(&format!("/api/v1/gate?{query_of_all}")).json();
    assert_eq!(asked["thresholds"], told["thresholds"]);
    assert_eq!(asked["outcome"], told["outcome"]);
    assert_eq!(asked["latency"], told["latency"]);
    // The page decides by the same.
    let page = mirror.ask(&format!("/?{query_of_all}")).text();
    assert!(page.contains("GET /never"), "{page}");

    for wrong in [
        ("since", "yesterday"),
        ("leave-out", "yesterday=x"),
        ("confidence", "1"),
        ("max-latency", "p99"),
        ("max-not-compared", "streem=0.1"),
        ("require-route", "garbage"),
        ("min-duration", "soon"),
        ("min-distinct", "many"),
        ("min-fields", "50%"),
        ("max-candidate-errors", "2"),
    ] {
        let ended = place.run(&["gate", &format!("--{}={}", wrong.0, wrong.1)]);
        assert_eq!(ended.code, 2, "{wrong:?}");
        let answer = mirror.ask(&format!("/api/v1/gate?{}", query(&[wrong])));
        assert_eq!(answer.status, 400, "{wrong:?}");
        let error = answer.json()["error"].clone();
        let error = error.as_str().unwrap_or_default();
        let name = format!("{}: ", wrong.0.replace('-', "_"));
        let words = error.strip_prefix(&name).expect(error);
        assert!(ended.stderr.contains(words), "{error}: {}", ended.stderr);
    }
    mirror.stop();
}

#[test]
fn foreign_pages_and_rebound_names_are_kept_out() {
    let place = Place::new();
    let mirror = place.mirror(&nobody(), &nobody(), &[]);
    let ask = |method, path, headers: &[(&str, &str)]| {
        client::send(mirror.admin, method, path, headers, b"").status
    };
    assert_eq!(ask("GET", "/", &[("host", "evil.example")]), 421);
    assert_eq!(
        ask("GET", "/metrics", &[("host", "evil.example:9900")]),
        421
    );
    assert_eq!(ask("GET", "/healthz", &[("host", "10.1.2.3")]), 200);
    assert_eq!(
        ask(
            "POST",
            "/api/v1/shadowing/off",
            &[("origin", "http://evil.example")]
        ),
        403
    );
    assert_eq!(ask("GET", "/api/v1/shadowing/off", &[]), 405);
    assert_eq!(mirror.ask("/api/v1/status").json()["shadowing"], true);
    mirror.stop();
}

#[test]
fn a_token_is_demanded_when_there_is_one() {
    let place = Place::new();
    place.write("token", "0123456789abcdef0123\n");
    let mirror = place.mirror(&nobody(), &nobody(), &["--admin-token-file", "token"]);
    let ask = |headers: &[(&str, &str)]| {
        client::send(mirror.admin, "GET", "/api/v1/status", headers, b"").status
    };
    assert_eq!(ask(&[]), 401);
    assert_eq!(ask(&[("authorization", "Bearer wrong")]), 401);
    assert_eq!(
        ask(&[("authorization", "Bearer 0123456789abcdef0123")]),
        200
    );
    assert_eq!(mirror.ask("/healthz").status, 200);
    assert!(!mirror.log().contains("0123456789abcdef"));
    mirror.stop();
}

#[test]
fn parity_ui_serves_a_store_alone() {
    let (legacy, candidate) = (Service::json("{\"a\":1}"), Service::json("{\"a\":2}"));
    let place = Place::new();
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    mirror.get("/items/1");
    mirror.stop();
    let ui = place.ui();
    let page = ui.ask("/report").text();
    assert!(
        page.contains("GET /items/{id}") && !page.contains("Stop shadowing"),
        "{page}"
    );
    assert_eq!(ui.ask("/api/v1/status").status, 404);
    let id = ui.ask("/api/v1/report").json()["groups"][0]["example_id"]
        .as_str()
        .expect("an id")
        .to_owned();
    let page = ui.ask(&format!("/mismatches/{id}")).text();
    assert!(
        page.contains("Findings") && page.contains("Candidate"),
        "{page}"
    );
    assert_eq!(ui.stop().0, 0);
}

#[test]
fn the_page_of_a_mismatch_shows_what_changed_and_what_counts_as_equal() {
    let text = |price: &str, number: &str, last: &str| {
        format!(r#"{{"price":"{price}","n":{number},"text":"one\ntwo\n{last}"}}"#)
    };
    let legacy = Service::json(&text("12.50", "1.0", "three"));
    let candidate = Service::json(&text("12.51", "1", "<b>four"));
    let place = Place::new();
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    mirror.get("/items/1");
    let report = mirror.settled(1);
    let id = report.0["groups"][0]["example_id"].clone();
    let page = mirror
        .ask(&format!("/mismatches/{}", id.as_str().expect("an id")))
        .text();
    let overview = mirror.ask("/report").text();
    mirror.stop();
    for line in [
        "12.5<mark>0</mark>",
        "12.5<mark>1</mark>",
        "> two</span>",
        "1 × the same number in other digits: <code>/n</code>",
    ] {
        assert!(page.contains(line), "{line}: {page}");
    }
    assert!(
        page.contains(r#"<span class="candidate">+"#) && page.contains("four"),
        "{page}"
    );
    assert!(!page.contains("<b>four"), "{page}");
    assert!(
        overview.contains(r#"id="headline">1 of 1 compared request differs"#),
        "{overview}"
    );
}

#[test]
fn a_page_without_comparisons_says_so() {
    let place = Place::new();
    let legacy = Service::json("{}");
    let mirror = place.mirror(&legacy.url(), &nobody(), &[]);
    client::send(mirror.address, "POST", "/items", &[], b"");
    mirror.settled(1);
    let page = mirror.ask("/report").text();
    mirror.stop();
    assert!(
        page.contains("nothing compared</span>") && page.contains("of 1 request received"),
        "{page}"
    );
    assert!(place.run(&["report"]).stdout.contains("NOTHING COMPARED"));
}

#[test]
fn the_page_shows_what_the_text_of_the_report_shows() {
    let (legacy, candidate) = (Service::json("{\"a\":null}"), Service::json("{\"a\":[]}"));
    let place = Place::new();
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    for id in 1..=3 {
        mirror.get(&format!("/items/{id}"));
    }
    client::send(mirror.address, "POST", "/orders", &[], b"");
    mirror.settled(4);
    let page = mirror.ask("/report").text();
    let text = place.run(&["report"]).stdout;
    mirror.stop();
    for told in [
        "legacy (no version) · candidate (no version)",
        "explanations = [",
    ] {
        assert!(text.contains(told), "{told}: {text}");
    }
    assert!(text.contains("NOT COMPARED"), "{text}");
    // The hint has quotation marks, which HTML writes as numbers.
    let hint = "explanations = [&#34;null_vs_empty&#34;], or a profile (<code>parity rules</code>)";
    for told in ["legacy (no version) · candidate (no version)", hint] {
        assert!(page.contains(told), "{told}: {page}");
    }
    // What stands before names routes, too.
    let (_, routes) = page
        .split_once("<h2>Routes</h2>")
        .expect("the table of routes");
    let rows: Vec<&str> = routes.split("<tr>").skip(1).collect();
    let cells = |first: &str| -> Vec<&str> {
        let first = format!(">{first}<");
        let row = rows.iter().find(|row| row.contains(&first));
        let cells = row.expect("a row").split("</t");
        cells
            .filter_map(|cell| Some(cell.rsplit_once('>')?.1))
            .collect()
    };
    let heads = cells("Route");
    let column = heads.iter().position(|head| *head == "Not compared");
    let column = column.expect("a column");
    for (route, count) in [
        ("POST /orders", "1"),
        ("GET /items/{id}", "0"),
        ("all", "1"),
    ] {
        assert_eq!(cells(route)[column], count, "{route}: {page}");
    }
}
