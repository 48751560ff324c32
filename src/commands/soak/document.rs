//! What was found of a steady load, as the document that is printed: each series with its trend, and what follows from it.

use parity_comparator::metrics::Scrapes;
use parity_comparator::trend::{Demand, Slope, Trend, blocks, trend};
use parity_mirror::load::Step;
use parity_schemas::metrics::{MetricsOutcome, Subject, Unit};
use parity_schemas::soak::{
    Grows, SOAK_SCHEMA, SoakDocument, SoakSide, SoakSlope, SoakTrend, SoakVerdict,
};
use parity_schemas::stress::{LoadAnswers, LoadGenerator, LoadRequests, StressVerdict};
use parity_schemas::visible::visible;

use crate::config::SoakSettings;
use crate::loading::one_run::{Judged, Loaded, NAMES};
use crate::loading::processes::{Sample, Seen};

/// Open files and sockets that a service may have more at the end: connections come and go by dozens, and a leak makes thousands.
const DESCRIPTORS: f64 = 32.0;
/// Threads that it may have more: pools grow by a few.
const THREADS: f64 = 8.0;
const HOUR: f64 = 3_600.0;
/// Why something of a process is not known to the end.
const NOT_SHOWN: &str = "the system no longer shows it of its processes";

/// What was found of both services.
pub(super) struct Found {
    pub(super) sides: [Loaded; 2],
    pub(super) answers: Option<LoadAnswers>,
    pub(super) interrupted: bool,
    pub(super) seconds: f64,
}

/// Where and how both were loaded.
pub(super) struct Under {
    pub(super) step: Step,
    pub(super) requests: LoadRequests,
    pub(super) targets: [String; 2],
    pub(super) judged: [Judged; 2],
    pub(super) places: usize,
}

/// All that is told.
pub(super) fn document(found: Found, settings: &SoakSettings, under: Under) -> SoakDocument {
    let Found {
        sides,
        answers,
        interrupted,
        seconds,
    } = found;
    let Under {
        step,
        requests,
        targets,
        judged,
        places,
    } = under;
    let rates = sides.each_ref().map(Loaded::worked_for);
    let test = Test {
        confidence: settings.confidence,
        memory: settings.growth,
    };
    // Each request to a service is one of parity's.
    let own = sides[0].own.as_ref();
    let own = own.map_or_else(Vec::new, |seen| {
        test.of_seen(seen, &sides[0], ("process", None), rates[0] + rates[1])
    });
    let generator_cpu = sides[0].generator_cpu();
    let mut lateness: f64 = 0.0;
    let mut sides = sides.into_iter().zip(targets).zip(judged).zip(rates);
    let mut side = || {
        let (((loaded, target), judged), rate) = sides.next()?;
        let load = loaded.told(judged, step);
        lateness = lateness.max(load.lateness);
        Some(SoakSide {
            target,
            trends: test.of_service(&loaded, rate),
            notes: notes(&loaded),
            load,
        })
    };
    let [Some(legacy), Some(candidate)] = [side(), side()] else {
        unreachable!("there are two");
    };
    let (outcome, reasons) = outcome([&legacy, &candidate], &own, answers.as_ref(), interrupted);
    SoakDocument {
        schema: SOAK_SCHEMA.to_owned(),
        outcome,
        reasons,
        interrupted,
        seconds,
        warm_up: step.warm_up.as_secs_f64(),
        rate: step.rate,
        confidence: settings.confidence,
        allowed: settings.growth,
        requests,
        own,
        answers,
        generator: LoadGenerator {
            threads: settings.load.threads.get() as u64,
            places: places as u64,
            cpu: generator_cpu,
            lateness,
            none_held: ![&legacy, &candidate]
                .iter()
                .any(|side| side.load.verdict == StressVerdict::Held),
        },
        legacy,
        candidate,
    }
}

fn notes(loaded: &Loaded) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(lost) = loaded.seen.as_ref().and_then(|seen| seen.lost.as_ref()) {
        notes.push(visible(&format!("its processes: {lost}")));
    }
    if let Some(failure) = loaded.scrapes.as_ref().and_then(Scrapes::failure) {
        notes.push(visible(&format!(
            "a page of its metrics could not be read: {failure}"
        )));
    }
    notes
}

/// What counts as growth.
struct Test {
    confidence: f64,
    memory: f64,
}

impl Test {
    fn allowed(&self, of: Grows) -> f64 {
        match of {
            Grows::Rss | Grows::Anon => self.memory,
            Grows::Descriptors => DESCRIPTORS,
            Grows::Threads => THREADS,
        }
    }

