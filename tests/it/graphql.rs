//! GraphQL between real services: counted by operation, errors apart from data, and no mutation at the candidate.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::support::client::{Connection, send};
use crate::support::process::{Mirror, Place};
use crate::support::service::{Answer, Request, Service};
use crate::support::wait_for;

const QUERIES: &str = "[[route]]
match = \"POST /graphql\"
graphql = true
shadow_queries = true
[[route]]
match = \"GET /graphql\"
graphql = true
";
/// As many routes as one process counts under names of their own.
const ROUTES: usize = 1_000;

/// A service that answers by the operation, and remembers what it was asked.
fn service(is_candidate: bool) -> (Service, Arc<Mutex<Vec<String>>>) {
    let asked = Arc::<Mutex<Vec<String>>>::default();
    let log = Arc::clone(&asked);
    let service = Service::start(move |request: &Request| {
        let body = String::from_utf8_lossy(&request.body).into_owned();
        let error = |message: &str, line: usize| json!({"message": message, "path": [message], "locations": [{"line": line, "column": 1}]});
        let answer = if body.contains("Failing") && is_candidate {
            json!({"data": null, "errors": [error("boom", 1)]})
        } else if body.contains("Partly") {
            let mut errors = vec![error("a", 1), error("b", 2)];
            if is_candidate {
                errors = vec![error("b", 7), error("a", 8)];
            }
            json!({"data": {"orders": null}, "errors": errors})
        } else {
            json!({"data": {"orders": [{"id": 1}]}})
        };
        log.lock()
            .expect("no panic")
            .push(format!("{} {body}", request.target));
        Answer::json(answer.to_string())
    });
    (service, asked)
}

pub(crate) fn post(mirror: &Mirror<'_>, body: &Value) {
    let body = body.to_string();
    let headers = [("content-type", "application/json")];
    let answer = send(
        mirror.address,
        "POST",
        "/graphql",
        &headers,
        body.as_bytes(),
    );
    assert_eq!(answer.status, 200, "{body}");
    assert!(
        !answer.text().contains("boom"),
        "the client gets the legacy's"
    );
}

/// `received match mismatch` of each route of a report.
pub(crate) fn routes(report: &Value) -> Vec<String> {
    let list = report["routes"].as_array().expect("a list");
    let mut routes: Vec<String> = list
        .iter()
        .map(|route| {
            format!(
                "{} {} {} {}",
                route["route"].as_str().expect("a label"),
                route["received"],
                route["match"],
                route["mismatch"]
            )
        })
        .collect();
    routes.sort();
    routes
}

#[test]
fn operations_are_counted_apart_and_only_queries_reach_the_candidate() {
    let ((legacy, _), (candidate, asked)) = (service(false), service(true));
    let place = Place::new();
    place.write("parity.toml", QUERIES);
    let mirror = place.mirror(
        &legacy.url(),
        &candidate.url(),
        &["--config", "parity.toml"],
    );
    let query = |text: &str| post(&mirror, &json!({ "query": text }));
    query("query Orders { orders { id } }");
    query("query Partly { orders { id } }");
    query("query Failing { orders { id } }");
    query("mutation Pay { pay(card: \"4111111111111111\") { id } }");
    query("subscription Ticks { tick }");
    query("query Two { a } mutation Hidden { b }");
    query(&format!(
        "query Deep {}a{}",
        "{a".repeat(100_000),
        "}".repeat(100_000)
    ));
    query(&format!(
        "query Large {{ a(t: \"{}\") }}",
        "x".repeat(1 << 20)
    ));
    let aliases = (0..10_000).map(|index| format!("a{index}: b"));
    let aliases = aliases.collect::<Vec<_>>().join(" ");
    query(&format!("query Many {{ {aliases} }}"));
    post(
        &mirror,
        &json!([{"query": "{ a }"}, {"query": "mutation { b }"}]),
    );
    post(
        &mirror,
        &json!({"operationName": "Orders", "extensions": {"persistedQuery": {"version": 1, "sha256Hash": "1a2b3c4d".repeat(8)}}}),
    );
    post(
        &mirror,
        &json!({"operationName": "<script>alert(1)</script>", "query": 7}),
    );
    mirror.get("/graphql?query=query%20Orders%7Borders%7Bid%7D%7D");
    mirror.get("/graphql?query=mutation%20Pay%7Bpay%7Bid%7D%7D");
    let report = mirror.settled(14);
    assert_eq!(
        routes(&report.0),
        [
            "GET /graphql mutation Pay 1 0 0",
            "GET /graphql query Orders 1 1 0",
            "POST /graphql mutation Pay 1 0 0",
            "POST /graphql mutation batch 1 0 0",
            "POST /graphql persisted Orders 1a2b3c4d1a2b 1 0 0",
            "POST /graphql query Failing 1 0 1",
            "POST /graphql query Many 1 1 0",
            "POST /graphql query Orders 1 1 0",
            "POST /graphql query Partly 1 1 0",
            "POST /graphql subscription Ticks 1 0 0",
            "POST /graphql unknown 4 0 0",
        ]
    );
    assert_eq!(report.not_compared()["unsafe_method"], 9);
    // Each is another question, although all have the same path.
    let distinct = report.0["distinct_targets"].as_u64();
    assert_eq!(distinct, Some(5), "{}", report.0);
    assert_eq!(
        report.groups(),
        [
            "POST /graphql query Failing body /data type -",
            "POST /graphql query Failing body /errors errors -",
        ]
    );
    for asked in asked.lock().expect("no panic").iter() {
        assert!(
            !asked.contains("mutation") && !asked.contains("subscription"),
            "{asked:.200}"
        );
    }
    assert_eq!(mirror.stop().0, 0);
    let text = place.run(&["report"]).stdout;
    for expected in [
        "POST /graphql query Failing",
        "GraphQL errors where the legacy has none",
    ] {
        assert!(text.contains(expected), "{expected}\n{text}");
    }
    let store = std::fs::read(place.path().join("parity.db")).expect("a store");
    assert!(!store.windows(16).any(|bytes| bytes == b"4111111111111111"));
}

