//! What scanners ask for decides nothing, and hides nothing.

use ClientOutcome::{ClientError, ServerError, Success, Tapped};

use super::*;

/// Counts of requests of which `differing` differ, all answered with this outcome.
fn answered(outcome: ClientOutcome, all: u64, differing: u64) -> Counts {
    let mut counts = counts(all - differing, differing, &[]);
    counts.clients = [(outcome, all)].into();
    counts.legacy_answers = counts.clients.clone();
    counts
}

fn with(route: &str, counted: Counts) -> Decision {
    let routes = vec![("GET /a", answered(Success, 100_000, 0)), (route, counted)];
    gate(routes, &Thresholds::default())
}

#[test]
fn one_request_to_a_path_that_nobody_serves_decides_nothing() {
    let scanned = with("GET /wp-login.php", answered(ClientError, 1, 1));
    assert_eq!(scanned.outcome, Outcome::Pass, "{:?}", scanned.reasons);
    let route = scanned.routes.iter().find(|route| route.unserved);
    assert_eq!(route.expect("it is told").outcome, Outcome::Undecided);
    // Somebody got an answer there, or nobody knows what they got.
    for served in [Success, ServerError] {
        let failed = with("GET /admin", answered(served, 1, 1));
        assert_eq!(failed.outcome, Outcome::Fail, "{:?}", failed.reasons);
    }
    let mut tapped = answered(ClientError, 1, 1);
    tapped.clients = [(Tapped, 1)].into();
    assert_eq!(
        with("GET /wp-login.php", tapped.clone()).outcome,
        Outcome::Pass
    );
    tapped.legacy_answers.clear();
    assert_eq!(with("GET /wp-login.php", tapped).outcome, Outcome::Fail);
    // A candidate that was down for a scanner is down, and that is a matter of all requests.
    let mut refused = counts(0, 0, &[(Reason::CandidateRefused, 1)]);
    refused.clients = [(ClientError, 1)].into();
    assert_eq!(with("GET /wp-login.php", refused).outcome, Outcome::Pass);
}

#[test]
fn a_service_that_is_asked_often_and_refuses_is_served() {
    let refused = with("GET /private", answered(ClientError, 20, 20));
    assert_eq!(refused.outcome, Outcome::Fail, "{:?}", refused.reasons);
    // Also where few of them are compared.
    let mut sampled = answered(ClientError, 1_000, 5);
    sampled.matched = 0;
    sampled.not_compared = [(Reason::SampledOut, 995)].into();
    assert_eq!(with("GET /private", sampled).outcome, Outcome::Fail);
}

#[test]
fn who_asks_for_it_has_it_judged() {
    let routes = vec![
        ("GET /a", answered(Success, 100_000, 0)),
        ("GET /private", answered(ClientError, 3, 3)),
    ];
    let required = Thresholds {
        required_routes: vec!["GET /private".to_owned()],
        ..Thresholds::default()
    };
    assert_eq!(gate(routes, &required).outcome, Outcome::Fail);
}

#[test]
fn a_scanner_takes_no_proof_from_the_routes_that_are_served_and_what_it_found_counts_in_all() {
    let lower = |scanned: u64| {
        let mut routes = vec![("GET /a", answered(Success, 100_000, 0))];
        let names: Vec<String> = (0..scanned)
            .map(|number| format!("GET /{number}.php"))
            .collect();
        routes.extend(
            names
                .iter()
                .map(|name| (name.as_str(), answered(ClientError, 1, 0))),
        );
        routes.push(("GET /b", answered(Success, 1_000, 4)));
        let decision = gate(routes, &Thresholds::default());
        let of_b = decision
            .routes
            .into_iter()
            .find(|route| route.route == "GET /b");
        of_b.expect("it is there").lower
    };
    assert!((lower(0) - lower(900)).abs() < f64::EPSILON);
    let mut routes = vec![("GET /a", answered(Success, 3_000, 0))];
    let names: Vec<String> = (0..900)
        .map(|number| format!("GET /{number}.php"))
        .collect();
    routes.extend(
        names
            .iter()
            .map(|name| (name.as_str(), answered(ClientError, 1, 1))),
    );
    let decision = gate(routes, &Thresholds::default());
    assert_eq!(decision.outcome, Outcome::Fail);
    assert!(
        decision.reasons[0].starts_with("all requests: at least"),
        "{:?}",
        decision.reasons
    );
}

#[test]
fn what_is_counted_together_because_there_is_too_much_of_it_may_be_a_scanner_alone() {
    let hidden = with("_other", answered(ClientError, 3, 3));
    assert_eq!(hidden.outcome, Outcome::Pass, "{:?}", hidden.reasons);
    let mixed = with("_other", {
        let mut counts = answered(ClientError, 8_003, 3);
        counts.legacy_answers = [(ClientError, 3), (Success, 8_000)].into();
        counts.clients = counts.legacy_answers.clone();
        counts
    });
    assert_eq!(mixed.outcome, Outcome::Undecided);
}
