//! What each parameter of the API means, its type, and a value that it takes.
//!
//! Parts of a question have their meaning where they are declared (`question`); the others have it here.

use crate::question::{Form, PARTS};

/// The type of a parameter, what it means, and a value that it takes.
pub(super) type Named = (&'static str, &'static str, &'static str);

/// What a parameter of this name may be.
pub(super) fn of_name(name: &str) -> Vec<Named> {
    let named = NAMED.iter().filter(|(known, ..)| *known == name);
    let mut all: Vec<Named> = named
        .map(|(_, kind, about, example)| (*kind, *about, *example))
        .collect();
    if let Some(part) = PARTS.iter().find(|part| part.parameter() == name) {
        let example = OF_PARTS.iter().find(|(known, ..)| *known == name);
        match example {
            Some((_, kind, example)) => all.push((kind, part.about, example)),
            None if part.form == Form::Switch => all.push(("boolean", part.about, "true")),
            None => {}
        }
    }
    all
}

/// Parameters that are no parts of a question: name, type, meaning, example.
const NAMED: [(&str, &str, &str, &str); 28] = [
    (
        "id",
        "string",
        "The id of the record",
        "01900000-0000-7000-8000-000000000000",
    ),
    ("state", "string", "`on` or `off`", "off"),
    (
        "to",
        "string",
        "A percent of the clients from 0 to 100, or `back`",
        "30",
    ),
    (
        "migration",
        "string",
        "Of which effort; that of this process by default",
        "default",
    ),
    (
        "brief",
        "boolean",
        "Only the short form of the decision",
        "true",
    ),
    (
        "route",
        "string",
        "Only of this route, as the report writes it",
        "GET /users/{id}",
    ),
    (
        "fingerprint",
        "string",
        "Only of this group, as the report names it",
        "0123456789abcdef",
    ),
    (
        "class",
        "string",
        "Only mismatches of this class",
        "confirmed",
    ),
    (
        "outcome",
        "string",
        "Only decisions with this outcome",
        "fail",
    ),
    (
        "action",
        "string",
        "Only changes of this kind",
        "shadowing_off",
    ),
    (
        "until",
        "string",
        "Only what began before this: a time or an age, as `since`",
        "1m",
    ),
    (
        "count_excused",
        "boolean",
        "Noise and known differences count, too",
        "true",
    ),
    ("limit", "integer", "How many at most", "50"),
    (
        "after",
        "string",
        "The `next` of the page before, unchanged",
        "50_0123456789abcdef",
    ),
    (
        "after",
        "string",
        "The `next` of the page before, unchanged",
        "2026-01-31T09:30:00.000000Z_01900000-0000-7000-8000-000000000000",
    ),
    (
        "tab",
        "string",
        "Which groups; those that count by default",
        "new",
    ),
    (
        "order",
        "string",
        "In which order; the gravest first by default",
        "count",
    ),
    (
        "find",
        "string",
        "Only groups whose route, place or words contain this text",
        "price",
    ),
    (
        "kind",
        "string",
        "Only groups of this kind of difference",
        "value",
    ),
    (
        "allow_unsafe",
        "boolean",
        "Also a method that may change something is sent",
        "true",
    ),
    (
        "insist",
        "boolean",
        "Also a step for which the candidate has not served enough requests",
        "true",
    ),
    (
        "accept_hidden",
        "boolean",
        "Also without what the record hides of the request",
        "true",
    ),
    (
        "accept_left_out",
        "boolean",
        "What was sent is taken for the whole request, whatever was left out of it",
        "true",
    ),
    // Those of the lists of records; a question has parts of these names, too, which mean the same.
    (
        "since",
        "string",
        "Only what began at this or later: a time (2026-01-31T09:30:00Z) or an age (15m, 2h, 7d)",
        "1h",
    ),
    (
        "candidate_version",
        "string",
        "Only of this version of the candidate",
        "1.7.0",
    ),
    (
        "gone",
        "string",
        "An instance that is not waited for",
        "mirror-1",
    ),
    (
        "expect_instance",
        "string",
        "An instance that must have counted",
        "mirror-1",
    ),
    (
        "noise",
        "string",
        "What becomes of noise: use, report or off",
        "use",
    ),
];

/// Parts of a question that have a value: name, type, example.
const OF_PARTS: [(&str, &str, &str); 16] = [
    (
        "leave_out",
        "string",
        "2026-01-31T09:30:00Z..2026-01-31T09:35:00Z=restart",
    ),
    ("max_mismatch_rate", "number", "0.001"),
    ("confidence", "number", "0.95"),
    ("min_requests", "integer", "300"),
    ("max_dropped", "number", "0.05"),
    ("max_uncomparable", "number", "0.05"),
    ("max_errors", "number", "0.01"),
    ("require_route", "string", "GET /users/{id}"),
    ("min_duration", "string", "1h"),
    ("max_not_compared", "string", "stream=0.01"),
    ("max_candidate_errors", "number", "0.01"),
    ("max_latency", "string", "p99=1.5x"),
    ("min_distinct", "integer", "10"),
    ("min_fields", "number", "0.5"),
    ("max_transient", "number", "0.1"),
    ("max_hidden", "number", "0.1"),
];