/// Most routers take these for `/graphql`, and a mutation by GET may be one there.
#[test]
fn no_mutation_is_sent_where_a_router_may_take_a_path_for_the_endpoint() {
    let ((legacy, _), (candidate, asked)) = (service(false), service(true));
    let place = Place::new();
    place.write(
        "parity.toml",
        "[[route]]\nmatch = \"POST /graphql\"\ngraphql = true\nshadow_queries = true\n",
    );
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    let paths = [
        "/graphql",
        "/graphql/",
        "/GraphQL",
        "//graphql",
        "/./graphql",
        "/x/../graphql",
        "/%67raphql",
        "/graphql;v=1",
    ];
    for path in paths {
        for query in [
            "mutation%20Pay%7Bpay%7Bid%7D%7D",
            "%7Bnot%20read",
            "query%20Q%7Ba%7D",
        ] {
            for method in ["GET", "HEAD"] {
                let target = format!("{path}?query={query}");
                let answer = send(mirror.address, method, &target, &[], b"");
                assert_eq!(answer.status, 200, "{target}");
            }
        }
    }
    mirror.get("/graphql/schema?query=mutation%20M%7Bm%7D");
    let all = paths.len() as u64 * 6 + 1;
    let report = mirror.settled(all);
    let refused = report.not_compared()["unsafe_method"];
    assert_eq!(refused, paths.len() as u64 * 4, "{}", report.0);
    let asked = asked.lock().expect("no panic").clone();
    assert!(asked.len() > paths.len() * 2, "{asked:?}");
    let wrong = |asked: &&String| !asked.contains("query%20Q") && !asked.contains("/schema");
    assert_eq!(asked.iter().find(wrong), None);
    mirror.stop();
}

#[test]
fn without_the_setting_no_query_is_sent_and_none_is_told_apart() {
    for (config, label) in [
        ("", "POST /graphql"),
        (
            "[[route]]\nmatch = \"POST /graphql\"\ngraphql = true\n",
            "POST /graphql query Orders",
        ),
    ] {
        let ((legacy, _), (candidate, _)) = (service(false), service(true));
        let place = Place::new();
        place.write("parity.toml", config);
        let mirror = place.mirror(
            &legacy.url(),
            &candidate.url(),
            &["--config", "parity.toml"],
        );
        post(&mirror, &json!({"query": "query Orders { orders { id } }"}));
        let report = mirror.settled(1);
        assert_eq!(routes(&report.0), [format!("{label} 1 0 0")]);
        assert_eq!(candidate.seen(), 0);
        mirror.stop();
    }
}

#[test]
fn names_that_somebody_invents_do_not_fill_the_record() {
    let ((legacy, _), (candidate, _)) = (service(false), service(true));
    let place = Place::new();
    place.write("parity.toml", QUERIES);
    let mirror = place.mirror(
        &legacy.url(),
        &candidate.url(),
        &["--config", "parity.toml"],
    );
    let names = ROUTES + 50;
    let mut connection = Connection::open(mirror.address);
    let headers = [("content-type", "application/json")];
    for number in 0..names {
        // Letters alone: what looks like a value has no route of its own.
        let name: String = [number / 676, number / 26, number]
            .map(|digit| char::from(b'A' + u8::try_from(digit % 26).expect("small")))
            .iter()
            .collect();
        let body = json!({"query": format!("query {name} {{ a }}")}).to_string();
        connection.send("POST", "/graphql", &headers, body.as_bytes());
        assert_eq!(connection.answer("POST").expect("answered").status, 200);
    }
    let body = json!({"query": "query Failing { orders { id } }"}).to_string();
    connection.send("POST", "/graphql", &headers, body.as_bytes());
    connection.answer("POST").expect("answered");
    let report = mirror.settled(names as u64 + 1);
    let found = routes(&report.0);
    // What is beyond the cap counts for the endpoint, also what differs.
    let endpoint = found
        .iter()
        .find(|route| route.starts_with("POST /graphql ") && !route.contains("query"));
    assert_eq!(
        endpoint.map(String::as_str),
        Some("POST /graphql 51 50 1"),
        "{} routes",
        found.len()
    );
    assert_eq!(found.len(), ROUTES + 1);
    mirror.stop();
}

