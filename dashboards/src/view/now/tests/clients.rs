//! What clients get, by the process that serves them and by the record, and in which tense it is told.

use parity_schemas::lately::{ClientFailures, ClientsNow, GaveUp};

use super::candidate::status;
use super::*;

/// Half a minute behind `NOW`, which is when things are told here.
fn second(second: i64) -> Timestamp {
    minute(0).saturating_add_micros(second * 1_000_000)
}

fn exact(time: Timestamp) -> String {
    let text = time.to_string();
    text.get(11..19).expect("a second").to_owned()
}

/// A mirror of which so many requests of the last ten seconds got a whole answer, and none, and what it knows of failures: from,
/// to and how many.
fn mirror(answered: u64, failed: u64, failures: Option<(i64, i64, u64)>) -> Status {
    let counts = [
        (ClientOutcome::Success, answered),
        (ClientOutcome::LegacyUnreachable, failed),
    ];
    Status {
        clients_now: Some(ClientsNow {
            from: second(20),
            to: second(30),
            clients: counts.into_iter().filter(|(_, count)| *count > 0).collect(),
            failures: failures.map(|(from, to, failed)| ClientFailures {
                from: second(from),
                to: second(to),
                failed,
            }),
            ..ClientsNow::default()
        }),
        ..status(true, "")
    }
}

/// Tone, title, what clients get, and the first alarm.
fn told_by(
    status: Option<&Status>,
    recent: &[Counts],
    runs: &[InstanceWatermark],
) -> (Tone, &'static str, String, String) {
    let lately = lately(history(1, recent), &[]);
    let now = Now {
        watermarks: runs,
        counted: None,
        history: &history(15, &[]),
        lately: &lately,
        status,
        candidate_version: "",
        allowed: 0.001,
    };
    let first = now.alerts(exact).into_iter().next();
    let first = first.map(|alert| format!("{}: {}", alert.what, alert.about));
    (
        now.tone(),
        now.title(),
        now.told(exact),
        first.unwrap_or_default(),
    )
}

/// The outage is five seconds old: the minutes before it say nothing of it.
const YOUNG: &[Counts] = &[
    (-2, 60, 0, 60, 0, 0),
    (-1, 60, 0, 60, 0, 0),
    (0, 30, 5, 25, 0, 0),
];

#[test]
fn an_outage_of_some_seconds_is_told_of_these_seconds() {
    let own = mirror(5, 5, Some((25, 30, 5)));
    let (tone, title, now, alarm) = told_by(Some(&own), YOUNG, &LIVE());
    assert_eq!((tone, title), (Tone::Bad, "clients fail"));
    assert_eq!(
        now,
        "1.0 requests/s, 50 % without a whole answer in the last 10 seconds"
    );
    let since = exact(second(25));
    assert_eq!(
        alarm,
        format!(
            "Clients get errors now: 5 of 10 requests in the last 10 seconds got no whole answer, 5 since {since}"
        )
    );
}

#[test]
fn what_is_over_is_not_now_although_its_minute_is() {
    let own = mirror(10, 0, Some((5, 15, 11)));
    let failed: &[Counts] = &[(-9, 60, 3, 57, 0, 0), (0, 30, 11, 19, 0, 0)];
    let (tone, title, now, alarm) = told_by(Some(&own), failed, &LIVE());
    assert_eq!((tone, title), (Tone::Open, "clients failed"));
    assert_eq!(
        now,
        "1.0 requests/s, none without a whole answer in the last 10 seconds"
    );
    let [from, to] = [5, 15].map(|at| exact(second(at)));
    assert_eq!(
        alarm,
        format!(
            "Clients got errors until {to}: 11 requests got no whole answer from {from} to {to}, the last of them 15 seconds ago; 14 in \
             the last 30 minutes"
        )
    );
    // Of a process that ended, or before this one began, the record alone tells.
    let (_, title, _, alarm) = told_by(Some(&mirror(10, 0, None)), failed, &LIVE());
    assert_eq!(title, "clients failed");
    assert!(
        alarm.starts_with("Clients got errors: 14 requests got no whole answer in the last 30"),
        "{alarm}"
    );
}

/// A mirror of which so many requests of the last ten seconds were answered, and so many clients left, all that waited for the candidate.
fn left(answered: u64, left: u64) -> Status {
    let mut status = mirror(answered, 0, None);
    let now = status.clients_now.as_mut().expect("it is a mirror");
    now.clients.insert(ClientOutcome::ClientAborted, left);
    now.gave_up_on_candidate = GaveUp {
        now: left,
        last: Some(ClientFailures {
            from: second(12),
            to: second(30),
            failed: left + 30,
        }),
    };
    status
}

