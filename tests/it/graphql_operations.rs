//! What is said of single GraphQL operations, between real services: one mutation is sent and no other, a stored document only
//! where queries are allowed, and what is left out is said why.

use std::sync::{Arc, Mutex};

use serde_json::json;

use crate::graphql::{post, routes};
use crate::support::process::{Mirror, Place};
use crate::support::service::{Answer, Request, Service};
use crate::support::wait_for;

const ONE_MUTATION: &str = "[[route]]
match = \"POST /graphql\"
graphql = true
[[route]]
match = \"POST /graphql mutation Quote\"
shadow = true
recheck = true
fields = [\"quote\"]
[[route]]
match = \"POST /graphql mutation Rate\"
shadow = true
fields = [\"rate\"]
";

/// A mirror that asks again at once.
fn mirror<'p>(place: &'p Place, [legacy, candidate]: [&Service; 2], config: &str) -> Mirror<'p> {
    place.write("parity.toml", config);
    let config = ["--config", "parity.toml"];
    place.mirror_with(&legacy.url(), &candidate.url(), &config, |command| {
        command
            .env("PARITY_RECHECK_RATE", "1000")
            .env("PARITY_RECHECK_DELAY", "1ms")
    })
}

/// The mutation that may be sent, with a secret.
fn quote_shoe(mirror: &Mirror<'_>) {
    post(
        mirror,
        &json!({
            "query": "mutation Quote($sku: String, $password: String) { quote(sku: $sku, password: $password) { price } }",
            "variables": {"sku": "shoe", "password": "opensesame"}
        }),
    );
}

/// Services that answer every request, the two of them differently, and remember what they were asked.
fn differing() -> [(Service, Arc<Mutex<Vec<String>>>); 2] {
    ["a", "b"].map(|of| {
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let log = Arc::clone(&asked);
        let service = Service::start(move |request: &Request| {
            let body = String::from_utf8_lossy(&request.body);
            log.lock()
                .expect("no panic")
                .push(format!("{} {body}", request.target));
            Answer::json(json!({"data": {"quote": of}}).to_string())
        });
        (service, asked)
    })
}

fn times(log: &Mutex<Vec<String>>, what: &str) -> usize {
    let log = log.lock().expect("no panic");
    log.iter().filter(|asked| asked.contains(what)).count()
}

/// The safe one is compared and asked again. What only has its name, or stands beside another, never reaches the candidate.
#[test]
fn one_mutation_is_compared_and_asked_again_and_every_other_one_is_left_out_with_advice() {
    let [(legacy, first), (candidate, second)] = differing();
    let place = Place::new();
    let mirror = mirror(&place, [&legacy, &candidate], ONE_MUTATION);
    let query = |text: &str| post(&mirror, &json!({ "query": text }));
    query("mutation Pay { pay { id } }");
    query("mutation Quote { pay { id } }");
    query("mutation Quote { quote pay }");
    query("query Orders { orders { id } }");
    post(
        &mirror,
        &json!([{"query": "mutation Quote { quote }"}, {"query": "mutation Pay { pay }"}]),
    );
    // This one may be sent, but not again, also not beside one that may.
    post(
        &mirror,
        &json!({"query": "mutation Rate { rate } mutation Quote { quote }", "operationName": "Quote"}),
    );
    quote_shoe(&mirror);
    let report = mirror.settled(7);
    assert_eq!(
        routes(&report.0),
        [
            "POST /graphql mutation Pay 1 0 0",
            "POST /graphql mutation Quote 4 0 2",
            "POST /graphql mutation batch 1 0 0",
            "POST /graphql query Orders 1 0 0",
        ]
    );
    wait_for("the mutation to be asked again", || {
        let asked = [&first, &second].map(|log| times(log, "$sku"));
        (asked == [2, 2]).then_some(())
    });
    assert_eq!(mirror.stop().0, 0);
    // What may be asked again came last, so what may not would have been asked before it.
    let asked = second.lock().expect("no panic").clone();
    assert_eq!(asked.len(), 3, "{asked:#?}");
    assert!(
        asked.iter().all(|asked| !asked.contains("pay")),
        "{asked:#?}"
    );
    assert_eq!(times(&second, "mutation Rate"), 1);

    let ended = place.run(&["report"]);
    for expected in [
        "POST /graphql mutation Pay: a mutation has side effects.",
        "match = \"POST /graphql mutation Pay\", shadow = true, and in `fields` what it asks for",
        "`shadow = true` in the [[route]] of `POST /graphql` would send every mutation",
        "`shadow_queries = true` in the [[route]] of `POST /graphql`",
    ] {
        assert!(
            ended.stdout.contains(expected),
            "{expected}\n{}",
            ended.stdout
        );
    }
    // Nothing else may stand in its way, so that the route that was never sent is told.
    let required = ["gate", "--max-mismatch-rate", "1", "--require-route"];
    let gate = place.run(&[&required[..], &["POST /graphql mutation Pay"]].concat());
    let gate = gate.stdout;
    assert!(
        gate.contains("POST /graphql mutation Pay: no request compared. The candidate is never asked. POST /graphql mutation Pay: a mutation has side effects"),
        "{gate}"
    );
    let unknown = place.run(&["gate", "--require-route", "POST /graphql mutatoin Pay"]);
    assert_eq!(unknown.code, 2);
    assert!(
        unknown
            .stderr
            .contains("`mutatoin Pay` behind the path is no GraphQL operation"),
        "{}",
        unknown.stderr
    );
}

