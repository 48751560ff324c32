//! What is told of the candidate.

use super::*;

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
    let [from, first, to] = [-3, -2, -1].map(|at| clock(minute(at)));
    assert_eq!(
        alerts,
        [format!(
            "Candidate down: since between {from} and {to} it failed on all requests that were sent to it (5), and on 59 of 60 from {from} \
             to {first}"
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
    let [from, to] = [-45, -30].map(|at| clock(minute(at)));
    assert!(
        alerts[0].contains(&format!("since between {from} and {to} ")),
        "{alerts:?}"
    );
    // One failure is no end, and one answer is a begin: but a minute in which it answered one of sixty is told, too.
    let one: &[Counts] = &[(-1, 1, 0, 1, 1, 0)];
    assert_eq!(told(one, &[], &LIVE(), &[]).2, Vec::<String>::new());
    let mostly = |failed: u64| {
        let recent: &[Counts] = &[(-1, 60, 0, 60, 60, 0), (0, 60, 0, 60, failed, 0)];
        told(recent, &[], &LIVE(), &[]).2
    };
    let since = clock(minute(0));
    assert_eq!(
        mostly(59),
        [format!(
            "Candidate failed since {since}: on 59 of 60 requests; the record counts by minutes, so whether it still does is known where it \
             is asked"
        )]
    );
    assert_eq!(mostly(29), Vec::<String>::new());
}

/// As soon as the mirror says that it fails, long before it leaves it alone, and also in a minute that has good requests, or none.
#[test]
fn that_it_fails_and_is_still_asked_is_told_from_the_first_moment_on() {
    let live = LIVE();
    let since = minute(0).saturating_add_micros(7_000_000);
    let exactly = |time: Timestamp| time.to_string().get(11..19).expect("a second").to_owned();
    let told = |recent: &[Counts], shadowing: bool| {
        let mut fails = status(true, "");
        fails.candidate_failing_since = Some(since);
        fails.shadowing = shadowing;
        let lately = lately(history(1, recent), &[]);
        let now = Now {
            watermarks: &live,
            counted: None,
            history: &history(15, &[]),
            lately: &lately,
            status: Some(&fails),
            candidate_version: "",
            allowed: 0.001,
        };
        let alerts = now.alerts(exactly).into_iter();
        let mut alerts = alerts.filter(|alert| alert.what.starts_with("Candidate"));
        let alert = alerts.next().expect("it fails");
        format!("{}: {}", alert.what, alert.about)
    };
    let at = exactly(since);
    // In a minute with good requests, and before the record has any.
    for recent in [&[(0, 60, 0, 60, 20, 0)][..], &[]] {
        assert_eq!(
            told(recent, true),
            format!("Candidate fails: since {at} it answered nothing; it is still asked")
        );
    }
    // In one that has none: it is not over.
    let none: &[Counts] = &[(-1, 60, 0, 60, 0, 0), (0, 30, 0, 30, 30, 0)];
    assert_eq!(
        told(none, true),
        format!(
            "Candidate fails: since {at} it failed on all requests that were sent to it (30); it is still asked"
        )
    );
    assert!(told(none, false).ends_with("; it is asked nothing now"));
}

#[test]
fn the_minute_in_which_it_began_to_fail_is_told_too() {
    let recent: &[Counts] = &[
        (-2, 60, 0, 60, 0, 0),
        (-1, 60, 0, 60, 20, 0),
        (0, 3, 0, 3, 3, 0),
    ];
    let [before, now] = [-1, 0].map(|at| clock(minute(at)));
    let (.., alerts) = told(recent, &[], &LIVE(), &[]);
    assert_eq!(
        alerts,
        [format!(
            "Candidate down: since between {before} and {now} it failed on all requests that were sent to it (3), and on 20 of 60 from \
             {before} to {now}"
        )]
    );
    // A minute in which it failed on none is not of it.
    let (.., alerts) = told(&[recent[0], recent[2]], &[], &LIVE(), &[]);
    assert!(alerts[0].ends_with("were sent to it (3)"), "{alerts:?}");
}

const FAILS: [Counts; 2] = [(-1, 60, 0, 60, 60, 0), (0, 30, 0, 30, 30, 0)];

pub(super) fn status(is_reachable: bool, version: &str) -> Status {
    serde_json::from_value(json!({
        "migration": "m", "legacy_version": "", "candidate_version": version, "rules_hash": "", "clients": {},
        "last_failed_client": null, "ready": true, "shadowing": true, "legacy_reachable": true,
        "candidate_reachable": is_reachable, "shadows_in_flight": 0, "shadow_bytes": 0, "store_error": null,
        "store_loss": null, "records_queued": 0, "records_dropped": 0, "spool_bytes": 0, "recording": null,
        "descriptors_low": null, "config_error": null
    }))
    .expect("a status")
}

/// What is told of the candidate, which is what is told first.
fn of_candidate(recent: &History, shown: &History, now: &Now<'_>) -> Option<String> {
    let lately = lately(recent.clone(), &[]);
    let now = Now {
        history: shown,
        lately: &lately,
        ..*now
    };
    let mut told = alarms(&now).into_iter();
    told.find(|alarm| alarm.starts_with("Candidate"))
}

#[test]
fn what_a_candidate_did_before_is_not_told_as_what_it_does() {
    let nothing = lately(history(1, &[]), &[]);
    let (live, ended) = (LIVE(), [run(RunState::Ended, -60)]);
    let (reachable, unreachable) = (status(true, ""), status(false, ""));
    let now = |runs, status| Now {
        watermarks: runs,
        counted: None,
        history: &nothing.recent,
        lately: &nothing,
        status,
        candidate_version: "",
        allowed: 0.001,
    };
    let none = history(15, &[]);
    // Yesterday's end, and no request since.
    let yesterday = history(15, &[(-600, 900, 0, 900, 900, 0)]);
    let idle = history(1, &[]);
    for (runs, status) in [
        (&live, None),
        (&ended, None),
        (&live, Some(&reachable)),
        (&ended, Some(&reachable)),
    ] {
        assert_eq!(of_candidate(&idle, &yesterday, &now(runs, status)), None);
    }
    // The mirror leaves it alone since.
    let told = of_candidate(&idle, &yesterday, &now(&live, Some(&unreachable)));
    let [from, to] = [-600, -585].map(|at| clock(minute(at)));
    let told = told.expect("it is down");
    assert!(
        told.starts_with(&format!("Candidate down: since between {from} and {to} ")),
        "{told}"
    );
    // A quarter of an hour ago.
    let before = history(1, &[(-16, 60, 0, 60, 60, 0), (-15, 60, 0, 60, 60, 0)]);
    let [from, to] = [-16, -14].map(|at| clock(minute(at)));
    let failed = format!(
        "Candidate failed: between {from} and {to} (at least 14 minutes ago) it failed on all requests that were sent to it (120)"
    );
    for runs in [&live, &ended] {
        let told = of_candidate(&before, &none, &now(runs, None));
        assert_eq!(told.as_ref(), Some(&failed));
    }
    // Now, but a mirror still uses it, or none is there any more.
    let fails = history(1, &FAILS);
    for (runs, status) in [(&live, Some(&reachable)), (&ended, None)] {
        let told = of_candidate(&fails, &none, &now(runs, status)).expect("it failed");
        assert!(told.starts_with("Candidate failed: "), "{told}");
    }
    for (runs, status) in [(&live, None), (&live, Some(&unreachable))] {
        let told = of_candidate(&fails, &none, &now(runs, status)).expect("it is down");
        assert!(told.starts_with("Candidate down: "), "{told}");
    }
}

#[test]
fn a_candidate_that_answers_what_cannot_be_compared_is_not_down() {
    let mut fails = history(1, &FAILS);
    let live = LIVE();
    let lately = lately(fails.clone(), &[]);
    let now = || Now {
        watermarks: &live,
        counted: None,
        history: &lately.recent,
        lately: &lately,
        status: None,
        candidate_version: "",
        allowed: 0.001,
    };
    assert!(of_candidate(&fails, &fails, &now()).is_some());
    fails.buckets[1].candidate_unanswered = 2;
    assert_eq!(of_candidate(&fails, &fails, &now()), None);
}

#[test]
fn a_new_candidate_does_not_get_the_alarm_of_the_old_one() {
    let version = |version: &str, last: i64| {
        json!({
            "legacy_version": "", "candidate_version": version, "rules_hash": "",
            "first": minute(-20).to_string(), "last": minute(last).to_string()
        })
    };
    let mut fails = history(1, &FAILS);
    fails.identities =
        serde_json::from_value(json!([version("1", -1), version("2", 0)])).expect("two versions");
    let of = |versions: [&[u32]; 2]| {
        let mut fails = fails.clone();
        for (bucket, versions) in fails.buckets.iter_mut().zip(versions) {
            bucket.identities = versions.to_vec();
        }
        fails
    };
    let (old, mixed, new) = (of([&[0], &[0]]), of([&[0], &[0, 1]]), of([&[0], &[1]]));
    let runs = |versions: &[Option<&str>]| -> Vec<InstanceWatermark> {
        let runs = versions.iter().map(|version| InstanceWatermark {
            candidate_version: version.map(str::to_owned),
            ..run(RunState::Complete, -60)
        });
        runs.collect()
    };
    let (second, both) = (runs(&[None]), runs(&[None, Some("1")]));
    let lately = lately(history(1, &[]), &[]);
    let now = |runs, status| Now {
        watermarks: runs,
        counted: None,
        history: &lately.recent,
        lately: &lately,
        status,
        // Of what a report counts.
        candidate_version: "2",
        allowed: 0.001,
    };
    for fails in [&old, &mixed] {
        assert_eq!(of_candidate(fails, fails, &now(&second, None)), None);
        // Both run, and both fail.
        assert!(of_candidate(fails, fails, &now(&both, None)).is_some());
    }
    let told = of_candidate(&new, &new, &now(&second, None)).expect("it is down");
    // The running minute is half over.
    let since = clock(minute(0));
    assert!(
        told.contains(&format!("since between {since} and {since} ")) && told.ends_with("(30)"),
        "{told}"
    );
    // What a mirror has found out of another one's end is of no version before.
    let told = of_candidate(&old, &old, &now(&second, Some(&status(false, "2"))));
    let told = told.expect("it is down");
    assert!(told.contains("the mirror has just found it so"), "{told}");
}

/// A mirror knows to the second what the record knows to a bucket.
#[test]
fn since_when_a_candidate_is_down_is_as_exact_as_it_is_known() {
    let live = LIVE();
    let second = |second: i64| minute(0).saturating_add_micros(second * 1_000_000);
    let exactly = |time: Timestamp| time.to_string().get(11..19).expect("a second").to_owned();
    let told = |recent: &[Counts], since: i64| {
        let mut down = status(false, "");
        down.candidate_failing_since = Some(second(since));
        let lately = lately(history(1, recent), &[]);
        let now = Now {
            watermarks: &live,
            counted: None,
            history: &history(15, &[]),
            lately: &lately,
            status: Some(&down),
            candidate_version: "",
            allowed: 0.001,
        };
        let alerts = now.alerts(exactly).into_iter();
        let mut alerts = alerts.filter(|alert| alert.what == "Candidate down");
        alerts.next().expect("it is down").about
    };
    let fails: &[Counts] = &[(-1, 60, 0, 60, 60, 0), (0, 30, 0, 30, 30, 0)];
    // Within the first of those minutes, and before it: the record is behind, or has not all of them.
    for since in [-23, -83] {
        let time = exactly(second(since));
        let told = told(fails, since);
        assert!(
            told.starts_with(&format!("since {time} it failed on all requests")),
            "{told}"
        );
    }
    // It was down before this mirror began.
    let [from, to] = [-60, 0].map(|at| exactly(second(at)));
    let longer = told(fails, 20);
    assert!(
        longer.starts_with(&format!("since between {from} and {to} it failed")),
        "{longer}"
    );
    // The record has nothing of it yet.
    let time = exactly(second(20));
    let new = told(&[], 20);
    assert!(
        new.starts_with(&format!(
            "since {time} it answered nothing; it is left alone"
        )),
        "{new}"
    );
}

/// Two mirrors, each with its own candidate: what the one answers does not hide that the other is down.
#[test]
fn of_two_candidates_the_one_that_is_down_is_told_by_its_name() {
    let mut recent = history(
        1,
        &[
            (-3, 60, 0, 60, 5, 0),
            (-2, 60, 0, 60, 30, 0),
            (-1, 60, 0, 60, 30, 0),
            (0, 60, 0, 30, 0, 0),
        ],
    );
    let identity = |version: &str| {
        json!({
            "legacy_version": "", "candidate_version": version, "rules_hash": "",
            "first": minute(-20).to_string(), "last": minute(0).to_string()
        })
    };
    recent.identities =
        serde_json::from_value(json!([identity("1"), identity("2\u{202e}")])).expect("two");
    let of = |version: &str, compared: u64, unanswered: u64| json!({"candidate_version": version, "compared": compared, "unanswered": unanswered, "breaker_open": 0});
    let second = "2\u{202e}";
    let parts = [
        (vec![0, 1], json!([of("1", 30, 0), of(second, 30, 5)])),
        (vec![0, 1], json!([of("1", 30, 0), of(second, 30, 30)])),
        (vec![0, 1], json!([of("1", 30, 0), of(second, 30, 30)])),
        // In this minute only the first one was asked.
        (vec![0], json!([])),
    ];
    for (bucket, (identities, candidates)) in recent.buckets.iter_mut().zip(parts) {
        bucket.identities = identities;
        bucket.candidates = serde_json::from_value(candidates).expect("counts");
    }
    let run = |instance: &str, version: Option<&str>| InstanceWatermark {
        instance: instance.to_owned(),
        candidate_version: version.map(str::to_owned),
        ..run(RunState::Complete, -60)
    };
    let both = [run("one", None), run("two", Some(second))];
    let lately = lately(recent.clone(), &[]);
    let alerts = |runs: &[InstanceWatermark], status: Option<&Status>| {
        alarms(&Now {
            watermarks: runs,
            counted: None,
            history: &history(15, &[]),
            lately: &lately,
            status,
            candidate_version: "1",
            allowed: 0.001,
        })
    };
    let [from, first, to] = [-3, -2, -1].map(|at| clock(minute(at)));
    let expected = format!(
        "Candidate 2\\u{{202e}} down: since between {from} and {to} it failed on all requests that were sent to it (60), and on 5 of 30 from \
         {from} to {first}"
    );
    assert_eq!(alerts(&both, None), [expected.as_str()]);
    // Also on the page of the mirror before the other one, which says of its own that it is well.
    assert_eq!(alerts(&both, Some(&status(true, "1"))), [expected.as_str()]);
    // Only the first one runs now.
    assert_eq!(alerts(&both[..1], None), Vec::<String>::new());
    // Both are down.
    let down = alerts(&both, Some(&status(false, "1")));
    assert!(
        down.len() == 2 && down[0].starts_with("Candidate 1 down: ") && down[1] == expected,
        "{down:?}"
    );
    // Of more than are told of, the mirror's own one is not left out.
    let many = (0..20).map(|number| run("other", Some(&format!("1.{number}"))));
    let many: Vec<InstanceWatermark> = many.collect();
    let own = status(false, "9");
    let down = alerts(&many, Some(&own));
    assert!(
        down.len() == 1 && down[0].starts_with("Candidate 9 down"),
        "{down:?}"
    );
}
