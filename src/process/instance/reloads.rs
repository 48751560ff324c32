//! How often the configuration was read again, as metrics.

use parity_schemas::time::Timestamp;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// How often the configuration was reloaded, as metrics.
pub(super) struct Reloads {
    succeeded: Gauge,
    succeeded_at: Gauge,
}

impl Reloads {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let reloads = Self {
            succeeded: Gauge::default(),
            succeeded_at: Gauge::default(),
        };
        registry.register(
            "parity_config_last_reload_successful",
            "Whether the last reload of the configuration succeeded",
            reloads.succeeded.clone(),
        );
        registry.register(
            "parity_config_last_reload_success_timestamp_seconds",
            "When the current configuration was loaded",
            reloads.succeeded_at.clone(),
        );
        reloads.count(true);
        reloads
    }

    pub(super) fn count(&self, succeeded: bool) {
        self.succeeded.set(i64::from(succeeded));
        if succeeded {
            self.succeeded_at
                .set(Timestamp::now().as_micros() / 1_000_000);
        }
    }
}
