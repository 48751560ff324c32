//! Reports in one line an entry, and the causes that must be found in them.

use parity_schemas::recheck::{ClassCounts, EvidenceCounts};
use parity_schemas::report::CoincidingGroup;
use parity_schemas::time::Timestamp;
use uuid::Uuid;

use super::*;

/// `ROUTE[@LEGACY/CANDIDATE] MEMBER, MEMBER…`, a member being `PART PATTERN KIND EXPLANATION`, with `.` for no path and `-` for no
/// explanation. One with `?` is contradicted.
fn entry(index: usize, line: &str) -> GroupReport {
    let (head, members) = line.split_once(' ').expect("a route and members");
    let (route, codes) = head.split_once('@').unwrap_or((head, "200/200"));
    let (legacy, candidate) = codes.split_once('/').expect("two codes");
    let mut members: Vec<CoincidingGroup> = members
        .split(", ")
        .enumerate()
        .map(|(place, member)| coinciding(format!("{index}.{place}"), member))
        .collect();
    let first = members.remove(0);
    GroupReport {
        state: parity_schemas::known::KnownState::New,
        fingerprint: first.fingerprint,
        route: route.to_owned(),
        part: first.part,
        pattern: first.pattern,
        kind: first.kind,
        severity: Severity::default(),
        explanation: first.explanation,
        shape: String::new(),
        classes: ClassCounts::new(),
        evidence: EvidenceCounts::new(),
        against: first.against,
        legacy_status: legacy.parse().expect("a code"),
        candidate_status: candidate.parse().expect("a code"),
        count: 1,
        first_seen: Timestamp::default(),
        last_seen: Timestamp::default(),
        example_id: Uuid::nil(),
        example: None,
        also: members,
        attributes: parity_schemas::attributes::AttributeCounts::new(),
        special: Vec::new(),
    }
}

fn coinciding(fingerprint: String, member: &str) -> CoincidingGroup {
    let words: Vec<&str> = member.split(' ').collect();
    CoincidingGroup {
        state: parity_schemas::known::KnownState::New,
        fingerprint,
        part: words[0].parse().expect("a part"),
        pattern: words[1].trim_matches('.').to_owned(),
        kind: words[2].parse().expect("a kind"),
        explanation: words[3].trim_end_matches('?').parse().ok(),
        shape: String::new(),
        classes: ClassCounts::new(),
        evidence: EvidenceCounts::new(),
        against: u64::from(words[3].ends_with('?')),
        example: None,
    }
}

fn entries(lines: &[impl AsRef<str>]) -> Vec<GroupReport> {
    let lines = lines.iter().enumerate();
    lines
        .map(|(index, line)| entry(index, line.as_ref()))
        .collect()
}

/// `NAME SEVERITY[ follow FOLLOWING][ but EXCEPTIONS]: FINGERPRINTS` of each cause.
fn told(lines: &[impl AsRef<str>]) -> Vec<String> {
    let entries = entries(lines);
    let groups: Vec<&GroupReport> = entries.iter().collect();
    causes(&groups)
        .iter()
        .map(|cause| {
            let mut told = match cause.shared {
                Shared::Status(legacy, candidate) => format!("{legacy}→{candidate}"),
                Shared::Place {
                    place,
                    kind,
                    explanation,
                    ..
                } => {
                    let near = explanation.map(|it| format!(" {it}")).unwrap_or_default();
                    format!("{place} {kind}{near}")
                }
                Shared::Explanation(explanation, kind, _) => format!("{explanation} {kind}"),
            };
            told.extend([" ", cause.severity.as_str()]);
            let mut add = |text: String| told.push_str(&text);
            if cause.consequences > 0 {
                add(format!(" follow {}", cause.consequences));
            }
            if cause.exceptions > 0 {
                add(format!(" but {}", cause.exceptions));
            }
            add(":".to_owned());
            for (entry, place) in &cause.members {
                add(format!(" {entry}.{place}"));
            }
            told
        })
        .collect()
}

#[test]
fn one_explanation_at_many_places_is_one_cause() {
    let lines = [
        "/a body /x type null_vs_empty",
        "/a body /y type null_vs_empty",
        "/b body /x type null_vs_empty",
        "/b body /z value -",
        "/b body /t value same_instant",
        // The other way round: the candidate may be written for it, so it is another cause, and this is only one group.
        "/c body /u missing null_vs_empty",
    ];
    assert_eq!(told(&lines), ["null_vs_empty type near: 0.0 1.0 2.0"]);
}

