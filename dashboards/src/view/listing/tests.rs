//! Reports in one line an entry, and what is listed of them.

mod causes;
mod many;

use parity_schemas::evidence::{Decision, SetEvidence, Thresholds, Window};
use parity_schemas::noise::{Excused, NoiseGroup};
use parity_schemas::recheck::EvidenceCounts;
use parity_schemas::report::{CoincidingGroup, GroupExample, GroupReport, RouteReport};
use parity_schemas::severity::Severity;
use parity_schemas::tally::Group;
use parity_schemas::time::Timestamp;
use parity_schemas::verdict::{Kind, Part};
use parity_schemas::watermark::Standing;
use uuid::Uuid;

use super::*;
use crate::view::Decided;
use crate::view::noise::NoiseView;

/// `COUNT MEMBER, MEMBER…`, a member being `PATTERN SHAPE CLASS[!|?]`: with `!` it is proven to be noise, with `?` it looks like
/// it. All are values in bodies of one route.
fn report(lines: &[&str]) -> Report {
    let mut report = empty();
    for (index, line) in lines.iter().enumerate() {
        let (count, members) = line.split_once(' ').expect("a count");
        let count: u64 = count.parse().expect("a count");
        let mut of_line = Vec::new();
        for (place, member) in members.split(", ").enumerate() {
            let words: Vec<&str> = member.split(' ').collect();
            let state = words[2].chars().last();
            let class = words[2].trim_end_matches(['!', '?']);
            let group = CoincidingGroup {
                state: parity_schemas::known::KnownState::New,
                fingerprint: format!("{index}.{place}"),
                part: Part::Body,
                pattern: words[0].to_owned(),
                kind: Kind::Value,
                explanation: None,
                shape: words[1].to_owned(),
                classes: [(class.parse().expect("a class"), count)].into(),
                evidence: EvidenceCounts::new(),
                against: 0,
                example: Some(GroupExample {
                    target: "/".to_owned(),
                    path: words[0].to_owned(),
                    candidate_path: None,
                    legacy: Some(format!("legacy {index}")),
                    candidate: Some(format!("candidate {index}")),
                    text_diff: None,
                }),
            };
            let state = match state {
                Some('!') => Some(NoiseState::Proven),
                Some('?') => Some(NoiseState::Open),
                _ => None,
            };
            report
                .noise
                .extend(state.map(|state| noise(&group, state, count)));
            of_line.push(group);
        }
        let first = of_line.remove(0);
        report.groups.push(GroupReport {
            state: parity_schemas::known::KnownState::New,
            fingerprint: first.fingerprint,
            route: "GET /a".to_owned(),
            part: first.part,
            pattern: first.pattern,
            kind: first.kind,
            severity: Severity::Body,
            explanation: None,
            shape: first.shape,
            against: 0,
            legacy_status: 200,
            candidate_status: 200,
            count,
            classes: first.classes,
            evidence: first.evidence,
            first_seen: Timestamp::default(),
            last_seen: Timestamp::default(),
            example_id: Uuid::from_u128(index as u128 + 1),
            example: first.example,
            also: of_line,
            attributes: parity_schemas::attributes::AttributeCounts::new(),
            special: Vec::new(),
        });
    }
    report
}

fn noise(group: &CoincidingGroup, state: NoiseState, count: u64) -> NoiseGroup {
    NoiseGroup {
        route: "GET /a".to_owned(),
        group: Group {
            fingerprint: group.fingerprint.clone(),
            part: group.part,
            pattern: group.pattern.clone(),
            kind: group.kind,
            explanation: None,
            shape: group.shape.clone(),
            legacy_status: 200,
            candidate_status: 200,
        },
        state,
        count,
        mirror: None,
        family: None,
        compared: 1_000,
        groups: 1,
        classes: group.classes.clone(),
        evidence: EvidenceCounts::new(),
        rechecks: count,
        hidden: 0.01,
        against: vec!["few \u{1b}[31m".to_owned()],
        example_id: None,
    }
}

fn decision() -> Decision {
    parity_comparator::decision::decide(
        "m",
        None,
        &Standing::default(),
        &Thresholds::default(),
        Uuid::nil(),
        Timestamp::default(),
    )
}

fn empty() -> Report {
    serde_json::from_value(serde_json::json!({
        "schema": "parity.report/v1", "received": 0, "match": 0, "mismatch": 0, "not_compared": {},
        "migration": "m", "legacy_version": "", "candidate_version": "", "rules_hash": "", "window": null,
        "instances": [], "routes": [], "groups": [], "rules": []
    }))
    .expect("a report")
}

