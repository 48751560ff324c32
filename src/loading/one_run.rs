//! One stretch of load on one service, with all that is seen of it meanwhile: its processes, its page of metrics, and what the
//! generator itself took.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use parity_comparator::metrics::{Scrapes, measures};
use parity_mirror::load::{Failure, Generator, LoadConfig, Run, Step};
use parity_schemas::exchange::Request;
use parity_schemas::metrics::Measure;
use parity_schemas::stress::{LoadRun, LoadValue, StressVerdict};

use super::ending::Ending;
use super::processes::{Seen, Watched, Watching};
use crate::config::{LoadSettings, PageSettings};
use crate::metrics::{LookingAtOne, Time};
use crate::process::descriptors;

/// The services in the order in which they are shown.
pub(crate) const NAMES: [&str; 2] = ["legacy", "candidate"];
/// Descriptors that are left for everything but the load.
const RESERVED: u64 = 256;
/// Quantiles that are told of each run.
const QUANTILES: [(&str, f64, Option<Measure>); 6] = [
    ("p50", 0.5, Some(Measure::P50)),
    ("p90", 0.9, None),
    ("p95", 0.95, Some(Measure::P95)),
    ("p99", 0.99, Some(Measure::P99)),
    ("p999", 0.999, Some(Measure::P999)),
    ("max", 1.0, None),
];
/// How the numbers of the load itself are called.
const OF_LOAD: &str = "load";
/// Requests to see whether a service answers at all.
const PROBE: Step = Step {
    rate: 20,
    warm_up: Duration::ZERO,
    window: Duration::from_secs(1),
    first: 0,
};

/// Both services, ready to be loaded.
pub(crate) struct Sides {
    both: [OneSide; 2],
    own: Option<Watched>,
    ca_file: Option<PathBuf>,
    page_interval: Duration,
    page_deadline: Duration,
    /// Requests to one service that may be unanswered at once.
    pub(crate) places: usize,
}

struct OneSide {
    target: String,
    generator: Generator,
    watched: Option<Watched>,
    page: Option<PageSettings>,
}

/// What is said of a stretch.
pub(crate) struct Judged {
    pub(crate) verdict: StressVerdict,
    /// Why, if the rate was not held.
    pub(crate) why: Option<String>,
    /// Which share of what was sent failed, of 1, as the verdict counts them.
    pub(crate) errors: f64,
}

/// What was seen of a stretch.
pub(crate) struct Loaded {
    pub(crate) run: Run,
    /// Of the service.
    pub(crate) seen: Option<Seen>,
    /// Of this process.
    pub(crate) own: Option<Seen>,
    /// The pages of the service.
    pub(crate) scrapes: Option<Scrapes>,
    /// Where what is seen of it is from.
    pub(crate) source: &'static str,
    /// Requests that it got in the measured part besides those of the load, to compare its answers.
    pub(crate) besides: u64,
    /// When the last answer was there, or the load was ended.
    pub(crate) ended: Instant,
    /// The measured part.
    pub(crate) from: Instant,
    pub(crate) to: Instant,
}

impl Sides {
    /// Looks whether all that is needed is there. `loads` is how many services are loaded at once.
    pub(crate) fn new(
        load: &LoadSettings,
        requests: &Arc<[Request]>,
        loads: usize,
    ) -> Result<Self> {
        let policy = &load.mirror.mirror.policy;
        let descriptors = descriptors::raise().saturating_sub(RESERVED) / loads.max(1) as u64;
        let places = load
            .places
            .min(usize::try_from(descriptors).unwrap_or(usize::MAX))
            .max(1);
        if places < load.places {
            tracing::warn!(
                places,
                wanted = load.places,
                "there are descriptors for fewer requests at once; `ulimit -n` sets their number"
            );
        }
        let side = |place: usize, target: &parity_mirror::Target| {
            let config = LoadConfig {
                target: target.clone(),
                ca_file: policy.ca_file.clone(),
                forwarding: policy.forwarding.clone(),
                threads: load.threads,
                places,
                deadline: load.deadline,
            };
            let told = || format!("the {}", NAMES[place]);
            Ok::<_, anyhow::Error>(OneSide {
                target: target.url.to_string(),
                generator: Generator::new(config, Arc::clone(requests)).with_context(told)?,
                watched: Watched::of(&load.processes[place]).with_context(told)?,
                page: load.pages[place].clone(),
            })
        };
        Ok(Self {
            both: [side(0, &policy.legacy)?, side(1, &policy.candidate)?],
            own: Watched::own(),
            ca_file: policy.ca_file.clone(),
            page_interval: load.page_interval,
            page_deadline: load.page_deadline,
            places,
        })
    }

