//! Stretches of mirrors in the place of minutes.

use super::*;

const SECOND: i64 = 1_000_000;

fn at(second: i64) -> Timestamp {
    Timestamp::from_micros(second * SECOND)
}

fn outage(from: i64, to: i64, failed: u64, step_seconds: u64) -> CandidateOutage {
    CandidateOutage {
        candidate_version: "2".to_owned(),
        from: at(from),
        to: at(to),
        step_seconds,
        unanswered: failed,
        sent: failed,
        ..CandidateOutage::default()
    }
}

fn told(known: Vec<CandidateOutage>, seen: Vec<CandidateOutage>) -> Vec<(i64, i64, u64, u64)> {
    let is_one = |one: &CandidateOutage, other: &CandidateOutage| {
        one.candidate_version == other.candidate_version
    };
    let told = sharpened(known, seen, is_one).into_iter();
    let second = |time: Timestamp| time.as_micros() / SECOND;
    told.map(|one| {
        (
            second(one.from),
            second(one.to),
            one.unanswered,
            one.not_sent,
        )
    })
    .collect()
}

#[test]
fn what_the_mirror_saw_takes_the_place_of_the_minutes_each_incident_for_itself() {
    let minutes = CandidateOutage {
        not_sent: 40,
        ..outage(60, 240, 75, 60)
    };
    let first = CandidateOutage {
        not_sent: 40,
        ..outage(67, 90, 50, 1)
    };
    let seen = || vec![first.clone(), outage(130, 213, 24, 1)];
    // What was not sent stays with the outage in which it was not.
    assert_eq!(
        told(vec![minutes.clone()], seen()),
        [(67, 90, 50, 40), (130, 213, 24, 0)]
    );
    // One that no minute shows.
    assert_eq!(told(vec![], seen()).len(), 2);
    // Another mirror failed, too.
    let more = CandidateOutage {
        unanswered: 150,
        ..minutes
    };
    assert_eq!(told(vec![more], seen()), [(60, 240, 150, 40)]);
    // Before the process began, and of another version.
    let before = outage(0, 30, 9, 60);
    assert_eq!(told(vec![before.clone()], seen()).len(), 3);
    let other = CandidateOutage {
        candidate_version: "1".to_owned(),
        ..outage(60, 240, 75, 60)
    };
    assert_eq!(told(vec![other], seen()).len(), 3);
    // While the record is behind.
    assert_eq!(
        told(vec![outage(60, 120, 3, 60)], vec![outage(67, 71, 30, 1)]),
        [(67, 71, 30, 0)]
    );
}

fn history() -> History {
    let at = |second| at(second).to_string();
    serde_json::from_value(serde_json::json!({
        "schema": "", "migration": "m", "legacy_version": null, "candidate_version": null, "route": null,
        "window": {"from": at(0), "to": at(600)}, "bucket_seconds": 60, "buckets": [], "without_excused": true,
        "with_latency": false, "identities": [], "marks": [], "routes": [], "routes_left_out": 0, "groups": []
    }))
    .expect("a history")
}

/// Of a process: whether it ended, when it wrote that, and its stretches: from, to, answered, failed, not sent.
fn run(
    instance: &str,
    (ended, written): (bool, i64),
    seen: &[(i64, i64, Option<i64>, u64, u64)],
) -> RunSeen {
    let failures = seen.iter().map(|(from, to, answered, failed, not_sent)| {
        parity_schemas::lately::CandidateFailures {
            candidate_version: "2".to_owned(),
            from: at(*from),
            to: at(*to),
            answered: answered.map(at),
            failed: *failed,
            not_sent: *not_sent,
        }
    });
    RunSeen {
        instance: instance.to_owned(),
        candidate_version: "2".to_owned(),
        written: at(written),
        ended,
        candidate: CandidateSeen {
            failures: failures.collect(),
            ..CandidateSeen::default()
        },
    }
}

