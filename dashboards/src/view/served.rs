//! What clients get of the service that serves them, in words: when it answered them with server errors (5xx), and when the legacy was slow.
//!
//! Such a client has a whole answer, so nothing of it is a failure in the counts; whoever is on call is told all the same.

use parity_schemas::lately::{ClientErrors, SlowAnswers, WaitedFor};
use parity_schemas::time::Timestamp;

use super::words::{elapsed, grouped, plural, shown};

/// The last of some stretches, and how many there were before it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Last<'a, T> {
    /// The last one.
    pub(crate) one: &'a T,
    /// Those before it.
    earlier: u64,
}

/// The last stretch of errors of each service, and those before it.
pub(crate) fn last_errors(all: &[ClientErrors]) -> Vec<Last<'_, ClientErrors>> {
    let each = WaitedFor::ALL.into_iter().filter_map(|service| {
        let of_it = all.iter().filter(|one| one.service == service);
        last(of_it, |one| (one.from, one.to))
    });
    each.collect()
}

/// The last stretch in which the legacy was slow.
pub(crate) fn last_slow(all: &[SlowAnswers]) -> Option<Last<'_, SlowAnswers>> {
    last(all.iter(), |one| (one.from, one.to))
}

fn last<'a, T>(
    all: impl Iterator<Item = &'a T> + Clone,
    span: impl Fn(&T) -> (Timestamp, Timestamp),
) -> Option<Last<'a, T>> {
    Some(Last {
        one: all.clone().max_by_key(|one| span(one))?,
        earlier: all.count() as u64 - 1,
    })
}

impl<T> Last<'_, T> {
    /// How many there were before it, in words; empty if none.
    pub(crate) fn before(&self) -> String {
        match self.earlier {
            0 => String::new(),
            some => format!(
                "; so {} before in the time that is shown",
                plural(some, "time", "times")
            ),
        }
    }
}

/// Whose answers they are: a service, with its version if it has one; it is visible.
pub(crate) fn service(errors: &ClientErrors) -> String {
    let name = errors.service.as_str();
    match errors.version.as_str() {
        "" => format!("the {name}"),
        version => format!("the {name} {}", shown(version)),
    }
}

/// How many of its answers were errors, and why a candidate's reach clients.
pub(crate) fn errors_told(errors: &ClientErrors) -> String {
    let by = match errors.service {
        WaitedFor::Legacy => "",
        WaitedFor::Candidate => ", which serves them in a rollout",
    };
    format!(
        "{} of {} of {}{by}",
        grouped(errors.errors),
        plural(errors.answers, "whole answer", "whole answers"),
        service(errors)
    )
}

/// How slow the legacy was, beside what was usual.
pub(crate) fn slow_told(slow: &SlowAnswers) -> String {
    let times = slow.p99_us / slow.before_p99_us.max(1);
    format!(
        "{} of {} took longer than {}; p99 {}, {} times that of before, {}",
        grouped(slow.slow),
        plural(slow.answers, "compared answer", "compared answers"),
        elapsed(slow.limit_us),
        elapsed(slow.p99_us),
        grouped(times),
        elapsed(slow.before_p99_us)
    )
}

/// From when to when; `moment` writes a time.
pub(crate) fn span_told(
    (from, to, ended): (Timestamp, Timestamp, Option<Timestamp>),
    moment: impl Fn(Timestamp) -> String,
) -> String {
    match ended {
        None => format!("since {}", moment(from)),
        Some(_) => format!("from {} to {}", moment(from), moment(to)),
    }
}