    /// The address of a service.
    pub(crate) fn target(&self, side: usize) -> &str {
        &self.both[side].target
    }

    /// Loads one service. `interval` is how often its processes are read.
    pub(crate) fn load(
        &self,
        side: usize,
        step: Step,
        interval: Duration,
        ending: &Ending,
    ) -> Result<Loaded> {
        let one = &self.both[side];
        let live = ending.live();
        let watch = |watched: &Option<Watched>| {
            let watched = watched.clone();
            watched
                .map(|watched| Watching::start(watched, interval))
                .transpose()
        };
        let (seen, own) = (watch(&one.watched)?, watch(&self.own)?);
        let from = Instant::now() + step.warm_up;
        let time = Time {
            begun: from,
            window: step.window,
            interval: self.page_interval.min(step.window),
            deadline: self.page_deadline,
        };
        let page = one.page.clone();
        let page = page.map(|page| LookingAtOne::start(page, time, self.ca_file.as_deref()));
        let page = page.transpose()?;
        let run = one.generator.run(step, &live);
        let ended = Instant::now();
        let was_whole = run.as_ref().is_ok_and(|run| !run.is_cut);
        let finish = |watching: Option<Watching>| watching.map(Watching::finish).transpose();
        let (seen, own) = (finish(seen)?, finish(own)?);
        let pages = page.map(|page| page.finish(was_whole)).transpose()?;
        Ok(Loaded {
            run: run?,
            seen,
            own,
            scrapes: pages,
            besides: 0,
            ended,
            source: one.watched.as_ref().map_or("", Watched::source),
            from,
            to: from + step.window,
        })
    }

    /// A service that does not answer at all is a mistake in its address, and nothing to measure.
    pub(crate) fn refuse_the_dead(&self, ending: &Ending) -> Result<()> {
        for (side, name) in NAMES.iter().enumerate() {
            ending.tell(format!("asks the {name}"));
            if let Err(failure) = self.answers(side, ending)? {
                bail!(
                    "the {name} at {} does not answer ({failure}); is it up, and is that its address?",
                    self.target(side)
                );
            }
        }
        Ok(())
    }

    /// Whether a service answers at all, and if not, how it fails. That nothing could be sent to it from here is an error.
    pub(crate) fn answers(&self, side: usize, ending: &Ending) -> Result<Result<(), String>> {
        let run = self.both[side].generator.run(PROBE, &ending.live())?;
        if run.answers() > 0 || ending.is_ended() {
            return Ok(Ok(()));
        }
        let worst = Failure::ALL
            .iter()
            .filter(|failure| run.failures_of(**failure) > 0)
            .max_by_key(|failure| run.failures_of(**failure));
        if worst.is_some_and(|failure| failure.is_own()) {
            bail!(
                "nothing could be sent to the {} from here: no descriptor or no port was free; `ulimit -n` and net.ipv4.ip_local_port_range set how many there are",
                NAMES[side]
            );
        }
        Ok(Err(match worst {
            Some(failure) => failure.as_str().to_owned(),
            None if run.unsent > 0 => format!(
                "it was not asked: {} requests could not be sent in time from here, so this machine is too busy",
                run.unsent
            ),
            None => "nothing".to_owned(),
        }))
    }
}

impl Loaded {
    /// Requests a second that it worked for in the measured part, as far as that came: answers of the load, and what was compared besides.
    pub(crate) fn worked_for(&self) -> f64 {
        let ended = self.ended.min(self.to);
        let seconds = ended.saturating_duration_since(self.from).as_secs_f64();
        if seconds > 0.0 {
            (self.run.in_time + self.besides) as f64 / seconds
        } else {
            0.0
        }
    }

    /// CPU of this process meanwhile, in cores.
    pub(crate) fn generator_cpu(&self) -> Option<f64> {
        cores(self.own.as_ref()?.within(self.from, self.to))
    }

