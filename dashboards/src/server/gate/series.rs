//! The gate as Prometheus series, for controllers that ask Prometheus.
//!
//! Nothing is decided while a scrape waits. A scrape is told the last decision, and wakes a task that makes the next one; so who
//! is not scraped decides nothing. A decision that is old, or that could not be made, is not told at all: no series is what a
//! controller halts at. For the same reason there is no rate before anything was compared.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use parity_schemas::evidence::{Decision, Outcome, RouteDecision};
use parity_schemas::known::NewDifferences;
use parity_schemas::route::OTHER;
use parity_sink::StoreUrl;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, MetricEncoder};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;
use tokio::sync::Notify;

use super::super::answer::read;
use super::super::question::Asking;
use super::super::site::{Process, Site};
use crate::view;

/// Shortest time between two decisions: less than the 15 s after which Prometheus usually scrapes again, so that each scrape finds
/// one that is newer than the last scrape.
const EVERY: Duration = Duration::from_secs(10);
/// A decision on a record that takes long to read is made again after so many times as long: then that takes a tenth of a core at
/// the most. Waiting for watermarks does not count.
const REST: u32 = 10;
/// A decision that began longer ago is not told any more: scrapes come at least every few minutes, or nobody judges by them.
const STALE: Duration = Duration::from_mins(5);
/// Routes with series of their own, the worst first; the others are added up under `_other`. As many as a mirror keeps apart by
/// default would fit a few times.
const MOST_ROUTES: usize = 200;

/// The last decision, and who waits for the next.
#[derive(Clone)]
pub(in crate::server) struct Series(Arc<Shared>);

struct Shared {
    judged: Mutex<Judged>,
    scraped: Notify,
}

#[derive(Default)]
struct Judged {
    decision: Option<Timely>,
    /// Whether the last attempt made a decision; `None` before the first.
    succeeded: Option<bool>,
}

struct Timely {
    began: Instant,
    told: Arc<(Decision, NewDifferences)>,
}

impl Series {
    /// For a process that reads its store. A sink does not decide, because there are many and each would read the same; nor does
    /// a mirror whose store can only be written to.
    pub(in crate::server) fn of(site: &Site) -> Option<Self> {
        let reads = match site.process {
            Process::Mirror(_) | Process::Reader => !matches!(site.store.url, StoreUrl::Kafka(_)),
            Process::Sink(_) => false,
        };
        let shared = || Shared {
            judged: Mutex::default(),
            scraped: Notify::new(),
        };
        reads.then(|| Self(Arc::new(shared())))
    }

    fn judged(&self) -> MutexGuard<'_, Judged> {
        let judged = &self.0.judged;
        judged.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Decides whenever a scrape has asked, and never sooner than [`EVERY`]. It never ends by itself.
pub(in crate::server) async fn judge(site: &Site, series: &Series) {
    loop {
        series.0.scraped.notified().await;
        let began = Instant::now();
        let question = Asking::default().of(site);
        let decision = read(site, move |reader| {
            view::settled_with_news(reader, &question)
        });
        let decision = decision.await;
        let took = began.elapsed();
        let waited = decision
            .as_ref()
            .map_or(0, |(decision, _)| decision.waited_ms);
        let worked = took.saturating_sub(Duration::from_millis(waited));
        {
            let mut judged = series.judged();
            judged.succeeded = Some(decision.is_ok());
            judged.decision = match decision {
                Ok((decision, news)) => Some(Timely {
                    began,
                    told: Arc::new((decision, news)),
                }),
                Err(error) => {
                    tracing::debug!(error = error.message(), "no decision for the metrics");
                    None
                }
            };
        }
        tokio::time::sleep(EVERY.saturating_sub(took).max(worked * REST)).await;
    }
}

impl fmt::Debug for Series {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Series")
    }
}

impl Collector for Series {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        self.0.scraped.notify_one();
        let (told, succeeded) = {
            let judged = self.judged();
            let timely = judged.decision.as_ref();
            let timely = timely.filter(|timely| timely.began.elapsed() < STALE);
            (
                timely.map(|timely| Arc::clone(&timely.told)),
                judged.succeeded,
            )
        };
        if let Some(succeeded) = succeeded {
            let metric = encoder.encode_descriptor(
                "parity_gate_last_decision_successful",
                "Whether the last decision for these metrics could be made",
                None,
                MetricType::Gauge,
            )?;
            ConstGauge::new(i64::from(succeeded)).encode(metric)?;
        }
        told.map_or(Ok(()), |told| encode(&mut encoder, &told))
    }
}

/// A metric of all routes together, and of each: their names, help text, value.
type Measured = (
    &'static str,
    &'static str,
    &'static str,
    fn(&Told) -> Option<f64>,
);

/// What is told of the counts.
const MEASURED: [Measured; 5] = [
    (
        "parity_gate_compared",
        "parity_gate_route_compared",
        "Requests in the gate's evidence that were compared",
        |told| Some(told.compared as f64),
    ),
    (
        "parity_gate_differing",
        "parity_gate_route_differing",
        "Requests in the gate's evidence that differ and count",
        |told| Some(told.differing as f64),
    ),
    (
        "parity_gate_differing_rate",
        "parity_gate_route_differing_rate",
        "Share of the compared requests that differ; absent before anything was compared",
        |told| (told.compared > 0).then(|| told.differing as f64 / told.compared as f64),
    ),
    (
        "parity_gate_differing_lower",
        "parity_gate_route_differing_lower",
        "One-sided lower bound of the share that differs",
        |told| Some(told.lower),
    ),
    (
        "parity_gate_differing_upper",
        "parity_gate_route_differing_upper",
        "One-sided upper bound of the share that differs; 1 before anything was compared",
        |told| Some(told.upper),
    ),
];

