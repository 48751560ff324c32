//! GraphQL: requests are counted by operation, and what is not proven to read never reaches the candidate.

use parity_mirror::Mode;
use parity_schemas::clients::ClientOutcome;
use parity_schemas::route::RoutePolicy;
use parity_schemas::verdict::Reason;

use crate::support::{Client, Rig, Running, Service, ok};

/// Larger than what an operation is read from, and than a body that is compared.
pub(crate) const MEGABYTE: usize = 1 << 20;

pub(crate) fn counted() -> RoutePolicy {
    RoutePolicy {
        graphql: true,
        ..RoutePolicy::default()
    }
}

pub(crate) fn queries() -> RoutePolicy {
    RoutePolicy {
        shadow_queries: true,
        ..counted()
    }
}

pub(crate) fn everything() -> RoutePolicy {
    RoutePolicy {
        shadow: Some(true),
        ..counted()
    }
}

pub(crate) fn between(legacy: &Service, candidate: &Service, policy: RoutePolicy) -> Rig {
    Rig::new(legacy, candidate).routed("* /graphql", policy)
}

pub(crate) fn head(target: &str, more: &str, length: usize) -> String {
    format!("POST {target} HTTP/1.1\r\nhost: test\r\ncontent-length: {length}\r\n{more}\r\n")
}

fn post_as(client: &mut Client, media: &str, body: &str) -> u16 {
    let head = head(
        "/graphql",
        &format!("content-type: {media}\r\n"),
        body.len(),
    );
    client.send(head + body).reply().status()
}

pub(crate) fn post(client: &mut Client, body: &str) -> u16 {
    post_as(client, "application/json", body)
}

/// The route of the one request and what became of it: `None` for an exchange.
fn outcome(mirror: &Running, exchanged: bool) -> (String, Option<Reason>) {
    if exchanged {
        return (mirror.ledger.exchange().route.to_string(), None);
    }
    mirror.ledger.reasons(1);
    let (route, reason) = mirror.ledger.not_compared().remove(0);
    (route, Some(reason))
}

#[test]
fn requests_are_counted_by_operation_and_only_what_is_allowed_is_shadowed() {
    let unsafe_method = Some(Reason::UnsafeMethod);
    let query = r#"{"query":"query Orders { orders { id } }"}"#;
    let mutation = r#"{"query":"mutation Pay { pay { id } }"}"#;
    let subscription = r#"{"query":"subscription Ticks { tick }"}"#;
    let stored = r#"{"extensions":{"persistedQuery":{"version":1,"sha256Hash":"1a2b3c4d5e6f1a2b3c4d5e6f1a2b3c4d5e6f1a2b3c4d5e6f1a2b3c4d5e6f1a2b"}}}"#;
    let hidden = r#"{"query":"query A { a } mutation B { b }","operationName":"A"}"#;
    for (policy, body, route, expected) in [
        (counted(), query, "query Orders", unsafe_method),
        (counted(), mutation, "mutation Pay", unsafe_method),
        (queries(), query, "query Orders", None),
        (queries(), mutation, "mutation Pay", unsafe_method),
        (queries(), subscription, "subscription Ticks", unsafe_method),
        (queries(), stored, "persisted 1a2b3c4d5e6f", unsafe_method),
        (queries(), hidden, "query A", unsafe_method),
        (queries(), "{", "unknown", unsafe_method),
        (queries(), "[]", "unknown", unsafe_method),
        (everything(), mutation, "mutation Pay", None),
        (everything(), stored, "persisted 1a2b3c4d5e6f", None),
        (everything(), "{", "unknown", None),
        (
            everything(),
            subscription,
            "subscription Ticks",
            unsafe_method,
        ),
    ] {
        let (legacy, candidate) = (Service::saying(ok("a")), Service::saying(ok("a")));
        let mirror = between(&legacy, &candidate, policy).start();
        assert_eq!(post(&mut mirror.client(), body), 200);
        let route = format!("* /graphql {route}");
        assert_eq!(
            outcome(&mirror, expected.is_none()),
            (route.clone(), expected),
            "{body}"
        );
        assert_eq!(legacy.requests(1)[0].body, body.as_bytes());
        let shadows = candidate.seen();
        assert_eq!(shadows.len(), usize::from(expected.is_none()), "{body}");
        assert!(shadows.iter().all(|shadow| shadow.body == body.as_bytes()));
        assert_eq!(mirror.ledger.clients(1), [ClientOutcome::of_status(200)]);
        assert_eq!(mirror.ledger.named(), std::slice::from_ref(&route));
        assert_eq!(mirror.ledger.answered(), [(route, 200)]);
        mirror.wait_free();
    }
}

