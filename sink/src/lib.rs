//! Crate `parity-sink`.
