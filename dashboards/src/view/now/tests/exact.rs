//! What is told of what mirrors have seen to the second and written into the record.

use super::candidate::status;
use super::*;
use parity_schemas::history::CandidateOutage;
use parity_schemas::lately::CandidateErrors;
use parity_schemas::watermark::Standing;

fn second(second: i64) -> Timestamp {
    minute(0).saturating_add_micros(second * 1_000_000)
}

fn exact(time: Timestamp) -> String {
    let text = time.to_string();
    text.get(11..19).expect("a second").to_owned()
}

/// From, to, answered, failed, not sent.
type Seen = (i64, i64, Option<i64>, u64, u64);

fn outage((from, to, answered, failed, not_sent): Seen) -> CandidateOutage {
    CandidateOutage {
        from: second(from),
        to: second(to),
        step_seconds: 1,
        ended: answered.is_some(),
        answered: answered.map(second),
        sent: failed,
        unanswered: failed,
        not_sent,
        ..CandidateOutage::default()
    }
}

/// From, to, ended, compared, errors, errors of the legacy.
type Errors = (i64, i64, Option<i64>, u64, u64, u64);

fn errors((from, to, ended, compared, errors, legacy_errors): Errors) -> CandidateErrors {
    CandidateErrors {
        candidate_version: String::new(),
        from: second(from),
        to: second(to),
        ended: ended.map(second),
        compared,
        errors,
        legacy_errors,
    }
}

/// What is told of the candidate half a minute behind `NOW`.
fn told(
    own: Option<&Status>,
    runs: &[InstanceWatermark],
    recent: &[Counts],
    outages: &[Seen],
    erring: &[Errors],
) -> Vec<String> {
    let lately = lately(history(1, recent), &[]);
    let mut shown = history(1, recent);
    shown.outages = outages.iter().copied().map(outage).collect();
    shown.candidate_errors = erring.iter().copied().map(errors).collect();
    let now = Now {
        watermarks: runs,
        counted: None,
        history: &shown,
        lately: &lately,
        status: own,
        candidate_version: "",
        allowed: 0.001,
    };
    let alerts = now.alerts(exact).into_iter();
    let alerts = alerts.filter(|alert| alert.what.starts_with("Candidate"));
    alerts
        .map(|alert| format!("{}: {}", alert.what, alert.about))
        .collect()
}

/// A minute with good requests, in which the outage is some seconds old: by the counts alone, nothing is wrong.
const YOUNG: &[Counts] = &[(-1, 60, 0, 60, 0, 0), (0, 30, 0, 24, 4, 0)];

#[test]
fn a_reader_of_the_record_knows_an_outage_as_soon_as_its_mirror_has_written_it() {
    let at = [20, 28].map(|at| exact(second(at)));
    assert_eq!(told(None, &LIVE(), YOUNG, &[], &[]), Vec::<String>::new());
    assert_eq!(
        told(None, &LIVE(), YOUNG, &[(20, 29, None, 4, 0)], &[]),
        [format!(
            "Candidate fails: since {}: 4 requests failed; it is still asked",
            at[0]
        )]
    );
    // As soon as it is left alone.
    let down = &[(20, 29, None, 4, 7)];
    assert_eq!(
        told(None, &LIVE(), YOUNG, down, &[]),
        [format!(
            "Candidate down: since {}: 4 requests failed, and 7 were not sent to it",
            at[0]
        )]
    );
    // Whoever wrote it is gone, or has not been heard of for longer than now is.
    let over = format!(
        "Candidate failed: from {} to {}, and nothing that it answered is recorded since, 2 seconds ago: 4 requests failed",
        at[0], at[1]
    );
    let ended = [run(RunState::Ended, -60)];
    assert_eq!(
        told(None, &ended, YOUNG, &[(20, 28, None, 4, 0)], &[]),
        [over]
    );
    let old = told(None, &LIVE(), YOUNG, &[(1, 3, None, 4, 0)], &[]);
    assert!(old[0].starts_with("Candidate failed: from "), "{old:?}");
}

#[test]
fn two_outages_are_two_and_each_has_its_own_numbers() {
    // Both are in one minute, which the counts cannot part.
    let two = &[(-50, -40, Some(-39), 60, 25), (20, 29, None, 9, 0)];
    let mut fails = status(true, "");
    fails.candidate_failing_since = Some(second(20));
    let recent: &[Counts] = &[(-1, 600, 0, 575, 60, 0), (0, 300, 0, 300, 9, 0)];
    let since = exact(second(20));
    let expected = format!(
        "Candidate fails: since {since}: 9 requests failed; 1 outage before it in the time that is shown"
    );
    for own in [None, Some(&fails)] {
        let told = told(own, &LIVE(), recent, two, &[]);
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].starts_with(&expected), "{told:?}");
    }
    // When the record has nothing of the second one yet, the first one is not told as its begin.
    let silent: &[Counts] = &[(-1, 600, 0, 575, 60, 0), (0, 9, 0, 9, 9, 0)];
    let young = told(Some(&fails), &LIVE(), silent, &two[..1], &[]);
    assert!(
        young[0].contains(" on all requests that were sent to it (9); "),
        "{young:?}"
    );
    // Afterwards the last one is told, with the others counted.
    let [from, to, answered] = [20, 24, 25].map(|at| exact(second(at)));
    let over = &[two[0], (20, 24, Some(25), 9, 3)];
    for own in [None, Some(&status(true, ""))] {
        assert_eq!(
            told(own, &LIVE(), recent, over, &[]),
            [format!(
                "Candidate failed: from {from} to {to} and answered again at {answered}, 5 seconds ago: 9 requests failed, and 3 were not \
                 sent to it; 1 outage before it in the time that is shown"
            )]
        );
    }
    // Of half an hour ago nothing is told on top.
    let before = &[(-3_600, -3_590, Some(-3_580), 9, 0)];
    assert_eq!(
        told(None, &LIVE(), YOUNG, before, &[]),
        Vec::<String>::new()
    );
}

