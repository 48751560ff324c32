//! The class of what was asked again, from four answers.

use std::sync::Arc;
use std::time::Duration;

use parity_schemas::fields::FieldLines;

use super::*;
use crate::{Limits, Rules};

fn answer(status: u16, body: &str) -> Capture {
    let media = if body.starts_with('<') {
        "text/html"
    } else {
        "application/json"
    };
    Capture {
        status,
        headers: [(http::header::CONTENT_TYPE, media)]
            .into_iter()
            .collect::<FieldLines>(),
        body: body.as_bytes().to_vec().into(),
        trailers: None,
        hidden: None,
        head_elapsed: Duration::ZERO,
        elapsed: Duration::ZERO,
    }
}

/// First and second answer of the legacy, then of the candidate.
fn recheck_of(legacy: [(u16, &str); 2], candidate: [(u16, &str); 2]) -> Rechecked {
    let time = Timestamp::from_micros(0);
    let rules = Rules::compile(&[], time).expect("no rule is right");
    let mut comparator = Comparator::new(Arc::new(rules), Limits::default());
    let [l1, l2] = legacy.map(|(status, body)| answer(status, body));
    let [c1, c2] = candidate.map(|(status, body)| answer(status, body));
    let answers = Answers {
        route: "GET /a",
        method: &Method::GET,
        request: &FieldLines::default(),
        time,
        legacy: [&l1, &l2],
        candidate: [&c1, &c2],
    };
    let first = comparator.compare_answers(AnswerPair {
        route: answers.route,
        method: answers.method,
        request: Some(answers.request),
        time,
        legacy: &l1,
        candidate: &c1,
        asked_together: true,
    });
    assert!(first.verdict == Verdict::Mismatch);
    recheck(&mut comparator, &first, &answers, &foldhash_of)
}

/// No key is needed where nothing leaves.
fn foldhash_of(bytes: &[u8]) -> u64 {
    use std::hash::BuildHasher;
    foldhash::fast::FixedState::default().hash_one(bytes)
}

fn check(cases: &[([&str; 2], [&str; 2], MismatchClass)]) {
    for (legacy, candidate, expected) in cases {
        let class = recheck_of(
            legacy.map(|body| (200, body)),
            candidate.map(|body| (200, body)),
        )
        .class;
        assert_eq!(class, *expected, "{legacy:?} {candidate:?}");
    }
}

const ONE: &str = r#"{"id":"3f2a77de-5b1e-4c2b-9a1c-0d2f3e4a5b6c"}"#;
const TWO: &str = r#"{"id":"0f8fad5b-d9cb-469f-a165-70867728950e"}"#;
const THREE: &str = r#"{"id":"7c9e6679-7425-40de-944b-e07fc1f90ae7"}"#;
const FOUR: &str = r#"{"id":"16fd2706-8baf-433b-82eb-8c7fada847da"}"#;

