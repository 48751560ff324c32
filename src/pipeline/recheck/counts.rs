//! How often services were asked again, and why not, for Prometheus.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use parity_schemas::recheck::RecheckEvent;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::registry::Registry;

use super::super::pledge::EventCounts;

/// What the words of controls begin with.
const CONTROL: &str = "control_";

/// Registers the families.
pub(super) fn register(events: Arc<EventCounts>, registry: &mut Registry) {
    registry.register_collector(Box::new(RecheckMetrics(events)));
}

struct RecheckMetrics(Arc<EventCounts>);

impl fmt::Debug for RecheckMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecheckMetrics").finish_non_exhaustive()
    }
}

impl RecheckMetrics {
    fn encode_family(
        &self,
        encoder: &mut DescriptorEncoder<'_>,
        (name, help): (&str, &str),
        outcome: impl Fn(RecheckEvent) -> Option<&'static str>,
    ) -> Result<(), fmt::Error> {
        let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
        for event in RecheckEvent::ALL {
            if let Some(outcome) = outcome(*event) {
                let count = self.0[*event as usize].load(Ordering::Relaxed);
                let counter = ConstCounter::new(count);
                counter.encode(family.encode_family(&[("outcome", outcome)])?)?;
            }
        }
        Ok(())
    }
}

impl Collector for RecheckMetrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let control = |event: RecheckEvent| event.as_str().strip_prefix(CONTROL);
        self.encode_family(
            &mut encoder,
            (
                "parity_rechecks",
                "Mismatches by what became of asking both services again: asked, failed (of those asked), refused",
            ),
            |event| control(event).is_none().then(|| event.as_str()),
        )?;
        self.encode_family(
            &mut encoder,
            (
                "parity_controls",
                "Matches that the legacy was asked about again: asked, moved and failed (of those asked)",
            ),
            control,
        )
    }
}
