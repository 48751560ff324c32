//! What was found, as the document that is printed: both services beside each other, what the difference is worth, and what follows
//! from it.

use parity_comparator::metrics::{Advice, Judged, judge};
use parity_schemas::metrics::{JudgedThreshold, Measure, Measured, MetricValue, MetricsOutcome};
use parity_schemas::stress::{
    LoadAnswers, LoadGenerator, LoadRequests, LoadRun, STRESS_SCHEMA, Spread, StressCost,
    StressDemands, StressDocument, StressSide, StressStep, StressTable, StressUse, StressVerdict,
};

use super::climb::Standing;
use crate::config::StressSettings;
use crate::loading::one_run::NAMES;

/// Bytes of a GiB.
const GIB: f64 = 1_073_741_824.0;
/// Share of 4xx from which a load says nothing of the work that clients ask for.
const MOST_REFUSED: f64 = 0.9;
/// Runs of which the spread says something.
const LEAST_RUNS: usize = 2;

/// What was found of both services.
pub(super) struct Found {
    pub(super) targets: [String; 2],
    pub(super) standings: [Standing; 2],
    pub(super) steps: [Vec<StressStep>; 2],
    pub(super) notes: [Vec<String>; 2],
    pub(super) answers: Option<LoadAnswers>,
    pub(super) interrupted: bool,
    pub(super) seconds: f64,
}

/// All that is told.
pub(super) fn document(
    found: Found,
    requests: LoadRequests,
    settings: &StressSettings,
    threads: usize,
    places: usize,
) -> StressDocument {
    let Found {
        targets,
        standings,
        steps,
        notes,
        answers,
        interrupted,
        seconds,
    } = found;
    let generator = generator(&steps, threads, places);
    let mut sides = steps.into_iter().zip(targets).zip(notes).zip(standings);
    let mut side = || {
        let (((steps, target), notes), standing) = sides.next()?;
        Some(side(target, steps, notes, standing))
    };
    let [legacy, candidate] = [side(), side()].map(Option::unwrap_or_default);
    let both = [&legacy, &candidate];
    let common = common(both);
    let mut chosen = settings.at.clone();
    if chosen.is_empty() {
        chosen.extend(common.or_else(|| tried(both)));
    }
    let mut tables: Vec<StressTable> = chosen
        .into_iter()
        .filter_map(|rate| table(both, [rate; 2]))
        .collect();
    let limits = [legacy.sustained, candidate.sustained];
    if let [Some(of_legacy), Some(of_candidate)] = limits
        && of_legacy != of_candidate
    {
        tables.extend(table(both, [of_legacy, of_candidate]));
    }
    let compared = common.and_then(|rate| table(both, [rate; 2]));
    let measures = with_limits(compared.map_or_else(Vec::new, |table| table.measures), both);
    let runs = [&legacy, &candidate].map(|side| runs_at(side, common));
    let mut thresholds = judge(
        &settings.thresholds,
        &measures,
        settings.judged,
        Advice::Runs,
    );
    for (threshold, judged) in settings.thresholds.iter().zip(&mut thresholds) {
        let is_of_runs = threshold.is_beside_legacy() && threshold.measure() != Measure::Rate;
        if is_of_runs && settings.judged == Judged::ByBounds {
            doubt_one_run(judged, runs);
        }
    }
    let cost = settings
        .prices
        .and_then(|prices| cost(prices, common?, &measures));
    let (outcome, mut reasons) = outcome(both, &thresholds, answers.as_ref(), interrupted);
    let judged = !thresholds.is_empty() || outcome != MetricsOutcome::Pass;
    if !judged {
        reasons.push(not_judged(both));
    }
    StressDocument {
        schema: STRESS_SCHEMA.to_owned(),
        outcome,
        judged,
        reasons,
        interrupted,
        seconds,
        demands: StressDemands {
            p99: settings.p99.as_secs_f64(),
            errors: settings.max_errors,
            answered: settings.min_answered,
            window: settings.window.as_secs_f64(),
            warm_up: settings.warm_up.as_secs_f64(),
            repeats: settings.repeats as u64,
        },
        requests,
        tables,
        cost,
        answers,
        thresholds,
        generator,
        legacy,
        candidate,
    }
}

