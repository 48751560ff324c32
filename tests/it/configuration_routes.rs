//! Routes that nothing gets to, and rules for routes that no request has: each would be without effect, so each is refused.

use crate::configuration::{UPSTREAMS, refused};
use crate::support::process::Place;

fn rule_for(route: &str) -> String {
    format!(
        "[[rule]]\nid = \"any\"\nroute = \"{route}\"\npath = \"/tags\"\naction = \"unordered\"\n"
    )
}

fn declared(routes: &[&str]) -> String {
    routes.iter().fold(String::new(), |text, route| {
        text + "[[route]]\nmatch = \"" + route + "\"\n"
    })
}

#[test]
fn a_rule_for_a_route_that_no_request_has_is_refused_with_the_one_that_they_have() {
    for (route, called) in [
        ("GET /shops/{shop}/stock", "GET /shops/{id}/stock"),
        ("GET /users/{userId}", "GET /users/{id}"),
        ("GET /users/42", "GET /users/{id}"),
        ("* /users/{id}", "GET /users/{id}"),
    ] {
        refused(
            &format!("{UPSTREAMS}{}", rule_for(route)),
            &[
                &format!(
                    "parity.toml:6:1: rule `any`: no request has the route `{route}`: a report calls its requests `{called}`"
                ),
                &format!("write `route = \"{called}\"` if the report has that route"),
                &format!("`match = \"{route}\"`"),
            ],
        );
    }
    // The name of the [[route]] is another one.
    refused(
        &format!(
            "{UPSTREAMS}{}{}",
            declared(&["GET /users/{name}"]),
            rule_for("GET /users/{id}")
        ),
        &[
            "parity.toml:8:1: rule `any`: no request has the route",
            "write `route = \"GET /users/{name}\"`, as the [[route]] is called",
        ],
    );
}

#[test]
fn a_rule_for_a_route_of_the_file_or_of_a_report_is_accepted() {
    let place = Place::new();
    for (routes, route) in [
        (&[][..], "GET /users/{id}"),
        (&[], "get  /users/{id}"),
        (&[], "GET /shops/north/stock"),
        (&["GET /shops/{shop}/stock"], "GET /shops/{shop}/stock"),
        (&["* /files/{*path}"], "* /files/{*path}"),
        (&["GET /users/me"], "GET /users/{id}"),
    ] {
        let text = format!("{UPSTREAMS}{}{}", declared(routes), rule_for(route));
        place.write("parity.toml", &text);
        let ended = place.run(&["config", "check"]);
        assert_eq!(ended.code, 0, "{text}\n{}", ended.stderr);
    }
}

