//! The state that all workers share to decide whether a shadow may begin: shadows in flight, bytes held, rate, breaker,
//! and whether shadowing is on.
//!
//! It belongs to the process and outlives every policy: the policy has the limits, this has the current use. All of it
//! is atomic.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use parity_schemas::exchange::ByteBudget;

use crate::exchange::breaker::Breaker;
use crate::exchange::rate::RateCap;

/// The current use of the limits on shadows.
pub(crate) struct Admission {
    budget: ByteBudget,
    breaker: Breaker,
    rate: RateCap,
    shadowing: AtomicBool,
    in_flight: AtomicUsize,
}

impl Admission {
    /// `shadowing` is whether shadowing is on at the start, `bytes` how much memory shadows may hold.
    pub(crate) fn new(shadowing: bool, bytes: usize) -> Self {
        Self {
            budget: ByteBudget::new(bytes),
            breaker: Breaker::new(),
            rate: RateCap::new(),
            shadowing: AtomicBool::new(shadowing),
            in_flight: AtomicUsize::new(0),
        }
    }

    /// The memory held for shadows, and for exchanges until they are compared.
    pub(crate) fn budget(&self) -> &ByteBudget {
        &self.budget
    }

    /// What is known of the candidate's health.
    pub(crate) fn breaker(&self) -> &Breaker {
        &self.breaker
    }

    /// Whether new requests are shadowed.
    pub(crate) fn shadowing(&self) -> bool {
        self.shadowing.load(Ordering::Relaxed)
    }

    pub(crate) fn set_shadowing(&self, on: bool) {
        self.shadowing.store(on, Ordering::Relaxed);
    }

    /// Shadows that wait for a service now.
    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::Relaxed)
    }

    /// Takes one of `limit` in-flight slots, if one is free.
    pub(super) fn enter(self: &Arc<Self>, limit: usize) -> Option<Slot> {
        let before = self.in_flight.fetch_add(1, Ordering::Relaxed);
        // Built first, so that its drop undoes the count if it was one too many.
        let slot = Slot(Arc::clone(self));
        (before < limit).then_some(slot)
    }

    /// Whether one more shadow may begin now, at `rate` shadows per second.
    pub(super) fn is_in_rate(&self, rate: Option<NonZeroUsize>) -> bool {
        rate.is_none_or(|rate| self.rate.takes(rate))
    }
}

/// An in-flight slot; dropping it frees it.
pub(super) struct Slot(Arc<Admission>);

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}
