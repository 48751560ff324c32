//! What a chart of a history shows, before anything draws it: bars by place, a scale, times, and what changed.

use parity_schemas::history::{Compared, History, HistoryBucket, OnsetState, RouteHistory};
use parity_schemas::time::Timestamp;

use super::changed::{Change, Stretch, beside, changes, hurt, stretches};
use super::excused::MAX_OTHERS;
use super::hour::{Hour, length};
use crate::view::words::{grouped, percent, plural, shown, version};

/// Times named below the chart.
const TICKS: usize = 6;
/// Versions of which all counts that are named, the newest.
const MAX_NAMED: usize = 3;
/// Scale of a chart in which nothing differs: with less, dust would look like a fire.
const LEAST_SCALE: f64 = 0.001;

/// The rate of differing requests over time.
pub(crate) struct ChartView<'a> {
    history: &'a History,
    /// The highest rate that the chart has room for, 0..=1.
    pub(crate) scale: f64,
    /// The highest allowed rate.
    pub(crate) allowed: f64,
    /// How many buckets the range has.
    pub(crate) places: usize,
    /// The buckets that are there.
    pub(crate) bars: Vec<Bar<'a>>,
    /// Stretches without tallies.
    pub(crate) gaps: Vec<Gap>,
    /// Times along the axis: where, as a share of the width, and how they are told.
    pub(crate) ticks: Vec<(f64, String)>,
    /// What changed, numbered from 1.
    pub(crate) changes: Vec<Change>,
    /// When the candidate gave no answer.
    pub(crate) outages: Vec<Stretch>,
    /// When clients got none, errors, or slow ones.
    pub(crate) hurt: Vec<Stretch>,
    hour: Hour,
    /// Whether only one group of differences is shown.
    is_of_group: bool,
}

/// A bucket.
pub(crate) struct Bar<'a> {
    /// From the begin of the range on.
    pub(crate) place: usize,
    /// What differs of what was compared; `None` if nothing was.
    pub(crate) rate: Option<f64>,
    /// Whether that is more than is allowed.
    pub(crate) is_high: bool,
    /// Its counts.
    pub(crate) bucket: &'a HistoryBucket,
    /// What the rate is of; `None` where several versions counted, and none of them is the one that is told of.
    pub(crate) counted: Option<Compared>,
    /// Of which versions it is, where others counted beside it or the rate cannot be told. They are not made visible.
    versions: Option<Versions>,
}

/// That several versions counted in a bucket.
enum Versions {
    /// The rate is of this one alone.
    Of(String),
    /// They are these, and the rate would be of none.
    Mixed(Vec<String>),
}

/// Steps in which nothing is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gap {
    /// The first of them.
    pub(crate) place: usize,
    /// How many they are.
    pub(crate) count: usize,
    /// Why, as far as that is known.
    pub(crate) told: &'static str,
}

impl<'a> ChartView<'a> {
    /// Of a history; `None` if it has nothing.
    pub(crate) fn of(history: &'a History) -> Option<Self> {
        let window = history.window?;
        let places = history.places();
        let allowed = history.onset.as_ref().map_or(0.0, |onset| onset.allowed);
        let bars: Vec<Bar<'a>> = history
            .buckets
            .iter()
            .filter_map(|bucket| {
                let (counted, versions) = of_one(history, bucket);
                let rate = counted.filter(|counted| counted.compared > 0);
                let rate = rate.map(Compared::rate);
                Some(Bar {
                    place: history.place(bucket)?,
                    rate,
                    is_high: rate.is_some_and(|rate| rate > allowed),
                    bucket,
                    counted,
                    versions,
                })
            })
            .collect();
        let highest = bars.iter().filter_map(|bar| bar.rate).fold(0.0, f64::max);
        let hour = Hour::of(history);
        let length = (window.to.as_micros() - window.from.as_micros()).max(1) as f64;
        let share = |time: Timestamp| (time.as_micros() - window.from.as_micros()) as f64 / length;
        let every = places.div_ceil(TICKS).max(1);
        let micros = i64::try_from(history.bucket_seconds.saturating_mul(1_000_000));
        let micros = micros.unwrap_or(i64::MAX);
        let ticks = (0_i64..)
            .take(places)
            .step_by(every)
            .map(|place| {
                let time = window
                    .from
                    .saturating_add_micros(place.saturating_mul(micros));
                (share(time), hour.short(time))
            })
            .collect();
        Some(Self {
            history,
            // Whoever looks at how far it is from what is allowed sees both.
            scale: nice(highest.max(allowed.min(highest * 4.0)).max(LEAST_SCALE)),
            allowed,
            places,
            gaps: gaps(history, &bars, places),
            bars,
            ticks,
            changes: changes(history, &hour, share),
            outages: stretches(history, &hour, share),
            hurt: hurt(history, &hour, share),
            hour,
            is_of_group: false,
        })
    }

