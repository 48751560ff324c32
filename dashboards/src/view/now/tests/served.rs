//! A service that serves clients and is ill, and answers all the same.

use parity_schemas::lately::{ClientErrors, ClientsNow, SlowAnswers, Took, WaitedFor};

use super::candidate::status;
use super::*;
use crate::view::Added;

/// Half a minute behind `NOW`, which is when things are told here.
fn second(second: i64) -> Timestamp {
    minute(0).saturating_add_micros(second * 1_000_000)
}

fn exact(time: Timestamp) -> String {
    let text = time.to_string();
    text.get(11..19).expect("a second").to_owned()
}

fn errors(service: WaitedFor, from: i64, to: i64, ended: Option<i64>, count: u64) -> ClientErrors {
    ClientErrors {
        service,
        version: String::new(),
        from: second(from),
        to: second(to),
        ended: ended.map(second),
        answers: count + 7,
        errors: count,
    }
}

fn slow(ended: Option<i64>) -> SlowAnswers {
    SlowAnswers {
        version: "4".to_owned(),
        from: second(2),
        to: second(20),
        ended: ended.map(second),
        answers: 80,
        slow: 60,
        limit_us: 52_000,
        p99_us: 1_200_000,
        before_p99_us: 2_000,
    }
}

/// Tone, title, and what is told of the services that serve.
fn told(errors: &[ClientErrors], slow: &[SlowAnswers]) -> (Tone, &'static str, Vec<String>) {
    let recent: &[Counts] = &[(-1, 60, 0, 60, 0, 0), (0, 30, 0, 30, 0, 0)];
    let mut shown = history(15, &[]);
    shown.client_errors = errors.to_vec();
    shown.slow = slow.to_vec();
    let lately = lately(history(1, recent), &[]);
    let now = Now {
        watermarks: &LIVE(),
        counted: None,
        history: &shown,
        lately: &lately,
        status: None,
        candidate_version: "",
        allowed: 0.001,
    };
    let alerts = now.alerts(exact).into_iter();
    let alerts = alerts.map(|alert| format!("{}: {}", alert.what, alert.about));
    (now.tone(), now.title(), alerts.collect())
}

#[test]
fn errors_of_each_service_are_told_apart_while_they_last_and_behind_them() {
    assert_eq!(told(&[], &[]), (Tone::Good, "", vec![]));
    let legacy = errors(WaitedFor::Legacy, 5, 29, None, 1_321);
    let at = exact(second(5));
    assert_eq!(
        told(&[legacy], &[]),
        (
            Tone::Bad,
            "clients get 5xx",
            vec![format!(
                "Clients are answered 5xx: 1,321 of 1,328 whole answers of the legacy since {at}"
            )]
        )
    );
    let both = [
        errors(WaitedFor::Legacy, -900, -800, Some(-790), 9),
        errors(WaitedFor::Candidate, 5, 20, Some(25), 8),
        errors(WaitedFor::Legacy, 5, 25, Some(28), 10),
    ];
    let [at, to, last] = [5, 20, 25].map(|at| exact(second(at)));
    assert_eq!(
        told(&both, &[]),
        (
            Tone::Open,
            "clients got 5xx",
            vec![
                format!(
                    "Clients were answered 5xx: 10 of 17 whole answers of the legacy from {at} to {last}, the last 5 seconds ago; so 1 time \
                     before in the time that is shown"
                ),
                format!(
                    "Clients were answered 5xx: 8 of 15 whole answers of the candidate, which serves them in a rollout from {at} to {to}, the \
                     last 10 seconds ago"
                ),
            ]
        )
    );
}

#[test]
fn a_slow_legacy_is_told_with_what_was_usual() {
    let at = exact(second(2));
    let (tone, _, alerts) = told(&[], &[slow(None)]);
    assert_eq!(tone, Tone::Bad);
    assert_eq!(
        alerts,
        [format!(
            "The legacy is slow: since {at}: 60 of 80 compared answers took longer than 52.0 ms; p99 1.2 s, 600 times that of before, 2.0 ms"
        )]
    );
    let (tone, _, alerts) = told(&[], &[slow(Some(28))]);
    assert_eq!(tone, Tone::Good);
    assert!(
        alerts[0].starts_with("The legacy was slow: from "),
        "{alerts:?}"
    );
}

#[test]
fn how_long_clients_wait_is_known_where_they_are_served_and_else_by_steps() {
    let waits = |status: Option<&Status>, shown: &History| {
        let lately = lately(history(1, &[]), &[]);
        let now = Now {
            watermarks: &LIVE(),
            counted: None,
            history: shown,
            lately: &lately,
            status,
            candidate_version: "",
            allowed: 0.001,
        };
        now.waits(exact)
    };
    let mut shown = history(1, &[(-1, 60, 0, 60, 0, 0), (0, 30, 0, 30, 0, 0)]);
    assert_eq!(waits(None, &shown), None);
    let times = [("p50".to_owned(), 900), ("p99".to_owned(), 12_000)];
    shown.buckets[0].legacy_head_us = times.into();
    let told = waits(None, &shown).expect("a step");
    assert!(
        told.starts_with("the legacy took p50 900 µs, p99 12.0 ms to the head"),
        "{told}"
    );
    let mut own = status(true, "");
    assert!(
        waits(Some(&own), &shown).is_some(),
        "an earlier program does not say"
    );
    own.clients_now = Some(ClientsNow {
        legacy_took: Some(Took {
            answers: 380,
            p50_us: 1_000,
            p99_us: 2_000,
        }),
        ..ClientsNow::default()
    });
    own.added = Added::of(second(0), &[(50, 90), (100, 8), (u64::MAX, 2)]);
    let since = exact(second(0));
    assert_eq!(
        waits(Some(&own), &shown),
        Some(format!(
            "the legacy took p50 1.0 ms, p99 2.0 ms for 380 compared answers in the last 10 seconds; the mirror added p50 ≤ 50 µs, p99 over the \
             last bound to 100 requests since {since}"
        ))
    );
}