#[test]
fn clients_that_leave_are_never_told_as_well_and_many_are_an_alarm() {
    let (tone, title, now, alarm) = told_by(Some(&left(3, 450)), &[], &LIVE());
    assert_eq!((tone, title), (Tone::Bad, "clients leave"));
    assert_eq!(
        now,
        "45.3 requests/s, 450 of 453 left before they had a whole answer in the last 10 seconds"
    );
    let since = exact(second(12));
    assert_eq!(
        alarm,
        format!(
            "Clients leave without their answer: they left on 450 of 453 requests in the last 10 seconds, when they had waited for the \
             candidate for half a second or more, 480 since {since}"
        )
    );
    // One in a hundred is somebody who closes a page.
    let (tone, title, now, alarm) = told_by(Some(&left(495, 5)), &[], &LIVE());
    assert_eq!((tone, title, alarm.as_str()), (Tone::Good, "", ""));
    assert!(now.contains("5 of 500 left before they had"), "{now}");
    let mut both = left(0, 5);
    let counts = both.clients_now.as_mut().map(|now| &mut now.clients);
    counts.and_then(|counts| counts.insert(ClientOutcome::LegacyTimeout, 5));
    let now = told_by(Some(&both), &[], &LIVE()).2;
    assert!(
        now.contains("50 % without a whole answer, and 5 of 10 left before they had one"),
        "{now}"
    );
}

#[test]
fn a_legacy_that_does_not_answer_is_told_with_what_clients_get() {
    let down = |status: Status| {
        let status = Status {
            legacy_reachable: false,
            legacy_failing_since: Some(second(12)),
            ..status
        };
        told_by(Some(&status), &[], &LIVE()).3
    };
    let since = exact(second(12));
    let mut hangs = left(0, 5);
    let now = hangs.clients_now.as_mut().expect("it is a mirror");
    now.gave_up_on_legacy = std::mem::take(&mut now.gave_up_on_candidate);
    let told = format!("The legacy does not answer: clients leave without an answer since {since}");
    assert_eq!(down(hangs), told);
    let told = format!("The legacy does not answer: clients get errors since {since}");
    assert_eq!(down(mirror(0, 5, Some((12, 30, 5)))), told);
}

#[test]
fn of_several_mirrors_one_does_not_speak_for_all() {
    let other = InstanceWatermark {
        instance: "two".to_owned(),
        ..run(RunState::Complete, -60)
    };
    let runs = [run(RunState::Complete, -60), other];
    // Its own clients are well, and those of the other one are not.
    let (tone, title, now, alarm) = told_by(Some(&mirror(10, 0, None)), YOUNG, &runs);
    assert_eq!((tone, title), (Tone::Bad, "clients failed"));
    let since = exact(second(0));
    assert_eq!(
        now,
        format!(
            "1.0 requests/s, none without a whole answer of this mirror in the last 10 seconds; of all mirrors 1.0 requests/s, 16.7 % \
             without a whole answer, on average since {since} by the record, which counts by minutes"
        )
    );
    assert!(
        alarm.starts_with(&format!("Clients got errors since {since}: 5 of 30 ")),
        "{alarm}"
    );
    let own = mirror(0, 10, Some((20, 30, 10)));
    let (_, title, _, alarm) = told_by(Some(&own), YOUNG, &runs);
    assert_eq!(title, "clients fail");
    assert!(
        alarm.contains("10 of 10 requests of this mirror in "),
        "{alarm}"
    );
}

#[test]
fn the_title_has_the_tense_of_the_alarm() {
    let calm: &[Counts] = &[(0, 60, 0, 60, 0, 0)];
    let before: &[Counts] = &[(-20, 60, 1, 59, 0, 0), (0, 60, 0, 60, 0, 0)];
    for (recent, title, alarm) in [
        (YOUNG, "clients failed", "Clients got errors since "),
        (before, "clients failed", "Clients got errors: "),
        (calm, "", ""),
    ] {
        let told = told_by(None, recent, &LIVE());
        assert_eq!(told.1, title);
        assert!(told.3.starts_with(alarm), "{}", told.3);
    }
    // Without a request of late, the record says how long.
    let (_, _, now, _) = told_by(Some(&mirror(0, 0, None)), calm, &LIVE());
    assert!(
        now.starts_with("no request has ended in the last 10 seconds; 2.0 requests/s, "),
        "{now}"
    );
}

#[test]
fn only_what_a_process_says_of_itself_is_called_now() {
    let label = |status: Option<&Status>, runs: &[InstanceWatermark]| {
        let lately = lately(history(1, YOUNG), &[]);
        let now = Now {
            watermarks: runs,
            counted: None,
            history: &history(15, &[]),
            lately: &lately,
            status,
            candidate_version: "",
            allowed: 0.001,
        };
        now.label(exact)
    };
    let runs = [run(RunState::Complete, -60)];
    assert_eq!(label(Some(&mirror(10, 0, None)), &runs), "Clients now");
    let since = exact(second(0));
    assert_eq!(
        label(None, &runs),
        format!("Clients, in the last minute that is recorded (since {since})")
    );
    // Nothing is known of now, which is said of now.
    assert_eq!(label(None, &[run(RunState::Ended, -60)]), "Clients now");
}
