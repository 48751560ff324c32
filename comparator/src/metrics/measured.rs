//! The measures of a service, each from the first of its metrics that says it, or why it cannot be measured.

use parity_schemas::evidence::Bound;
use parity_schemas::metrics::{Measure, MetricValue, Subject};

use super::counted::{Buckets, grown};
use super::names::Source;
use super::sampled::shown_quantiles;
use super::service::{COUNTER, GAUGE, QUANTILES, Service};
use super::status;
use crate::bounds::{self, Seen};

/// Chance that a bound of a share of errors does not hold.
const ALPHA: f64 = 0.025;

/// A measure of one service.
pub(super) struct Found {
    pub(super) value: MetricValue,
    /// What a reader should know of it.
    pub(super) note: Option<String>,
}

/// Requests and those of them that the service failed.
struct Requests {
    metric: String,
    all: f64,
    /// Whether any label says how they ended.
    is_told: bool,
    /// Or why nobody knows.
    failed: Result<f64, String>,
    resets: u64,
}

impl Service<'_> {
    fn requests(&self) -> Result<Requests, String> {
        self.can_grow()?;
        let counted = |source: &Source, ending: &str| {
            let grown = grown(&self.scrapes.followed, source, ending)?;
            let metric = format!("{}{ending}", source.name);
            Some(Requests {
                is_told: status::is_told(&grown.by_labels),
                failed: status::failed(&metric, &grown.by_labels),
                metric,
                all: grown.total(),
                resets: grown.resets,
            })
        };
        let own = self.typed(Subject::Requests, COUNTER);
        let latency = self.typed(Subject::Latency, QUANTILES);
        // One that says how they ended tells more. If nobody understands what it says, another one may count other requests.
        let own = self.first(&own, &[""], |source| counted(source, ""))?;
        let is_enough = own.as_ref().is_some_and(|requests| requests.is_told)
            || self.scrapes.names.is_own(Subject::Requests);
        let other = if is_enough {
            None
        } else {
            self.first(&latency, &["_count"], |source| counted(source, "_count"))?
        };
        let best = match (own, other) {
            (Some(own), Some(other)) if other.is_told && !own.is_told => Some(other),
            (own, other) => own.or(other),
        };
        best.ok_or_else(|| self.none(Subject::Requests))
    }

    /// What is measured, or why it cannot be.
    pub(super) fn measure(&self, measure: Measure) -> Result<Found, String> {
        let found = self.looked_for(measure)?;
        if found.value.value.is_finite() {
            Ok(found)
        } else {
            Err(format!(
                "the numbers of `{}` are too large to be any",
                found.value.metric
            ))
        }
    }

    fn looked_for(&self, measure: Measure) -> Result<Found, String> {
        if self.pages().is_empty() {
            return Err("no page of it could be read".to_owned());
        }
        match measure {
            Measure::Rate => {
                let requests = self.requests()?;
                let note = resets(requests.resets);
                Ok(exact(
                    requests.all / self.seconds(),
                    requests.metric,
                    Some(requests.all),
                    note,
                ))
            }
            Measure::Errors => self.errors(),
            Measure::P50 => self.quantile(0.5),
            Measure::P95 => self.quantile(0.95),
            Measure::P99 => self.quantile(0.99),
            Measure::P999 => self.quantile(0.999),
            Measure::Cpu => {
                let (metric, seconds, note) = self.cpu()?;
                Ok(exact(seconds / self.seconds(), metric, None, note))
            }
            Measure::CpuPerRequest => {
                let (metric, seconds, note) = self.cpu()?;
                let requests = self.requests()?;
                if requests.all < 1.0 {
                    return Err("it was asked nothing meanwhile".to_owned());
                }
                let metric = format!("{metric} by {}", requests.metric);
                Ok(exact(
                    seconds / requests.all,
                    metric,
                    Some(requests.all),
                    note,
                ))
            }
            Measure::Rss => self.usual(Subject::Memory),
            Measure::RssMax => self.peaked(Subject::Memory),
            Measure::Anon => Err("no page tells it; it is read of processes".to_owned()),
            Measure::Heap => self.usual(Subject::Heap),
            Measure::Descriptors => self.peaked(Subject::Descriptors),
            Measure::Threads => self.peaked(Subject::Threads),
            Measure::GcMax => self.longest_pause(),
            Measure::GcShare => {
                self.can_grow()?;
                let sources = self.typed(Subject::Pauses, QUANTILES);
                let found = self.first(&sources, &["_sum"], |source| {
                    Some((source, grown(&self.scrapes.followed, source, "_sum")?))
                })?;
                let (source, paused) = found.ok_or_else(|| self.none(Subject::Pauses))?;
                let share = paused.total() * source.unit / self.seconds();
                Ok(exact(
                    share,
                    format!("{}_sum", source.name),
                    None,
                    resets(paused.resets),
                ))
            }
            Measure::Uptime => {
                let (source, starts) = self.first_gauge(Subject::Start)?;
                // Its own clock says when it started; how long that is ago only the one that asked knows.
                let started = most(&starts) * source.unit;
                let asked = self.scrapes.asked_at + self.pages().last().map_or(0.0, |last| last.at);
                Ok(exact((asked - started).max(0.0), source.name, None, None))
            }
        }
    }

    /// The median of what was seen.
    fn usual(&self, subject: Subject) -> Result<Found, String> {
        let (source, values) = self.first_gauge(subject)?;
        Ok(exact(
            median(&values) * source.unit,
            source.name,
            None,
            None,
        ))
    }

    /// The most that was seen, on any page.
    fn peaked(&self, subject: Subject) -> Result<Found, String> {
        let sources = self.typed(subject, GAUGE);
        let found = self.first(&sources, &[""], |source| {
            let peak = self.scrapes.followed.peak(subject, source)?;
            Some((source, peak))
        })?;
        let (source, peak) = found.ok_or_else(|| self.none(subject))?;
        Ok(exact(peak * source.unit, source.name.clone(), None, None))
    }

    fn cpu(&self) -> Result<(String, f64, Option<String>), String> {
        self.can_grow()?;
        let sources = self.typed(Subject::Cpu, COUNTER);
        let found = self.first(&sources, &[""], |source| {
            Some((source, grown(&self.scrapes.followed, source, "")?))
        })?;
        let (source, grown) = found.ok_or_else(|| self.none(Subject::Cpu))?;
        Ok((
            source.name.clone(),
            grown.total() * source.unit,
            resets(grown.resets),
        ))
    }

    fn errors(&self) -> Result<Found, String> {
        let requests = self.requests()?;
        let failed = requests.failed?;
        if requests.all < 1.0 {
            return Err("it was asked nothing meanwhile".to_owned());
        }
        let seen = Seen::new(failed.round() as u64, requests.all.round() as u64);
        let mut found = exact(
            failed / requests.all,
            requests.metric,
            Some(requests.all),
            resets(requests.resets),
        );
        found.value.low = Some(bounds::lower(Bound::OneLook, seen, ALPHA));
        found.value.high = Some(bounds::upper(Bound::OneLook, seen, ALPHA));
        Ok(found)
    }

    fn quantile(&self, quantile: f64) -> Result<Found, String> {
        let sources = self.typed(Subject::Latency, QUANTILES);
        let grows = self.can_grow();
        for source in &sources {
            self.is_whole(source, &["_bucket", ""])?;
            if let Some(buckets) = Buckets::of(&self.scrapes.followed, source)? {
                grows.clone()?;
                let found = buckets
                    .quantile(quantile)
                    .ok_or("it was asked nothing meanwhile")?;
                let mut value = exact(
                    found.value * source.unit,
                    source.name.clone(),
                    Some(buckets.total()),
                    None,
                );
                value.value.low = Some(found.low * source.unit);
                value.value.high = found.high.map(|high| high * source.unit);
                return Ok(value);
            }
            let last = self.pages().last();
            let shown = last.map_or_else(Vec::new, |last| {
                shown_quantiles(&last.page, source, quantile)
            });
            if let Some(highest) = shown.iter().copied().reduce(f64::max) {
                let mut found = exact(highest * source.unit, source.name.clone(), None, None);
                let note = if shown.len() > 1 {
                    // Quantiles cannot be added, so that of all is somewhere below.
                    found.value.low = None;
                    format!(
                        "the highest of {} summaries; that of all of them cannot be told from these",
                        shown.len()
                    )
                } else {
                    "a summary, over the time that the service itself chose".to_owned()
                };
                found.note = Some(note);
                return Ok(found);
            }
        }
        Err(self.none(Subject::Latency))
    }

    /// As a summary shows it, as a gauge of its own, or by the last bucket into which a pause fell.
    fn longest_pause(&self) -> Result<Found, String> {
        for source in &self.typed(Subject::Pauses, QUANTILES) {
            self.is_whole(source, &["", "_max", "_bucket"])?;
            if let Some(longest) = self.scrapes.followed.peak(Subject::Pauses, source) {
                return Ok(exact(
                    longest * source.unit,
                    source.name.clone(),
                    None,
                    None,
                ));
            }
            if let Some(buckets) = Buckets::of(&self.scrapes.followed, source)? {
                self.can_grow()?;
                let all = buckets.total();
                if all < 1.0 {
                    let note = Some("no pause meanwhile".to_owned());
                    return Ok(exact(0.0, source.name.clone(), None, note));
                }
                let last = buckets
                    .edges
                    .iter()
                    .position(|(_, count)| *count >= all)
                    .unwrap_or(0);
                let lower = last
                    .checked_sub(1)
                    .map_or(0.0, |before| buckets.edges[before].0);
                let upper = buckets.edges[last].0;
                let is_known = upper.is_finite();
                let mut found = exact(
                    if is_known { upper } else { lower } * source.unit,
                    source.name.clone(),
                    None,
                    None,
                );
                found.value.low = Some(lower * source.unit);
                found.value.high = is_known.then_some(upper * source.unit);
                return Ok(found);
            }
        }
        Err(self.none(Subject::Pauses))
    }
}

/// A number that is what it is.
fn exact(value: f64, metric: String, requests: Option<f64>, note: Option<String>) -> Found {
    // A sum of nothing is a negative zero, which nobody wants to read.
    let value = value + 0.0;
    Found {
        value: MetricValue {
            value,
            low: Some(value),
            high: Some(value),
            metric,
            requests: requests.map(|requests| requests.round() as u64),
        },
        note,
    }
}

fn resets(times: u64) -> Option<String> {
    (times > 0).then(|| format!("counters began anew {times} × meanwhile"))
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(0.0)
}

fn most(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::MIN, f64::max)
}
