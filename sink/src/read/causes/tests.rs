//! Reports in one line a group, and the causes that must be found in them.

use parity_schemas::recheck::{ClassCounts, EvidenceCounts};
use parity_schemas::report::{CoincidingGroup, GroupExample};
use parity_schemas::time::Timestamp;
use uuid::Uuid;

use super::*;

/// `ROUTE COUNT MEMBER, MEMBER…`, a member being `PART PATTERN KIND EXPLANATION` and, of headers, `LEGACY CANDIDATE`. An
/// explanation with `?` is contradicted.
fn groups(lines: &[&str]) -> Vec<GroupReport> {
    lines
        .iter()
        .enumerate()
        .map(|(index, line)| {
            let (head, members) = line.split_once(": ").expect("a head");
            let (route, count) = head.split_once(' ').expect("a route and a count");
            let mut members: Vec<CoincidingGroup> = members
                .split(", ")
                .enumerate()
                .map(|(place, member)| coinciding(format!("{index}.{place}"), member))
                .collect();
            let first = members.remove(0);
            GroupReport {
                fingerprint: first.fingerprint,
                route: route.to_owned(),
                part: first.part,
                pattern: first.pattern,
                kind: first.kind,
                explanation: first.explanation,
                shape: String::new(),
                classes: ClassCounts::new(),
                evidence: EvidenceCounts::new(),
                against: first.against,
                legacy_status: 200,
                candidate_status: 200,
                count: count.parse().expect("a count"),
                first_seen: Timestamp::default(),
                last_seen: Timestamp::default(),
                example_id: Uuid::nil(),
                example: first.example,
                also: members,
            }
        })
        .collect()
}

fn coinciding(fingerprint: String, member: &str) -> CoincidingGroup {
    let words: Vec<&str> = member.split(' ').collect();
    let value = |place: usize| words.get(place).map(|value| (*value).to_owned());
    CoincidingGroup {
        fingerprint,
        part: words[0].parse().expect("a part"),
        pattern: words[1].to_owned(),
        kind: words[2].parse().expect("a kind"),
        explanation: words[3].trim_end_matches('?').parse().ok(),
        shape: String::new(),
        classes: ClassCounts::new(),
        evidence: EvidenceCounts::new(),
        against: u64::from(words[3].ends_with('?')),
        example: value(4).map(|legacy| GroupExample {
            target: "/".to_owned(),
            path: words[1].to_owned(),
            candidate_path: None,
            legacy: Some(legacy),
            candidate: value(5),
            text_diff: None,
        }),
    }
}

/// `NAME FINDINGS in AT_LEAST on ROUTES: FINGERPRINTS`.
fn told(lines: &[&str]) -> Vec<String> {
    causes(&groups(lines))
        .iter()
        .map(|cause| {
            let name = match (&cause.pattern, cause.explanation) {
                (Some(field), _) => field.as_str(),
                (None, explanation) => explanation.map_or("", Explanation::as_str),
            };
            format!(
                "{name} {} in {} on {}: {}",
                cause.findings,
                cause.at_least,
                cause.routes,
                cause.fingerprints.join(" ")
            )
        })
        .collect()
}

#[test]
fn groups_with_one_explanation_have_one_cause_and_are_not_added_up_within_a_route() {
    assert_eq!(
        told(&[
            "GET_/a 50: body /x value null_vs_empty",
            "GET_/a 70: body /y type null_vs_empty",
            "GET_/b 5: body /x value null_vs_empty",
            "GET_/b 4: body /z value -",
            "GET_/b 3: body /t value same_instant",
        ]),
        ["null_vs_empty 125 in 75 on 2: 1.0 0.0 2.0"]
    );
    assert_eq!(
        told(&[
            "GET_/a 2: body /x value case_only",
            "GET_/b 2: body /x value case_only"
        ]),
        ["case_only 4 in 4 on 2: 0.0 1.0"]
    );
}

#[test]
fn an_explanation_that_may_be_chance_is_no_cause() {
    assert_eq!(
        told(&[
            "GET_/a 24: body /fee value -",
            "GET_/a 5: body /fee value rounded?",
            "GET_/b 9: body /x value rounded",
            "GET_/c 8: body /y value rounded",
        ]),
        ["rounded 17 in 17 on 2: 2.0 3.0"]
    );
}

#[test]
fn what_coincides_on_every_route_is_told_by_its_causes() {
    let both = "body /at value same_instant, body /tags type null_vs_empty, header x-foo missing -";
    assert_eq!(
        told(&[
            &format!("GET_/a 9: {both}"),
            &format!("GET_/b 7: {both}"),
            "GET_/c 8: header x-foo missing -",
        ]),
        [
            "x-foo 24 in 24 on 3: 0.2 2.0 1.2",
            "same_instant 16 in 16 on 2: 0.0 1.0",
            "null_vs_empty 16 in 16 on 2: 0.1 1.1",
        ]
    );
}

#[test]
fn a_consequence_of_something_else_is_told_with_that() {
    // The status is the cause of the header on both routes; nothing is left that two groups share.
    assert_eq!(
        told(&[
            "GET_/a 9: status  value -, header content-type value - json text",
            "GET_/b 9: status  value -, header content-type value - json text",
            "GET_/c 9: header content-type value - json text",
        ]),
        [""; 0]
    );
}

#[test]
fn a_header_is_one_cause_where_it_differs_in_one_way() {
    assert_eq!(
        told(&[
            "GET_/a 3: header x-a value - 1 2",
            "GET_/b 3: header x-a value - 1 2",
            "GET_/c 3: header x-a value - 1 3",
            "GET_/d 3: header x-b missing - 1",
            "GET_/e 3: header x-b missing - 2",
            "GET_/f 3: header x-b extra - 1",
            "GET_/f 3: body x-b extra -",
            "GET_/g 3: body x-b extra -",
        ]),
        ["x-a 6 in 6 on 2: 0.0 1.0", "x-b 6 in 6 on 2: 3.0 4.0"]
    );
}
