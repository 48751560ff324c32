//! How a run stands.

use super::*;

const fn at(second: i64) -> Timestamp {
    Timestamp::from_micros(second * 1_000_000)
}

/// A run that was heard of at `written` and is complete until `until`.
fn run(instance: &str, written: i64, until: i64) -> Run {
    Run {
        instance: instance.to_owned(),
        watermark: Some(Watermark {
            written: at(written),
            complete_until: at(until),
            ..Watermark::default()
        }),
        last_tally: Some(at(written)),
        before_watermarks: false,
        lacks_tallies: false,
        succeeded: None,
        apart: None,
    }
}

/// What is gained by a kill is nothing but a later begin, and only where nothing else is in doubt.
#[test]
fn evidence_goes_on_behind_losses_only_if_nothing_else_is_in_doubt() {
    let killed = |instance: &str, heard: i64, next: i64| {
        change(run(instance, heard, heard), |run| {
            run.succeeded = Some(at(next));
        })
    };
    let alive = || run("a", 101, 101);
    let behind = |runs: &[Run]| {
        let standing = Standing::of(runs, at(100), |_| at(102));
        let (without, since) = standing.but_for_losses()?;
        assert!(without.is_complete(), "{without:?}");
        Some(since)
    };
    assert_eq!(behind(&[alive(), killed("a", 50, 60)]), Some(at(60)));
    let twice = [
        killed("a", 70, 80),
        alive(),
        killed("b", 50, 90),
        killed("a", 50, 60),
    ];
    assert_eq!(behind(&twice), Some(at(90)));
    // Nothing was lost.
    assert_eq!(behind(&[alive()]), None);
    assert_eq!(behind(&[change(run("a", 50, 50), ended)]), None);
    for doubtful in [
        run("silent", 50, 50),
        run("ahead", 103, 103),
        change(run("behind", 101, 101), |run| run.lacks_tallies = true),
        change(killed("behind", 50, 60), |run| run.lacks_tallies = true),
        change(run("old", 50, 50), |run| {
            run.watermark = None;
            run.before_watermarks = true;
        }),
        change(run("other", 101, 101), |run| {
            run.apart = Some(Apart::Rules("x".to_owned()));
        }),
    ] {
        assert_eq!(
            behind(&[alive(), killed("a", 50, 60), doubtful.clone()]),
            None,
            "{doubtful:?}"
        );
    }
    let mut expected = Standing::of(&[alive(), killed("a", 50, 60)], at(100), |_| at(102));
    expected.expect(&["never".to_owned()]);
    assert_eq!(expected.but_for_losses(), None);
}

fn change(mut run: Run, change: impl FnOnce(&mut Run)) -> Run {
    change(&mut run);
    run
}

fn ended(run: &mut Run) {
    if let Some(watermark) = &mut run.watermark {
        watermark.ended = true;
    }
}

#[test]
fn a_state_follows_from_what_was_heard() {
    let cases = [
        (run("a", 101, 101), RunState::Complete),
        (run("a", 101, 90), RunState::UnderWay),
        (run("a", 99, 99), RunState::Silent),
        (run("a", 102, 102), RunState::Complete),
        // Its clock is ahead of the reader's: "complete" would mean before that.
        (run("a", 103, 103), RunState::Ahead),
        (change(run("a", 50, 50), ended), RunState::Ended),
        (change(run("a", 103, 103), ended), RunState::Ahead),
        (
            change(run("a", 50, 50), |run| run.succeeded = Some(at(60))),
            RunState::Replaced,
        ),
        (
            change(run("a", 101, 101), |run| run.lacks_tallies = true),
            RunState::Behind,
        ),
        (
            change(run("a", 50, 50), |run| {
                ended(run);
                run.lacks_tallies = true;
            }),
            RunState::Behind,
        ),
        (
            change(run("a", 50, 50), |run| run.watermark = None),
            RunState::Behind,
        ),
        (
            change(run("a", 50, 50), |run| {
                run.watermark = None;
                run.before_watermarks = true;
            }),
            RunState::Unknown,
        ),
        (
            change(run("a", 50, 50), |run| {
                run.watermark = None;
                run.before_watermarks = true;
                run.succeeded = Some(at(60));
            }),
            RunState::Unknown,
        ),
    ];
    for (run, expected) in cases {
        assert_eq!(run.state(at(100), at(102)), expected, "{run:?}");
    }
}