fn side(
    target: String,
    steps: Vec<StressStep>,
    mut notes: Vec<String>,
    standing: Standing,
) -> StressSide {
    let of = |verdict| steps.iter().find(move |step| step.verdict == verdict);
    // The lowest rate at which it was no longer held says why.
    let first = [
        of(StressVerdict::Broken),
        of(StressVerdict::Generator),
        of(StressVerdict::Unclear),
    ];
    let why = first.into_iter().flatten().find_map(|step| {
        let why = step.why.as_deref()?;
        let words = match step.verdict {
            StressVerdict::Generator => "the load generator was the limit: ",
            _ => "",
        };
        Some(format!("at {}/s: {words}{why}", step.rate))
    });
    let answers = answered(&steps, None);
    for class in ["4xx", "3xx", "1xx", "other"] {
        let count = answered(&steps, Some(class));
        if count > 0 {
            notes.push(format!(
                "{count} of {answers} answers had a status of {class}, which is no error here"
            ));
        }
    }
    // A rate that broke is not held by a luckier step above it.
    let held = standing
        .held
        .filter(|held| standing.broken.is_none_or(|broken| *held < broken));
    let highest = || {
        let held = steps.iter().filter(|step| {
            step.verdict == StressVerdict::Held
                && standing.broken.is_none_or(|broken| step.rate < broken)
        });
        held.map(|step| step.rate).max()
    };
    StressSide {
        target,
        sustained: held.or_else(highest),
        broken: standing.broken,
        why,
        steps,
        notes,
    }
}

/// How many runs at the rate of both tell of a service.
fn runs_at(side: &StressSide, rate: Option<u32>) -> usize {
    let mut steps = side.steps.iter();
    let step = steps.find(|step| Some(step.rate) == rate);
    step.map_or(0, |step| step.runs.len())
}

/// Of one run nobody knows how much the next one would differ, so a share that it differs from another one is chance.
fn doubt_one_run(judged: &mut JudgedThreshold, runs: [usize; 2]) {
    let is_told = judged.outcome != MetricsOutcome::Undecided;
    if is_told && runs.iter().any(|runs| *runs < LEAST_RUNS) {
        judged.outcome = MetricsOutcome::Undecided;
        judged.why = format!(
            "{} in one run, and how much runs differ is not known: --repeats 3 tells (or --judged-by values takes it as it is)",
            judged.why
        );
    }
}

/// That nothing was demanded, with what is known.
fn not_judged([legacy, candidate]: [&StressSide; 2]) -> String {
    let told = "no thresholds, so nothing was judged";
    let hint = "--threshold 'rate >= -10%' judges that";
    match (legacy.sustained, candidate.sustained) {
        (Some(of_legacy), Some(of_candidate)) => {
            let change = f64::from(of_candidate) / f64::from(of_legacy) - 1.0;
            format!(
                "{told}: the candidate holds {of_candidate}/s and the legacy {of_legacy}/s ({:+.1} %); {hint}",
                change * 100.0
            )
        }
        _ => format!("{told}; {hint}"),
    }
}

/// Answers of a class of statuses, or of all.
fn answered(steps: &[StressStep], class: Option<&str>) -> u64 {
    let runs = steps.iter().flat_map(|step| &step.runs);
    let statuses = runs.flat_map(|run| &run.statuses);
    let counts = statuses.filter(|(of, _)| class.is_none_or(|class| *of == class));
    counts.map(|(_, count)| count).sum()
}

/// The highest rate that both held.
fn common([legacy, candidate]: [&StressSide; 2]) -> Option<u32> {
    let held = |side: &StressSide, rate: u32| {
        let mut steps = side.steps.iter();
        steps.any(|step| step.rate == rate && step.verdict == StressVerdict::Held)
    };
    let least = legacy.sustained?.min(candidate.sustained?);
    let rates = legacy.steps.iter().map(|step| step.rate);
    let both = rates.filter(|rate| *rate <= least && held(legacy, *rate) && held(candidate, *rate));
    both.max()
}

/// Where none was held by both: the highest rate that both were loaded with and one held, or else the lowest that both were loaded with.
fn tried([legacy, candidate]: [&StressSide; 2]) -> Option<u32> {
    let both = legacy.steps.iter().filter_map(|step| {
        let mut others = candidate.steps.iter();
        let other = others.find(|other| other.rate == step.rate)?;
        Some((step.rate, [step.verdict, other.verdict]))
    });
    let both: Vec<_> = both.collect();
    let held = both
        .iter()
        .rev()
        .find(|(_, verdicts)| verdicts.contains(&StressVerdict::Held));
    held.or(both.first()).map(|(rate, _)| *rate)
}

/// Both at these rates; `None` if one was not loaded with its own.
fn table(sides: [&StressSide; 2], rates: [u32; 2]) -> Option<StressTable> {
    let step = |side: usize| {
        let mut steps = sides[side].steps.iter();
        steps.find(|step| step.rate == rates[side])
    };
    let steps = [step(0)?, step(1)?];
    let measures = Measure::ALL.iter().filter_map(|measure| {
        let [legacy, candidate] = steps.map(|step| step.spread(*measure).map(value));
        (legacy.is_some() || candidate.is_some()).then(|| Measured::of(*measure, legacy, candidate))
    });
    Some(StressTable {
        rates,
        verdicts: Some(steps.map(|step| step.verdict)),
        measures: measures.collect(),
    })
}

