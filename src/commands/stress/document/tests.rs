//! What follows from steps that were held and broken.

use std::collections::BTreeMap;

use parity_comparator::metrics::Judged;
use parity_schemas::stress::{LoadRun, LoadValue};

use super::*;

fn step(rate: u32, verdict: StressVerdict, p99: [f64; 2]) -> StressStep {
    let run = |p99: f64| LoadRun {
        verdict,
        why: None,
        due: 1_000,
        statuses: [("2xx".to_owned(), 500), ("4xx".to_owned(), 500)].into(),
        throttled: 0,
        besides: 0,
        failures: BTreeMap::new(),
        unsent: 0,
        latency: BTreeMap::new(),
        lateness: 0.0,
        most_open: 0,
        generator_cpu: None,
        values: [(
            Measure::P99,
            LoadValue {
                value: p99,
                source: "load".to_owned(),
            },
        )]
        .into(),
    };
    StressStep {
        rate,
        verdict,
        why: (verdict != StressVerdict::Held).then(|| "slow".to_owned()),
        runs: p99.map(run).into(),
    }
}

fn standing(steps: &[StressStep]) -> Standing {
    let mut climb = super::super::climb::Climb::new(Vec::new(), 0, 1);
    for step in steps {
        climb.learn(0, step.rate, step.verdict);
    }
    climb.standing(0)
}

fn of(steps: Vec<StressStep>) -> StressSide {
    let standing = standing(&steps);
    side("http://127.0.0.1:1".to_owned(), steps, Vec::new(), standing)
}

const HELD: StressVerdict = StressVerdict::Held;
const BROKEN: StressVerdict = StressVerdict::Broken;

#[test]
fn the_highest_rate_of_both_is_compared_and_a_limit_is_between_two_rates() {
    let legacy = of(vec![
        step(100, HELD, [0.01, 0.03]),
        step(200, BROKEN, [1.0, 1.0]),
    ]);
    let candidate = of(vec![
        step(100, HELD, [0.01, 0.01]),
        step(200, HELD, [0.01, 0.01]),
        step(400, StressVerdict::Generator, [0.01, 0.01]),
    ]);
    assert_eq!((legacy.sustained, legacy.broken), (Some(100), Some(200)));
    assert_eq!((candidate.sustained, candidate.broken), (Some(200), None));
    let why = candidate.why.as_deref();
    assert_eq!(
        why,
        Some("at 400/s: the load generator was the limit: slow")
    );
    let sides = [&legacy, &candidate];
    assert_eq!(common(sides), Some(100));
    let table = table(sides, [100; 2]).expect("both were loaded with it");
    let measures = with_limits(table.measures, sides);
    let judged = |text: &str| {
        let threshold = [text.parse().expect("a threshold")];
        judge(&threshold, &measures, Judged::default(), Advice::Runs)[0].outcome
    };
    // The legacy is somewhere from 100 to 200, the candidate from 200 on.
    for (text, expected) in [
        ("rate >= +0%", MetricsOutcome::Pass),
        ("rate >= +10%", MetricsOutcome::Undecided),
        ("rate <= -10%", MetricsOutcome::Fail),
        ("p99 <= +0%", MetricsOutcome::Pass),
        ("p99 <= -50%", MetricsOutcome::Undecided),
        ("p99 <= 5ms", MetricsOutcome::Fail),
        ("rss <= +0%", MetricsOutcome::Undecided),
    ] {
        assert_eq!(judged(text), expected, "{text}");
    }
    let note = "2000 of 4000 answers had a status of 4xx, which is no error here";
    assert!(
        legacy.notes.contains(&note.to_owned()),
        "{:?}",
        legacy.notes
    );
}

#[test]
fn a_rate_at_which_it_broke_is_none_that_it_holds() {
    let legacy = of(vec![
        step(100, HELD, [0.01, 0.01]),
        step(150, BROKEN, [1.0, 1.0]),
    ]);
    let candidate = of(vec![
        step(50, HELD, [0.01, 0.01]),
        step(100, BROKEN, [1.0, 1.0]),
    ]);
    let measures = with_limits(Vec::new(), [&legacy, &candidate]);
    let threshold = |text: &str| {
        let threshold = [text.parse().expect("a threshold")];
        judge(&threshold, &measures, Judged::default(), Advice::Runs).remove(0)
    };
    assert_eq!(threshold("rate >= +0%").outcome, MetricsOutcome::Fail);
    let open = threshold("rate >= -50%");
    assert_eq!(open.outcome, MetricsOutcome::Undecided);
    assert!(open.why.ends_with("would tell (--refine)"), "{}", open.why);
}

#[test]
fn a_share_that_one_run_differs_by_is_chance_and_nothing_demanded_is_no_pass() {
    let judged = |outcome| JudgedThreshold {
        threshold: "p99 <= +10%".to_owned(),
        outcome,
        why: "it is +5.0 %".to_owned(),
    };
    for outcome in [MetricsOutcome::Pass, MetricsOutcome::Fail] {
        let mut one = judged(outcome);
        doubt_one_run(&mut one, [1, 3]);
        assert_eq!(one.outcome, MetricsOutcome::Undecided);
        assert!(one.why.contains("--repeats 3"), "{}", one.why);
        let mut two = judged(outcome);
        doubt_one_run(&mut two, [2, 2]);
        assert_eq!(two, judged(outcome));
    }
    let holds = |rate| of(vec![step(rate, HELD, [0.01, 0.01])]);
    let told = not_judged([&holds(400), &holds(100)]);
    assert!(
        told.contains("the candidate holds 100/s and the legacy 400/s (-75.0 %)"),
        "{told}"
    );
}

