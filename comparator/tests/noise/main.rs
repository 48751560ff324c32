//! Whether noise is told from faults, by the real comparator on simulated services.
//!
//! Each pair of services gets ten thousand requests at a hundred a second and ten rechecks a second, as the program's
//! default is. It is looked at after every 50 rechecks, and one look at which an exchange with a
//! fault would be taken for noise is one too many. [`gate`] is the same for a service with several routes, and for the decision.

mod gate;
mod scenarios;
mod service;
mod simulation;

use scenarios::{FAULTY, PURE, TEXTS};
use simulation::{Load, Outcome, Scenario, simulate};

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
#[expect(clippy::print_stdout, reason = "the table is for who runs it")]
fn no_fault_is_taken_for_noise_and_noise_is_proven() {
    let is_long = std::env::var("PARITY_TEST_LENGTH").is_ok_and(|length| length == "long");
    let seeds = if is_long { 20 } else { 1 };
    println!("{HEAD}");
    let mut wrong = Vec::new();
    for (of, is_pure) in [(&PURE[..], true), (&FAULTY[..], false), (&TEXTS[..], false)] {
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