    /// As it is told of.
    pub(crate) fn told(&self, judged: Judged, step: Step) -> LoadRun {
        let Judged {
            verdict,
            why,
            errors,
        } = judged;
        let run = &self.run;
        let classes = ["other", "1xx", "2xx", "3xx", "4xx", "5xx"];
        let statuses = classes.iter().zip(run.classes);
        let statuses = statuses.filter(|(_, count)| *count > 0);
        let failures = Failure::ALL.iter();
        let failures = failures.map(|failure| (failure.as_str(), run.failures_of(*failure)));
        let seconds = |time: Duration| time.as_secs_f64();
        let latency = QUANTILES.iter().filter_map(|(name, quantile, _)| {
            let time = run.latency(*quantile)?;
            Some(((*name).to_owned(), seconds(time)))
        });
        LoadRun {
            verdict,
            why,
            due: run.due,
            statuses: statuses
                .map(|(class, count)| ((*class).to_owned(), count))
                .collect(),
            throttled: run.throttled,
            failures: failures
                .filter(|(_, count)| *count > 0)
                .map(|(failure, count)| (failure.to_owned(), count))
                .collect(),
            unsent: run.unsent,
            besides: self.besides,
            latency: latency.collect(),
            lateness: run.lateness(0.99).map_or(0.0, seconds),
            most_open: run.most_open,
            generator_cpu: self.generator_cpu(),
            values: self.values(step, errors),
        }
    }

    fn values(&self, step: Step, errors: f64) -> BTreeMap<Measure, LoadValue> {
        let run = &self.run;
        let mut values = BTreeMap::new();
        let mut put = |measure: Measure, value: Option<f64>, source: &str| {
            if let Some(value) = value.filter(|value| value.is_finite()) {
                let source = source.to_owned();
                values.entry(measure).or_insert(LoadValue { value, source });
            }
        };
        let rate = run.in_time as f64 / step.window.as_secs_f64();
        put(Measure::Rate, Some(rate), OF_LOAD);
        put(Measure::Errors, Some(errors), OF_LOAD);
        for (_, quantile, measure) in QUANTILES {
            if let Some(measure) = measure {
                let time = run.latency(quantile).map(|time| time.as_secs_f64());
                put(measure, time, OF_LOAD);
            }
        }
        let samples = self.seen.as_ref();
        let samples = samples.map_or(&[][..], |seen| seen.within(self.from, self.to));
        let cpu = cores(samples);
        put(Measure::Cpu, cpu, self.source);
        let all = self.worked_for();
        let by_request = |cpu: f64| (all > 0.0).then(|| cpu / all);
        put(
            Measure::CpuPerRequest,
            cpu.and_then(by_request),
            self.source,
        );
        let memory: Vec<f64> = samples.iter().map(|sample| sample.memory).collect();
        put(Measure::Rss, median(&memory), self.source);
        put(Measure::RssMax, most(&memory), self.source);
        let anonymous: Vec<f64> = samples.iter().filter_map(|one| one.anonymous).collect();
        put(Measure::Anon, median(&anonymous), self.source);
        let each = |of: fn(&super::processes::Sample) -> Option<f64>| {
            let values: Vec<f64> = samples.iter().filter_map(of).collect();
            most(&values)
        };
        put(
            Measure::Descriptors,
            each(|sample| sample.descriptors),
            self.source,
        );
        put(Measure::Threads, each(|sample| sample.threads), self.source);
        let pages = self.scrapes.as_ref().map(measures).unwrap_or_default();
        for (measure, found) in &pages {
            // What the load and the system say of it is not asked twice.
            let is_of_load = matches!(
                measure,
                Measure::Rate
                    | Measure::Errors
                    | Measure::P50
                    | Measure::P95
                    | Measure::P99
                    | Measure::P999
                    | Measure::Uptime
            );
            if !is_of_load {
                put(*measure, Some(found.value), &found.metric);
            }
        }
        values
    }
}

/// CPU seconds a second between the first and the last sample.
fn cores(samples: &[super::processes::Sample]) -> Option<f64> {
    let (first, last) = (samples.first()?, samples.last()?);
    let seconds = last.at.saturating_duration_since(first.at).as_secs_f64();
    (seconds > 0.0).then(|| (last.cpu - first.cpu) / seconds)
}

fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied()
}

fn most(values: &[f64]) -> Option<f64> {
    values.iter().copied().reduce(f64::max)
}
