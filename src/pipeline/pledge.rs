//! A mismatch that has been found and is counted once its class is known.
//!
//! It may wait for a second look, on several threads. Whatever happens meanwhile, it is counted exactly once: by whoever
//! knows its class, or else when it is dropped, as unconfirmed. Nothing of the captured answers is needed for that.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use parity_schemas::field_share::FieldNumbers;
use parity_schemas::recheck::{RecheckEvent, RecheckSummary};
use parity_schemas::record::{self, MismatchClass, Record};
use parity_schemas::route::Route;
use parity_schemas::tally::Group;
use parity_schemas::time::Timestamp;
use parity_schemas::verdict::Reason;
use parity_sink::tally::{AttributeId, Elapsed, Sighting, TargetHash, Unasked};
use parity_sink::{Epoch, OutcomeRecorder, RecordSender};
use uuid::Uuid;

/// How often each thing happened to rechecks and controls in this process.
pub(super) type EventCounts = [AtomicU64; RecheckEvent::ALL.len()];

/// Counts mismatches, on any thread.
pub(super) struct Settling {
    recorder: Mutex<OutcomeRecorder>,
    records: RecordSender,
    events: Arc<EventCounts>,
}

impl Settling {
    pub(super) fn new(
        recorder: OutcomeRecorder,
        records: RecordSender,
        events: Arc<EventCounts>,
    ) -> Self {
        Self {
            recorder: Mutex::new(recorder),
            records,
            events,
        }
    }

    /// Counts what happened to rechecks or controls of a route.
    pub(super) fn events(&self, route: &Route, events: &[RecheckEvent]) {
        if !events.is_empty() {
            self.with(|recorder| self.count_events(recorder, route, events));
        }
    }

    /// Counts a request that was not compared.
    pub(super) fn not_compared(&self, route: &Route, reason: Reason, epoch: Epoch) {
        self.with(|recorder| {
            recorder.not_compared(route, reason);
            recorder.settled(epoch);
        });
    }

    fn count_events(&self, recorder: &OutcomeRecorder, route: &Route, events: &[RecheckEvent]) {
        for event in events {
            recorder.recheck(route, *event);
            self.events[*event as usize].fetch_add(1, Ordering::Relaxed);
        }
    }

    fn with<T>(&self, count: impl FnOnce(&OutcomeRecorder) -> T) -> T {
        // Its counters are whole whenever a panic may come.
        let recorder = self.recorder.lock().unwrap_or_else(PoisonError::into_inner);
        count(&recorder)
    }
}

/// What is counted and recorded of a mismatch.
pub(super) struct Mismatch {
    pub(super) route: Arc<Route>,
    pub(super) epoch: Epoch,
    pub(super) time: Timestamp,
    pub(super) legacy_status: u16,
    pub(super) target: TargetHash,
    pub(super) attributes: Box<[AttributeId]>,
    pub(super) legacy: Elapsed,
    pub(super) candidate: Elapsed,
    pub(super) rule_hits: Vec<(usize, u32)>,
    /// The fields of the legacy's answer, if they are counted.
    pub(super) fields: Option<FieldNumbers>,
    pub(super) id: Uuid,
    /// The group of each finding.
    pub(super) groups: Vec<Group>,
    /// Whether these are all groups that it has.
    pub(super) is_complete: bool,
    /// Its record, but for the class.
    pub(super) record: Option<Box<record::Mismatch>>,
}

/// A mismatch that must be counted.
pub(super) struct Pledge {
    /// `None` once it is counted.
    mismatch: Option<Box<Mismatch>>,
    settling: Arc<Settling>,
    /// What happened to its recheck, if it is dropped.
    otherwise: &'static [RecheckEvent],
    /// Set while it is being counted: a panic then says that something in the counting is wrong.
    counting: bool,
}

impl Pledge {
    pub(super) fn new(mismatch: Mismatch, settling: &Arc<Settling>) -> Self {
        Self {
            mismatch: Some(Box::new(mismatch)),
            settling: Arc::clone(settling),
            otherwise: &[],
            counting: false,
        }
    }

    /// What happened to its recheck if it is dropped from now on.
    pub(super) fn otherwise(mut self, events: &'static [RecheckEvent]) -> Self {
        self.otherwise = events;
        self
    }

    /// The group of each finding.
    pub(super) fn groups(&self) -> &[Group] {
        self.mismatch
            .as_ref()
            .map_or(&[], |mismatch| &mismatch.groups)
    }

    /// Counts it with its class, and what happened to its recheck.
    pub(super) fn settle(mut self, rechecked: &RecheckSummary, events: &[RecheckEvent]) {
        self.count(Some(rechecked), unasked(events), events);
    }

    /// Counts it as unconfirmed, and what happened to its recheck.
    pub(super) fn unconfirmed(mut self, events: &[RecheckEvent]) {
        self.count(None, unasked(events), events);
    }

    /// The same, where it is known why rechecks of others say nothing of it.
    pub(super) fn unasked(mut self, why: Unasked, events: &[RecheckEvent]) {
        self.count(None, Some(why), events);
    }

    fn count(
        &mut self,
        rechecked: Option<&RecheckSummary>,
        unasked: Option<Unasked>,
        events: &[RecheckEvent],
    ) {
        let Some(mismatch) = &mut self.mismatch else {
            return;
        };
        self.counting = true;
        let settling = &self.settling;
        settling.with(|recorder| {
            let route = &*mismatch.route;
            if !mismatch.rule_hits.is_empty() {
                recorder.rule_hits(route, &mismatch.rule_hits);
            }
            recorder.compared(route, mismatch.legacy_status, mismatch.target);
            recorder.fields(route, mismatch.fields.as_ref());
            recorder.attributes(route, &mismatch.attributes);
            if let Some(mut record) = mismatch.record.take() {
                record.class = rechecked.map_or(MismatchClass::Unconfirmed, |found| found.class);
                // If the queue is full, this row is lost and the sender counts the loss. The verdict is counted all the
                // same.
                let _counted = settling.records.send(Record::Mismatch(record));
            }
            let seen = Sighting {
                id: mismatch.id,
                time: mismatch.time,
                groups: &mismatch.groups,
                is_complete: mismatch.is_complete,
                rechecked,
                unasked,
                attributes: &mismatch.attributes,
            };
            recorder.mismatch(route, mismatch.legacy, mismatch.candidate, &seen);
            // After the mismatch, and read before it: a process that is killed leaves no recheck without its mismatch.
            settling.count_events(recorder, route, events);
            recorder.settled(mismatch.epoch);
        });
        self.mismatch = None;
    }
}

/// Why rechecks of others say nothing of a mismatch whose own ended so. What a budget refused is a sample.
fn unasked(events: &[RecheckEvent]) -> Option<Unasked> {
    let mut why = events.iter().rev().filter_map(|event| match event {
        RecheckEvent::RefusedMethod => Some(Unasked::Never),
        RecheckEvent::Failed => Some(Unasked::Silent),
        // What waits is bounded in bytes, too, so that it is large answers which are refused.
        RecheckEvent::RefusedPaused | RecheckEvent::RefusedWaiting => Some(Unasked::Unheard),
        _ => None,
    });
    why.next()
}

impl Drop for Pledge {
    fn drop(&mut self) {
        let Some(mismatch) = &self.mismatch else {
            return;
        };
        if self.counting {
            let (route, epoch) = (&mismatch.route, mismatch.epoch);
            self.settling
                .not_compared(route, Reason::InternalPanic, epoch);
        } else {
            let otherwise = self.otherwise;
            self.count(None, unasked(otherwise), otherwise);
        }
    }
}

#[cfg(test)]
mod tests;