#[test]
fn errors_of_the_candidate_are_told_beside_those_of_the_legacy() {
    let [from, to] = [12, 29].map(|at| exact(second(at)));
    let goes_on = &[(12, 29, None, 60, 45, 2)];
    let calm: &[Counts] = &[(0, 60, 0, 60, 0, 0)];
    for own in [None, Some(&status(true, ""))] {
        assert_eq!(
            told(own, &LIVE(), calm, &[], goes_on),
            [format!(
                "Candidate answers with errors: 45 of 60 requests since {from} (legacy: 2)"
            )]
        );
    }
    let over = &[(12, 29, Some(30), 60, 45, 0)];
    assert_eq!(
        told(None, &LIVE(), calm, &[], over),
        [format!(
            "Candidate answered with errors: 45 of 60 requests from {from} to {to} (legacy: 0), the last 1 second ago"
        )]
    );
    let before = &[(-3_600, -3_590, Some(-3_580), 60, 45, 0)];
    assert_eq!(told(None, &LIVE(), calm, &[], before), Vec::<String>::new());
}

#[test]
fn a_process_that_was_killed_is_told_on_top_as_long_as_the_verdict_lacks_it() {
    let killed = InstanceWatermark {
        last_heard: Some(second(3)),
        succeeded: Some(second(9)),
        ..run(RunState::Replaced, -60)
    };
    let lately = lately(history(1, &[(0, 60, 0, 60, 0, 0)]), &[]);
    let told = |runs: &[InstanceWatermark]| {
        let now = Now {
            watermarks: runs,
            counted: None,
            history: &lately.recent,
            lately: &lately,
            status: None,
            candidate_version: "",
            allowed: 0.001,
        };
        alarms(&now)
    };
    let [heard, next] = [3, 9].map(|at| clock(second(at)));
    let live = run(RunState::Complete, 0);
    assert_eq!(
        told(&[killed.clone(), live.clone()]),
        [format!(
            "A process was killed: one was last heard of at {heard} and began anew at {next}: clients were refused in between, unless \
             something else served them, and what it received last is in no count; `parity gate` on all of it does not pass, and with \
             --since {} it leaves that out",
            second(9)
        )]
    );
    // Another one was heard of before, and began anew after it: the gate must leave out both.
    let longer = InstanceWatermark {
        instance: "two".to_owned(),
        last_heard: Some(second(1)),
        succeeded: Some(second(12)),
        ..killed.clone()
    };
    let runs = [killed, longer, live.clone()];
    let both = &told(&runs)[0];
    assert!(
        both.contains(&format!("began anew at {next}: ")) && both.contains("so did another before"),
        "{both}"
    );
    let (_, since) = Standing::shown(runs.to_vec())
        .but_for_losses()
        .expect("nothing else is in doubt");
    assert!(both.contains(&format!("--since {since} ")), "{both}");
    assert_eq!(told(&[live]), Vec::<String>::new());
}

#[test]
fn two_processes_of_one_name_are_told_and_a_handover_and_a_reload_are_not() {
    let calm = || lately(history(1, &[(0, 60, 0, 60, 0, 0)]), &[]);
    let told_at = |lately: &Lately, runs: &[InstanceWatermark]| {
        let now = Now {
            watermarks: runs,
            counted: None,
            history: &lately.recent,
            lately,
            status: None,
            candidate_version: "",
            allowed: 0.001,
        };
        alarms(&now)
    };
    let told = |runs: &[InstanceWatermark]| told_at(&calm(), runs);
    let one = run(RunState::Complete, -60);
    let of = |started, heard, rules: Option<&str>, state| InstanceWatermark {
        last_heard: Some(second(heard)),
        rules_hash: rules.map(str::to_owned),
        ..run(state, started)
    };
    let expected = format!(
        "Two processes have one name: both write as one since {}; what they count is added up, but if one of them is killed nobody is told: \
         give each its own --instance",
        clock(minute(-2))
    );
    let both = [one.clone(), of(-2, 29, None, RunState::Complete)];
    assert_eq!(told(&both), [expected]);
    // The one before may drain for three minutes.
    let patient = Lately {
        handover: 3 * INTERVAL_MICROS,
        ..calm()
    };
    assert_eq!(told_at(&patient, &both), Vec::<String>::new());
    for other in [
        // It has just taken over, has ended, or goes on under other rules.
        of(0, 29, None, RunState::Complete),
        of(-2, 29, None, RunState::Ended),
        of(-2, 29, Some("others"), RunState::OtherRules),
        // The process has had these rules before.
        InstanceWatermark {
            last_heard: one.last_heard,
            ..of(-2, 29, None, RunState::Complete)
        },
    ] {
        assert_eq!(told(&[one.clone(), other]), Vec::<String>::new());
    }
}
