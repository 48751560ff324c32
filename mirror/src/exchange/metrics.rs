//! The metrics of services and shadows of a whole process.

use std::fmt;
use std::sync::Arc;

use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;

use crate::counters::OfWorker;
use crate::exchange::meters::Meters;
use crate::exchange::resources::ProcessResources;

/// The counters of all threads, and the use of what they share.
#[derive(Clone)]
pub(crate) struct ExchangeMetrics {
    meters: Arc<[Meters]>,
    process: Arc<ProcessResources>,
}

impl ExchangeMetrics {
    /// For so many threads.
    pub(crate) fn new(threads: usize, process: Arc<ProcessResources>) -> Self {
        Self {
            meters: (0..threads).map(|_| Meters::new()).collect(),
            process,
        }
    }

    /// What one thread counts.
    pub(crate) fn of_thread(&self, index: usize) -> OfWorker<Meters> {
        OfWorker::new(&self.meters, index)
    }

    /// Writes the families of services and shadows.
    pub(crate) fn encode(&self, encoder: &mut DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        Meters::encode_answers(&self.meters, encoder)?;
        Meters::encode_shadows(&self.meters, encoder)?;
        let admission = self.process.admission();
        admission.encode_by_side(encoder)?;
        let held = ConstGauge::new(admission.budget().held() as u64);
        held.encode(encoder.encode_descriptor(
            "parity_shadow_bytes",
            "Bytes held for shadows and for exchanges that are not compared yet",
            None,
            MetricType::Gauge,
        )?)
    }
}