    /// The trends of a service: by its processes, or else by its page.
    fn of_service(&self, loaded: &Loaded, rate: f64) -> Vec<SoakTrend> {
        let doubt = loaded.scrapes.as_ref().and_then(Scrapes::not_one_process);
        let mut trends = match &loaded.seen {
            Some(seen) => self.of_seen(seen, loaded, (loaded.source, doubt.as_deref()), rate),
            None => Vec::new(),
        };
        let Some(scrapes) = &loaded.scrapes else {
            return trends;
        };
        for (of, subject) in [
            (Grows::Rss, Subject::Memory),
            (Grows::Descriptors, Subject::Descriptors),
            (Grows::Threads, Subject::Threads),
        ] {
            if trends.iter().any(|trend| trend.of == of) {
                continue;
            }
            if let Some((metric, samples)) = scrapes.series(subject) {
                let doubt = scrapes.passed_over(subject).or_else(|| doubt.clone());
                let lost = scrapes.lost_of(subject);
                let known = (lost.as_deref(), doubt.as_deref());
                trends.push(self.judge(of, &metric, &samples, rate, known));
            }
        }
        trends
    }

    fn of_seen(
        &self,
        seen: &Seen,
        loaded: &Loaded,
        (source, doubt): (&str, Option<&str>),
        rate: f64,
    ) -> Vec<SoakTrend> {
        let samples = seen.within(loaded.from, loaded.to);
        let lost = seen.lost.as_deref();
        let series = |value: fn(&Sample) -> Option<f64>| {
            let last = samples.last();
            let is_gone = last.is_some_and(|sample| value(sample).is_none());
            let lost = lost.or_else(|| is_gone.then_some(NOT_SHOWN));
            let found = samples.iter().filter_map(|sample| {
                let at = sample.at.saturating_duration_since(loaded.from);
                Some((at.as_secs_f64(), value(sample)?))
            });
            (found.collect::<Vec<_>>(), lost)
        };
        let all = [
            (Grows::Rss, series(|sample| Some(sample.memory))),
            (Grows::Anon, series(|sample| sample.anonymous)),
            (Grows::Descriptors, series(|sample| sample.descriptors)),
            (Grows::Threads, series(|sample| sample.threads)),
        ];
        let all = all
            .into_iter()
            .filter(|(of, (samples, _))| *of == Grows::Rss || !samples.is_empty());
        all.map(|(of, (samples, lost))| self.judge(of, source, &samples, rate, (lost, doubt)))
            .collect()
    }

    fn judge(
        &self,
        of: Grows,
        source: &str,
        samples: &[(f64, f64)],
        rate: f64,
        (lost, doubt): (Option<&str>, Option<&str>),
    ) -> SoakTrend {
        let demand = Demand {
            confidence: self.confidence,
            allowed: self.allowed(of),
            unit: match of {
                Grows::Rss | Grows::Anon => Unit::Bytes,
                Grows::Descriptors | Grows::Threads => Unit::Number,
            },
        };
        let mut told = SoakTrend {
            of,
            source: source.to_owned(),
            verdict: SoakVerdict::Undecided,
            why: None,
            samples: samples.len() as u64,
            first: None,
            last: None,
            per_request: None,
            per_hour: None,
            jumps: 0.0,
            blocks: blocks(samples)
                .into_iter()
                .map(|(at, value)| [at, value])
                .collect(),
        };
        // What began anew has nothing of what grew before.
        if let Some(doubt) = doubt {
            told.why = Some(doubt.to_owned());
            return told;
        }
        let (verdict, slope) = match (trend(samples, demand), lost) {
            (Trend::Growing(slope), _) => (SoakVerdict::Growing, slope),
            (_, Some(lost)) => {
                told.why = Some(format!("it could not be read to the end: {lost}"));
                return told;
            }
            (Trend::BelowLimit(slope), None) => (SoakVerdict::BelowLimit, slope),
            (Trend::Flat(slope), None) => (SoakVerdict::Flat, slope),
            (Trend::Unclear(why), None) => {
                told.why = Some(why);
                return told;
            }
        };
        told.verdict = verdict;
        [told.first, told.last] = slope.ends.map(Some);
        told.jumps = slope.jumps;
        told.per_request = (rate > 0.0).then(|| times(slope, 1.0 / rate));
        told.per_hour = Some(times(slope, HOUR));
        told
    }
}