fn value(spread: Spread) -> MetricValue {
    MetricValue {
        value: spread.median,
        low: Some(spread.low),
        high: Some(spread.high),
        metric: spread.source,
        requests: None,
    }
}

/// The same, with the highest rate of each in the place of the rate: it is between the last that was held and the first that broke.
fn with_limits(mut measures: Vec<Measured>, sides: [&StressSide; 2]) -> Vec<Measured> {
    measures.retain(|measured| measured.measure != Measure::Rate);
    let [legacy, candidate] = sides.map(|side| {
        (side.sustained.is_some() || side.broken.is_some()).then(|| {
            let sustained = f64::from(side.sustained.unwrap_or(0));
            MetricValue {
                value: sustained,
                low: Some(sustained),
                // Rates are whole, and the one at which it broke is none that it holds.
                high: side.broken.map(|broken| f64::from(broken) - 1.0),
                metric: "load".to_owned(),
                requests: None,
            }
        })
    });
    measures.insert(0, Measured::of(Measure::Rate, legacy, candidate));
    measures
}

fn cost([vcpu, gib]: [f64; 2], rate: u32, measures: &[Measured]) -> Option<StressCost> {
    let of = |measure: Measure| {
        let measured = measures.iter().find(|one| one.measure == measure)?;
        Some([
            measured.legacy.as_ref()?.value,
            measured.candidate.as_ref()?.value,
        ])
    };
    let (cores, memory) = (of(Measure::Cpu)?, of(Measure::Rss)?);
    let [legacy, candidate] = [0, 1].map(|side| StressUse {
        vcpus: cores[side],
        gib: memory[side] / GIB,
        price: cores[side] * vcpu + memory[side] / GIB * gib,
    });
    let saving = legacy.price - candidate.price;
    let share = saving / legacy.price;
    Some(StressCost {
        price_vcpu: vcpu,
        price_gib: gib,
        rate,
        legacy,
        candidate,
        saving,
        saving_share: share.is_finite().then_some(share),
    })
}

fn generator(steps: &[Vec<StressStep>; 2], threads: usize, places: usize) -> LoadGenerator {
    let runs = || steps.iter().flatten().flat_map(|step| &step.runs);
    let is_held = |run: &&LoadRun| run.verdict == StressVerdict::Held;
    let none_held = !runs().any(|run| is_held(&run));
    let told = runs().filter(|run| none_held || is_held(run));
    LoadGenerator {
        threads: threads as u64,
        places: places as u64,
        cpu: runs().filter_map(|run| run.generator_cpu).reduce(f64::max),
        lateness: told.map(|run| run.lateness).fold(0.0, f64::max),
        none_held,
    }
}

/// What the exit code says, and why.
fn outcome(
    sides: [&StressSide; 2],
    thresholds: &[JudgedThreshold],
    answers: Option<&LoadAnswers>,
    interrupted: bool,
) -> (MetricsOutcome, Vec<String>) {
    let mut all = Vec::new();
    for (name, side) in NAMES.iter().zip(sides) {
        if side.sustained.is_none() {
            // That the candidate holds nothing is its fault; that the legacy does not says nothing of the candidate.
            let outcome = if *name == NAMES[1] && side.broken.is_some() {
                MetricsOutcome::Fail
            } else {
                MetricsOutcome::Undecided
            };
            let told = if side.broken.is_some() {
                format!("the {name} held no rate")
            } else {
                format!("what the {name} holds is not known")
            };
            let why = side.why.as_ref();
            let why = why.map_or_else(String::new, |why| format!(" ({why})"));
            all.push((outcome, format!("{told}{why}")));
        }
    }
    for (name, side) in NAMES.iter().zip(sides) {
        let [answers, refused] = [None, Some("4xx")].map(|class| answered(&side.steps, class));
        if answers > 0 && refused as f64 >= answers as f64 * MOST_REFUSED {
            let told = format!(
                "the {name} answered {refused} of {answers} requests with a status of 4xx: what was loaded is how it refuses; are the path and its ids right, and may they be asked?"
            );
            all.push((MetricsOutcome::Undecided, told));
        }
    }
    for judged in thresholds {
        if judged.outcome != MetricsOutcome::Pass {
            let told = format!("{}: {}", judged.threshold, judged.why);
            all.push((judged.outcome, told));
        }
    }
    all.extend(answers.and_then(LoadAnswers::objection));
    if interrupted {
        let told = "it was ended before its time".to_owned();
        all.push((MetricsOutcome::Undecided, told));
    }
    all.sort_by_key(|(outcome, _)| std::cmp::Reverse(*outcome));
    let outcome = all
        .first()
        .map_or(MetricsOutcome::Pass, |(outcome, _)| *outcome);
    (outcome, all.into_iter().map(|(_, told)| told).collect())
}

#[cfg(test)]
mod tests;
