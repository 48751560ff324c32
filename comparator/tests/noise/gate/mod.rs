//! How often the gate as a whole is wrong, found by simulation: two services with several routes, what a mirror counts of
//! them, and the real decision on it after every interval, until the run ends.
//!
//! What a candidate does wrong is known here. A pass is wrong while what was asked for is expected to differ as often as is
//! allowed, or more; in values that are noise it is wrong if it is more than the decision says may hide there. A fail is wrong while no
//! route is expected to differ more often than is allowed. A run goes on after a verdict, so that one that is wrong later is
//! found, too.

mod budget;
mod mirror;
mod scenarios;
mod store;

use std::fmt::Write as _;

use parity_comparator::RuleConfig;
use parity_comparator::bounds::{Seen, lower};
use parity_comparator::decision::decide;
use parity_schemas::evidence::{Bound, Decision, Outcome, Thresholds};
use parity_schemas::time::Timestamp;
use parity_schemas::watermark::Standing;
use uuid::Uuid;

use crate::service::SECOND;
use mirror::Mirror;
use scenarios::{Condition, ITSELF, Must, SCENARIOS, Scenario};
use store::Former;

/// Requests between two looks.
const INTERVAL: u64 = 500;
/// Looks after a verdict that a short run goes on.
const STANDS: u64 = 4;
/// So unlikely may a wrong alarm be.
const CHANCE: f64 = 1e-6;
/// One of so many runs may end without the verdict that it must have: services that behave alike are unlike by chance for a
/// while.
const UNLUCKY: u64 = 5;

/// What became of one run.
#[derive(Debug, Default)]
struct Run {
    wrong_pass: bool,
    wrong_fail: bool,
    /// How many requests there had been at the first pass, and at the first fail.
    passed: Option<u64>,
    failed: Option<u64>,
    last: Option<Outcome>,
    rechecks: u64,
    /// Why it was undecided at last, or wrong.
    reasons: Vec<String>,
}

fn thresholds(scenario: &Scenario) -> Thresholds {
    let plain = Thresholds::default();
    match scenario.condition {
        Condition::None | Condition::Edit | Condition::Late(_) => plain,
        Condition::AllRoutes => Thresholds {
            require_all_routes: true,
            ..plain
        },
        // What an exact bound wants of independent requests.
        Condition::Users(_) => Thresholds {
            min_distinct: 2_995,
            ..plain
        },
        Condition::Slow(_) => Thresholds {
            max_latency: vec!["p95=1.5x".parse().expect("it is a limit")],
            ..plain
        },
        Condition::Allowed(max_mismatch_rate) => Thresholds {
            max_mismatch_rate,
            ..plain
        },
    }
}

fn ignoring_ids() -> Vec<RuleConfig> {
    vec![RuleConfig {
        route: Some("GET /orders/{id}".to_owned()),
        ..RuleConfig::new("ids", "/f0", "ignore")
    }]
}

/// What may be said at a look.
struct Truth {
    /// Of the requests so far, those that are expected to be wrong: in values that do not move, and in noise.
    wrong: f64,
    in_noise: f64,
    /// On some route it is as much as is allowed.
    any_at: bool,
    /// Or more.
    any_beyond: bool,
    is_slow: bool,
}

impl Truth {
    fn of(scenario: &Scenario, mirror: &Mirror, former: Option<&Former>) -> Self {
        let allowed = thresholds(scenario).max_mismatch_rate;
        let mut truth = Self {
            wrong: 0.0,
            in_noise: 0.0,
            any_at: false,
            any_beyond: false,
            is_slow: matches!(scenario.condition, Condition::Slow(times) if times > 1.5),
        };
        let mut all = 0.0;
        for route in scenario.routes {
            let under = |counted: Option<&mirror::Counted>| {
                counted.map_or(0, |counted| counted.evidence.counts.received)
            };
            let former = former.and_then(|former| former.counted.get(route.name));
            let received = (under(mirror.counted.get(route.name)) + under(former)) as f64;
            all += received;
            let Some(planted) = route.planted.filter(|_| received > 0.0) else {
                continue;
            };
            match planted.field {
                None => truth.wrong += received * planted.rate,
                Some(_) => truth.in_noise += received * planted.rate,
            }
            truth.any_at |= planted.rate >= allowed;
            truth.any_beyond |= planted.rate > allowed;
        }
        truth.wrong /= f64::max(all, 1.0);
        truth.in_noise /= f64::max(all, 1.0);
        truth
    }

    fn pass_is_wrong(&self, scenario: &Scenario, decision: &Decision) -> bool {
        let allowed = decision.thresholds.max_mismatch_rate;
        let hidden = decision.total.excused.hidden;
        let each = scenario.condition == Condition::AllRoutes && self.any_at;
        self.wrong >= allowed || self.in_noise >= allowed + hidden || each || self.is_slow
    }

    fn fail_is_wrong(&self) -> bool {
        !self.any_beyond && !self.is_slow
    }
}

