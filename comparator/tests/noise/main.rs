//! Whether noise is told from faults, by the real comparator on simulated services.
//!
//! Each pair of services gets ten thousand requests at a hundred a second and ten rechecks a second, as the program's
//! default is. It is looked at after every 50 rechecks, and one look at which an exchange with a
//! fault would be taken for noise is one too many.

mod service;
mod simulation;

use service::{Fault, Noise, SECOND};
use simulation::{Load, Outcome, Scenario, simulate};

const HOUR: i64 = 3_600 * SECOND;

/// Ten thousand requests with ten rechecks a second.
const LOAD: Load = Load {
    requests: 10_000,
    budget: 0.1,
};
/// Ten thousand requests with thirty rechecks a second: what signs need to be shown balanced.
const MANY: Load = Load {
    requests: 10_000,
    budget: 0.3,
};

const fn pure(name: &'static str, noise: Noise, share: f64) -> Scenario {
    Scenario {
        name,
        noise,
        fault: Fault::None,
        prevalence: 0.0,
        by_target: false,
        share,
    }
}

const fn faulty(
    name: &'static str,
    noise: Noise,
    fault: Fault,
    prevalence: f64,
    by_target: bool,
    share: f64,
) -> Scenario {
    Scenario {
        name,
        noise,
        fault,
        prevalence,
        by_target,
        share,
    }
}

/// Services that behave alike, with the load at which that is shown.
const PURE: [(Scenario, Load); 14] = [
    (pure("uuid", Noise::Uuid, 1.0), LOAD),
    (pure("uuid in a tenth", Noise::Uuid, 0.1), LOAD),
    (pure("clock", Noise::Clock, 1.0), MANY),
    (pure("clock in a tenth", Noise::Clock, 0.1), LOAD),
    (pure("counter", Noise::Counter, 1.0), MANY),
    (pure("random order", Noise::Order, 1.0), LOAD),
    (pure("number", Noise::Number, 1.0), MANY),
    (pure("number in 3 %", Noise::Number, 0.03), LOAD),
    (pure("price in 3 %", Noise::Price, 0.03), LOAD),
    (pure("one of six", Noise::Dice, 0.05), LOAD),
    (pure("sentence", Noise::Sentence, 1.0), LOAD),
    (pure("race in 2 %", Noise::Race(0.02), 1.0), LOAD),
    (pure("race in 5 %", Noise::Race(0.05), 1.0), LOAD),
    (pure("seldom (3 %)", Noise::Seldom(0.03), 1.0), LOAD),
];

/// Candidates with a fault that must not be taken for noise.
const FAULTY: [(Scenario, Load); 30] = [
    (
        faulty(
            "clock, an hour off, 1 %",
            Noise::Clock,
            Fault::Bias(HOUR),
            0.01,
            false,
            1.0,
        ),
        LOAD,
    ),
    (
        faulty(
            "clock, an hour off, 1 % of targets",
            Noise::Clock,
            Fault::Bias(HOUR),
            0.01,
            true,
            1.0,
        ),
        MANY,
    ),
    (
        faulty(
            "clock, an hour off, 10 %",
            Noise::Clock,
            Fault::Bias(HOUR),
            0.1,
            false,
            1.0,
        ),
        LOAD,
    ),
    (
        faulty(
            "clock, a second off, 10 %",
            Noise::Clock,
            Fault::Bias(SECOND),
            0.1,
            false,
            1.0,
        ),
        LOAD,
    ),
    (
        faulty(
            "clock, a second off, 10 %, more rechecks",
            Noise::Clock,
            Fault::Bias(SECOND),
            0.1,
            false,
            1.0,
        ),
        MANY,
    ),
    (
        faulty(
            "clock, a second off",
            Noise::Clock,
            Fault::Bias(SECOND),
            1.0,
            false,
            1.0,
        ),
        LOAD,
    ),
    (
        faulty(
            "clock in 1 %, a second off",
            Noise::Clock,
            Fault::Bias(SECOND),
            1.0,
            false,
            0.01,
        ),
        LOAD,
    ),
    (
        faulty(
            "clock in 10 %, a second early",
            Noise::Clock,
            Fault::Bias(-SECOND),
            1.0,
            false,
            0.1,
        ),
        LOAD,
    ),
    (
        faulty(
            "counter in 1 %, behind by 20",
            Noise::Counter,
            Fault::Bias(-20),
            1.0,
            false,
            0.01,
        ),
        MANY,
    ),
    (
        faulty(
            "counter, behind by 20, 10 %",
            Noise::Counter,
            Fault::Bias(-20),
            0.1,
            false,
            1.0,
        ),
        LOAD,
    ),
    (
        faulty(
            "number, a million more, 1 %",
            Noise::Number,
            Fault::Bias(1_000_000),
            0.01,
            false,
            1.0,
        ),
        LOAD,
    ),
    (
        faulty(
            "number, 300 more",
            Noise::Number,
            Fault::Bias(300),
            1.0,
            false,
            1.0,
        ),
        LOAD,
    ),
    (
        faulty(
            "number in 10 %, 300 more",
            Noise::Number,
            Fault::Bias(300),
            1.0,
            false,
            0.1,
        ),
        LOAD,
    ),
    (
        faulty(
            "uuid, constant, 1 %",
            Noise::Uuid,
            Fault::Constant,
            0.01,
            false,
            1.0,
        ),
        LOAD,
    ),
    (
        faulty(
            "uuid, constant, 1 % of targets",
            Noise::Uuid,
            Fault::Constant,
            0.01,
            true,
            1.0,
        ),
        LOAD,
    ),
    (
        faulty(
            "uuid, constant, 10 %",
            Noise::Uuid,
            Fault::Constant,
            0.1,
            false,
            1.0,
        ),
        LOAD,
    ),
    (
        faulty(
            "uuid in 1 %, constant",
            Noise::Uuid,
            Fault::Constant,
            1.0,
            false,
            0.01,
        ),
        LOAD,
    ),
    (
        faulty(
            "order, sorted, 1 %",
            Noise::Order,
            Fault::Constant,
            0.01,
            false,
            1.0,
        ),
        LOAD,
    ),
    (
        faulty(
            "order, sorted, 10 %",
            Noise::Order,
            Fault::Constant,
            0.1,
            false,
            1.0,
        ),
        LOAD,
    ),
    (
        faulty(
            "number, constant, 10 %",
            Noise::Number,
            Fault::Constant,
            0.1,
            true,
            1.0,
        ),
        LOAD,
    ),
    (
        faulty(
            "one of six, constant, 10 %",
            Noise::Dice,
            Fault::Constant,
            0.1,
            true,
            1.0,
        ),
        MANY,
    ),
    (
        faulty(
            "one of six in 1 %, constant",
            Noise::Dice,
            Fault::Constant,
            1.0,
            false,
            0.01,
        ),
        LOAD,
    ),
    (
        faulty(
            "uuid, null, 1 %",
            Noise::Uuid,
            Fault::Null,
            0.01,
            false,
            1.0,
        ),
        LOAD,
    ),
    (
        faulty(
            "uuid, upper case, 1 %",
            Noise::Uuid,
            Fault::Kind,
            0.01,
            true,
            1.0,
        ),
        LOAD,
    ),
    (
        faulty(
            "clock, as a number, 10 %",
            Noise::Clock,
            Fault::Kind,
            0.1,
            false,
            1.0,
        ),
        LOAD,
    ),
    (
        faulty(
            "price, cut to integers, 10 %",
            Noise::Price,
            Fault::Kind,
            0.1,
            false,
            1.0,
        ),
        LOAD,
    ),
    (
        faulty(
            "sentence, another, 1 %",
            Noise::Sentence,
            Fault::Kind,
            0.01,
            false,
            1.0,
        ),
        LOAD,
    ),
    (
        faulty(
            "race in 5 %, stale, 1 %",
            Noise::Race(0.05),
            Fault::Constant,
            0.01,
            true,
            1.0,
        ),
        LOAD,
    ),
    (
        faulty(
            "seldom, ten times as often",
            Noise::Seldom(0.01),
            Fault::Excess(0.1),
            1.0,
            false,
            1.0,
        ),
        LOAD,
    ),
    (
        faulty(
            "seldom, twice as often",
            Noise::Seldom(0.1),
            Fault::Excess(0.2),
            1.0,
            false,
            1.0,
        ),
        LOAD,
    ),
];

