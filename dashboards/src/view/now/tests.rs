//! Histories of a few minutes, and what is told of them.

use serde_json::json;

use parity_schemas::clients::ClientOutcome;

use super::*;

mod candidate;
mod clients;
mod exact;

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
                "candidate_unanswered": candidate_failures, "clients_failed": failed, "clients": {"2xx": received - failed, "legacy_unreachable": failed},
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
    let lately = lately(history(1, recent), switches);
    let now = Now {
        watermarks: runs,
        counted: None,
        history: &history(15, shown),
        lately: &lately,
        status: None,
        candidate_version: "",
        allowed: 0.001,
    };
    (now.tone(), now.told(clock), alarms(&now))
}

fn lately(recent: History, switches: &[Audit]) -> Lately {
    Lately {
        recent,
        switches: switches.to_vec(),
        rollouts: Vec::new(),
        handover: 0,
        at: minute(0).saturating_add_micros(30_000_000),
    }
}

fn alarms(now: &Now<'_>) -> Vec<String> {
    let alerts = now.alerts(clock).into_iter();
    let alerts = alerts.map(|alert| format!("{}: {}", alert.what, alert.about));
    alerts.collect()
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
    let minute_of_now = clock(minute(0));
    let since = "on average; the record counts by minutes";
    assert_eq!(
        told(calm, day, &LIVE(), &[]),
        (
            Tone::Good,
            format!("1.0 requests/s, none without a whole answer, {since}"),
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
    // Not of the minutes before, in which the outage may have been seconds.
    assert_eq!(
        now,
        format!("1.0 requests/s, 30 % without a whole answer, {since}")
    );
    assert_eq!(
        alerts,
        [format!(
            "Clients got errors since {minute_of_now}: 9 of 30 requests got no whole answer; the record counts by minutes, so whether \
             they still do is known where they are served"
        )]
    );
    // It is over, and still the first thing that is told.
    let hour: &[Counts] = &[(-45, 900, 70, 900, 0, 0), (-15, 900, 0, 900, 0, 0)];
    let (tone, now, alerts) = told(calm, hour, &LIVE(), &[]);
    assert!(tone == Tone::Open && now.starts_with("1.0 "), "{now}");
    let [alert] = &alerts[..] else {
        panic!("{alerts:?}");
    };
    assert!(
        alert.starts_with("Clients got errors: 70 requests got no whole answer"),
        "{alert}"
    );
    assert!(alert.ends_with("(at least 30 minutes ago)"), "{alert}");
}

#[test]
fn how_many_clients_failed_is_counted_where_the_last_of_them_is() {
    // The time that is shown ends before the last minutes, and has none.
    let recent: &[Counts] = &[(-20, 60, 7, 60, 0, 0), (-10, 60, 2, 60, 0, 0)];
    for shown in [
        &[(-300, 900, 0, 900, 0, 0)][..],
        &[(-300, 900, 50, 900, 0, 0)],
        &[],
    ] {
        let (.., alerts) = told(recent, shown, &LIVE(), &[]);
        let [from, to] = [-10, -9].map(|at| clock(minute(at)));
        assert_eq!(
            alerts[0],
            format!(
                "Clients got errors: 9 requests got no whole answer in the last 30 minutes, the last of them between {from} and {to} (at least 9 minutes ago)"
            )
        );
    }
}

#[test]
fn that_nobody_asks_and_that_nobody_records_are_two_things() {
    let (.., alerts) = told(&[(-13, 60, 0, 60, 0, 0)], &[], &LIVE(), &[]);
    // Neither younger nor older than is known: it was in that minute.
    let from = clock(minute(-13));
    assert_eq!(
        alerts,
        [format!(
            "No requests: the last one was received in the minute of {from} (at least 12 minutes ago)"
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
    let (_, now, alerts) = told(
        &[(-1, 60, 0, 60, 0, 0)],
        &[],
        &[run(RunState::Ended, -60)],
        &[],
    );
    assert!(alerts[0].contains("the last one ended at"), "{alerts:?}");
    // The minute that it ended in is no rate of now.
    assert_eq!(now, "not known: no process records now");
}

/// The page of a mirror that is at work said that no process records: of a full disk, and of a version that it had before.
#[test]
fn a_mirror_that_is_at_work_says_why_the_record_is_not_of_now() {
    let lately = lately(history(1, &[(-13, 60, 0, 60, 0, 0)]), &[]);
    for (error, version, what) in [
        (
            Some("disk is full"),
            "",
            "The record stands still: this mirror cannot write to the store: disk is full; what it counts waits, and what stands here was \
             written by ",
        ),
        (
            None,
            "2",
            "Nothing of this version is recorded now: the last process with it was heard of at ",
        ),
        (None, "", "No process records now: "),
    ] {
        let mut own = candidate::status(true, version);
        own.store_error = error.map(str::to_owned);
        let now = Now {
            watermarks: &[run(RunState::Silent, -60)],
            counted: None,
            history: &history(15, &[]),
            lately: &lately,
            status: Some(&own),
            candidate_version: "",
            allowed: 0.001,
        };
        let alerts = alarms(&now);
        assert!(
            alerts.iter().any(|alert| alert.starts_with(what)),
            "{alerts:?}"
        );
    }
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

#[test]
fn of_two_processes_only_a_switch_says_which_one_is_off() {
    let traffic: &[Counts] = &[(-1, 60, 0, 30, 0, 30)];
    let other = InstanceWatermark {
        instance: "two".to_owned(),
        ..run(RunState::Complete, -60)
    };
    let off = switch(AuditAction::ShadowingOff, -10, "Ada");
    // The one began anew since it was stopped, so what is counted may be of the other one.
    let runs = [run(RunState::Complete, -7), other.clone()];
    let (.., alerts) = told(traffic, &[], &runs, std::slice::from_ref(&off));
    let [alert] = &alerts[..] else {
        panic!("{alerts:?}");
    };
    assert!(
        alert.starts_with("Shadowing is off: 30 requests were not compared")
            && alert.contains("does not say in which process")
            && !alert.contains("Ada"),
        "{alert}"
    );
    // It has not: then it is the one that was stopped.
    let runs = [run(RunState::Complete, -60), other];
    let (.., alerts) = told(traffic, &[], &runs, &[off]);
    assert!(
        alerts[0].contains("nothing of one ") && alerts[0].contains("Ada"),
        "{alerts:?}"
    );
}