#[test]
fn two_saved_answers_are_compared_as_graphql() {
    let place = Place::new();
    place.write(
        "old.json",
        r#"{"data":{"a":1},"errors":[{"message":"x"},{"message":"y"}]}"#,
    );
    place.write(
        "new.json",
        r#"{"errors":[{"message":"y"},{"message":"x"}],"data":{"a":1}}"#,
    );
    place.write("failed.json", r#"{"data":null,"errors":[{"message":"x"}]}"#);
    place.write("good.json", r#"{"data":{"a":1}}"#);
    for (legacy, candidate, kind, code) in [
        ("old.json", "new.json", "graphql", 0),
        ("old.json", "new.json", "json", 1),
        ("good.json", "failed.json", "graphql", 1),
    ] {
        let ended = place.run(&["diff", legacy, candidate, "--as", kind]);
        assert_eq!(ended.code, code, "{legacy} {kind}\n{}", ended.stdout);
    }
    // A rule of the endpoint is for its operation, too.
    let rule = "[[rule]]\nid = \"failed\"\nroute = \"POST /graphql\"\npath = \"/**\"\naction = \"ignore\"\n";
    place.write(
        "rules.toml",
        format!("[[route]]\nmatch = \"POST /graphql\"\ngraphql = true\n{rule}"),
    );
    for (route, code) in [("POST /graphql query Orders", 0), ("POST /other", 1)] {
        let arguments = ["diff", "good.json", "failed.json", "--as", "graphql"];
        let more = ["--rules", "rules.toml", "--route", route];
        let ended = place.run(&[&arguments[..], &more].concat());
        assert_eq!(ended.code, code, "{}{}", ended.stdout, ended.stderr);
    }
    let failed = place.run(&[
        "diff",
        "good.json",
        "failed.json",
        "--as",
        "graphql",
        "--output",
        "json",
    ]);
    let findings = failed.json()["findings"].clone();
    assert_eq!(findings[1]["kind"], "errors", "{findings}");
}

/// `shadow = true` sends a mutation by GET to the candidate once. Neither service may get it a second time unasked; and what some
/// servers would read as a mutation is no query.
#[test]
fn a_mutation_by_get_is_never_asked_again_and_none_hides_in_an_address_or_a_body() {
    let answers = |of: &'static str| {
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let log = Arc::clone(&asked);
        let service = Service::start(move |request: &Request| {
            log.lock().expect("no panic").push(request.target.clone());
            Answer::json(json!({"data": of}).to_string())
        });
        (service, asked)
    };
    let ((legacy, first), (candidate, second)) = (answers("a"), answers("b"));
    let place = Place::new();
    place.write(
        "parity.toml",
        "[[route]]\nmatch = \"GET /graphql\"\ngraphql = true\nshadow = true\n[[route]]\nmatch = \"GET /other\"\ngraphql = true\n\
         [[route]]\nmatch = \"POST /other\"\ngraphql = true\nshadow_queries = true\n",
    );
    let config = ["--config", "parity.toml"];
    let mirror = place.mirror_with(&legacy.url(), &candidate.url(), &config, |command| {
        command
            .env("PARITY_RECHECK_RATE", "1000")
            .env("PARITY_RECHECK_DELAY", "1ms")
    });
    mirror.get("/graphql?query=mutation%7Bpay%7D");
    mirror.get("/graphql?query=%7Borders%7D");
    let json = [("content-type", "application/json")];
    send(
        mirror.address,
        "GET",
        "/other",
        &json,
        b"{\"query\":\"mutation{pay}\"}",
    );
    for target in [
        "/other?Query=mutation%7Bpay%7D",
        "/other?a=1;query=mutation%7Bpay%7D",
    ] {
        send(
            mirror.address,
            "POST",
            target,
            &json,
            b"{\"query\":\"{ a }\"}",
        );
    }
    mirror.settled(5);
    let times = |log: &Mutex<Vec<String>>, what: &str| {
        let log = log.lock().expect("no panic");
        log.iter().filter(|target| target.contains(what)).count()
    };
    wait_for("the query to be asked again", || {
        let asked = [&first, &second].map(|log| times(log, "/graphql?query=%7Borders"));
        (asked == [2, 2]).then_some(())
    });
    mirror.stop();
    for log in [&first, &second] {
        assert_eq!(times(log, "/graphql?query=mutation"), 1);
        assert_eq!(
            times(log, "/graphql?query=%7Borders"),
            2,
            "a query is asked again"
        );
    }
    assert_eq!((times(&first, "/other"), times(&second, "/other")), (3, 0));
}