fn line(scenario: &Scenario, outcomes: &[Outcome]) -> String {
    let mut after: Vec<u64> = outcomes
        .iter()
        .filter_map(|outcome| outcome.proven_after)
        .collect();
    after.sort_unstable();
    let mean =
        |of: fn(&Outcome) -> u64| outcomes.iter().map(of).sum::<u64>() / outcomes.len() as u64;
    format!(
        "{:38} {:>9} {:>8} {:>6} of {} {:>8} {:>7} {:>8} {:>7}",
        scenario.name,
        mean(|outcome| outcome.differing),
        mean(|outcome| outcome.rechecks),
        after.len(),
        outcomes.len(),
        after
            .get(after.len() / 2)
            .map_or("-".to_owned(), u64::to_string),
        mean(|outcome| outcome.faults),
        mean(|outcome| outcome.excused_faults),
        outcomes.iter().filter(|outcome| outcome.hidden).count(),
    )
}

/// One of so many runs of services that behave alike may end before that is shown.
const UNLUCKY: u64 = 5;

const HEAD: &str = "scenario                               differing rechecks  proven      after  faults  excused  hidden";

/// The load of a short run: as many rechecks of fewer requests, since it is rechecks that a proof needs.
fn shortened(load: Load) -> Load {
    /// Of the length.
    const PART: f64 = 0.4;
    Load {
        requests: (load.requests as f64 * PART) as u64,
        budget: (load.budget / PART).min(1.0),
    }
}

/// With `PARITY_TEST_LENGTH=long` of twenty seeds and at full length, which takes some minutes in an optimized build.
#[test]
fn no_fault_is_taken_for_noise_and_noise_is_proven() {
    let is_long = std::env::var("PARITY_TEST_LENGTH").is_ok_and(|length| length == "long");
    let seeds = if is_long { 20 } else { 1 };
    println!("{HEAD}");
    let mut wrong = Vec::new();
    for (of, is_pure) in [(&PURE[..], true), (&FAULTY[..], false)] {
        for (scenario, load) in of {
            let load = if is_pure || is_long {
                *load
            } else {
                shortened(*load)
            };
            let outcomes: Vec<Outcome> = (0..seeds)
                .map(|seed| simulate(*scenario, load, seed * 7_919 + 1))
                .collect();
            let line = line(scenario, &outcomes);
            println!("{line}");
            let unproven = outcomes
                .iter()
                .filter(|outcome| outcome.proven_after.is_none())
                .count();
            // Of services that behave alike, some are unlike by chance for a while.
            let too_few = is_pure && unproven as u64 * UNLUCKY > seeds;
            let is_bad =
                |outcome: &&Outcome| outcome.hidden || (too_few && outcome.proven_after.is_none());
            for outcome in outcomes.iter().filter(is_bad) {
                let told: Vec<String> = outcome
                    .proofs
                    .iter()
                    .map(|(name, proof)| format!("{name} {:?}", proof.against))
                    .collect();
                wrong.push(format!("{line}\n    {}", told.join("\n    ")));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