#[test]
fn of_causes_that_cover_the_same_the_most_exact_is_told() {
    let same = "body /order/paid_at value same_instant";
    assert_eq!(
        told(&[format!("/a {same}"), format!("/b {same}")]),
        ["/order/paid_at value same_instant format: 0.0 1.0"]
    );
    assert_eq!(
        told(&[
            "/a body /items/*/paid_at value same_instant",
            "/b body /paid_at value same_instant"
        ]),
        ["/**/paid_at value same_instant format: 0.0 1.0"]
    );
    assert_eq!(
        told(&[
            "/a body /items/*/paid/at value same_instant",
            "/b body /paid/at value same_instant"
        ]),
        ["/**/paid/at value same_instant format: 0.0 1.0"]
    );
}

#[test]
fn the_last_segments_of_a_path_are_a_cause_on_any_route() {
    assert_eq!(
        told(&[
            "/a body /request/headers/* value -",
            "/b body /headers/* value -",
            "/c body /echo/headers/* value -",
            "/c body /total value -",
        ]),
        ["/**/headers/* value body: 0.0 1.0 2.0"]
    );
    // Every value of an object became a list.
    assert_eq!(
        told(&[
            "/a body /request/headers/Accept type -",
            "/b body /headers/Accept type -",
            "/a body /request/headers/Host type -",
            "/b body /headers/Host type -",
            "/b body /headers/* type -",
            "/b body /headers/Via value -",
            "/c body /total type -",
        ]),
        ["/**/headers/* type body but 1: 0.0 1.0 2.0 3.0 4.0"]
    );
    // Two wrong values need not have one reason because they stand side by side.
    let apart = [
        "/a body /order/total value -",
        "/b body /order/name value -",
    ];
    assert_eq!(told(&apart), [""; 0]);
    // What is nowhere named has nothing in common, except where it is missing.
    let whole = [
        "/a body . value -",
        "/b body . value -",
        "/c body /* value -",
    ];
    assert_eq!(told(&whole), [""; 0]);
    let whole = ["/a body . missing -", "/b body . missing -"];
    assert_eq!(told(&whole), [" missing body: 0.0 1.0"]);
}

#[test]
fn a_header_that_differs_everywhere_is_one_cause_beside_whatever_stands_there() {
    assert_eq!(
        told(&[
            "/a body /total value -, header x-server extra -",
            "/b body /list type null_vs_empty, header x-server extra -",
            "/c header x-server extra -",
            "/c header x-other value -",
            "/d trailer x-server extra -",
        ]),
        ["x-server extra header: 0.1 1.1 2.0"]
    );
    // Whatever its values are.
    let random = [
        "/a header x-request-id value -",
        "/b header x-request-id value -",
    ];
    assert_eq!(told(&random), ["x-request-id value header: 0.0 1.0"]);
}

#[test]
fn what_follows_from_another_status_belongs_to_it() {
    assert_eq!(
        told(&[
            "/a@200/500 status . value -, header content-type value -",
            "/a@200/500 body /balance missing -",
            "/b@200/500 status . value -, body . value -",
            // Here the status does not count, by a rule.
            "/c@200/500 body /balance missing -",
            "/d header content-type value -",
        ]),
        ["200→500 status follow 3: 0.0 0.1 1.0 2.0 2.1"]
    );
    // Both came with what was asked for, so a wrong value is not a consequence.
    assert_eq!(
        told(&[
            "/a@200/201 status . value -, body /balance value -",
            "/b@200/201 status . value -",
        ]),
        ["200→201 status: 0.0 1.0"]
    );
}

#[test]
fn nothing_grave_hides_behind_something_harmless() {
    // One name, and three kinds of differences at it.
    assert_eq!(
        told(&[
            "/a body /at value same_instant",
            "/b body /at value same_instant",
            "/c body /at value same_instant",
            "/d body /at value -",
            "/e body /at value rounded?",
            "/f@404/404 body /at value -",
        ]),
        ["same_instant value format: 0.0 1.0 2.0"]
    );
    // Something else may happen to have the value of a lost field.
    let moved = [
        "/a body /x missing moved",
        "/b body /y missing moved",
        "/c@404/404 body /z missing moved",
        "/d@404/404 body /w missing moved",
    ];
    assert_eq!(
        told(&moved),
        [
            "moved missing body: 0.0 1.0",
            "moved missing error: 2.0 3.0"
        ]
    );
    for cause in causes(&entries(&many(300)).iter().collect::<Vec<_>>()) {
        let entries = entries(&many(300));
        for (entry, place) in cause.members {
            let member = entries[entry].members().nth(place).expect("a member");
            let follows = matches!(cause.shared, Shared::Status(..));
            assert!(follows || member.severity() == cause.severity);
        }
    }
}

