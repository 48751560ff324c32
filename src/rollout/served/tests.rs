//! What takes clients back by what they got, what holds a step, and what one client can do to either.

use std::time::Duration;

use parity_schemas::clients::ClientOutcome;
use parity_schemas::evidence::RouteEvidence;

use super::*;
use crate::config::{Bounds, Plan};

fn settings() -> RolloutSettings {
    RolloutSettings {
        plan: Plan::Percent(100.0),
        by: parity_mirror::RolloutBy::Address,
        unsafe_methods: true,
        max_mismatch_rate: 0.02,
        gate_interval: Duration::from_mins(1),
        state_file: "parity-rollout.json".into(),
        bounds: Bounds {
            window: Duration::from_mins(1),
            min_requests: 100,
            max_error_excess: 0.01,
            max_latency_ratio: 2.0,
        },
    }
}

fn share(of_kind: u64, all: u64) -> Share {
    Share { of_kind, all }
}

fn clients(number: usize, each: Share) -> ClientCounts {
    ClientCounts::of(std::iter::repeat_n(each, number))
}

fn pairs(shadows: Share, served: ClientCounts) -> RolloutTried {
    RolloutTried {
        shadows,
        served,
        ..RolloutTried::default()
    }
}

/// Looks at once at what was seen since a percent came with the shadows that there were.
fn look(shadows: Share, seen: &RolloutTried) -> Option<String> {
    let mut trial = Trial::default();
    trial.begin(pairs(shadows, ClientCounts::default()), Routes::new());
    trial.look(seen, Instant::now(), &settings())
}

#[test]
fn served_pairs_are_judged_by_themselves_whatever_the_shadows_are() {
    let shadows = share(0, 10_000_000);
    let served = clients(50, share(4, 4));
    let why = look(shadows, &pairs(shadows, served)).expect("all of them differ");
    assert!(
        why.contains("196 of 196 compared requests that the candidate served differ (100.00 %)"),
        "{why}"
    );
    // Few say nothing, and what differs as often among shadows is known or noise.
    let few = clients(9, share(10, 10));
    assert_eq!(look(shadows, &pairs(shadows, few)), None);
    let noisy = share(300_000, 1_000_000);
    let served = clients(50, share(6, 20));
    assert_eq!(look(noisy, &pairs(noisy, served)), None);
    // At some hours more of them differ.
    let hour = RolloutTried {
        shadows: share(1_600, 12_000),
        served: clients(50, share(60, 100)),
        ..RolloutTried::default()
    };
    assert_eq!(look(share(100, 10_000), &hour.clone()), None);
    let few = share(110, 10_020);
    assert!(
        look(
            share(100, 10_000),
            &RolloutTried {
                shadows: few,
                ..hour
            }
        )
        .is_some()
    );
    // Shadows that are better since then take nothing back of what was known.
    let later = share(300_000, 100_000_000);
    assert_eq!(look(noisy, &pairs(later, clients(50, share(6, 20)))), None);
    // Where nothing is known, nothing is concluded.
    let served = || clients(50, share(4, 4));
    assert_eq!(look(share(0, 0), &pairs(share(0, 0), served())), None);
    let mut kept = Trial::of(Some(Pairs {
        compared: 10_000,
        differing: 3,
    }));
    let seen = pairs(share(0, 0), served());
    assert!(kept.look(&seen, Instant::now(), &settings()).is_some());
}

#[test]
fn one_client_alone_takes_nobody_back_unless_nobody_else_is_served() {
    let shadows = share(10, 100_000);
    let hostile = || share(100_000, 100_000);
    let with = |others: usize| {
        let others = std::iter::repeat_n(share(0, 50), others);
        ClientCounts::of(others.chain([hostile()]))
    };
    assert_eq!(look(shadows, &pairs(shadows, with(30))), None);
    assert_eq!(look(shadows, &pairs(shadows, with(3))), None);
    assert!(look(shadows, &pairs(shadows, with(0))).is_some());
    // It holds a step, which a person may insist on.
    let mut trial = Trial::default();
    trial.begin(pairs(shadows, ClientCounts::default()), Routes::new());
    let seen = pairs(shadows, with(30));
    let why = trial.lacks(&seen, 10.0, &settings(), &Routes::new());
    assert!(why.is_some_and(|why| why.contains("differ")));
}

#[test]
fn what_begins_late_is_found_by_its_window() {
    let shadows = share(0, 1_000_000);
    let mut trial = Trial::default();
    trial.begin(pairs(shadows, ClientCounts::default()), Routes::new());
    let (start, settings) = (Instant::now(), settings());
    let mut look = |second, differing: u64, all: u64| {
        let seen = pairs(shadows, clients(50, share(differing, all)));
        trial.look(&seen, start + Duration::from_secs(second), &settings)
    };
    assert_eq!(look(0, 0, 10_000), None);
    assert_eq!(look(61, 0, 20_000), None);
    assert_eq!(look(122, 0, 30_000), None);
    // 1 % of all, and more of the last ones.
    assert!(look(130, 300, 30_600).is_some());
}