    /// The same of a history that has one group alone.
    pub(crate) fn of_group(history: &'a History) -> Option<Self> {
        let view = Self::of(history)?;
        Some(Self {
            is_of_group: true,
            ..view
        })
    }

    /// What it shows, as a title.
    pub(crate) fn title(&self) -> String {
        let what = match &self.history.route {
            Some(_) if self.is_of_group => {
                "Share of requests of the route that differ here".to_owned()
            }
            Some(route) => format!("Share of requests of {} that differ", shown(route)),
            None => "Share of requests that differ".to_owned(),
        };
        format!(
            "{what}, in steps of {}",
            length(self.history.bucket_seconds)
        )
    }

    /// Of which versions all counts as it was recorded, in words, visible; `None` if of none.
    pub(crate) fn as_recorded(&self) -> Option<String> {
        let versions = &self.history.as_recorded;
        let named = versions.iter().take(MAX_NAMED).map(|name| version(name));
        let mut named: Vec<String> = named.collect();
        if named.is_empty() {
            return None;
        }
        let more = versions.len().saturating_sub(MAX_NAMED) as u64;
        if more > 0 {
            named.push(plural(more, "earlier one", "earlier ones"));
        }
        Some(format!(
            "Noise and known differences of candidate {} count in this chart: what is excused is decided of the version that this page is \
             of, and of the {MAX_OTHERS} others that counted last",
            named.join(", ")
        ))
    }

    /// Failures of the candidate that are in none of `outages`, in words.
    pub(crate) fn beside(&self) -> Option<String> {
        beside(self.history)
    }

    /// What is in `hurt`, in words.
    pub(crate) fn hurt_told(&self) -> String {
        let history = self.history;
        let kinds = [
            (
                "clients got no whole answer",
                history.client_outages.is_empty(),
            ),
            (
                "clients were answered 5xx",
                history.client_errors.is_empty(),
            ),
            ("the legacy was slow", history.slow.is_empty()),
        ];
        let told = kinds.into_iter().filter(|(_, is_none)| !is_none);
        let told: Vec<&str> = told.map(|(told, _)| told).collect();
        told.join(", or ")
    }

    /// The same for somebody who does not see it.
    pub(crate) fn description(&self) -> String {
        let high = self.bars.iter().filter(|bar| bar.is_high).count() as u64;
        let highest = self.bars.iter().max_by(|one, other| {
            let rate = |bar: &Bar<'_>| bar.rate.unwrap_or(0.0);
            rate(one).total_cmp(&rate(other))
        });
        let mut told = format!(
            "{} with counts, in {} more than {} of the requests differ",
            plural(self.bars.len() as u64, "step", "steps"),
            grouped(high),
            percent(self.allowed)
        );
        if let Some((bar, rate)) = highest.and_then(|bar| Some((bar, bar.rate?))) {
            told.extend([format!(
                "; the highest share is {} at {}",
                percent(rate),
                self.hour.told(bar.bucket.from)
            )]);
        }
        let missing: usize = self.gaps.iter().map(|gap| gap.count).sum();
        if missing > 0 {
            told.extend([format!(
                "; of {} nothing is recorded",
                plural(missing as u64, "step", "steps")
            )]);
        }
        told
    }

    /// A bucket in one line, visible.
    pub(crate) fn line(&self, bar: &Bar<'_>) -> String {
        let told = match (bar.rate, bar.counted) {
            (Some(rate), Some(counted)) => format!(
                "{} differ, {} of {}",
                percent(rate),
                grouped(counted.differing),
                grouped(counted.compared)
            ),
            (_, Some(_)) => "nothing compared".to_owned(),
            (_, None) => "no rate".to_owned(),
        };
        let of = bar.of().map(|of| format!(" ({of})"));
        let time = self.hour.told(bar.bucket.from);
        format!("{time}: {told}{}", of.unwrap_or_default())
    }

    /// When a bucket begins.
    pub(crate) fn time(&self, bucket: &HistoryBucket) -> String {
        self.hour.told(bucket.from)
    }

