//! Whether the pages of two services are those of one process: two addresses may lead to the same place, and what is set beside itself
//! always passes.
//!
//! It is told only if it is as good as proven: both started at the same fraction of a second, and what one of them has counted at a time
//! is between what the other one had counted shortly before and shortly after. A start time in whole seconds proves nothing, because two
//! services are often started together.

use parity_schemas::metrics::Subject;

use super::service::{COUNTER, Service};

/// What is told of each of them.
pub(super) const TOLD: &str = "both pages seem to be of one process: it started at the same moment and counts the same, so the service was \
                               set beside itself; look at the two addresses";
/// By so many seconds two pages that are read together may have been made apart: that of a busy service takes a while.
const APART: f64 = 0.25;

/// Whether both are one process.
pub(super) fn are_one(one: &Service<'_>, other: &Service<'_>) -> bool {
    let [Some(start), Some(same)] = [one, other].map(start) else {
        return false;
    };
    let has_fraction = start.fract().abs() > f64::EPSILON;
    has_fraction
        && start.to_bits() == same.to_bits()
        && [Subject::Cpu, Subject::Requests]
            .into_iter()
            .all(|subject| count_alike(one, other, subject))
}

/// When the process started, if that never changed.
fn start(service: &Service<'_>) -> Option<f64> {
    let (_, values) = service.seen(Subject::Start)?;
    let first = *values.first()?;
    let is_one = values
        .iter()
        .all(|value| value.to_bits() == first.to_bits());
    (is_one && service.restarts == 0).then_some(first)
}

/// Whether nothing that they have counted says that they are two.
fn count_alike(one: &Service<'_>, other: &Service<'_>, subject: Subject) -> bool {
    let [ours, theirs] = [one, other].map(|service| counted(service, subject));
    ours.iter().all(|(at, value)| {
        theirs.iter().all(|(when, counted)| {
            let is_before = *when < at - APART && counted > value;
            let is_after = *when > at + APART && counted < value;
            !(is_before || is_after)
        })
    }) && ours.is_empty() == theirs.is_empty()
}

/// What it had counted at each time.
fn counted(service: &Service<'_>, subject: Subject) -> Vec<(f64, f64)> {
    let sources = service.typed(subject, COUNTER);
    let found = sources.iter().map(|source| service.summed(source));
    let mut found = found.filter(|values| !values.is_empty());
    found.next().unwrap_or_default()
}
