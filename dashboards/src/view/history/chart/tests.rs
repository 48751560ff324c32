//! Histories of a few hours, and what a chart shows of them.

use parity_schemas::clients::ClientOutcome;
use parity_schemas::edited::Edited;
use parity_schemas::evidence::Window;
use parity_schemas::history::{CandidateOutage, ClientOutage, Mark, MarkKind, Unrecorded};

use super::*;

const HOUR: i64 = 3_600_000_000;

fn history(buckets: &[(i64, u64, u64)], hours: i64) -> History {
    let at = |hour: i64| Timestamp::from_micros((480_000 + hour) * HOUR);
    let buckets = buckets
        .iter()
        .map(|(hour, differing, compared)| HistoryBucket {
            from: at(*hour),
            compared: *compared,
            differing: *differing,
            ..HistoryBucket::default()
        });
    let buckets = buckets.collect();
    let mut history: History = serde_json::from_value(serde_json::json!({
        "schema": "", "migration": "m", "legacy_version": null, "candidate_version": null, "route": null,
        "window": null, "bucket_seconds": 3_600, "buckets": [], "without_excused": true, "with_latency": false,
        "identities": [], "marks": [], "routes": [], "routes_left_out": 0, "groups": []
    }))
    .expect("a history");
    history.window = Some(Window {
        from: at(0),
        to: at(hours),
    });
    history.buckets = buckets;
    history
}

#[test]
fn what_is_not_recorded_is_a_gap_and_no_bar_of_zero() {
    let history = history(&[(1, 0, 10), (2, 5, 10), (4, 0, 0)], 6);
    let view = ChartView::of(&history).expect("there is something");
    let gaps: Vec<_> = view.gaps.iter().map(|gap| (gap.place, gap.count)).collect();
    assert_eq!(gaps, [(0, 1), (3, 1), (5, 1)]);
    let rates: Vec<_> = view.bars.iter().map(|bar| (bar.place, bar.rate)).collect();
    assert_eq!(rates, [(1, Some(0.0)), (2, Some(0.5)), (4, None)]);
    assert!((view.scale - 0.5).abs() < 1e-9, "{}", view.scale);
    assert!(
        view.description()
            .contains("of 3 steps nothing is recorded")
    );
    assert!(view.line(&view.bars[2]).ends_with("nothing compared"));
}

/// A candidate that differs in all and one that differs in nothing are not two that differ in half.
#[test]
fn no_rate_is_of_several_versions() {
    let mut history = history(&[(0, 10, 20), (1, 10, 20), (2, 1, 10)], 3);
    let identity = |version: &str| parity_schemas::history::HistoryIdentity {
        legacy_version: String::new(),
        candidate_version: version.to_owned(),
        rules_hash: String::new(),
        first: history.buckets[0].from,
        last: history.buckets[0].from,
    };
    history.identities = ["1", "2", "3\u{202e}"].map(identity).into();
    history.of_candidate = Some("2".to_owned());
    for (bucket, of) in history.buckets.iter_mut().zip([[0, 1], [0, 2], [1, 1]]) {
        bucket.identities = of.to_vec();
    }
    history.buckets[0].of_candidate = Some(Compared {
        compared: 10,
        differing: 0,
    });
    let view = ChartView::of(&history).expect("there is something");
    let rates: Vec<_> = view.bars.iter().map(|bar| bar.rate).collect();
    assert_eq!(rates, [Some(0.0), None, Some(0.1)]);
    let told: Vec<String> = view.bars.iter().map(|bar| view.line(bar)).collect();
    for (told, end) in told.iter().zip([
        ": 0 % differ, 0 of 10 (candidate 2 alone)",
        ": no rate (candidates 1, 3\\u{202e} together)",
        ": 10 % differ, 1 of 10",
    ]) {
        assert!(told.ends_with(end), "{told}");
    }
}

#[test]
fn scales_are_round_and_never_below_what_they_show() {
    for (rate, expected) in [
        (0.0, 1e-6),
        (0.001, 0.001),
        (0.0011, 0.002),
        (0.3, 0.5),
        (0.51, 1.0),
        (1.0, 1.0),
    ] {
        let scale = nice(rate);
        assert!((scale - expected).abs() < 1e-12, "{rate}: {scale}");
    }
}

#[test]
fn changes_at_the_same_time_are_one_and_hostile_versions_are_visible() {
    let mut history = history(&[(0, 0, 10)], 2);
    let mark = |kind, from: &str, to: &str| Mark {
        time: history.buckets[0].from,
        kind,
        from: from.to_owned(),
        to: to.to_owned(),
        about: String::new(),
        names: Edited::default(),
    };
    history.marks = vec![
        mark(MarkKind::CandidateVersion, "1", "\u{202e}<b>"),
        mark(MarkKind::Rules, "0123456789ab", "ö"),
    ];
    history.marks[1].names.added = vec!["total".to_owned()];
    let view = ChartView::of(&history).expect("there is something");
    let [change] = &view.changes[..] else {
        panic!("one change");
    };
    assert!(
        change.told.contains("rules 01234567 → ö: added total"),
        "{}",
        change.told
    );
    assert!(!change.told.contains('\u{202e}'), "{}", change.told);
}

/// Everything in the order of time, each as exactly as it is known.
#[test]
fn outages_and_times_without_a_process_are_told_in_order() {
    let mut history = history(&[(0, 0, 10), (2, 0, 10), (5, 0, 10)], 6);
    let begin = history.buckets[0].from;
    let at = |second: i64| begin.saturating_add_micros(second * 1_000_000);
    history.outages = vec![CandidateOutage {
        candidate_version: "2".to_owned(),
        from: at(7_207),
        to: at(7_333),
        step_seconds: 1,
        ended: true,
        answered: Some(at(7_335)),
        sent: 75,
        unanswered: 75,
        not_sent: 70,
    }];
    history.client_outages = vec![ClientOutage {
        from: at(60),
        to: at(180),
        step_seconds: 60,
        ended: true,
        failed: 31,
        clients: [
            (ClientOutcome::LegacyTimeout, 1),
            (ClientOutcome::LegacyUnreachable, 30),
        ]
        .into(),
    }];
    history.unrecorded = Some(vec![Unrecorded {
        from: at(3_600),
        to: Some(at(7_201)),
        before: "m1".to_owned(),
        after: "m1".to_owned(),
    }]);
    let view = ChartView::of(&history).expect("there is something");
    let told: Vec<&str> = view.changes.iter().map(|one| one.told.as_str()).collect();
    assert_eq!(
        told,
        [
            "the legacy gave clients no whole answer from 00:01 UTC to 00:03 UTC, to within 1 minute: 31 requests (30 legacy_unreachable, 1 \
             legacy_timeout)",
            "no process recorded from 01:00:00 UTC to 02:00:01 UTC: m1 was last heard of then, and it began again",
            "candidate 2 gave no answer from 02:00:07 UTC to 02:02:13 UTC, and answered again at 02:02:15 UTC: 75 requests failed, and 70 \
             were not sent to it",
        ]
    );
    let gaps: Vec<_> = view.gaps.iter().map(|gap| (gap.place, gap.told)).collect();
    assert_eq!(
        gaps,
        [(1, "no process recorded"), (3, "nothing is recorded")]
    );
    assert_eq!((view.hurt.len(), view.outages.len()), (1, 1));
}