#[test]
fn exceptions_are_counted_and_cost_as_much_as_they_save() {
    let on = |routes: &[&str], rest: &str| -> Vec<String> {
        routes
            .iter()
            .map(|route| format!("{route} {rest}"))
            .collect()
    };
    let mut lines = on(&["/a", "/b", "/c", "/d"], "header x-id missing -");
    lines.push("/e header x-id value -".to_owned());
    assert_eq!(told(&lines), ["x-id missing header but 1: 0.0 1.0 2.0 3.0"]);
    lines.extend(on(&["/f", "/g"], "header x-id extra -"));
    assert_eq!(told(&lines), [""; 0], "as long as the list of them");
    // An explanation that is contradicted elsewhere.
    let mut lines = on(&["/a", "/b", "/c"], "body /fee value rounded?");
    lines.extend(["/d body /x value rounded", "/e body /y value rounded"].map(str::to_owned));
    let fee = "/fee value body: 0.0 1.0 2.0";
    assert_eq!(told(&lines), [fee]);
    lines.extend(["/f body /z value rounded", "/g body /w value rounded"].map(str::to_owned));
    lines.push("/h body /v value rounded".to_owned());
    assert_eq!(
        told(&lines),
        [fee, "rounded value near but 3: 3.0 4.0 5.0 6.0 7.0"]
    );
}

#[test]
fn what_one_entry_tells_needs_no_cause() {
    let alone =
        "/a body /x value same_instant, body /y value same_instant, header x value same_instant";
    assert_eq!(told(&[alone]), [""; 0]);
    assert_eq!(told(&[""; 0]), [""; 0]);
    // The status of one entry with what follows from it, neither.
    let failed = "/a@200/500 status . value -, body /x missing -, body /y missing -";
    assert_eq!(told(&[failed]), [""; 0]);
    // Nor does what differs at one place with two pairs of codes.
    let place = ["/a body /x value -", "/a@203/203 body /x value -"];
    assert_eq!(told(&place), [""; 0]);
    assert_eq!(
        told(&[alone, "/b body /z value same_instant"]),
        ["same_instant value format: 0.0 0.1 0.2 1.0"]
    );
}

#[test]
fn the_greatest_saving_comes_first_and_no_group_is_in_two_causes() {
    let causes = told(&[
        "/a body /x type null_vs_empty",
        "/b body /x type null_vs_empty",
        "/c body /x missing null_vs_empty",
        "/d body /y type null_vs_empty",
        "/e header x type null_vs_empty",
    ]);
    assert_eq!(causes, ["null_vs_empty type near: 0.0 1.0 3.0 4.0"]);
}

#[test]
fn what_overflowed_the_tallies_is_in_no_cause() {
    // As it is counted when there are too many groups.
    let other = ["/a@0/0 body . value -", "/b@0/0 body . value -"];
    assert_eq!(told(&other), [""; 0]);
}

#[test]
fn hostile_names_are_names() {
    let end = "\u{202e}</script>\u{1b}[31m~1*";
    let lines = [
        format!("/a body /x/{end} value -"),
        format!("/b body /{end} value -"),
    ];
    assert_eq!(told(&lines), [format!("/**/{end} value body: 0.0 1.0")]);
    // Paths of slashes and stars, and codes that no server sends.
    let odd = [
        "/a@0/65535 body //*///** value -",
        "/b@0/65535 body //*///** value -",
    ];
    assert_eq!(told(&odd).len(), 1);
}

/// Lines of a report in which much is shared.
fn many(count: usize) -> Vec<String> {
    let explanations = ["-", "same_instant", "null_vs_empty", "rounded", "rounded?"];
    let kinds = ["value", "type", "missing", "extra"];
    (0..count)
        .map(|index| {
            let route = index % 97;
            let (kind, near) = (kinds[index % 4], explanations[index * 7 % 5]);
            match index % 11 {
                0 => format!("/r{route}@200/503 status . value -, body . value -"),
                1 => format!("/r{route} header x-{} {kind} -", index % 5),
                2 => format!("/r{route}@404/404 body /error{} {kind} -", index % 3),
                _ => format!(
                    "/r{route} body /s{}/*/f{}/g{} {kind} {near}, header x-{} extra -",
                    index % 13,
                    index % 31,
                    index % 7,
                    index % 2
                ),
            }
        })
        .collect()
}

#[test]
fn the_same_groups_always_have_the_same_causes_and_none_is_in_two() {
    let entries = entries(&many(2_000));
    let groups: Vec<&GroupReport> = entries.iter().collect();
    let first = causes(&groups);
    assert!(!first.is_empty());
    // Whatever order a map is walked in.
    assert_eq!(causes(&groups), first);
    let mut seen = HashSet::new();
    for cause in &first {
        for position in &cause.members {
            assert!(seen.insert(*position), "in two causes: {position:?}");
        }
        let entries: HashSet<usize> = cause.members.iter().map(|(entry, _)| *entry).collect();
        assert!(entries.len() >= MIN_SHARED);
    }
}