#[test]
fn a_step_needs_pairs_of_this_percent_and_shadows_to_set_them_beside() {
    let mut trial = Trial::default();
    let before = pairs(share(0, 5_000), clients(50, share(0, 100)));
    trial.begin(before, Routes::new());
    let lacks = |trial: &Trial, seen: &RolloutTried| {
        let why = trial.lacks(seen, 20.0, &settings(), &Routes::new());
        why.unwrap_or_default()
    };
    // Served before, and nothing is compared since.
    let seen = pairs(share(0, 5_000), clients(50, share(0, 100)));
    let why = lacks(&trial, &seen);
    assert!(why.starts_with("0 of the 100 requests"), "{why}");
    let seen = pairs(share(0, 5_000), clients(50, share(0, 102)));
    assert_eq!(lacks(&trial, &seen), "");
    // One of a hundred may be chance.
    let others = std::iter::repeat_n(share(0, 102), 49);
    let one = ClientCounts::of(others.chain([share(1, 102)]));
    assert_eq!(lacks(&trial, &pairs(share(0, 5_000), one)), "");
    let seen = pairs(share(0, 5_000), clients(50, share(1, 102)));
    assert!(lacks(&trial, &seen).contains("differ (50.00 %)"));
    let anew = Trial::anew(seen.clone());
    let more = pairs(share(0, 5_000), clients(50, share(1, 104)));
    assert!(lacks(&anew, &more).starts_with("no shadow of this candidate"));
    assert_eq!(anew.pairs(&more), Pairs::default());
}

/// Answers that nobody compares.
#[test]
fn clients_go_back_where_far_more_is_refused_at_many_of_them() {
    let alone = |legacy, candidate| RolloutTried {
        alone_legacy: legacy,
        alone: candidate,
        ..RolloutTried::default()
    };
    let legacy = share(30, 3_000);
    let nothing = share(0, 0);
    let why = look(nothing, &alone(legacy, clients(20, share(20, 20))));
    assert!(why.is_some_and(|why| why.contains("of 20 clients or more")));
    for (legacy, candidate, what) in [
        (legacy, clients(9, share(900, 900)), "few clients"),
        (legacy, clients(20, share(1, 2)), "few answers"),
        (legacy, clients(20, share(10, 20)), "no more than half"),
        (nothing, clients(20, share(20, 20)), "nothing to compare"),
        (
            share(900, 1_000),
            clients(20, share(20, 20)),
            "as the legacy",
        ),
    ] {
        assert_eq!(look(nothing, &alone(legacy, candidate)), None, "{what}");
    }
    // Whoever asks both for what neither has is one of many.
    let one = std::iter::repeat_n(share(0, 20), 20).chain([share(1_000_000, 1_000_000)]);
    let one = alone(legacy, ClientCounts::of(one));
    assert_eq!(look(nothing, &one), None);
}

fn route(name: &str, clients: &[(ClientOutcome, u64)], compared: u64) -> RouteEvidence {
    let mut route = RouteEvidence {
        route: name.to_owned(),
        ..RouteEvidence::default()
    };
    route.counts.clients = clients.iter().copied().collect();
    route.counts.matched = compared;
    route
}

#[test]
fn a_route_that_is_not_compared_is_judged_by_the_classes_of_its_answers() {
    use ClientOutcome::{
        CandidateClientError, CandidateRedirection, CandidateSuccess, ClientError, Success,
    };
    let began = alike::of(&[route("POST /orders", &[(Success, 500)], 0)]);
    let unlike = |clients: &[(ClientOutcome, u64)], compared| {
        let now = alike::of(&[
            route("POST /orders", clients, compared),
            route(
                "GET /items",
                &[(Success, 90), (CandidateClientError, 10)],
                100,
            ),
        ]);
        alike::unlike(&now, &began, 100, UNSURE)
    };
    let refuses = [(Success, 900), (CandidateClientError, 30)];
    let why = unlike(&refuses, 0).expect("it refuses all");
    assert!(
        why.contains("POST /orders") && why.contains("30 of 30 answers of the candidate are 4xx"),
        "{why}"
    );
    assert_eq!(unlike(&refuses, 400), None, "it is compared");
    let redirects = [(Success, 900), (CandidateRedirection, 30)];
    assert!(unlike(&redirects, 0).is_some_and(|why| why.contains("3xx")));
    let alike = [
        (Success, 900),
        (ClientError, 300),
        (CandidateSuccess, 70),
        (CandidateClientError, 30),
    ];
    assert_eq!(unlike(&alike, 0), None);
    // The legacy serves nobody since then: what it did before counts.
    let alone = [(Success, 500), (CandidateClientError, 30)];
    assert!(unlike(&alone, 0).is_some_and(|why| why.contains("0 of 500 of the legacy")));
    let unknown = [(CandidateClientError, 30)];
    assert_eq!(unlike(&unknown, 0), None);
}
