//! Crate `parity-mirror`.