#[test]
fn without_a_rate_that_both_held_the_highest_that_both_were_loaded_with_is_shown() {
    let steps = |verdicts: &[(u32, StressVerdict)]| {
        let steps = verdicts.iter();
        of(steps
            .map(|(rate, verdict)| step(*rate, *verdict, [0.01, 0.01]))
            .collect())
    };
    let good = steps(&[(100, HELD), (200, HELD), (400, BROKEN)]);
    let generator = StressVerdict::Generator;
    for (other, expected) in [
        (
            steps(&[(25, BROKEN), (50, BROKEN), (100, BROKEN)]),
            Some(100),
        ),
        (steps(&[(100, generator)]), Some(100)),
        (
            steps(&[(100, BROKEN), (200, BROKEN), (400, HELD)]),
            Some(400),
        ),
        (steps(&[(50, HELD)]), None),
        (steps(&[]), None),
    ] {
        assert_eq!(common([&good, &other]), None, "{other:?}");
        assert_eq!(tried([&good, &other]), expected, "{other:?}");
    }
    let bad = steps(&[(100, BROKEN), (200, generator)]);
    assert_eq!(tried([&bad, &bad]), Some(100));
}

#[test]
fn a_step_that_is_held_above_one_that_broke_is_luck() {
    let lucky = of(vec![
        step(100, HELD, [0.01, 0.01]),
        step(200, BROKEN, [1.0, 1.0]),
        step(300, HELD, [0.01, 0.01]),
    ]);
    assert_eq!((lucky.sustained, lucky.broken), (Some(100), Some(200)));
}

#[test]
fn what_holds_nothing_fails_and_what_is_not_known_is_undecided() {
    let held = || of(vec![step(100, HELD, [0.01, 0.01])]);
    let broken = || of(vec![step(100, BROKEN, [1.0, 1.0])]);
    let answers = |differing| LoadAnswers {
        equal: 99,
        differing,
        allowed: 0.0,
        ..LoadAnswers::default()
    };
    let outcome = |sides: [&StressSide; 2], found: Option<&LoadAnswers>, interrupted| {
        super::outcome(sides, &[], found, interrupted).0
    };
    let (good, bad) = (held(), broken());
    assert_eq!(outcome([&good, &good], None, false), MetricsOutcome::Pass);
    assert_eq!(outcome([&good, &bad], None, false), MetricsOutcome::Fail);
    assert_eq!(
        outcome([&bad, &good], None, false),
        MetricsOutcome::Undecided
    );
    assert_eq!(
        outcome([&good, &good], None, true),
        MetricsOutcome::Undecided
    );
    let both = [&good, &good];
    assert_eq!(
        outcome(both, Some(&answers(0)), false),
        MetricsOutcome::Pass
    );
    assert_eq!(
        outcome(both, Some(&answers(1)), false),
        MetricsOutcome::Fail
    );
    let none = LoadAnswers::default();
    assert_eq!(outcome(both, Some(&none), false), MetricsOutcome::Undecided);
}

#[test]
fn a_side_that_refuses_nearly_all_is_no_pass_and_it_is_said_first() {
    let held = || of(vec![step(100, HELD, [0.01, 0.01])]);
    let mut refusing = held();
    for run in &mut refusing.steps[0].runs {
        run.statuses = [("2xx".to_owned(), 100), ("4xx".to_owned(), 900)].into();
    }
    let good = held();
    for (sides, name) in [
        ([&good, &refusing], "candidate"),
        ([&refusing, &good], "legacy"),
    ] {
        let (outcome, reasons) = outcome(sides, &[], None, false);
        assert_eq!(outcome, MetricsOutcome::Undecided, "{reasons:?}");
        let told = format!("the {name} answered 1800 of 2000 requests with a status of 4xx");
        assert!(reasons[0].starts_with(&told), "{reasons:?}");
    }
}

#[test]
fn a_saving_is_of_the_cores_and_the_memory_that_were_measured() {
    let value = |value: f64| MetricValue {
        value,
        low: None,
        high: None,
        metric: String::new(),
        requests: None,
    };
    let measures = [
        Measured::of(Measure::Cpu, Some(value(2.0)), Some(value(0.5))),
        Measured::of(Measure::Rss, Some(value(4.0 * GIB)), Some(value(GIB))),
    ];
    let found = cost([30.0, 5.0], 1_000, &measures).expect("both are there");
    assert!((found.legacy.price - 80.0).abs() < 1e-9);
    assert!((found.candidate.price - 20.0).abs() < 1e-9);
    assert!((found.saving - 60.0).abs() < 1e-9);
    assert_eq!(found.saving_share, Some(0.75));
    assert!(cost([30.0, 5.0], 1_000, &measures[..1]).is_none());
    let free = cost([0.0, 0.0], 1, &measures).expect("both are there");
    assert_eq!(free.saving_share, None);
}
