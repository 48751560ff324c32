//! Crate `parity-comparator`.
