//! The state that all workers share to decide whether a shadow may begin: shadows in flight, bytes held, rate, breaker,
//! and whether shadowing is on.
//!
//! It belongs to the process and outlives every policy: the policy has the limits, this has the current use. All of it
//! is atomic.

use std::fmt;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use parity_schemas::exchange::ByteBudget;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;

use crate::descriptors::OpenConnections;
use crate::exchange::breaker::Breaker;
use crate::exchange::rate::RateCap;
use crate::exchange::side::{BySide, Side};

/// The current use of the limits on shadows.
pub(crate) struct Admission {
    budget: ByteBudget,
    breaker: Breaker,
    rate: RateCap,
    shadowing: AtomicBool,
    /// Sequentially consistent, because the limit is on the sum: of two shadows that take the last slot at the same time,
    /// one for each side, at least one must see the other.
    in_flight: BySide<AtomicUsize>,
    connections: BySide<Arc<OpenConnections>>,
}

impl Admission {
    /// `shadowing` is whether shadowing is on at the start, `bytes` how much memory shadows may hold.
    pub(crate) fn new(shadowing: bool, bytes: usize) -> Self {
        Self {
            budget: ByteBudget::new(bytes),
            breaker: Breaker::new(),
            rate: RateCap::new(),
            shadowing: AtomicBool::new(shadowing),
            in_flight: BySide::new(|_| AtomicUsize::new(0)),
            connections: BySide::new(|_| Arc::default()),
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

    /// Shadows that wait for a service now, whichever it is.
    pub(crate) fn in_flight(&self) -> usize {
        Side::ALL.map(|side| self.in_flight_to(side)).iter().sum()
    }

    fn in_flight_to(&self, side: Side) -> usize {
        self.in_flight[side].load(Ordering::SeqCst)
    }

    /// Counts the connections that shadows have to a service.
    pub(crate) fn connections(&self, side: Side) -> &Arc<OpenConnections> {
        &self.connections[side]
    }

    /// Takes one of `limit` in-flight slots for a shadow that waits for this side, if one is free.
    pub(super) fn enter(self: &Arc<Self>, limit: usize, side: Side) -> Option<Slot> {
        let before = self.in_flight[side].fetch_add(1, Ordering::SeqCst);
        let others = Side::ALL.into_iter().filter(|other| *other != side);
        let beside: usize = others.map(|other| self.in_flight_to(other)).sum();
        // Built first, so that its drop undoes the count if it was one too many.
        let slot = Slot {
            admission: Arc::clone(self),
            side,
        };
        (before + beside < limit).then_some(slot)
    }

    /// Whether one more shadow may begin now, at `rate` shadows per second.
    pub(super) fn is_in_rate(&self, rate: Option<NonZeroUsize>) -> bool {
        rate.is_none_or(|rate| self.rate.takes(rate))
    }

    /// The families of what shadows use now, by service.
    pub(crate) fn encode_by_side(
        &self,
        encoder: &mut DescriptorEncoder<'_>,
    ) -> Result<(), fmt::Error> {
        let families: [(_, _, &dyn Fn(Side) -> usize); 2] = [
            (
                "parity_shadow_queue_depth",
                "Shadows that wait for a service; for the legacy in a tap, or when it is asked again",
                &|side| self.in_flight_to(side),
            ),
            (
                "parity_shadow_connections",
                "Open connections of shadows to a service, in use and idle; to the legacy in a tap, or when it is asked again",
                &|side| self.connections(side).count(),
            ),
        ];
        for (name, help, of) in families {
            let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            for side in Side::ALL {
                let gauge = ConstGauge::new(of(side) as u64);
                gauge.encode(family.encode_family(&[("upstream", side.name())])?)?;
            }
        }
        Ok(())
    }
}

/// An in-flight slot; dropping it frees it.
pub(super) struct Slot {
    admission: Arc<Admission>,
    side: Side,
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.admission.in_flight[self.side].fetch_sub(1, Ordering::SeqCst);
    }
}