#[test]
fn a_get_is_read_by_its_target_and_a_mutation_in_it_is_none() {
    let (legacy, candidate) = (Service::saying(ok("a")), Service::saying(ok("a")));
    let mirror = between(&legacy, &candidate, counted()).start();
    let mut client = mirror.client();
    for target in [
        "/graphql?query=mutation%7Bpay%7D",
        "/graphql?query=subscription%7Ba%7D",
        "/graphql?query=%7Ba",
        "/graphql?query=%7Ba%7D&query=mutation%7Bpay%7D",
    ] {
        assert_eq!(client.get(target).status(), 200);
    }
    assert_eq!(mirror.ledger.reasons(4), [Reason::UnsafeMethod; 4]);
    let routes: Vec<String> = mirror
        .ledger
        .not_compared()
        .into_iter()
        .map(|(route, _)| route)
        .collect();
    assert_eq!(
        routes,
        [
            "* /graphql mutation",
            "* /graphql subscription",
            "* /graphql unknown",
            "* /graphql unknown"
        ]
    );
    assert!(candidate.seen().is_empty());
    client.get("/graphql?query=query%20Orders%7Ba%7D");
    assert_eq!(
        mirror.ledger.exchange().route.label(),
        "* /graphql query Orders"
    );
}

/// The services alone know what a hash or an id stands for, so by default it is taken for a mutation, also by GET.
#[test]
fn a_document_that_a_get_only_names_is_sent_where_queries_are_said_to_be_safe() {
    const STORED: &str = "/graphql?documentId=sha256:1a2b3c4d5e6f1a2b3c4d5e6f1a2b3c4d5e6f1a2b3c4d5e6f1a2b3c4d5e6f1a2b";
    let targets = [STORED, "/graphql", "/graphql?doc_id=7"];
    let (legacy, candidate) = (Service::saying(ok("a")), Service::saying(ok("a")));
    let mirror = between(&legacy, &candidate, counted()).start();
    let mut client = mirror.client();
    for target in targets {
        assert_eq!(client.get(target).status(), 200);
    }
    assert_eq!(mirror.ledger.reasons(3), [Reason::UnsafeMethod; 3]);
    assert!(candidate.seen().is_empty());

    let mirror = between(&legacy, &candidate, queries()).start();
    let mut client = mirror.client();
    for target in targets {
        client.get(target);
    }
    let mut routes: Vec<String> = mirror
        .ledger
        .exchanges(3)
        .iter()
        .map(|one| one.route.to_string())
        .collect();
    routes.sort();
    assert_eq!(
        routes,
        [
            "* /graphql persisted 1a2b3c4d5e6f",
            "* /graphql unknown",
            "* /graphql unknown"
        ]
    );
    // By its own [[route]], and no other one.
    let stored = RoutePolicy {
        shadow: Some(true),
        ..RoutePolicy::default()
    };
    let (legacy, candidate) = (Service::saying(ok("a")), Service::saying(ok("a")));
    let mirror = between(&legacy, &candidate, counted())
        .routed("* /graphql persisted 1a2b3c4d5e6f", stored)
        .start();
    let mut client = mirror.client();
    client.get(&STORED.replace("1a2b", "2b1a"));
    mirror.ledger.reasons(1);
    client.get(STORED);
    assert_eq!(
        mirror.ledger.exchange().route.label(),
        "* /graphql persisted 1a2b3c4d5e6f"
    );
    let body = r#"{"documentId":"sha256:1a2b3c4d5e6f1a2b3c4d5e6f1a2b3c4d5e6f1a2b3c4d5e6f1a2b3c4d5e6f1a2b"}"#;
    post(&mut client, body);
    assert_eq!(
        mirror.ledger.exchange().request.body.contiguous(),
        body.as_bytes()
    );
    assert_eq!(candidate.seen().len(), 2);
}

#[test]
fn what_cannot_be_read_is_not_shadowed_as_a_query() {
    let query = r#"{"query":"{ a }"}"#;
    let variables = format!(
        r#"{{"query":"{{ a }}","variables":{{"x":"{}"}}}}"#,
        "x".repeat(MEGABYTE / 2)
    );
    let large = format!(
        r#"{{"query":"{{ a }}","variables":{{"x":"{}"}}}}"#,
        "x".repeat(MEGABYTE * 2)
    );
    for (target, more, body) in [
        ("/graphql", "content-type: text/plain\r\n", query),
        (
            "/graphql",
            "content-type: multipart/form-data; boundary=x\r\n",
            query,
        ),
        ("/graphql", "", query),
        (
            "/graphql",
            "content-type: application/json\r\ncontent-type: application/graphql\r\n",
            query,
        ),
        (
            "/graphql",
            "content-type: application/json\r\ncontent-encoding: gzip\r\n",
            query,
        ),
        (
            "/graphql?query=mutation%7Bb%7D",
            "content-type: application/json\r\n",
            query,
        ),
        ("/graphql", "content-type: application/json\r\n", &variables),
        ("/graphql", "content-type: application/json\r\n", &large),
        ("/graphql", "content-type: application/json\r\n", ""),
    ] {
        let (legacy, candidate) = (Service::saying(ok("a")), Service::saying(ok("a")));
        let mirror = between(&legacy, &candidate, queries()).start();
        let mut client = mirror.client();
        client.send(head(target, more, body.len())).send(body);
        assert_eq!(client.reply().status(), 200);
        let expected = ("* /graphql unknown".to_owned(), Some(Reason::UnsafeMethod));
        assert_eq!(outcome(&mirror, false), expected, "{target} {more}");
        assert_eq!(legacy.requests(1)[0].body.len(), body.len());
        assert!(candidate.seen().is_empty());
        mirror.wait_free();
    }
}