/// The breaker was open when the candidate was asked for the first time, so nothing failed.
#[test]
fn what_only_was_not_sent_is_counted_once() {
    let unsent = |not_sent| CandidateOutage {
        not_sent,
        ..outage(67, 90, 0, 1)
    };
    // The record has it of the same mirror.
    assert_eq!(told(vec![unsent(9)], vec![unsent(9)]), [(67, 90, 0, 9)]);
    // It is later by a moment.
    assert_eq!(told(vec![unsent(9)], vec![unsent(12)]), [(67, 90, 0, 12)]);
    // Another mirror did not send more, and the record has failures.
    assert_eq!(told(vec![unsent(40)], vec![unsent(9)]), [(67, 90, 0, 40)]);
    let minutes = outage(60, 120, 7, 60);
    assert_eq!(told(vec![minutes], vec![unsent(9)]), [(60, 120, 7, 0)]);
    let status = crate::view::Status {
        candidate_failures: vec![parity_schemas::lately::CandidateFailures {
            candidate_version: "2".to_owned(),
            from: at(190),
            to: at(190),
            answered: Some(at(200)),
            failed: 0,
            not_sent: 9,
        }],
        ..status()
    };
    let mut history = history();
    let seen = (190, 190, Some(200), 0, 9);
    recorded(&mut history, &[run("a", (false, 300), &[seen])], at(300));
    witness(&mut history, &status);
    let told: Vec<u64> = history.outages.iter().map(|one| one.not_sent).collect();
    assert_eq!(told, [9]);
}

fn status() -> crate::view::Status {
    serde_json::from_value(serde_json::json!({
        "migration": "m", "legacy_version": "", "candidate_version": "2", "rules_hash": "", "clients": {},
        "last_failed_client": null, "ready": true, "shadowing": true, "legacy_reachable": true,
        "candidate_reachable": true, "shadows_in_flight": 0, "shadow_bytes": 0, "store_error": null,
        "store_loss": null, "records_queued": 0, "records_dropped": 0, "spool_bytes": 0, "recording": null,
        "descriptors_low": null, "config_error": null
    }))
    .expect("a status")
}

type Told = (i64, i64, Option<i64>, u64, u64);

/// What the record knows of the end of an outage holds for what the mirror has in memory, too.
#[test]
fn an_outage_of_a_version_that_was_replaced_stays_over_on_the_page_of_its_mirror() {
    let mut history = history();
    let open = (190, 199, None, 9, 0);
    recorded(&mut history, &[run("a", (true, 200), &[open])], at(300));
    for outage in &mut history.outages {
        outage.replaced = Some(at(200));
        outage.ended = true;
    }
    let own = crate::view::Status {
        candidate_version: "3".to_owned(),
        candidate_failures: run("a", (true, 200), &[open]).candidate.failures,
        ..status()
    };
    witness(&mut history, &own);
    let [one] = &history.outages[..] else {
        panic!("{:?}", history.outages);
    };
    assert_eq!(
        (one.ended, one.replaced, one.unanswered),
        (true, Some(at(200)), 9)
    );
}

fn of_runs(runs: &[RunSeen]) -> Vec<Told> {
    let mut history = history();
    recorded(&mut history, runs, at(300));
    let second = |time: Timestamp| time.as_micros() / SECOND;
    let each = history.outages.iter();
    each.map(|one| {
        assert_eq!(one.ended, one.answered.is_some());
        let answered = one.answered.map(second);
        let (from, to) = (second(one.from), second(one.to));
        (from, to, answered, one.unanswered, one.not_sent)
    })
    .collect()
}

#[test]
fn what_runs_have_written_is_told_once_and_what_is_one_outage_is_one() {
    let first = (10, 20, Some(21), 9, 4);
    // The rules were changed: the process goes on in another run, with what it has seen.
    let reload = [
        run("a", (true, 200), &[first, (190, 199, None, 3, 0)]),
        run("a", (false, 300), &[first, (190, 250, Some(260), 30, 7)]),
    ];
    assert_eq!(of_runs(&reload), [first, (190, 250, Some(260), 30, 7)]);
    // Another candidate: what it saw of the one before is in both runs, and what was settled late in the later one alone.
    let mut next = run("a", (false, 300), &[(190, 199, None, 4, 0)]);
    next.candidate_version = "3".to_owned();
    let replaced = [run("a", (true, 200), &[(190, 199, None, 3, 0)]), next];
    assert_eq!(of_runs(&replaced), [(190, 200, None, 4, 0)]);
    // It goes on: up to when that was written.
    let open = [run("a", (false, 299), &[first, (190, 199, None, 3, 0)])];
    assert_eq!(of_runs(&open), [first, (190, 299, None, 3, 0)]);
    // Killed in the midst of it, and started again.
    let killed = [
        run("a", (false, 200), &[(190, 199, None, 3, 5)]),
        run("a", (false, 300), &[(206, 250, Some(260), 30, 7)]),
    ];
    assert_eq!(of_runs(&killed), [(190, 250, Some(260), 33, 12)]);
    // Long after it: what was in between is not known.
    let later = [
        run("a", (false, 100), &[(90, 99, None, 3, 5)]),
        run("a", (false, 300), &[(206, 250, Some(260), 30, 7)]),
    ];
    assert_eq!(of_runs(&later).len(), 2);
    // Two mirrors, of which one still waits for an answer.
    let beside = [
        run("a", (false, 300), &[(190, 199, Some(210), 3, 5)]),
        run("b", (false, 300), &[(191, 280, None, 30, 7)]),
    ];
    assert_eq!(of_runs(&beside), [(190, 300, None, 33, 12)]);
    // Of another range.
    assert!(of_runs(&[run("a", (true, 9), &[(-20, -10, Some(-9), 9, 0)])]).is_empty());
}