/// All requests of an endpoint have one address, so a reader needs the operation and its variables.
#[test]
fn which_request_it_was_is_told_wherever_it_is_shown() {
    let [(legacy, _), (candidate, _)] = differing();
    let place = Place::new();
    let mirror = mirror(&place, [&legacy, &candidate], ONE_MUTATION);
    quote_shoe(&mirror);
    let report = mirror.settled(1);
    let found = mirror.ask("/api/v1/mismatches").json();
    let found = found["mismatches"].as_array().expect("a list");
    let with_variables = found
        .iter()
        .find(|one| one["sample"]["request"]["body"].to_string().contains("sku"))
        .expect("its sample is kept");
    let id = with_variables["id"].as_str().expect("an id");
    let page = mirror.ask(&format!("/mismatches/{id}")).text();
    assert!(
        page.contains("<h1>POST /graphql mutation Quote</h1>"),
        "{page}"
    );
    let variables = page
        .lines()
        .find(|line| line.contains("class=\"variables\""))
        .expect("they are shown");
    assert!(
        variables.contains("sku = ") && variables.contains("shoe"),
        "{variables}"
    );
    assert!(
        variables.contains("password = ") && variables.contains("hmac:"),
        "{variables}"
    );
    assert!(!page.contains("opensesame"));
    let example = &report.0["groups"][0]["example"]["target"];
    assert_eq!(example, "/graphql mutation Quote", "{}", report.0["groups"]);
    assert_eq!(mirror.stop().0, 0);
    let text = place.run(&["report"]).stdout;
    assert!(
        text.contains("for example /graphql mutation Quote"),
        "{text}"
    );
}

/// Clients that only send hashes, through a cache: the services know what they stand for, and it may be a mutation.
#[test]
fn a_document_known_by_its_hash_is_left_out_of_a_get_and_said_why_until_queries_are_allowed() {
    let target = format!(
        "/graphql?operationName=Orders&extensions=%7B%22persistedQuery%22:%7B%22version%22:1,%22sha256Hash%22:%22{}%22%7D%7D",
        "1a2b3c4d".repeat(8)
    );
    for (more, sent) in [("", 0), ("shadow_queries = true\n", 2)] {
        let [(legacy, _), (candidate, asked)] = differing();
        let place = Place::new();
        let config = format!("[[route]]\nmatch = \"GET /graphql\"\ngraphql = true\n{more}");
        let mirror = mirror(&place, [&legacy, &candidate], &config);
        mirror.get(&target);
        let report = mirror.settled(1);
        let compared = usize::from(sent > 0);
        assert_eq!(
            routes(&report.0),
            [format!(
                "GET /graphql persisted Orders 1a2b3c4d1a2b 1 0 {compared}"
            )]
        );
        wait_for("it to be asked again", || {
            (times(&asked, "sha256Hash") == sent).then_some(())
        });
        assert_eq!(mirror.stop().0, 0);
        assert_eq!(times(&asked, "sha256Hash"), sent);
        if sent == 0 {
            for command in ["report", "gate"] {
                let text = place.run(&[command]).stdout;
                assert!(
                    text.contains(
                        "the document is only known to the services, and may be a mutation"
                    ),
                    "{command}\n{text}"
                );
            }
        }
    }
}
