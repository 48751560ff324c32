//! Crate `parity-dashboards`.