#[test]
fn a_route_that_gets_no_request_is_refused_and_both_lines_are_named() {
    refused(
        &format!(
            "{UPSTREAMS}{}",
            declared(&["* /{*rest}", "GET /users/{id}"])
        ),
        &[
            "parity.toml:7:1: match: `GET /users/{id}` gets no request: `* /{*rest}` at parity.toml:5:1 takes them all",
            "put it before that one",
        ],
    );
    refused(
        &format!(
            "{UPSTREAMS}{}",
            declared(&["GET /users/{id}", "GET /orders", "GET /users/{name}"])
        ),
        &[
            "parity.toml:9:1: match: `GET /users/{name}` matches the same requests as `GET /users/{id}` at parity.toml:5:1",
            "keep one of them",
        ],
    );
    let place = Place::new();
    let routes = ["GET /users/me", "GET /users/{id}", "* /{*rest}"];
    place.write("parity.toml", format!("{UPSTREAMS}{}", declared(&routes)));
    let ended = place.run(&["config", "check"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
}

#[test]
fn a_placeholder_as_other_routers_write_it_is_refused_with_ours() {
    refused(
        &format!("{UPSTREAMS}{}", declared(&["GET /invoices/:id"])),
        &[
            "parity.toml:5:1: match: segment `:id`: a placeholder is written in braces; write `/invoices/{id}`",
        ],
    );
    refused(
        &format!("{UPSTREAMS}{}", rule_for("GET /invoices/:id")),
        &[
            "parity.toml:6:1: rule `any`: segment `:id`",
            "write `/invoices/{id}`",
        ],
    );
}

#[test]
fn what_can_never_apply_to_graphql_is_refused() {
    let endpoint = "[[route]]\nmatch = \"POST /graphql\"\n";
    for (text, words) in [
        (
            format!("{endpoint}shadow_queries = true\n"),
            [
                "parity.toml:6:1: shadow_queries: whether a request is a query is only read where graphql = true",
                "write `graphql = true` beside it",
            ],
        ),
        (
            format!("{endpoint}graphql = true\nshadow_queries = true\nshadow = false\n"),
            [
                "parity.toml:7:1: shadow_queries: has no effect beside `shadow`",
                "shadow = true sends mutations, too",
            ],
        ),
        (
            "[[route]]\nmatch = \"PUT /graphql\"\ngraphql = true\n".to_owned(),
            [
                "parity.toml:6:1: graphql: GraphQL has no requests with PUT",
                "match POST, GET, or `*` for both",
            ],
        ),
        (
            format!("{endpoint}graphql = \"sometimes\"\n"),
            ["parity.toml:6:1: graphql: `sometimes`", ""],
        ),
        (
            endpoint.to_owned() + &rule_for("POST /graphql query Orders"),
            [
                "parity.toml:8:1: rule `any`: no request has the route `POST /graphql query Orders`",
                "`match = \"POST /graphql\"` and `graphql = true`",
            ],
        ),
        (
            endpoint.to_owned() + &known_for("POST /graphql query Orders"),
            [
                "parity.toml:8:1: known difference `k`: route: no request has the route `POST /graphql query Orders`",
                "`match = \"POST /graphql\"` and `graphql = true`",
            ],
        ),
        (
            endpoint.to_owned() + &known_for("POST /graphql querry Orders"),
            [
                "parity.toml:8:1: known difference `k`: route: `querry Orders` behind the path is no GraphQL operation",
                "",
            ],
        ),
        (
            endpoint.to_owned() + &rule_for("POST /graphql query Orders { a }"),
            [
                "parity.toml:8:1: rule `any`: `query Orders { a }` behind the path is no GraphQL operation as a report names it",
                "",
            ],
        ),
    ] {
        refused(&format!("{UPSTREAMS}{text}"), &words);
    }
    let place = Place::new();
    let fine = format!(
        "{UPSTREAMS}{endpoint}graphql = true\nshadow_queries = true\n{}",
        rule_for("POST /graphql query Orders")
    );
    place.write("parity.toml", &fine);
    let ended = place.run(&["config", "check"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
}

fn known_for(route: &str) -> String {
    format!(
        "[[known]]\nid = \"k\"\nroute = \"{route}\"\npath = \"/a\"\nowner = \"o\"\nreason = \"r\"\n"
    )
}

const COUNTED: &str = "[[route]]\nmatch = \"POST /graphql\"\ngraphql = true\n";
const FIELDS: &str = "fields = [\"quote\"]";

fn operation(name: &str, keys: &str) -> String {
    format!("[[route]]\nmatch = \"POST /graphql {name}\"\n{keys}\n")
}

#[test]
fn what_is_said_of_one_operation_and_can_never_apply_is_refused() {
    for (text, words) in [
        (
            operation("mutation Quote", &format!("shadow = true\n{FIELDS}")),
            [
                "parity.toml:5:1: match: no request has the route `POST /graphql mutation Quote`: operations are only told apart on a GraphQL endpoint",
                "declare a [[route]] with `match = \"POST /graphql\"` and `graphql = true`",
            ],
        ),
        (
            format!(
                "[[route]]\nmatch = \"* /graphql\"\ngraphql = true\n{}",
                operation("query Orders", "shadow = true")
            ),
            [
                "parity.toml:8:1: match: no request has the route `POST /graphql query Orders`",
                "`match = \"POST /graphql\"`",
            ],
        ),
        (
            COUNTED.to_owned() + &operation("mutation Quote", "shadow = true"),
            [
                "parity.toml:9:1: shadow: a client may give this name to any mutation",
                "such as fields = [\"quote\"]",
            ],
        ),
        (
            COUNTED.to_owned() + &operation("mutation", "recheck = true"),
            [
                "parity.toml:9:1: recheck: a client may give this name to any mutation",
                "such as fields = [\"quote\"]",
            ],
        ),
        (
            COUNTED.to_owned() + &operation("mutation Quote", "shadow = true\nfields = []"),
            [
                "parity.toml:10:1: fields: there is none",
                "such as [\"quote\"]",
            ],
        ),
        (
            COUNTED.to_owned()
                + &operation(
                    "mutation Quote",
                    "shadow = true\nfields = [\"quote { id }\"]",
                ),
            [
                "parity.toml:10:1: fields: `quote { id }` is no name of a field",
                "write it as the schema has it",
            ],
        ),
        (
            COUNTED.to_owned() + &operation("query Orders", FIELDS),
            [
                "parity.toml:9:1: fields: `query Orders` is no mutation",
                "leave it out",
            ],
        ),
        (
            format!("[[route]]\nmatch = \"POST /quotes\"\n{FIELDS}\n"),
            [
                "parity.toml:6:1: fields: only the [[route]] of one mutation of a GraphQL endpoint has them",
                "match = \"POST /graphql mutation Quote\"",
            ],
        ),
        (
            COUNTED.to_owned() + &operation("query Orders", "shadow_queries = true"),
            [
                "parity.toml:9:1: shadow_queries: is said of an endpoint",
                "match = \"POST /graphql\"",
            ],
        ),
    ] {
        refused(&format!("{UPSTREAMS}{text}"), &words);
    }
}

#[test]
fn what_would_open_more_than_one_operation_is_refused() {
    for (text, words) in [
        (
            COUNTED.to_owned() + &operation("query batch", ""),
            [
                "parity.toml:8:1: match: a batch has no [[route]] of its own",
                "name the operations",
            ],
        ),
        (
            COUNTED.to_owned() + &operation("subscription Ticks", "shadow = true"),
            ["parity.toml:9:1: shadow: no subscription is sent", ""],
        ),
        (
            COUNTED.to_owned() + &operation("unknown", "shadow = true"),
            [
                "parity.toml:9:1: shadow: what cannot be read may be any mutation",
                "write shadow = true in the [[route]] with match = \"POST /graphql\"",
            ],
        ),
        (
            format!("{COUNTED}shadow = true\n") + &operation("mutation Pay", "shadow = false"),
            [
                "parity.toml:9:1: shadow: `POST /graphql` sends every mutation, also what this one does under another name",
                "write one with shadow = true for each mutation that may be sent",
            ],
        ),
        (
            COUNTED.to_owned()
                + &operation("query Orders", "shadow = true")
                + &operation("query Orders", "shadow = false"),
            [
                "parity.toml:11:1: match: `POST /graphql query Orders` matches the same requests",
                "keep one of them",
            ],
        ),
        (
            "[[route]]\nmatch = \"GET /my path\"\n".to_owned(),
            [
                "parity.toml:5:1: match: `path` behind the path is no GraphQL operation as a report names it",
                "%20",
            ],
        ),
    ] {
        refused(&format!("{UPSTREAMS}{text}"), &words);
    }
}

#[test]
fn what_is_said_of_one_operation_of_a_graphql_endpoint_is_accepted() {
    let place = Place::new();
    let fine = [
        COUNTED.to_owned(),
        operation(
            "mutation Quote",
            "shadow = true\nrecheck = true\nsample = 0.5\nfields = [\"quote\"]",
        ),
        operation("mutation", "shadow = true\nfields = [\"quote\", \"rate\"]"),
        operation("query  Orders", "shadow = true"),
        operation("persisted Orders 1a2b3c4d5e6f", "shadow = true"),
        operation("unknown", "shadow = false"),
        rule_for("POST /graphql  mutation Quote"),
        known_for("post /graphql query Orders"),
    ];
    place.write("parity.toml", format!("{UPSTREAMS}{}", fine.concat()));
    let ended = place.run(&["config", "check"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
}