/// So many mismatches had exactly these groups.
fn set(fingerprints: &[&str], count: u64) -> SetEvidence {
    SetEvidence {
        route: "GET /a".to_owned(),
        fingerprints: fingerprints.iter().map(|&name| name.to_owned()).collect(),
        classes: [(MismatchClass::Confirmed, count)].into(),
        never_asked: 0,
    }
}

/// The route of all groups, with so many mismatches.
fn route(mismatch: u64) -> RouteReport {
    serde_json::from_value(serde_json::json!({
        "route": "GET /a", "received": mismatch, "match": 0, "mismatch": mismatch, "not_compared": {}, "legacy_us": {},
        "candidate_us": {}
    }))
    .expect("a route")
}

fn window() -> Window {
    Window {
        from: Timestamp::default(),
        to: Timestamp::default(),
    }
}

/// `COUNT PATTERN SHAPES+ALSO…` of each entry, `≥` if there may be more.
fn told(folded: &[Folded]) -> Vec<String> {
    folded
        .iter()
        .map(|folded| {
            let members: Vec<String> = folded
                .group
                .members()
                .zip(&folded.folds)
                .map(|(member, fold)| {
                    let shapes: Vec<String> = fold
                        .shapes
                        .iter()
                        .map(|(shape, count)| format!("{shape}={count}"))
                        .collect();
                    format!("{} {}", member.pattern, shapes.join(","))
                })
                .collect();
            let least = if folded.is_least { "≥" } else { "" };
            format!("{least}{} {}", folded.group.count, members.join(" + "))
        })
        .collect()
}

fn counting(lines: &[&str]) -> Vec<String> {
    told(&Listing::of(&report(lines), NoiseUse::Use).counting)
}

#[test]
fn shapes_of_one_place_are_one_entry() {
    assert_eq!(
        counting(&[
            "500 /note word8→word8 confirmed",
            "300 /note word8→word16 unconfirmed",
            "200 /total integer→integer confirmed",
        ]),
        [
            "800 /note word8→word8=500,word8→word16=300",
            "200 /total integer→integer=200"
        ]
    );
    // With what always differs together with it.
    assert_eq!(
        counting(&[
            "5 /note word8→word8 confirmed, /len integer→integer confirmed",
            "3 /note word8→word16 confirmed, /len integer→integer confirmed",
        ]),
        ["8 /note word8→word8=5,word8→word16=3 + /len integer→integer=5,integer→integer=3"]
    );
    // A place that is not always in the same company is told by itself, once.
    assert_eq!(
        counting(&[
            "5 /note word8→word8 confirmed, /len integer→integer confirmed",
            "3 /note word8→word16 confirmed",
        ]),
        [
            "8 /note word8→word8=5,word8→word16=3",
            "5 /len integer→integer=5"
        ]
    );
}

#[test]
fn a_place_that_stands_for_several_has_the_least_count_that_is_known() {
    let lines = [
        "500 /items/*/note word8→word8 confirmed",
        "300 /items/*/note word8→word16 confirmed",
    ];
    assert_eq!(
        counting(&lines),
        ["≥500 /items/*/note word8→word8=500,word8→word16=300"]
    );
    let mut known = report(&lines);
    known.sets = vec![
        set(&["0.0"], 400),
        set(&["0.0", "1.0"], 100),
        set(&["1.0"], 200),
    ];
    let listing = Listing::of(&known, NoiseUse::Use);
    assert_eq!(
        told(&listing.counting),
        ["≥700 /items/*/note word8→word8=500,word8→word16=300"]
    );
}

#[test]
fn noise_is_never_folded_with_what_is_none_and_transient_is_apart() {
    let lines = [
        "50 /id uuid→uuid noise!",
        "40 /id uuid→null confirmed",
        "30 /note word8→word8 noise?, /wrong integer→integer confirmed",
        "20 /race integer→integer transient",
        "10 /late integer→integer transient?",
    ];
    let listing = Listing::of(&report(&lines), NoiseUse::Use);
    assert_eq!(
        told(&listing.counting),
        ["40 /id uuid→null=40", "30 /wrong integer→integer=30"]
    );
    assert_eq!(
        told(&listing.transient),
        ["20 /race integer→integer=20", "10 /late integer→integer=10"]
    );
    // Who asked for a report of it only has all that counts among the rest.
    let listing = Listing::of(&report(&lines), NoiseUse::Report);
    assert_eq!(
        told(&listing.counting),
        [
            "90 /id uuid→uuid=50,uuid→null=40",
            "30 /note word8→word8=30 + /wrong integer→integer=30"
        ]
    );
    assert_eq!(listing.transient.len(), 2);
}