#[test]
fn other_methods_and_other_routes_are_no_graphql() {
    let (legacy, candidate) = (Service::saying(ok("a")), Service::saying(ok("a")));
    let mirror = between(&legacy, &candidate, queries()).start();
    let mut client = mirror.client();
    client.ask("OPTIONS", "/graphql");
    assert_eq!(mirror.ledger.exchange().route.label(), "* /graphql");
    let body = r#"{"query":"{ a }"}"#;
    let head = head("/orders", "content-type: application/json\r\n", body.len());
    client.send(head + body).reply();
    mirror.ledger.reasons(2);
    assert_eq!(
        mirror.ledger.not_compared(),
        [("POST /orders".to_owned(), Reason::UnsafeMethod)]
    );
}

#[test]
fn a_request_that_ends_early_is_counted_once() {
    let query = r#"{"query":"query Orders { a }"}"#;
    // The client leaves in the middle of the body.
    for (policy, reason) in [
        (counted(), Reason::UnsafeMethod),
        (queries(), Reason::ClientAborted),
    ] {
        let service = Service::saying(ok("a"));
        let mirror = between(&service, &service, policy).start();
        let mut client = mirror.client();
        client.send(head(
            "/graphql",
            "content-type: application/json\r\n",
            query.len(),
        ));
        client.send(&query.as_bytes()[..9]);
        mirror.ledger.wait_received(1);
        drop(client);
        assert_eq!(
            outcome(&mirror, false),
            ("* /graphql unknown".to_owned(), Some(reason))
        );
        assert_eq!(mirror.ledger.client(), ClientOutcome::ClientAborted);
    }
    // The legacy is down: what is never shadowed is no failure of the legacy.
    for (policy, reason) in [
        (counted(), Reason::UnsafeMethod),
        (queries(), Reason::LegacyUnreachable),
    ] {
        let (legacy, candidate) = (Service::refusing(), Service::saying(ok("a")));
        let mirror = between(&legacy, &candidate, policy).start();
        assert_eq!(post(&mut mirror.client(), query), 502);
        assert_eq!(outcome(&mirror, false).1, Some(reason));
    }
}

#[test]
fn a_tap_asks_neither_service_for_what_is_not_allowed() {
    let (legacy, candidate) = (Service::saying(ok("a")), Service::saying(ok("a")));
    let mirror = between(&legacy, &candidate, queries())
        .policy(|policy| policy.mode = Mode::Tap)
        .start();
    let mut client = mirror.client();
    assert_eq!(post(&mut client, r#"{"query":"mutation { b }"}"#), 204);
    assert_eq!(mirror.ledger.reasons(1), [Reason::UnsafeMethod]);
    assert!(legacy.seen().is_empty() && candidate.seen().is_empty());
    assert_eq!(
        post_as(&mut client, "application/graphql", "query Orders { a }"),
        204
    );
    assert_eq!(
        mirror.ledger.exchange().route.label(),
        "* /graphql query Orders"
    );
    assert_eq!(
        (legacy.requests(1).len(), candidate.requests(1).len()),
        (1, 1)
    );
}

#[test]
fn what_is_sampled_out_is_named_and_a_mutation_stays_unsafe() {
    let service = Service::saying(ok("a"));
    let policy = RoutePolicy {
        sample: Some(0.0),
        ..queries()
    };
    let mirror = between(&service, &service, policy).start();
    let mut client = mirror.client();
    post(&mut client, r#"{"query":"query Orders { a }"}"#);
    post(&mut client, r#"{"query":"mutation Pay { a }"}"#);
    mirror.ledger.reasons(2);
    let mut outcomes = mirror.ledger.not_compared();
    outcomes.sort();
    assert_eq!(
        outcomes,
        [
            ("* /graphql mutation Pay".to_owned(), Reason::UnsafeMethod),
            ("* /graphql query Orders".to_owned(), Reason::SampledOut),
        ]
    );
}