/// Runs a scenario; to its end, or until a verdict has stood for [`STANDS`] looks.
fn simulate(scenario: &Scenario, seed: u64, to_the_end: bool) -> Run {
    let thresholds = thresholds(scenario);
    let mut mirror = Mirror::new(*scenario, seed);
    let mut former = None;
    let mut run = Run::default();
    let mut stood = 0;
    for number in 0..scenario.requests {
        if scenario.condition == Condition::Edit && number == scenario.requests / 2 {
            let rules = mirror.rules.clone();
            let counted = mirror.edit(&ignoring_ids());
            former = Some(Former { rules, counted });
        }
        mirror.request(number);
        let requests = number + 1;
        let is_early = matches!(scenario.condition, Condition::Late(from) if requests < from);
        if is_early || !requests.is_multiple_of(INTERVAL) {
            continue;
        }
        let until = Timestamp::from_micros(requests.cast_signed() * SECOND / 100);
        let evidence = store::evidence(&mirror, former.as_ref(), until);
        let standing = Standing::default();
        let decision = decide(
            "default",
            Some(&evidence),
            &standing,
            &thresholds,
            Uuid::nil(),
            until,
        );
        let truth = Truth::of(scenario, &mirror, former.as_ref());
        let was_wrong = run.wrong_pass || run.wrong_fail;
        match decision.outcome {
            Outcome::Pass => {
                run.passed.get_or_insert(requests);
                run.wrong_pass |= truth.pass_is_wrong(scenario, &decision);
            }
            Outcome::Fail => {
                run.failed.get_or_insert(requests);
                run.wrong_fail |= truth.fail_is_wrong();
            }
            Outcome::Undecided => {}
        }
        let is_open = decision.outcome == Outcome::Undecided;
        stood = if is_open || run.last != Some(decision.outcome) {
            0
        } else {
            stood + 1
        };
        run.last = Some(decision.outcome);
        if !was_wrong {
            run.reasons = decision.reasons;
        }
        if stood >= STANDS && !to_the_end {
            break;
        }
    }
    run.rechecks = mirror.rechecks;
    run
}

const HEAD: &str = "scenario                              runs  wrong passes  wrong fails  pass  fail  undecided  to pass  to fail  rechecks";

fn line(scenario: &Scenario, runs: &[Run]) -> String {
    let ended = |outcome| runs.iter().filter(|run| run.last == Some(outcome)).count();
    let median = |of: fn(&Run) -> Option<u64>| {
        let mut all: Vec<u64> = runs.iter().filter_map(of).collect();
        all.sort_unstable();
        all.get(all.len() / 2)
            .map_or("-".to_owned(), u64::to_string)
    };
    format!(
        "{:37} {:>4} {:>13} {:>12} {:>5} {:>5} {:>10} {:>8} {:>8} {:>9}",
        scenario.name,
        runs.len(),
        runs.iter().filter(|run| run.wrong_pass).count(),
        runs.iter().filter(|run| run.wrong_fail).count(),
        ended(Outcome::Pass),
        ended(Outcome::Fail),
        ended(Outcome::Undecided),
        median(|run| run.passed),
        median(|run| run.failed),
        runs.iter().map(|run| run.rechecks).sum::<u64>() / runs.len() as u64,
    )
}

/// Why the runs are not what they must be.
fn faults(scenario: &Scenario, runs: &[Run]) -> Vec<String> {
    let all = runs.len() as u64;
    let count = |wanted: fn(&Run) -> bool| runs.iter().filter(|run| wanted(run)).count() as u64;
    let (passes, fails) = (count(|run| run.wrong_pass), count(|run| run.wrong_fail));
    let wrong = 1.0 - Thresholds::default().confidence;
    // Of a few runs none may be wrong, whatever is asked for.
    let is_more = |count| {
        lower(Bound::OneLook, Seen::new(count, all), CHANCE) > wrong || count * UNLUCKY > all
    };
    let mut faults = Vec::new();
    // What differs ten times as often as is allowed never passes.
    let never_passes = matches!(scenario.must, Must::Fail | Must::NotPass);
    let any_pass = scenario.must == Must::NotPass && runs.iter().any(|run| run.passed.is_some());
    if is_more(passes) || (never_passes && passes > 0) || any_pass {
        faults.push("it passes wrongly");
    }
    if is_more(fails) {
        faults.push("it fails wrongly");
    }
    let wanted = match scenario.must {
        Must::Pass => Some(Outcome::Pass),
        Must::Fail => Some(Outcome::Fail),
        Must::NotPass | Must::NotFail | Must::Any => None,
    };
    let ended = runs.iter().filter(|run| run.last == wanted).count() as u64;
    if wanted.is_some() && (all - ended) * UNLUCKY > all {
        faults.push("it does not end as it must");
    }
    let told = runs.iter().flat_map(|run| run.reasons.iter().take(4));
    faults
        .into_iter()
        .map(|fault| {
            let mut text = format!("{fault}: {}", line(scenario, runs));
            for reason in told.clone().take(8) {
                // Writing to a String cannot fail.
                let _infallible = write!(text, "\n    {reason}");
            }
            text
        })
        .collect()
}

/// With `PARITY_TEST_LENGTH=long` of forty seeds, each to its end; with `PARITY_SCENARIO=kept` only those whose name has that
/// in it.
#[test]
#[expect(clippy::print_stdout, reason = "the table is for who runs it")]
fn the_gate_is_wrong_as_seldom_as_it_says_whatever_the_services_do() {
    let is_long = std::env::var("PARITY_TEST_LENGTH").is_ok_and(|length| length == "long");
    let seeds = if is_long { 40 } else { 1 };
    println!("{HEAD}");
    let mut wrong = Vec::new();
    let wanted = std::env::var("PARITY_SCENARIO").unwrap_or_default();
    let scenarios = || SCENARIOS.iter().chain(&ITSELF);
    let is_wanted = |scenario: &&Scenario| scenario.name.contains(&wanted);
    assert!(
        scenarios().any(|scenario| is_wanted(&scenario)),
        "no scenario's name has `{wanted}` in it"
    );
    for scenario in scenarios().filter(is_wanted) {
        let runs: Vec<Run> = (0..seeds)
            .map(|seed| simulate(scenario, seed * 7_919 + 11, is_long))
            .collect();
        println!("{}", line(scenario, &runs));
        wrong.extend(faults(scenario, &runs));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