#[test]
fn noise_is_listed_by_place_with_what_it_rests_on() {
    let known = report(&[
        "50 /id uuid→uuid noise!",
        "20 /id word8→word8 noise!",
        "30 /note word8→word8 noise?",
        "5 /late integer→integer transient?",
    ]);
    let excused = Excused {
        noise: 70,
        ..Excused::default()
    };
    let view = NoiseView::of(&known.noise, Some(&known), &excused, NoiseUse::Use);
    assert_eq!(view.proven.scope, "1 place; 70 mismatches do not count");
    let [id] = view.proven.entries.as_slice() else {
        panic!("one place");
    };
    assert_eq!(id.count, 70);
    assert_eq!(
        id.shapes,
        "a UUID on both sides (50), a word of 8 to 15 bytes on both sides (20)"
    );
    assert_eq!(id.evidence, "70 rechecks, noise in 70");
    assert_eq!(
        id.verdict,
        "at most 2.00 % of the route's requests could hide a difference there"
    );
    assert!(id.values.is_some());
    let [note] = view.open.entries.as_slice() else {
        panic!("one place: what is transient does not count");
    };
    assert!(note.verdict.starts_with("missing: few ") && !note.verdict.contains('\u{1b}'));
    assert_eq!(view.lists().count(), 2);
}

#[test]
fn captured_text_is_harmless_in_every_list() {
    let hostile = ["<b>\u{1b}[31m→x", "", "uuid→\u{202e}uuid"];
    let mut known = report(&[
        "50 /x A noise!",
        "40 /x B noise!",
        "30 /y A confirmed",
        "20 /y B confirmed",
        "10 /p/z A confirmed",
        "10 /q/z A confirmed",
    ]);
    for (index, group) in known.groups.iter_mut().enumerate() {
        hostile[index % 3].clone_into(&mut group.shape);
        group.pattern.push_str("<script>\u{1b}]0;x\u{7}");
    }
    for (index, noise) in known.noise.iter_mut().enumerate() {
        hostile[index % 3].clone_into(&mut noise.group.shape);
        noise.group.pattern.push_str("<script>\u{1b}]0;x\u{7}");
        noise.route.push_str("<script>\u{1b}");
    }
    known.window = Some(window());
    let decision = decision();
    let listing = Listing::of(&known, NoiseUse::Use);
    let decided = Decided {
        report: known,
        decision,
        listing,
        absent: None,
    };
    let text = crate::terminal::report(&decided);
    let plain = anstream::adapter::strip_str(&text).to_string();
    assert!(plain.contains("of unknown shape"), "{plain}");
    assert!(plain.contains("body /**/z<script>"), "a cause: {plain}");
    assert!(
        !plain.contains(['\u{7}', '\u{202e}']) && !text.contains("\u{1b}]"),
        "{plain}"
    );
    let page = crate::pages::file(&decided, &[]).expect("a page");
    assert!(page.contains("Taken for noise"), "{page}");
    assert!(
        !page.contains("<script>") && !page.contains("<b>\\"),
        "{page}"
    );
    assert!(!page.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{page}");
}

#[test]
fn times_stand_beside_each_other_as_the_gate_compares_them() {
    let mut known = report(&["50 /x A confirmed"]);
    let p50 = |us: u64| [("p50".to_owned(), us), ("p99".to_owned(), us)].into();
    let mut slow_body = route(50);
    // One of the services sends its head at once, and the rest of its answer slowly.
    slow_body.legacy_head_us = p50(2_000);
    slow_body.legacy_us = p50(900_000);
    slow_body.candidate_head_us = p50(3_000);
    slow_body.candidate_us = p50(4_000);
    known.routes = vec![slow_body];
    known.window = Some(window());
    let listing = Listing::of(&known, NoiseUse::Use);
    let decided = Decided {
        report: known,
        decision: decision(),
        listing,
        absent: None,
    };
    let text = crate::terminal::report(&decided);
    let plain = anstream::adapter::strip_str(&text).to_string();
    assert!(plain.contains("p50 HEAD LEGACY/CANDIDATE"), "{plain}");
    assert!(plain.contains("2.0 ms / 3.0 ms"), "{plain}");
    let page = crate::pages::file(&decided, &[]).expect("a page");
    assert!(
        page.contains("2.0 ms / 2.0 ms") && page.contains("3.0 ms / 3.0 ms"),
        "{page}"
    );
    assert!(!page.contains("900"), "{page}");
}