#[test]
fn errors_end_with_their_process_and_those_of_several_are_added_up() {
    let errors = |from: i64, to: i64, ended: Option<i64>, compared: u64| CandidateErrors {
        candidate_version: "2".to_owned(),
        from: at(from),
        to: at(to),
        ended: ended.map(at),
        compared,
        errors: compared / 2,
        legacy_errors: 1,
    };
    let of = |instance: &str, (ended, written): (bool, i64), errors: &[CandidateErrors]| {
        let mut run = run(instance, (ended, written), &[]);
        run.candidate.errors = errors.to_vec();
        run
    };
    let told = |history: &History| {
        let second = |time: Timestamp| time.as_micros() / SECOND;
        let each = history.candidate_errors.iter();
        let each = each.map(|one| (second(one.from), one.ended.map(second), one.compared));
        each.collect::<Vec<_>>()
    };
    let open = errors(100, 299, None, 40);
    let mut found = history();
    recorded(
        &mut found,
        &[of("a", (false, 300), std::slice::from_ref(&open))],
        at(300),
    );
    assert_eq!(told(&found), [(100, None, 40)]);
    // What the mirror has in memory is later, and counted once.
    let status = crate::view::Status {
        candidate_version: "2".to_owned(),
        candidate_errors: vec![errors(100, 300, None, 44)],
        ..status()
    };
    witness(&mut found, &status);
    assert_eq!(told(&found), [(100, None, 44)]);
    // It is of the candidate before this one: nothing of it goes on.
    let next = crate::view::Status {
        candidate_version: "3".to_owned(),
        ..status.clone()
    };
    let mut replaced = history();
    witness(&mut replaced, &next);
    assert_eq!(told(&replaced), [(100, Some(300), 44)]);
    let mut both = history();
    let runs = [
        of("a", (false, 300), std::slice::from_ref(&open)),
        of("b", (false, 300), &[errors(110, 299, None, 30)]),
    ];
    recorded(&mut both, &runs, at(300));
    assert_eq!(told(&both), [(100, None, 70)]);
    // Its own part is not told in the place of all.
    witness(&mut both, &status);
    assert_eq!(told(&both), [(100, None, 70)]);
    let mut dead = history();
    recorded(&mut dead, &[of("a", (false, 250), &[open])], at(300));
    assert_eq!(told(&dead), [(100, Some(250), 40)]);
}

#[test]
fn errors_that_clients_got_are_told_once_by_service_whichever_candidate_was_beside() {
    use parity_schemas::lately::{ClientErrors, WaitedFor};
    let errors = |service, from: i64, to: i64, answers: u64| ClientErrors {
        service,
        version: "4".to_owned(),
        from: at(from),
        to: at(to),
        ended: None,
        answers,
        errors: answers / 2,
    };
    let of = |instance: &str, (ended, written): (bool, i64), errors: &[ClientErrors]| {
        let mut run = run(instance, (ended, written), &[]);
        run.candidate.client_errors = errors.to_vec();
        run
    };
    // A reload: both runs of the process have it.
    let [legacy, later] = [40, 60].map(|answers| errors(WaitedFor::Legacy, 100, 299, answers));
    let candidate = errors(WaitedFor::Candidate, 100, 299, 8);
    let runs = [
        of("a", (true, 200), std::slice::from_ref(&legacy)),
        of("a", (false, 300), &[later.clone(), candidate.clone()]),
    ];
    let mut found = history();
    found.candidate_version = Some("of another one".to_owned());
    recorded(&mut found, &runs, at(300));
    let mut told = found.client_errors.clone();
    told.sort_by_key(|one| one.service);
    assert_eq!(told, [later, candidate]);
    // One that was killed says nothing of now.
    let mut dead = history();
    recorded(&mut dead, &[of("a", (false, 250), &[legacy])], at(300));
    assert_eq!(dead.client_errors[0].ended, Some(at(250)));
}
