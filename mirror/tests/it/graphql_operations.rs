//! What is said of single GraphQL operations: one mutation is sent where it asks for nothing else, and nothing that only has its
//! name or stands beside it.

use parity_schemas::route::{RoutePolicy, RouteRule};
use parity_schemas::verdict::Reason;

use crate::graphql::{MEGABYTE, between, counted, everything, head, post, queries};
use crate::support::{Rig, Service, ok};

/// A mirror that sends `mutation Quote`, where it asks for nothing but `quote`.
fn one_mutation(legacy: &Service, candidate: &Service, endpoint: RoutePolicy) -> Rig {
    let policy = RoutePolicy {
        shadow: Some(true),
        ..RoutePolicy::default()
    };
    let rule = RouteRule::parse("* /graphql mutation Quote", policy).expect("a route");
    between(legacy, candidate, endpoint).ruled(rule.asking_for(vec!["quote".to_owned()]))
}

#[test]
fn one_mutation_is_sent_alone_and_nothing_that_only_has_its_name() {
    let document = |text: &str| format!(r#"{{"query":"{text}"}}"#);
    let sent = [
        document("mutation Quote { quote(card: 7) { id pay } }"),
        document(
            "mutation Quote($n: Int) @live { q: quote(n: $n) @skip(if: false) { id } __typename }",
        ),
        r#"[{"query":"mutation Quote { quote }"},{"query":"mutation Quote { again: quote }"}]"#
            .to_owned(),
    ];
    let kept = [
        document("mutation Pay { quote }"),
        document("mutation { quote }"),
        document("mutation quote { quote }"),
        document("subscription Quote { quote }"),
        // It has the name, and asks for something else.
        document("mutation Quote { pay }"),
        document("mutation Quote { quote pay }"),
        document("mutation Quote { quote: pay }"),
        document("mutation Quote { quote @a pay }"),
        document("mutation Quote { quote { id } b: pay(quote: 1) }"),
        document("mutation Quote { ...F } fragment F on Mutation { pay }"),
        document("mutation Quote { quote ... on Mutation { pay } }"),
        document("mutation Quote { quote ... @include(if: true) { pay } }"),
        document("mutation Quote { }"),
        // It is not alone.
        r#"{"query":"mutation Quote { quote } mutation Pay { pay }","operationName":"Quote"}"#
            .to_owned(),
        r#"{"query":"mutation Quote { quote } mutation Quote { pay }","operationName":"Quote"}"#
            .to_owned(),
        r#"{"query":"mutation Quote { quote } query A { a }","operationName":"Quote"}"#.to_owned(),
        r#"[{"query":"mutation Quote { quote }"},{"query":"mutation Pay { pay }"}]"#.to_owned(),
        r#"[{"query":"mutation Quote { quote }"},{"documentId":"1"}]"#.to_owned(),
        r#"[{"query":"mutation Quote { quote }"},{"query":"{ a }"}]"#.to_owned(),
        // It can be read in several ways.
        r#"{"query":"mutation Quote { quote }","doc_id":"1"}"#.to_owned(),
        r#"{"query":"mutation Quote { quote }","documentId":"1"}"#.to_owned(),
        r#"{"query":"mutation Quote { quote }","query":"mutation Pay { pay }"}"#.to_owned(),
        r#"{"query":"mutation Quote { quote }","operationName":"Pay"}"#.to_owned(),
        "{".to_owned(),
        format!(
            r#"{{"query":"mutation Quote {{ quote }}","variables":{{"x":"{}"}}}}"#,
            "x".repeat(MEGABYTE / 2)
        ),
    ];
    let (legacy, candidate) = (Service::saying(ok("a")), Service::saying(ok("a")));
    let mirror = one_mutation(&legacy, &candidate, counted()).start();
    let mut client = mirror.client();
    for body in &kept {
        assert_eq!(post(&mut client, body), 200);
    }
    let json = "content-type: application/json
";
    for target in [
        "/graphql?query=mutation%7Bpay%7D",
        "/graphql?operationName=Pay",
    ] {
        let body = &sent[0];
        client
            .send(head(target, json, body.len()))
            .send(body.as_str());
        assert_eq!(client.reply().status(), 200);
    }
    let times = kept.len() + 2;
    assert_eq!(
        mirror.ledger.reasons(times),
        vec![Reason::UnsafeMethod; times]
    );
    let shadows = candidate.seen();
    assert!(
        shadows.is_empty(),
        "{:?}",
        String::from_utf8_lossy(&shadows[0].body)
    );
    let mut client = mirror.client();
    for (body, label, configured) in [
        (&sent[0], "* /graphql mutation Quote", true),
        (&sent[1], "* /graphql mutation Quote", true),
        (&sent[2], "* /graphql mutation batch", false),
    ] {
        post(&mut client, body);
        let exchange = mirror.ledger.exchange();
        assert_eq!(exchange.request.body.contiguous(), body.as_bytes());
        assert_eq!(exchange.route.label(), label);
        assert_eq!(exchange.route.is_configured(), configured);
    }
    client.get("/graphql?query=mutation%20Quote%7Bquote%7D");
    assert_eq!(
        mirror.ledger.exchange().route.label(),
        "* /graphql mutation Quote"
    );
    assert_eq!(candidate.seen().len(), sent.len() + 1);

    // Beside a query it is sent where queries are.
    let mirror = one_mutation(&legacy, &candidate, queries()).start();
    let body = r#"{"query":"mutation Quote { quote } query A { a }","operationName":"A"}"#;
    post(&mut mirror.client(), body);
    assert_eq!(mirror.ledger.exchange().route.label(), "* /graphql query A");
}

#[test]
fn what_is_said_of_one_operation_goes_before_what_is_said_of_all() {
    let (legacy, candidate) = (Service::saying(ok("a")), Service::saying(ok("a")));
    let own = |shadow, sample| RoutePolicy {
        shadow,
        sample,
        ..RoutePolicy::default()
    };
    let endpoint = RoutePolicy {
        sample: Some(0.0),
        ..queries()
    };
    let mirror = between(&legacy, &candidate, endpoint)
        .routed("* /graphql query Rare", own(None, Some(1.0)))
        .routed("* /graphql query Heavy", own(Some(false), None))
        .start();
    let mut client = mirror.client();
    let query = |text: &str| format!(r#"{{"query":"query {text}","operationName":"Rare"}}"#);
    post(&mut client, r#"{"query":"query Orders { a }"}"#);
    post(&mut client, &query("Heavy { a } query Rare { b }"));
    mirror.ledger.reasons(2);
    let mut outcomes = mirror.ledger.not_compared();
    outcomes.sort();
    assert_eq!(
        outcomes,
        [
            ("* /graphql query Orders".to_owned(), Reason::SampledOut),
            ("* /graphql query Rare".to_owned(), Reason::UnsafeMethod),
        ]
    );
    post(&mut client, &query("Rare { a }"));
    assert_eq!(
        mirror.ledger.exchange().route.label(),
        "* /graphql query Rare"
    );
    assert_eq!(candidate.seen().len(), 1);

    // Where all may be sent but one, what cannot be read may be that one by size alone.
    let mirror = between(&legacy, &candidate, everything())
        .routed("* /graphql unknown", own(Some(false), None))
        .start();
    let large = format!(r#"{{"query":"{{ a }}","v":"{}"}}"#, "x".repeat(MEGABYTE));
    post(&mut mirror.client(), &large);
    assert_eq!(mirror.ledger.reasons(1), [Reason::UnsafeMethod]);
}
