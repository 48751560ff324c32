//! Texts and pages with tokens, times and numbers, among them what is wrong. Each case is what a page must not be excused for,
//! or must be.

use std::cmp::Ordering;

use super::*;

const TOKENS: [&str; 4] = [
    "KqdDLxTvBzWnRgHcJsMpYf",
    "Vw_xSQzRtPkLmNbXcFdGhJ",
    "bT7yUiOpAsDfGhJkLzXcVb",
    "nMqWeRt-YuIoPlKjHgFdSa",
];

/// A page with a token, a price and a line that is not always there.
fn page(token: &str, price: &str, state: &str, rest: &str) -> String {
    format!(
        "<html>\n<meta name=\"csrf\" content=\"{token}\">\n<h1>Order</h1>\n<p>Total: {price} EUR</p>\n\
         <p>{state}</p>\n<small>at 2026-01-31T09:30:00Z</small>\n{rest}</html>\n"
    )
}

/// Legacy first and second, candidate first and second.
fn pages(pages: &[String; 4]) -> Rechecked {
    let [l1, l2, c1, c2] = pages;
    recheck_of([(200, l1), (200, l2)], [(200, c1), (200, c2)])
}

fn usual(token: &str) -> String {
    page(token, "12.50", "paid", "")
}

#[test]
fn case_1_a_page_that_differs_by_its_token_alone_may_be_noise() {
    let found = pages(&TOKENS.map(usual));
    assert_eq!(found.class, MismatchClass::Noise);
    let group = &found.groups[0];
    assert_eq!(group.shape.to_string(), "pattern→pattern");
    assert_eq!(group.observation.own, None);
    assert_eq!(group.observation.legacy_values.len(), 2);
}

#[test]
fn case_2_a_changed_price_beside_a_token_is_confirmed() {
    let [l1, l2, c1, c2] = TOKENS;
    let wrong = |token| page(token, "12.51", "paid", "");
    let found = pages(&[usual(l1), usual(l2), wrong(c1), wrong(c2)]);
    assert_eq!(found.class, MismatchClass::Confirmed);
    assert_eq!(found.groups[0].observation.own, Some(Ordering::Greater));
    assert_eq!(found.groups[0].observation.order, Some(Ordering::Greater));
    // It is wrong once.
    let found = pages(&[usual(l1), usual(l2), wrong(c1), usual(c2)]);
    assert_eq!(found.class, MismatchClass::Unstable);
}

#[test]
fn case_3_a_word_or_a_line_that_differs_makes_it_a_text() {
    let [l1, l2, c1, c2] = TOKENS;
    let word = |token| page(token, "12.50", "open", "");
    let line = |token| page(token, "12.50", "paid", "<p>Thank you</p>\n");
    for wrong in [word, line] {
        let found = pages(&[usual(l1), usual(l2), wrong(c1), wrong(c2)]);
        assert_eq!(found.class, MismatchClass::Confirmed);
        let shape = found.groups[0].shape;
        assert_eq!(shape.to_string(), "text-body→text-body");
        assert!(!shape.may_be_noise());
    }
    // Only the second time.
    let found = pages(&[usual(l1), usual(l2), usual(c1), word(c2)]);
    assert_eq!(found.class, MismatchClass::Confirmed);
}

#[test]
fn case_4_a_token_that_stays_the_same_or_is_an_error_is_told() {
    let [l1, l2, c1, c2] = TOKENS;
    let found = pages(&[usual(l1), usual(l2), usual(c1), usual(c1)]);
    let observation = &found.groups[0].observation;
    assert_eq!(observation.own, Some(Ordering::Greater));
    assert_eq!(observation.candidate_values.len(), 1);
    let error = |_| usual("no token: not signed in");
    let found = pages(&[usual(l1), usual(l2), error(c1), error(c2)]);
    assert_eq!(found.class, MismatchClass::Confirmed);
    assert!(!found.groups[0].shape.may_be_noise());
}

#[test]
fn case_5_many_lines_and_long_ones_stay_a_text() {
    let lines = |token: &str, count: usize| {
        let lines: Vec<String> = (0..count).map(|_| format!("<i>{token}</i>\n")).collect();
        format!("<html>\n{}</html>\n", lines.concat())
    };
    let shape = |count| {
        let found = pages(&TOKENS.map(|token| lines(token, count)));
        found.groups[0].shape.to_string()
    };
    assert_eq!(shape(60), "pattern→pattern");
    assert_eq!(shape(70), "text-body→text-body");
    let long = |token: &str| format!("<p>{}</p><b>{token}</b>\n", "a ".repeat(1_000));
    let found = pages(&TOKENS.map(|token| format!("<html>\n{}</html>\n", long(token))));
    assert_eq!(found.groups[0].shape.to_string(), "text-body→text-body");
}

#[test]
fn case_6_a_wrong_number_in_a_sentence_with_an_id_is_confirmed() {
    let ids = [ONE, TWO, THREE, FOUR].map(|body| body.get(7..43).expect("an id"));
    let text = |id: &str, total: &str| format!("{{\"m\":\"{id} costs {total} EUR\"}}");
    let [l1, l2, c1, c2] = ids;
    let class = |texts: [String; 4]| pages(&texts).class;
    let right = |id| text(id, "12.50");
    assert_eq!(class(ids.map(right)), MismatchClass::Noise);
    assert_eq!(
        class([right(l1), right(l2), text(c1, "12.5"), text(c2, "12.5")]),
        MismatchClass::Confirmed
    );
    // It was booked on between the answers.
    let new = |id| text(id, "13.00");
    assert_eq!(
        class([right(l1), new(l2), new(c1), new(l2)]),
        MismatchClass::Unstable,
        "the id is another one"
    );
    assert_eq!(
        class([right(l1), new(l1), new(l1), new(l1)]),
        MismatchClass::Transient
    );
}

#[test]
fn case_7_a_number_with_a_unit_is_a_number_and_no_token() {
    let text = |took: &str| format!("{{\"m\":\"took {took} and more\"}}");
    let found = pages(&["12.345ms", "9.117ms", "20.1ms", "8.345ms"].map(text));
    let seen = &found.groups[0].observation;
    assert_eq!(found.groups[0].shape.to_string(), "pattern→pattern");
    assert_eq!(seen.order, Some(Ordering::Less));
    assert!(seen.motion.is_some());
    // The whole texts are remembered: their parts repeat.
    assert_eq!(
        (seen.legacy_values.len(), seen.candidate_values.len()),
        (2, 2)
    );
}
