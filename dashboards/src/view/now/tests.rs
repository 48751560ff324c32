//! Histories of a few minutes, and what is told of them.

use serde_json::json;

use super::*;

/// The begin of a minute.
const NOW: i64 = 1_790_000_040;

fn minute(minute: i64) -> Timestamp {
    Timestamp::from_micros((NOW + minute * 60) * 1_000_000)
}

fn clock(time: Timestamp) -> String {
    let text = time.to_string();
    text.get(11..16).expect("an hour and a minute").to_owned()
}

/// Of one minute, which begins so many minutes from now: received, clients without a whole answer, compared, candidate failures,
/// not compared because shadowing was off.
type Counts = (i64, u64, u64, u64, u64, u64);

fn history(step: i64, buckets: &[Counts]) -> History {
    let buckets = buckets.iter().map(
        |(from, received, failed, compared, candidate_failures, shadowing_off)| {
            json!({
                "from": minute(*from).to_string(), "received": received, "compared": compared, "differing": 0,
                "mismatches": 0, "classes": {}, "excused": 0, "candidate_failures": candidate_failures,
                "clients_failed": failed, "clients": {"2xx": received - failed, "legacy_unreachable": failed},
                "shadowing_off": shadowing_off, "identities": [], "legacy_head_us": {}, "candidate_head_us": {}
            })
        },
    );
    let buckets: Vec<_> = buckets.collect();
    serde_json::from_value(json!({
        "schema": "", "migration": "m", "legacy_version": null, "candidate_version": null, "route": null,
        "window": {"from": minute(-60).to_string(), "to": minute(1).to_string()}, "bucket_seconds": step * 60,
        "buckets": buckets, "without_excused": true, "with_latency": false, "identities": [], "marks": [],
        "routes": [], "routes_left_out": 0, "groups": []
    }))
    .expect("a history")
}

fn run(state: RunState, started: i64) -> InstanceWatermark {
    InstanceWatermark {
        instance: "one".to_owned(),
        started: Some(minute(started)),
        complete_until: None,
        last_heard: Some(minute(-1)),
        under_way: 0,
        state,
        rules_hash: None,
        legacy_version: None,
        candidate_version: None,
        succeeded: None,
    }
}

fn switch(action: AuditAction, at: i64, user: &str) -> Audit {
    Audit {
        id: uuid::Uuid::from_u128(at.unsigned_abs().into()),
        instance: "one".to_owned(),
        time: minute(at),
        action,
        user: user.to_owned(),
        ..Audit::default()
    }
}

/// What is told half a minute behind `NOW`.
fn told(
    recent: &[Counts],
    shown: &[Counts],
    runs: &[InstanceWatermark],
    switches: &[Audit],
) -> (Tone, String, Vec<String>) {
    let lately = Lately {
        recent: history(1, recent),
        switches: switches.to_vec(),
        at: minute(0).saturating_add_micros(30_000_000),
    };
    let now = Now {
        watermarks: runs,
        counted: None,
        history: &history(15, shown),
        lately: &lately,
        status: None,
    };
    let alerts = now.alerts(clock).into_iter();
    let alerts = alerts.map(|alert| format!("{}: {}", alert.what, alert.about));
    (now.tone(), now.told(), alerts.collect())
}

const LIVE: fn() -> [InstanceWatermark; 1] = || [run(RunState::Complete, -60)];

#[test]
fn clients_are_told_of_now_and_of_what_they_had_before() {
    let calm: &[Counts] = &[
        (-2, 60, 0, 60, 0, 0),
        (-1, 60, 0, 60, 0, 0),
        (0, 30, 0, 30, 0, 0),
    ];
    let day: &[Counts] = &[(-45, 900, 0, 900, 0, 0), (-15, 900, 0, 900, 0, 0)];
    assert_eq!(
        told(calm, day, &LIVE(), &[]),
        (
            Tone::Good,
            "1.0 requests/s, none without a whole answer".to_owned(),
            vec![]
        )
    );
    let hurt: &[Counts] = &[
        (-2, 60, 0, 60, 0, 0),
        (-1, 60, 6, 60, 0, 0),
        (0, 30, 9, 30, 0, 0),
    ];
    let (tone, now, alerts) = told(hurt, day, &LIVE(), &[]);
    assert_eq!(tone, Tone::Bad);
    assert_eq!(now, "1.0 requests/s, 10 % without a whole answer");
    assert_eq!(
        alerts,
        ["Clients get errors now: 15 of 150 requests of the last minutes got no whole answer"]
    );
    // It is over, and still the first thing that is told.
    let hour: &[Counts] = &[(-45, 900, 70, 900, 0, 0), (-15, 900, 0, 900, 0, 0)];
    let (tone, now, alerts) = told(calm, hour, &LIVE(), &[]);
    assert!(tone == Tone::Bad && now.starts_with("1.0 "), "{now}");
    let [alert] = &alerts[..] else {
        panic!("{alerts:?}");
    };
    assert!(
        alert.starts_with("Clients got errors: 70 requests got no whole answer"),
        "{alert}"
    );
    assert!(alert.ends_with("(30 minutes ago)"), "{alert}");
}