    /// Whether the buckets have latencies.
    pub(crate) fn with_latency(&self) -> bool {
        self.history.with_latency
    }

    /// Whether it is of one route alone.
    pub(crate) fn is_of_route(&self) -> bool {
        self.history.route.is_some()
    }

    /// The routes, the most differing first.
    pub(crate) fn routes(&self) -> impl Iterator<Item = &'a RouteHistory> {
        self.history.routes.iter()
    }

    /// The version that the routes are of, where several counted. It is visible.
    pub(crate) fn of_candidate(&self) -> Option<String> {
        self.history.of_candidate.as_deref().map(version)
    }

    /// Since when a route differs by more than is allowed, in a cell.
    pub(crate) fn since(&self, route: &RouteHistory) -> String {
        let Some(onset) = &route.onset else {
            return String::new();
        };
        match (onset.state, onset.from, onset.to) {
            (OnsetState::Differs, Some(from), _) => {
                let before = onset.earlier.as_ref().map(|earlier| earlier.times);
                let before =
                    before.map(|times| format!(", {} before", plural(times, "time", "times")));
                format!(
                    "since {}{}",
                    self.hour.told(from),
                    before.unwrap_or_default()
                )
            }
            (OnsetState::Differed, Some(from), Some(to)) => {
                format!("from {} to {}", self.hour.told(from), self.hour.told(to))
            }
            (OnsetState::Open, Some(from), _) => {
                format!("not proven, since {}", self.hour.told(from))
            }
            _ => "within what is allowed".to_owned(),
        }
    }
}

impl Bar<'_> {
    /// Of which versions it is, visible; `None` where only one counted.
    pub(crate) fn of(&self) -> Option<String> {
        Some(match self.versions.as_ref()? {
            Versions::Of(name) => format!("candidate {} alone", version(name)),
            Versions::Mixed(names) => {
                let names: Vec<String> = names.iter().map(|name| version(name)).collect();
                format!("candidates {} together", names.join(", "))
            }
        })
    }
}

/// What of a bucket is of one version, and which one, where several counted.
fn of_one(history: &History, bucket: &HistoryBucket) -> (Option<Compared>, Option<Versions>) {
    let versions = history.versions(bucket);
    if versions.len() < 2 {
        let all = Compared {
            compared: bucket.compared,
            differing: bucket.differing,
        };
        return (Some(all), None);
    }
    if let (Some(own), Some(name)) = (bucket.of_candidate, &history.of_candidate) {
        return (Some(own), Some(Versions::Of(name.clone())));
    }
    let names = versions.into_iter().map(str::to_owned).collect();
    (None, Some(Versions::Mixed(names)))
}

/// The next number above of which a person sees where the half is.
fn nice(rate: f64) -> f64 {
    let mut step = 1e-6;
    while step < 1.0 {
        for factor in [1.0, 2.0, 5.0] {
            if rate <= step * factor * (1.0 + f64::EPSILON) {
                return (step * factor).min(1.0);
            }
        }
        step *= 10.0;
    }
    1.0
}

fn gaps(history: &History, bars: &[Bar<'_>], places: usize) -> Vec<Gap> {
    let mut gaps = Vec::new();
    let mut next = 0;
    for place in bars.iter().map(|bar| bar.place).chain([places]) {
        if place > next {
            gaps.push(Gap {
                place: next,
                count: place - next,
                told: why(history, next, place),
            });
        }
        next = place + 1;
    }
    gaps
}

/// Why nothing is recorded from one place to another: that no process was there, if that is so for the most of it.
fn why(history: &History, from: usize, to: usize) -> &'static str {
    const UNKNOWN: &str = "nothing is recorded";
    let (Some(window), Some(unrecorded)) = (history.window, &history.unrecorded) else {
        return UNKNOWN;
    };
    let micros = i128::from(history.bucket_seconds) * 1_000_000;
    let begin = i128::from(window.from.as_micros());
    let [from, to] = [from, to].map(|place| begin + micros * place as i128);
    let without = unrecorded.iter().map(|gap| {
        let end = gap.to.map_or(to, |end| i128::from(end.as_micros()));
        (end.min(to) - i128::from(gap.from.as_micros()).max(from)).max(0)
    });
    match without.sum::<i128>() * 2 {
        0 => UNKNOWN,
        without if without >= to - from => "no process recorded",
        _ => UNKNOWN,
    }
}

#[cfg(test)]
mod tests;