fn encode(
    encoder: &mut DescriptorEncoder<'_>,
    (decision, news): &(Decision, NewDifferences),
) -> fmt::Result {
    let evidence = decision.evidence.as_ref();
    let version = evidence.map_or("", |evidence| evidence.candidate_version.as_str());
    let of = [
        ("migration", decision.migration.as_str()),
        ("candidate_version", version),
    ];
    let [migration, version] = of;

    let mut metric = encoder.encode_descriptor(
        "parity_gate_outcome",
        "Which outcome the gate's decision has, with the default thresholds: 1 for that one, 0 for the others",
        None,
        MetricType::Gauge,
    )?;
    for outcome in Outcome::ALL {
        let labels = [migration, version, ("outcome", outcome.as_str())];
        gauge(
            &mut metric,
            &labels,
            f64::from(u8::from(decision.outcome == *outcome)),
        )?;
    }
    let mut metric = encoder.encode_descriptor(
        "parity_gate_decided_timestamp_seconds",
        "When it was decided",
        None,
        MetricType::Gauge,
    )?;
    gauge(&mut metric, &of, decision.time.as_micros() as f64 / 1e6)?;

    let mut metric = encoder.encode_descriptor(
        "parity_gate_new_groups",
        "Groups of differences that count and are new, growing or back again: those that a recheck confirmed, and the others",
        None,
        MetricType::Gauge,
    )?;
    for (state, groups) in [("confirmed", news.confirmed), ("open", news.open)] {
        gauge(
            &mut metric,
            &[migration, version, ("state", state)],
            groups as f64,
        )?;
    }

    let total = Told::of(&decision.total);
    let routes = told(decision.routes.iter().map(Told::of));
    for (of_all, of_each, about, value) in MEASURED {
        let mut metric = encoder.encode_descriptor(of_all, about, None, MetricType::Gauge)?;
        if let Some(value) = value(&total) {
            gauge(&mut metric, &of, value)?;
        }
        let about = format!("{about}, by route");
        let mut metric = encoder.encode_descriptor(of_each, &about, None, MetricType::Gauge)?;
        for route in &routes {
            if let Some(value) = value(route) {
                gauge(
                    &mut metric,
                    &[migration, version, ("route", route.route)],
                    value,
                )?;
            }
        }
    }
    Ok(())
}

fn gauge(metric: &mut MetricEncoder<'_>, labels: &[(&str, &str)], value: f64) -> fmt::Result {
    let labels = labels.to_vec();
    ConstGauge::new(value).encode(metric.encode_family(&labels)?)
}

/// What is told of a route, or of all.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Told<'a> {
    route: &'a str,
    compared: u64,
    differing: u64,
    lower: f64,
    upper: f64,
}

impl<'a> Told<'a> {
    fn of(route: &'a RouteDecision) -> Self {
        Self {
            route: &route.route,
            compared: route.compared,
            differing: route.differing,
            lower: route.lower,
            upper: route.upper,
        }
    }

    /// Adds another route. What bounds one of two routes does not bound their sum, so the worse bound of each side stands: then
    /// a limit on every route holds for those that have no series of their own, too.
    fn add(&mut self, other: &Self) {
        self.compared += other.compared;
        self.differing += other.differing;
        self.lower = self.lower.max(other.lower);
        self.upper = self.upper.max(other.upper);
    }
}

/// The routes that have series, which come with the worst first; the last stands for all others.
fn told<'a>(routes: impl Iterator<Item = Told<'a>>) -> Vec<Told<'a>> {
    let mut told: Vec<Told<'a>> = Vec::new();
    let mut rest: Option<Told<'a>> = None;
    for route in routes {
        if route.route != OTHER && told.len() < MOST_ROUTES {
            told.push(route);
        } else {
            match &mut rest {
                Some(rest) => rest.add(&route),
                None => {
                    rest = Some(Told {
                        route: OTHER,
                        ..route
                    });
                }
            }
        }
    }
    told.extend(rest);
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(route: &str, compared: u64, lower: f64, upper: f64) -> Told<'_> {
        Told {
            route,
            compared,
            differing: 1,
            lower,
            upper,
        }
    }

    #[test]
    fn routes_without_series_of_their_own_are_added_up_with_the_worst_of_their_bounds() {
        let names: Vec<String> = (0..MOST_ROUTES + 2)
            .map(|number| format!("GET /{number}"))
            .collect();
        let mut routes = vec![route(OTHER, 5, 0.25, 0.5)];
        routes.extend(names.iter().map(|name| route(name, 3, 0.125, 1.0)));
        let told = told(routes.into_iter());
        assert_eq!(told.len(), MOST_ROUTES + 1);
        assert_eq!(told[0].route, "GET /0");
        let rest = Told {
            differing: 3,
            ..route(OTHER, 11, 0.25, 1.0)
        };
        assert_eq!(told.last(), Some(&rest));
    }

    #[test]
    fn before_anything_was_compared_no_series_looks_like_a_pass() {
        let nothing = Told {
            differing: 0,
            ..route("", 0, 0.0, 1.0)
        };
        let values = MEASURED.map(|(name, _, _, value)| (name, value(&nothing)));
        assert!(values.contains(&("parity_gate_differing_rate", None)));
        assert!(values.contains(&("parity_gate_differing_upper", Some(1.0))));
    }
}