#[test]
fn a_candidate_is_down_since_it_failed_on_everything() {
    let recent: &[Counts] = &[
        (-4, 60, 0, 60, 1, 0),
        (-3, 60, 0, 60, 59, 0),
        (-2, 60, 0, 4, 4, 0),
        (-1, 60, 0, 0, 0, 0),
        (0, 30, 0, 1, 1, 0),
    ];
    let (.., alerts) = told(recent, &[(-15, 900, 0, 800, 30, 0)], &LIVE(), &[]);
    let since = clock(minute(-2));
    assert_eq!(
        alerts,
        [format!(
            "Candidate down: since about {since} it failed on all requests that were sent to it (5)"
        )]
    );
    // Since before the last minutes.
    let all: &[Counts] = &[(-2, 60, 0, 60, 60, 0), (0, 60, 0, 60, 60, 0)];
    let day: &[Counts] = &[
        (-60, 900, 0, 900, 0, 0),
        (-45, 900, 0, 900, 900, 0),
        (-15, 900, 0, 900, 900, 0),
    ];
    let (.., alerts) = told(all, day, &LIVE(), &[]);
    let since = clock(minute(-45));
    assert!(
        alerts[0].contains(&format!("since about {since} ")),
        "{alerts:?}"
    );
    // One failure is no end, and one answer is a begin.
    for recent in [
        &[(-1, 1, 0, 1, 1, 0)][..],
        &[(-1, 60, 0, 60, 60, 0), (0, 60, 0, 60, 59, 0)],
    ] {
        let recent: Vec<Counts> = recent.to_vec();
        assert_eq!(told(&recent, &[], &LIVE(), &[]).2, Vec::<String>::new());
    }
}

#[test]
fn that_nobody_asks_and_that_nobody_records_are_two_things() {
    let (.., alerts) = told(&[(-13, 60, 0, 60, 0, 0)], &[], &LIVE(), &[]);
    let last = clock(minute(-12));
    assert_eq!(
        alerts,
        [format!(
            "No requests: the last one was received about 12 minutes ago ({last})"
        )]
    );
    let (.., alerts) = told(
        &[(-13, 60, 0, 60, 0, 0)],
        &[],
        &[run(RunState::Silent, -60)],
        &[],
    );
    assert!(
        alerts[0].starts_with("No process records now: the last one was heard of at"),
        "{alerts:?}"
    );
    let (.., alerts) = told(
        &[(-13, 60, 0, 60, 0, 0)],
        &[],
        &[run(RunState::Ended, -60)],
        &[],
    );
    assert!(alerts[0].contains("the last one ended at"), "{alerts:?}");
}

#[test]
fn shadowing_is_off_until_somebody_starts_it_or_the_process_begins_anew() {
    use AuditAction::{ShadowingOff, ShadowingOn};
    let off = switch(ShadowingOff, -10, "Ada\u{202e}");
    let traffic: &[Counts] = &[(-1, 60, 0, 60, 0, 0)];
    let (.., alerts) = told(traffic, &[], &LIVE(), std::slice::from_ref(&off));
    let [alert] = &alerts[..] else {
        panic!("{alerts:?}");
    };
    for part in [
        "Shadowing is off: ",
        "nothing of one ",
        "(10 minutes ago)",
        "Ada\\u{202e}",
    ] {
        assert!(alert.contains(part), "{alert}");
    }
    let on = switch(ShadowingOn, -5, "");
    for (runs, switches) in [
        (LIVE(), vec![off.clone(), on]),
        ([run(RunState::Complete, -7)], vec![off.clone()]),
    ] {
        assert_eq!(told(traffic, &[], &runs, &switches).2, Vec::<String>::new());
    }
    // A run may have begun with a reload: what is counted tells.
    let (.., alerts) = told(
        &[(-1, 60, 0, 0, 0, 60)],
        &[],
        &[run(RunState::Complete, -7)],
        &[off],
    );
    assert_eq!(alerts.len(), 1, "{alerts:?}");
    let (.., alerts) = told(&[(-1, 60, 0, 0, 0, 60)], &[], &LIVE(), &[]);
    assert!(alerts[0].contains("does not say who"), "{alerts:?}");
}