#[test]
fn only_requests_from_before_are_under_way() {
    let mut busy = run("a", 101, 40);
    if let Some(watermark) = &mut busy.watermark {
        watermark.under_way = [(40, 2), (99, 3), (101, 70)]
            .map(|(since, requests)| UnderWay {
                since: at(since),
                requests,
            })
            .to_vec();
    }
    let standing = Standing::of(&[busy, run("b", 101, 101)], at(100), |_| at(102));
    assert_eq!(standing.under_way(), 5);
    assert!(!standing.is_complete());
    assert_eq!(standing.doubtful().count(), 0);
    assert_eq!(standing.complete_until, Some(at(40)));
}

#[test]
fn one_run_that_is_not_known_makes_the_whole_unknown() {
    let whole = [run("a", 101, 101), change(run("b", 7, 7), ended)];
    let standing = Standing::of(&whole, at(100), |_| at(102));
    assert_eq!(standing.complete_until, Some(at(101)));
    assert!(standing.is_complete());
    let lost = change(run("c", 50, 50), |run| run.watermark = None);
    let standing = Standing::of(&[run("a", 101, 101), lost], at(100), |_| at(102));
    assert_eq!(standing.complete_until, None);
    assert_eq!(
        standing
            .doubtful()
            .map(|watermark| watermark.instance.as_str())
            .collect::<Vec<_>>(),
        ["c"]
    );
}

#[test]
fn only_who_is_in_doubt_and_not_alive_is_taken_for_gone() {
    let runs = [
        run("silent", 50, 50),
        change(run("replaced", 50, 50), |run| run.succeeded = Some(at(60))),
        run("alive", 101, 101),
        // Two processes of one name, of which one is alive.
        run("twice", 50, 50),
        run("twice", 101, 101),
        change(run("twice", 40, 40), |run| run.succeeded = Some(at(50))),
        run("not named", 50, 50),
        change(run("lost", 50, 50), |run| run.lacks_tallies = true),
    ];
    let mut standing = Standing::of(&runs, at(100), |_| at(102));
    let named = ["silent", "replaced", "alive", "twice", "lost"].map(ToOwned::to_owned);
    standing.take_for_gone(&named, at(100));
    let states: Vec<RunState> = standing.watermarks.iter().map(|one| one.state).collect();
    assert_eq!(
        states,
        [
            RunState::Gone,
            RunState::Gone,
            RunState::Complete,
            RunState::Gone,
            RunState::Complete,
            RunState::Replaced,
            RunState::Silent,
            RunState::Behind,
        ]
    );
    assert_eq!(standing.doubtful().count(), 3);
}

#[test]
fn nobody_waits_for_those_who_write_no_more() {
    let replaced = |written| {
        change(run("a", written, written), |run| {
            run.succeeded = Some(at(60));
        })
    };
    let alive = run("a", 101, 101);
    let busy = run("b", 101, 90);
    let cases = [
        (vec![replaced(50), alive.clone()], true),
        (vec![replaced(50), change(run("b", 7, 7), ended)], true),
        // It wrote a moment ago: it may hand over, and end in order.
        (vec![replaced(98), alive.clone()], false),
        (vec![replaced(50), busy], false),
        (vec![replaced(50), run("b", 99, 99)], false),
        (
            vec![
                replaced(50),
                change(alive.clone(), |run| run.lacks_tallies = true),
            ],
            false,
        ),
        // Nothing is missing.
        (vec![alive], false),
    ];
    for (runs, expected) in cases {
        let standing = Standing::of(&runs, at(100), |_| at(102));
        assert_eq!(standing.waits_in_vain(at(100)), expected, "{runs:?}");
    }
}

#[test]
fn who_is_expected_and_not_known_is_in_doubt() {
    let runs = [run("here", 101, 101)];
    let mut standing = Standing::of(&runs, at(100), |_| at(102));
    standing.expect(&["here".to_owned()]);
    assert!(standing.is_complete());
    standing.expect(&["here", "away"].map(ToOwned::to_owned));
    let doubtful: Vec<_> = standing.doubtful().collect();
    assert_eq!(doubtful.len(), 1);
    assert_eq!(
        (doubtful[0].instance.as_str(), doubtful[0].state),
        ("away", RunState::Unheard)
    );
    assert_eq!(standing.complete_until, None);
}
