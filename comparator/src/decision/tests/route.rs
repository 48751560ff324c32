//! What is said of one route alone.

use super::*;
use crate::decision::of_route;

fn told(counts: Counts) -> (Outcome, Vec<String>) {
    let other = self::counts(10_000, 0, &[]);
    let decision = gate(
        vec![("GET /a", counts), ("GET /b", other)],
        &Thresholds::default(),
    );
    let mut routes = decision.routes.iter();
    let route = routes
        .find(|route| route.route == "GET /a")
        .expect("it was received");
    (route.outcome, of_route(&decision, route))
}

#[test]
fn the_verdict_of_a_route_comes_first_and_does_not_repeat_its_name() {
    let (outcome, fails) = told(counts(50, 50, &[]));
    assert_eq!(outcome, Outcome::Fail);
    assert!(
        fails[0].starts_with("at least ") && fails[0].ends_with(" % differ, 0.10 % allowed"),
        "{fails:?}"
    );
    let (outcome, passes) = told(counts(100_000, 0, &[]));
    assert_eq!(outcome, Outcome::Pass);
    assert!(
        passes[0].starts_with("at most ")
            && passes[0].contains("(100,000 compared, 95 % confidence)"),
        "{passes:?}"
    );
    let (outcome, open) = told(counts(10, 0, &[]));
    assert_eq!(outcome, Outcome::Undecided);
    assert!(
        open[0].starts_with("up to ")
            && open[0].ends_with(" more requests, if all match, would settle it"),
        "{open:?}"
    );
    for all in [fails, passes, open] {
        assert!(
            all.iter().all(|text| !text.starts_with("GET /a: ")),
            "{all:?}"
        );
    }
}

#[test]
fn failures_of_the_candidate_and_a_route_that_is_never_asked_are_told() {
    let (_, failed) = told(counts(0, 0, &[(Reason::CandidateRefused, 100)]));
    assert!(
        failed[0].contains("got no whole answer")
            && failed[0].contains("100 × `candidate_refused`"),
        "{failed:?}"
    );
    assert!(failed[1].starts_with("the candidate failed"), "{failed:?}");
    let (outcome, never) = told(counts(0, 0, &[(Reason::UnsafeMethod, 100)]));
    assert_eq!(outcome, Outcome::Undecided);
    assert!(
        never[0].starts_with("no request compared. The candidate is never asked."),
        "{never:?}"
    );
}
