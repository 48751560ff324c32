//! Counts since the start of the process, also as Prometheus metrics.
//!
//! The metrics are read from the book when they are scraped, so the hot path counts once and not twice. Names and
//! labels are part of the public interface: dashboards and alerts use them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use parity_schemas::clients::ClientOutcome;
use parity_schemas::evidence::RouteEvidence;
use parity_schemas::lately::{CandidateSeen, ClientsNow, WaitedFor};
use parity_schemas::record::MismatchClass;
use parity_schemas::tally::Counts;
use parity_schemas::time::Timestamp;
use parity_schemas::verdict::{Kind, Reason};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, MetricEncoder};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

use super::TallyBook;
use super::counters::{CLASSES, CLIENTS, CODE_CLASSES, KINDS, MATCHED, OTHER, OUTCOMES, REASONS};
use super::interval::counts;
use super::sighting::Classes;

/// Counts since the start of the process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Totals {
    /// When the book was opened.
    pub since: Timestamp,
    /// All routes together.
    pub total: Counts,
    /// By route, sorted by name.
    pub routes: Vec<RouteEvidence>,
    /// When the last verdict was `match` or `mismatch`, to within a quarter of a second; `None` before the first.
    pub last_comparison: Option<Timestamp>,
    /// When a client last stayed connected and did not get a whole answer, to within a quarter of a second; `None` if
    /// that never happened.
    pub last_failed_client: Option<Timestamp>,
    /// What clients got in the last seconds.
    pub clients_now: ClientsNow,
    /// What was seen of the candidate: when it gave no answer, and when it answered with errors.
    pub candidate: CandidateSeen,
}

/// Counts of one route since the process began.
pub(super) struct RouteTotals {
    pub(super) outcomes: [u64; OUTCOMES],
    pub(super) classes: Classes,
    pub(super) kinds: [u64; KINDS],
}

impl Default for RouteTotals {
    fn default() -> Self {
        Self {
            outcomes: [0; OUTCOMES],
            classes: Classes::default(),
            kinds: [0; KINDS],
        }
    }
}

impl RouteTotals {
    pub(super) fn counts(&self) -> Counts {
        counts(&self.outcomes, &self.classes)
    }

    fn add(&mut self, other: &Self) {
        self.classes.add(&other.classes);
        let outcomes = self.outcomes.iter_mut().zip(&other.outcomes);
        let kinds = self.kinds.iter_mut().zip(&other.kinds);
        for (sum, more) in outcomes.chain(kinds) {
            *sum += more;
        }
    }

    fn is_empty(&self) -> bool {
        self.classes.total() == 0 && self.outcomes.iter().all(|count| *count == 0)
    }
}

/// Adds the book's metrics to a registry that has no prefix of its own: `parity_requests_total`,
/// `parity_clients_total`, `parity_comparisons_total`, `parity_compared_total`, `parity_differing_total`, `parity_mismatches_total`,
/// `parity_mismatch_classes_total`, `parity_clients_gave_up_total`, `parity_last_comparison_timestamp_seconds`.
pub fn register(book: Arc<TallyBook>, registry: &mut Registry) {
    registry.register_collector(Box::new(TallyMetrics(book)));
}

struct TallyMetrics(Arc<TallyBook>);

impl fmt::Debug for TallyMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TallyMetrics")
    }
}

/// A metric by route: name, help text, value.
type Judged = (&'static str, &'static str, fn(&Counts) -> u64);

/// What the gate counts.
const JUDGED: [Judged; 2] = [
    (
        "parity_compared",
        "What the gate counts: match, mismatch, and the times that the candidate failed",
        Counts::compared,
    ),
    (
        "parity_differing",
        "Mismatches, and the times that the candidate failed; of these the gate leaves out what is transient or proven to be noise",
        Counts::differing,
    ),
];

/// One series: route, second label, value.
type Series<'a> = (&'a str, &'a str, u64);