#[test]
fn the_table() {
    check(&[
        ([ONE, ONE], [TWO, TWO], MismatchClass::Confirmed),
        ([ONE, ONE], [TWO, THREE], MismatchClass::Confirmed),
        ([ONE, ONE], [TWO, ONE], MismatchClass::Unstable),
        ([ONE, TWO], [TWO, TWO], MismatchClass::Transient),
        ([ONE, TWO], [THREE, TWO], MismatchClass::Unstable),
        ([ONE, TWO], [THREE, FOUR], MismatchClass::Noise),
        (
            [ONE, TWO],
            [THREE, r#"{"id":null}"#],
            MismatchClass::Confirmed,
        ),
        (
            [ONE, TWO],
            [r#"{"id":null}"#, THREE],
            MismatchClass::Confirmed,
        ),
        (
            [ONE, TWO],
            [r#"{"id":null}"#, r#"{"id":null}"#],
            MismatchClass::Confirmed,
        ),
        ([ONE, TWO], ["{}", "{}"], MismatchClass::Confirmed),
        (
            [ONE, TWO],
            [r#"{"id":"x"}"#, r#"{"id":"y"}"#],
            MismatchClass::Confirmed,
        ),
    ]);
}

#[test]
fn an_exchange_is_as_grave_as_its_gravest_group() {
    let rechecked = recheck_of(
        [
            (200, r#"{"at":1,"paid":true}"#),
            (200, r#"{"at":2,"paid":true}"#),
        ],
        [
            (200, r#"{"at":3,"paid":false}"#),
            (200, r#"{"at":4,"paid":false}"#),
        ],
    );
    let classes: Vec<_> = rechecked.groups.iter().map(|group| group.class).collect();
    assert_eq!(classes, [MismatchClass::Noise, MismatchClass::Confirmed]);
    assert_eq!(rechecked.class, MismatchClass::Confirmed);
}

#[test]
fn the_legacys_own_failures_are_not_the_candidates() {
    let good = (200, r#"{"a":1}"#);
    let failed = (500, r#"{"error":"x"}"#);
    let class = |legacy, candidate| recheck_of(legacy, candidate).class;
    assert_eq!(
        class([failed, good], [good, good]),
        MismatchClass::Transient
    );
    assert_eq!(class([good, good], [failed, good]), MismatchClass::Unstable);
    let other = (200, r#"{"a":2}"#);
    assert_eq!(
        class([good, failed], [other, other]),
        MismatchClass::Unconfirmed
    );
    // Nor does a second answer that failed say anything of what differed before, whoever failed: it counts, unconfirmed.
    for legacy in [good, (200, r#"{"a":3}"#)] {
        assert_eq!(
            class([good, legacy], [other, failed]),
            MismatchClass::Unconfirmed
        );
    }
}

#[test]
fn a_limit_that_the_second_look_ran_into_says_nothing() {
    let (good, other) = ((200, r#"{"a":1}"#), (200, r#"{"a":2}"#));
    for status in [408, 429, 503] {
        let refused = (status, r#"{"error":"later"}"#);
        for (legacy, candidate) in [
            ([good, refused], [other, other]),
            ([good, refused], [other, refused]),
            ([good, refused], [other, good]),
        ] {
            let class = recheck_of(legacy, candidate).class;
            assert_eq!(class, MismatchClass::Unconfirmed, "{status} {candidate:?}");
        }
        // The candidate's own limit is a difference that its clients would see.
        let class = recheck_of([good, good], [refused, good]).class;
        assert_eq!(class, MismatchClass::Unstable, "{status}");
    }
}

#[test]
fn what_is_gone_at_the_second_look_is_no_excuse_for_what_was_there() {
    let (good, other) = ((200, r#"{"a":1,"b":1}"#), (200, r#"{"a":2,"b":1}"#));
    // A link that works once; an item that was deleted meanwhile; a key that went.
    for gone in [(410, r#"{"error":"used"}"#), (404, ""), (200, r#"{"b":1}"#)] {
        let class = recheck_of([good, gone], [other, gone]).class;
        let excused = [MismatchClass::Transient, MismatchClass::Noise].contains(&class);
        assert!(!excused, "{gone:?}: {class}");
    }
    // A candidate that saw it go earlier.
    let gone = (404, r#"{"error":"gone"}"#);
    let class = recheck_of([good, gone], [gone, gone]).class;
    assert_eq!(class, MismatchClass::Transient);
}

#[test]
fn a_status_between_two_others_is_none_of_them() {
    let class =
        |candidate| recheck_of([(404, "{}"), (200, "{}")], [(candidate, "{}"), (200, "{}")]).class;
    assert_eq!(class(302), MismatchClass::Unstable);
    assert_eq!(class(200), MismatchClass::Transient);
}

#[test]
fn what_moved_beside_a_place_excuses_nothing_there() {
    check(&[
        // Another element of the list moved.
        (
            ["[1,2]", "[1,3]"],
            ["[9,2]", "[1,3]"],
            MismatchClass::Unstable,
        ),
        // The list was shuffled, and the price in it is wrong once.
        (
            [
                r#"[{"id":1,"p":1},{"id":2,"p":2}]"#,
                r#"[{"id":2,"p":2},{"id":1,"p":1}]"#,
            ],
            [
                r#"[{"id":1,"p":9},{"id":2,"p":2}]"#,
                r#"[{"id":2,"p":2},{"id":1,"p":1}]"#,
            ],
            MismatchClass::Unstable,
        ),
        // An element that the candidate lacks once, in a list that grows.
        (
            ["[\"a\",\"b\"]", "[\"a\",\"b\",\"c\"]"],
            ["[\"a\"]", "[\"a\",\"b\",\"c\"]"],
            MismatchClass::Unstable,
        ),
        // The value moved, and the candidate has none.
        (
            [r#"{"n":1}"#, r#"{"n":2}"#],
            ["{}", r#"{"n":2}"#],
            MismatchClass::Unstable,
        ),
        // It agrees here now, and differs where the legacy stood still.
        (
            [r#"{"n":1,"m":1}"#, r#"{"n":2,"m":1}"#],
            [r#"{"n":2,"m":1}"#, r#"{"n":2,"m":7}"#],
            MismatchClass::Unconfirmed,
        ),
    ]);
}

#[test]
fn data_that_changed_between_the_looks() {
    check(&[
        // An element was added after the legacy had answered first.
        (
            ["[\"a\"]", "[\"a\",\"b\"]"],
            ["[\"a\",\"b\"]", "[\"a\",\"b\"]"],
            MismatchClass::Transient,
        ),
        // What was above the place is gone.
        (
            [r#"{"a":{"b":1}}"#, "{}"],
            ["{}", "{}"],
            MismatchClass::Transient,
        ),
        // It is gone, but had another value before.
        (
            [r#"{"a":{"b":1}}"#, "{}"],
            [r#"{"a":{"b":2}}"#, "{}"],
            MismatchClass::Unstable,
        ),
        // A list in random order.
        (
            ["[1,2,3]", "[2,3,1]"],
            ["[3,2,1]", "[1,3,2]"],
            MismatchClass::Noise,
        ),
        // A counter that the candidate saw halfway.
        (
            [r#"{"n":1}"#, r#"{"n":9}"#],
            [r#"{"n":4}"#, r#"{"n":9}"#],
            MismatchClass::Transient,
        ),
        // The clock ticked, and the candidate had a wrong time first, or nonsense.
        (
            [
                r#"{"at":"2026-01-31T09:30:00Z"}"#,
                r#"{"at":"2026-01-31T09:30:01Z"}"#,
            ],
            [
                r#"{"at":"2026-01-31T08:30:00Z"}"#,
                r#"{"at":"2026-01-31T09:30:01Z"}"#,
            ],
            MismatchClass::Unstable,
        ),
        // What comes is there at the second look, and the candidate had something else first.
        (
            [r#"{"n":null}"#, r#"{"n":42}"#],
            [r#"{"n":-1}"#, r#"{"n":42}"#],
            MismatchClass::Unstable,
        ),
        (
            ["{}", r#"{"n":42}"#],
            [r#"{"n":0}"#, r#"{"n":42}"#],
            MismatchClass::Unstable,
        ),
        (
            ["{}", r#"{"n":42}"#],
            [r#"{"n":42}"#, r#"{"n":42}"#],
            MismatchClass::Transient,
        ),
        (
            ["[1,2,3]", "[2,1,3]"],
            ["[3,2,1]", "[2,1,3]"],
            MismatchClass::Unstable,
        ),
        (
            ["[1,2,3]", "[2,1,3]"],
            ["[2,1,3]", "[2,1,3]"],
            MismatchClass::Transient,
        ),
        (
            [r#"{"s":"open"}"#, r#"{"s":"paid"}"#],
            [r#"{"s":"lost"}"#, r#"{"s":"paid"}"#],
            MismatchClass::Unstable,
        ),
        // Filled by the first look: the candidate was cold.
        (
            [r#"{"n":1}"#, r#"{"n":1}"#],
            [r#"{"n":null}"#, r#"{"n":1}"#],
            MismatchClass::Unstable,
        ),
    ]);
}

#[test]
fn what_cannot_be_told_is_unconfirmed() {
    let body = |value: u32| {
        let members: Vec<String> = (0..300)
            .map(|at| format!("\"k{at}\":{}", value + at))
            .collect();
        format!("{{{}}}", members.join(","))
    };
    let (one, two) = (body(0), body(1_000));
    let class = recheck_of([(200, &one), (200, &two)], [(200, &two), (200, &two)]).class;
    assert_eq!(
        class,
        MismatchClass::Unconfirmed,
        "not all findings are listed"
    );
    let deep = "[".repeat(300) + &"]".repeat(300);
    let class = recheck_of([(200, "[1]"), (200, &deep)], [(200, "[2]"), (200, "[[]]")]).class;
    assert_eq!(
        class,
        MismatchClass::Unconfirmed,
        "the second answers are not compared"
    );
}

mod observed;
mod texts;
