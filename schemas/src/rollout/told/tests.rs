//! What is told, and what is not told as something that it is not.

use super::super::RolloutFall;
use super::*;

fn full() -> RolloutDocument {
    RolloutDocument {
        percent: 100.0,
        target: 100.0,
        requests: 200,
        requests_served: 100,
        kept: vec![RolloutKept {
            route: "POST /orders".to_owned(),
            requests: 100,
            compared: 0,
        }],
        ..RolloutDocument::default()
    }
}

#[test]
fn all_clients_are_not_all_requests() {
    let mut document = full();
    assert_eq!(
        document.told_whole(),
        "100 % of clients served by the candidate; 50.0 % of requests (100 of 200) since then, as far as this process has counted them; \
         POST /orders: never served nor compared (100 requests)"
    );
    document.kept[0].compared = 7;
    document.kept_more = 2;
    assert_eq!(
        document.kept_told(1),
        [
            "POST /orders: never served (100 requests, 7 compared)",
            "2 more routes stay at the legacy"
        ]
    );
}

#[test]
fn a_fall_back_says_what_was_reached_and_begins_again_from_below() {
    let document = RolloutDocument {
        fell_back: Some(RolloutFall {
            at: Timestamp::from_micros(0),
            who: "parity".to_owned(),
            reason: "errors".to_owned(),
            from: 60.0,
        }),
        blocked: Some(100.0),
        again: Some(1.0),
        ..RolloutDocument::default()
    };
    let told = document.told();
    assert!(told.starts_with("fell back from 60 % to 0 % at "), "{told}");
    assert!(
        told.ends_with("`parity rollout set 1` begins again"),
        "{told}"
    );
    assert!(!told.contains("set 100"), "{told}");
}

#[test]
fn who_served_too_little_is_not_judged() {
    let mut document = full();
    document.shown = RolloutShown {
        served: 58,
        needed: 100,
        unjudged: 58,
        good: None,
        by_errors_alone: false,
    };
    assert_eq!(
        document.judged_told(),
        "not judged: 58 of 100 requests that it served"
    );
    document.shown.good = Some(Timestamp::from_micros(0));
    assert!(
        document
            .judged_told()
            .contains("58 requests that it served")
    );
    assert_eq!(document.errors_alone_told(), None);
    document.shown.by_errors_alone = true;
    assert!(
        document
            .judged_told()
            .starts_with("no worse than the legacy by errors alone at 100 %"),
    );
    assert!(
        document
            .told_whole()
            .contains("so whether it is slower is not known")
    );
    document.shown.good = None;
    assert_eq!(document.errors_alone_told(), None, "nothing was found yet");
}

#[test]
fn a_pass_of_before_a_fall_back_does_not_stand_as_one_of_now() {
    let at = Timestamp::from_micros;
    let mut document = RolloutDocument {
        gate: Some(RolloutGate {
            outcome: Outcome::Pass,
            at: at(1_000_000),
            reason: None,
            lost: Some("on a part".to_owned()),
        }),
        ..RolloutDocument::default()
    };
    let told = document.gate_told().expect("it was asked");
    assert!(told.starts_with("pass at "), "{told}");
    assert!(document.lost_told().is_some());
    document.fell_back = Some(RolloutFall {
        at: at(2_000_000),
        who: "parity".to_owned(),
        reason: "errors".to_owned(),
        from: 60.0,
    });
    let told = document.gate_told().expect("it was asked");
    assert!(
        told.starts_with("not asked since the fall back; before it: pass at "),
        "{told}"
    );
    assert_eq!(document.lost_told(), None);
    // Whoever asks for a step has it asked again.
    document.gate.as_mut().expect("it is there").at = at(3_000_000);
    let told = document.gate_told().expect("it was asked");
    assert!(told.starts_with("pass at "), "{told}");
}

#[test]
fn a_bound_is_told_where_it_is_another_one_and_a_window_with_its_begin() {
    let mut document = RolloutDocument {
        window_seconds: 20.0,
        ..RolloutDocument::default()
    };
    assert_eq!(document.bound_told(0.001), None);
    assert_eq!(document.window_told(), "last 20 s");
    document.max_mismatch_rate = Some(0.001);
    document.window_since = Some(Timestamp::from_micros(0));
    assert_eq!(document.bound_told(0.001), None);
    let told = document.bound_told(0.07).expect("it is another one");
    assert!(
        told.contains("allows 0.1 % to differ") && told.contains("not 7 %"),
        "{told}"
    );
    assert!(document.window_told().starts_with("since 1970-"));
}

#[test]
fn what_the_record_has_is_told_as_that_and_as_no_more() {
    let moment = |time: Timestamp| format!("s{}", time.as_micros() / 1_000_000);
    let at = |second: i64| Timestamp::from_micros(second * 1_000_000);
    let mut recorded = RolloutRecorded {
        instance: "m".to_owned(),
        percent: 10.0,
        since: at(1),
        who: "anna".to_owned(),
        told: at(3),
        heard: Some(at(9)),
        at_work: true,
        ..RolloutRecorded::default()
    };
    assert_eq!(
        recorded.told(moment),
        "10 % of the clients of m are served by the candidate since s1, by anna. That is by the audit record, whose last line of it is of s3; \
         the process was heard of at s9. What waits, and how both services do, only its mirror knows"
    );
    recorded.at_work = false;
    recorded.began_without = Some(at(5));
    let told = recorded.told(moment);
    for words in [
        "last heard of at s9, and whether it serves is not known",
        "began at s5",
    ] {
        assert!(told.contains(words), "{told}");
    }
    recorded.fell_back = Some(RolloutFall {
        at: at(2),
        who: "parity".to_owned(),
        reason: "errors".to_owned(),
        from: 30.0,
    });
    let told = recorded.told(moment);
    assert!(
        told.starts_with("m fell back from 30 % to 0 % at s2, by parity: errors; it stays so"),
        "{told}"
    );
}