/// How much for each request.
fn by(of: Grows, value: f64) -> String {
    match of {
        Grows::Rss | Grows::Anon => format!(" by {value:.1} bytes a request"),
        Grows::Descriptors | Grows::Threads => format!(" by {value:.1e} a request"),
    }
}

fn times(slope: Slope, factor: f64) -> SoakSlope {
    SoakSlope {
        value: slope.value * factor,
        low: slope.low * factor,
        high: slope.high * factor,
    }
}

/// What the exit code says, and why. That the legacy grows says nothing against the candidate, and is told.
fn outcome(
    [legacy, candidate]: [&SoakSide; 2],
    own: &[SoakTrend],
    answers: Option<&LoadAnswers>,
    interrupted: bool,
) -> (MetricsOutcome, Vec<String>) {
    use MetricsOutcome::{Fail, Pass, Undecided};
    let mut all: Vec<(MetricsOutcome, String)> = Vec::new();
    for (name, trends, worst) in [
        (NAMES[0], &*legacy.trends, Pass),
        (NAMES[1], &*candidate.trends, Fail),
        ("parity itself", own, Undecided),
    ] {
        let own_memory = trends.iter().find(|trend| trend.of == Grows::Anon);
        let own_memory = own_memory.map(|trend| trend.verdict);
        for trend in trends {
            let of = trend.of.meaning();
            match (trend.of, trend.verdict, own_memory) {
                // What a process needs is told apart from what the system keeps of files for it, and decides.
                (
                    Grows::Rss,
                    SoakVerdict::Growing,
                    Some(SoakVerdict::Flat | SoakVerdict::BelowLimit),
                ) => {
                    let told = "by pages of files, which the system takes back when it needs room";
                    all.push((Pass, format!("{name}: {of} {} {told}", trend.of.grows())));
                    continue;
                }
                (
                    Grows::Rss,
                    SoakVerdict::Undecided,
                    Some(SoakVerdict::Flat | SoakVerdict::BelowLimit | SoakVerdict::Growing),
                )
                | (Grows::Anon, SoakVerdict::Undecided, _) => continue,
                _ => {}
            }
            match trend.verdict {
                SoakVerdict::Growing => {
                    all.push((worst, format!("{name}: {of} {}", trend.of.grows())));
                }
                SoakVerdict::BelowLimit if name == NAMES[1] => {
                    let by = trend.per_request.map(|slope| by(trend.of, slope.value));
                    let limit = match trend.of {
                        Grows::Rss | Grows::Anon => "the limit of --growth",
                        Grows::Descriptors | Grows::Threads => "what a pool may take",
                    };
                    let told = format!(
                        "{name}: {of} {}{}, below {limit}",
                        trend.of.grows(),
                        by.unwrap_or_default()
                    );
                    all.push((Pass, told));
                }
                SoakVerdict::Undecided if name == NAMES[1] => {
                    let why = trend.why.as_deref().unwrap_or("it cannot be told");
                    all.push((Undecided, format!("{name}: {of}: {why}")));
                }
                SoakVerdict::Flat | SoakVerdict::BelowLimit | SoakVerdict::Undecided => {}
            }
        }
    }
    if !candidate.trends.iter().any(|trend| trend.of == Grows::Rss) {
        let told = format!("{}: nothing tells its resident memory", NAMES[1]);
        all.push((Undecided, told));
    }
    for (name, side, worst) in [(NAMES[0], legacy, Undecided), (NAMES[1], candidate, Fail)] {
        let why = side.load.why.as_deref().unwrap_or_default();
        match side.load.verdict {
            StressVerdict::Broken => all.push((worst, format!("{name}: {why}"))),
            StressVerdict::Generator => all.push((Undecided, format!("{name}: {why}"))),
            // What was ended before its time is told once.
            StressVerdict::Unclear if !interrupted => {
                all.push((Undecided, format!("{name}: {why}")));
            }
            StressVerdict::Held | StressVerdict::Unclear => {}
        }
    }
    if let Some((outcome, told)) = answers.and_then(LoadAnswers::objection) {
        all.push((outcome, told));
    }
    if interrupted {
        all.push((Undecided, "it was ended before its time".to_owned()));
    }
    all.sort_by_key(|(outcome, _)| std::cmp::Reverse(*outcome));
    let outcome = all.first().map_or(Pass, |(outcome, _)| *outcome);
    (outcome, all.into_iter().map(|(_, told)| told).collect())
}
