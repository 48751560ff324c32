//! Outages of a few minutes.

use super::*;

const MINUTE: i64 = 60_000_000;

/// From and to in minutes, whether it is over, then sent, not answered, not sent.
type Told = (i64, i64, bool, u64, u64, u64);

/// Of so many minutes behind the begin: compared, not answered, not sent.
fn told(steps: &[(i64, u64, u64, u64)]) -> Vec<Told> {
    let steps = steps
        .iter()
        .map(|(minute, compared, unanswered, breaker_open)| Step {
            from: Timestamp::from_micros(minute * MINUTE),
            micros: MINUTE,
            sent: Sent {
                compared: *compared,
                unanswered: *unanswered,
                breaker_open: *breaker_open,
            },
        });
    let steps: Vec<Step> = steps.collect();
    let found = outages("2", &steps).into_iter();
    let minute = |time: Timestamp| time.as_micros() / MINUTE;
    found
        .map(|one| {
            assert_eq!(
                (one.candidate_version.as_str(), one.step_seconds),
                ("2", 60)
            );
            (
                minute(one.from),
                minute(one.to),
                one.ended,
                one.sent,
                one.unanswered,
                one.not_sent,
            )
        })
        .collect()
}

#[test]
fn an_outage_has_the_minutes_in_which_it_began_and_ended_but_not_what_was_answered_in_them() {
    let day = [
        (0, 60, 0, 0),
        (1, 60, 20, 0),
        (2, 50, 50, 10),
        (3, 0, 0, 60),
        (4, 60, 5, 0),
        (5, 60, 0, 0),
    ];
    assert_eq!(told(&day), [(1, 5, true, 75, 75, 70)]);
    // What is answered in the minute in which it ended makes it no larger.
    let mut later = day;
    later[4].1 = 6_000;
    assert_eq!(told(&later), told(&day));
    // One of seconds, within a minute.
    let seconds = [(0, 60, 0, 0), (1, 74, 70, 0), (2, 60, 0, 0)];
    assert_eq!(told(&seconds), [(1, 2, true, 70, 70, 0)]);
    // Up to the end, nothing says that it is over.
    assert_eq!(told(&day[..4]), [(1, 4, false, 70, 70, 70)]);
    assert!(told(&day[..2]).is_empty());
}

#[test]
fn one_of_seconds_is_told_although_most_of_its_minute_was_answered() {
    let short = [(0, 60, 0, 0), (1, 60, 12, 0), (2, 60, 0, 0)];
    assert_eq!(told(&short), [(1, 2, true, 12, 12, 0)]);
    // Over the end of a minute.
    let over = [(0, 60, 0, 0), (1, 60, 9, 0), (2, 60, 9, 0), (3, 60, 0, 0)];
    assert_eq!(told(&over), [(1, 3, true, 18, 18, 0)]);
    // Whether it goes on to fail now and then is not known before it is over.
    assert!(told(&short[..2]).is_empty());
    // Three of a thousand are those of one bad client.
    let few = [(0, 1_000, 0, 0), (1, 1_000, 3, 0), (2, 1_000, 0, 0)];
    assert!(told(&few).is_empty());
}

#[test]
fn what_fails_now_and_then_is_no_outage_and_two_are_two() {
    let flaky: Vec<_> = (0..60).map(|minute| (minute, 60, 9, 0)).collect();
    assert!(told(&flaky).is_empty());
    assert!(told(&[(0, 2, 2, 0), (1, 60, 0, 0)]).is_empty());
    let three = [
        (0, 9, 9, 0),
        (1, 9, 0, 0),
        (2, 9, 9, 0),
        (3, 9, 1, 0),
        (4, 9, 9, 0),
        (5, 9, 0, 0),
    ];
    assert_eq!(
        told(&three),
        [
            (0, 1, true, 9, 9, 0),
            (2, 4, true, 10, 10, 0),
            (4, 5, true, 9, 9, 0)
        ]
    );
    // Hours without a request are in none.
    assert_eq!(
        told(&[(0, 9, 9, 0), (300, 9, 9, 0)]),
        [(0, 1, true, 9, 9, 0), (300, 301, false, 9, 9, 0)]
    );
}

#[test]
fn clients_that_got_no_answer_are_told_each_time_and_by_what_they_got() {
    use ClientOutcome::{LegacyTruncated, LegacyUnreachable, Success};
    let step = |minute: i64, clients: &[(ClientOutcome, u64)]| {
        let from = Timestamp::from_micros(minute * MINUTE);
        ClientStep::of(from, MINUTE, clients.iter().copied().collect())
    };
    let steps = [
        step(0, &[(Success, 60)]),
        step(1, &[(Success, 40), (LegacyUnreachable, 20)]),
        step(2, &[(LegacyUnreachable, 60)]),
        step(3, &[(Success, 59), (LegacyTruncated, 1)]),
        step(4, &[(Success, 60)]),
        step(5, &[(LegacyUnreachable, 1)]),
    ];
    let found = client_outages(&steps);
    let told: Vec<_> = found
        .iter()
        .map(|one| {
            let minute = |time: Timestamp| time.as_micros() / MINUTE;
            (minute(one.from), minute(one.to), one.ended, one.failed)
        })
        .collect();
    assert_eq!(told, [(1, 4, true, 81), (5, 6, false, 1)]);
    assert_eq!(found[0].clients[&LegacyUnreachable], 80);
    assert!(!found[0].clients.contains_key(&Success));
}