impl Collector for TallyMetrics {
    fn encode(&self, mut encoder: DescriptorEncoder) -> fmt::Result {
        let (routes, last_comparison, _) = self.0.metrics();
        let metric = encoder.encode_descriptor(
            "parity_requests",
            "Answers given to clients",
            None,
            MetricType::Counter,
        )?;
        encode_requests(metric, &routes)?;

        let metric = encoder.encode_descriptor(
            "parity_clients",
            "Requests by what became of their client, told when its answer is over; each received request has one outcome",
            None,
            MetricType::Counter,
        )?;
        encode(metric, "outcome", &clients(&routes))?;

        let metric = encoder.encode_descriptor(
            "parity_comparisons",
            "Requests by how they ended: match, mismatch, or why they were not compared; where the candidate failed it is one of its own, and counts as differing",
            None,
            MetricType::Counter,
        )?;
        encode(metric, "result", &comparisons(&routes))?;

        for (name, about, count) in JUDGED {
            let mut metric = encoder.encode_descriptor(name, about, None, MetricType::Counter)?;
            for (route, totals) in &routes {
                let count = ConstCounter::new(count(&totals.counts()));
                count.encode(metric.encode_family(&[("route", route.as_str())])?)?;
            }
        }

        let metric = encoder.encode_descriptor(
            "parity_mismatches",
            "Mismatches with at least one finding of the kind",
            None,
            MetricType::Counter,
        )?;
        encode(metric, "kind", &mismatches(&routes))?;

        let metric = encoder.encode_descriptor(
            "parity_mismatch_classes",
            "Mismatches by what asking both services again said of them; each has one class",
            None,
            MetricType::Counter,
        )?;
        encode(metric, "class", &classes(&routes))?;

        let mut metric = encoder.encode_descriptor(
            "parity_clients_gave_up",
            "Clients that left before they had their whole answer, after a service had kept them waiting for half a second or more, by that service",
            None,
            MetricType::Counter,
        )?;
        for (service, count) in WaitedFor::ALL.into_iter().zip(self.0.gave_up()) {
            let labels = [("upstream", service.as_str())];
            ConstCounter::new(count).encode(metric.encode_family(&labels)?)?;
        }

        if let Some(time) = last_comparison {
            let metric = encoder.encode_descriptor(
                "parity_last_comparison_timestamp_seconds",
                "When last two answers were compared",
                None,
                MetricType::Gauge,
            )?;
            ConstGauge::new(time.as_micros() as f64 / 1e6).encode(metric)?;
        }
        Ok(())
    }
}

fn encode_requests(mut metric: MetricEncoder<'_>, routes: &[(String, RouteTotals)]) -> fmt::Result {
    for (route, totals) in routes {
        let method = match route.split_once(' ') {
            Some((method, _)) => method,
            None => OTHER,
        };
        for (class, count) in CODE_CLASSES.iter().zip(&totals.outcomes[CLASSES..]) {
            if *count > 0 {
                let labels = [
                    ("route", route.as_str()),
                    ("method", method),
                    ("code_class", class),
                ];
                ConstCounter::new(*count).encode(metric.encode_family(&labels)?)?;
            }
        }
    }
    Ok(())
}

fn encode(mut metric: MetricEncoder<'_>, label: &str, series: &[Series<'_>]) -> fmt::Result {
    for (route, value, count) in series {
        let labels = [("route", *route), (label, *value)];
        ConstCounter::new(*count).encode(metric.encode_family(&labels)?)?;
    }
    Ok(())
}

/// What has an alert, failures and errors of the legacy, is exported as 0 from a route's first request on, because a rate
/// over a series that did not exist before misses its first increment.
fn clients(routes: &[(String, RouteTotals)]) -> Vec<Series<'_>> {
    let mut series = Vec::new();
    for (route, totals) in routes {
        for outcome in ClientOutcome::ALL {
            let count = totals.outcomes[CLIENTS + outcome.index()];
            if count > 0 || outcome.is_failure() || *outcome == ClientOutcome::ServerError {
                series.push((route.as_str(), outcome.as_str(), count));
            }
        }
    }
    series
}

/// `match` and `mismatch` are exported as 0 from a route's first request on, for the same reason as in [`clients`].
fn comparisons(routes: &[(String, RouteTotals)]) -> Vec<Series<'_>> {
    let mut series = Vec::new();
    for (route, totals) in routes {
        series.push((route.as_str(), "match", totals.outcomes[MATCHED]));
        series.push((route.as_str(), "mismatch", totals.classes.total()));
        for reason in Reason::ALL {
            let count = totals.outcomes[REASONS + reason.index()];
            if count > 0 {
                series.push((route.as_str(), reason.as_str(), count));
            }
        }
    }
    series
}

fn mismatches(routes: &[(String, RouteTotals)]) -> Vec<Series<'_>> {
    let mut series = Vec::new();
    for (route, totals) in routes {
        for (kind, count) in Kind::ALL.iter().zip(totals.kinds) {
            if count > 0 {
                series.push((route.as_str(), kind.as_str(), count));
            }
        }
    }
    series
}

/// What counts in any case is exported as 0 from a route's first request on, for the same reason as in [`clients`].
fn classes(routes: &[(String, RouteTotals)]) -> Vec<Series<'_>> {
    const ALERTED: [MismatchClass; 2] = [MismatchClass::Confirmed, MismatchClass::Unstable];
    let mut series = Vec::new();
    for (route, totals) in routes {
        let counts = totals.classes.counts();
        for class in MismatchClass::ALL {
            let count = counts.get(class).copied().unwrap_or(0);
            if count > 0 || ALERTED.contains(class) {
                series.push((route.as_str(), class.as_str(), count));
            }
        }
    }
    series
}

/// The totals of all routes with counts, sorted by name. Routes of the same name in different generations are added up.
pub(super) fn named<'a>(
    totals: impl Iterator<Item = (&'a str, &'a RouteTotals)>,
) -> Vec<(String, RouteTotals)> {
    let mut routes: BTreeMap<&str, RouteTotals> = BTreeMap::new();
    for (label, totals) in totals.filter(|(_, totals)| !totals.is_empty()) {
        routes.entry(label).or_default().add(totals);
    }
    routes
        .into_iter()
        .map(|(label, totals)| (label.to_owned(), totals))
        .collect()
}
