//! What a load found, in sentences that every surface uses.

use parity_comparator::metrics::shown;
use parity_schemas::metrics::Unit;
use parity_schemas::stress::{
    LoadAnswers, LoadGenerator, LoadRequests, LoadRun, StressCost, StressDemands, StressSide,
    StressTable, StressVerdict,
};
use parity_schemas::visible::visible_up_to;

use super::words::{grouped, percent, plural};

/// Longest text of a service or of the system that is shown.
const MAX_CHARS: usize = 400;

/// What one service holds.
pub(crate) fn limit(side: &StressSide) -> String {
    let holds = match side.sustained {
        Some(rate) => format!("holds {}/s", grouped(u64::from(rate))),
        None if side.broken.is_some() => "held no rate".to_owned(),
        None if side.steps.is_empty() => "was not loaded".to_owned(),
        None => "what it holds is not known".to_owned(),
    };
    let breaks = match side.broken {
        Some(rate) if side.sustained.is_none() => {
            format!(", broke at {}/s", grouped(u64::from(rate)))
        }
        Some(rate) => format!(", breaks at {}/s", grouped(u64::from(rate))),
        None if side.why.is_none() && side.sustained.is_some() => {
            " and was not tried with more".to_owned()
        }
        None => String::new(),
    };
    let why = side.why.as_ref().map_or_else(String::new, |why| {
        format!(" ({})", visible_up_to(why, MAX_CHARS))
    });
    format!("{holds}{breaks}{why}")
}

/// What a service must do to hold a rate.
pub(crate) fn demands(demands: &StressDemands) -> String {
    format!(
        "A rate is held with a p99 of at most {}, at most {} errors, and answers at {} of it at least; {} of {} each, after {}.",
        time(demands.p99),
        percent(demands.errors),
        percent(demands.answered),
        plural(demands.repeats, "run", "runs"),
        time(demands.window),
        time(demands.warm_up),
    )
}

/// Of what a table is, and what its numbers are of where a rate was not held.
pub(crate) fn title(table: &StressTable) -> String {
    let [legacy, candidate] = table.rates.map(|rate| grouped(u64::from(rate)));
    if legacy == candidate {
        let mut title = format!("Both at {legacy}/s");
        match table.verdicts {
            None | Some([StressVerdict::Held, StressVerdict::Held]) => {}
            Some([StressVerdict::Broken, StressVerdict::Broken]) => {
                title.push_str(", which neither held");
            }
            Some([StressVerdict::Generator, StressVerdict::Generator]) => {
                title.push_str("; the load generator was the limit");
            }
            Some(verdicts) => {
                for (name, verdict) in ["legacy", "candidate"].into_iter().zip(verdicts) {
                    let told = match verdict {
                        StressVerdict::Held => continue,
                        StressVerdict::Broken => format!("; the {name} did not hold it"),
                        StressVerdict::Generator => {
                            format!("; for the {name} the load generator was the limit")
                        }
                        StressVerdict::Unclear => {
                            format!("; of the {name} too little was measured")
                        }
                    };
                    title.push_str(&told);
                }
            }
        }
        title
    } else {
        format!("Each at its limit: {legacy}/s and {candidate}/s")
    }
}

/// What was sent.
pub(crate) fn sent(requests: &LoadRequests) -> String {
    let source = visible_up_to(&requests.source, MAX_CHARS);
    let count = plural(requests.requests, "request", "requests");
    let mut parts = vec![format!("{source}: {count}")];
    let left_out = requests.left_out.iter();
    parts.extend(left_out.map(|(why, count)| format!("{} left out ({why})", grouped(*count))));
    if requests.unreadable > 0 {
        parts.push(format!("{} not readable", grouped(requests.unreadable)));
    }
    parts.join(", ")
}

/// What the difference is worth.
pub(crate) fn cost(cost: &StressCost) -> [String; 2] {
    let use_of = |name: &str, used: &parity_schemas::stress::StressUse| {
        format!(
            "{name} {} cores and {}: {}",
            shown(used.vcpus, Unit::Cores),
            shown(used.gib * 1_073_741_824.0, Unit::Bytes),
            money(used.price)
        )
    };
    let share = cost.saving_share.map_or_else(String::new, |share| {
        format!(" ({:.1} %)", share.abs() * 100.0)
    });
    let worth = if cost.saving < 0.0 {
        format!("costs {} more", money(-cost.saving))
    } else {
        format!("saves {}", money(cost.saving))
    };
    [
        format!(
            "At {}/s the candidate {worth}{share}, at {} a vCPU and {} a GiB.",
            grouped(u64::from(cost.rate)),
            money(cost.price_vcpu),
            money(cost.price_gib)
        ),
        format!(
            "{}, {}",
            use_of("legacy", &cost.legacy),
            use_of("candidate", &cost.candidate)
        ),
    ]
}

/// Whether both answered alike.
pub(crate) fn answers(answers: &LoadAnswers) -> String {
    let compared = plural(answers.equal + answers.differing, "answer", "answers");
    let differing = grouped(answers.differing);
    let mut parts = vec![
        format!("{compared} compared under load"),
        format!("{differing} of them differ"),
    ];
    let others = answers.not_compared.iter();
    parts.extend(others.map(|(why, count)| format!("{} not compared ({why})", grouped(*count))));
    parts.join(", ")
}

/// What became of the requests of one stretch.
pub(crate) fn load(run: &LoadRun) -> String {
    let mut parts = vec![plural(run.due, "request", "requests")];
    parts.extend(
        run.latency
            .get("p99")
            .map(|p99| format!("p99 {}", time(*p99))),
    );
    let counts = run.statuses.iter().chain(&run.failures);
    parts.extend(counts.map(|(word, count)| format!("{} {word}", grouped(*count))));
    parts.join(", ")
}

/// What parity itself did.
pub(crate) fn generator(generator: &LoadGenerator) -> String {
    let cpu = generator.cpu.map_or_else(String::new, |cpu| {
        format!(", at most {} cores", shown(cpu, Unit::Cores))
    });
    let late = format!("late by {} at its p99", time(generator.lateness));
    let late = match (generator.none_held, generator.lateness > 0.0) {
        (false, _) => format!("{late} where a rate was held"),
        (true, true) => format!("{late} over all, no rate was held"),
        (true, false) => "no rate was held".to_owned(),
    };
    format!(
        "{}, {} places{cpu}; {late}",
        plural(generator.threads, "thread", "threads"),
        grouped(generator.places),
    )
}

fn time(seconds: f64) -> String {
    shown(seconds, Unit::Seconds)
}

/// An amount, of which the currency is the user's.
fn money(amount: f64) -> String {
    let places = if amount.abs() < 100.0 { 2 } else { 0 };
    format!("{amount:.places$}")
}

#[cfg(test)]
mod tests {
    use parity_schemas::stress::StressUse;

    use super::*;

    #[test]
    fn what_costs_more_saves_no_negative_amount() {
        let used = StressUse {
            vcpus: 1.0,
            gib: 1.0,
            price: 1.0,
        };
        let mut found = StressCost {
            rate: 100,
            price_vcpu: 1.0,
            price_gib: 0.0,
            legacy: used,
            candidate: used,
            saving: -0.31,
            saving_share: Some(-0.31),
        };
        assert!(cost(&found)[0].contains("candidate costs 0.31 more (31.0 %), at"));
        found.saving = 0.31;
        assert!(cost(&found)[0].contains("candidate saves 0.31 (31.0 %), at"));
    }
}
