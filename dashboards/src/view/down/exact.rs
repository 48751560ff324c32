//! What mirrors have seen of the candidate to the second, as a history has it: the last outage, and the last errors.

use parity_schemas::history::{CandidateOutage, History};
use parity_schemas::lately::{CandidateErrors, NOW_MICROS};
use parity_schemas::time::Timestamp;

use super::{Beside, LATELY_MICROS};
use crate::view::words::{grouped, plural};

/// The last outage of a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exact {
    /// When the first failure was noticed.
    pub(crate) from: Timestamp,
    /// When the last one was; of one that goes on, when a mirror last said so.
    to: Timestamp,
    /// When it answered again; `None` while it does not.
    pub(crate) answered: Option<Timestamp>,
    /// When another version took its place; `None` unless that was before it answered.
    replaced: Option<Timestamp>,
    /// Requests that it did not answer.
    pub(crate) failed: u64,
    /// Requests that were not sent to it meanwhile.
    pub(crate) not_sent: u64,
    /// Outages before it, in the time that is shown.
    earlier: u64,
}

impl Exact {
    /// The last one in a history, if a mirror has seen it.
    pub(super) fn last(history: &History, version: &str) -> Option<Self> {
        let is_of_it = |one: &&CandidateOutage| one.candidate_version == version;
        let all = || history.outages.iter().filter(is_of_it);
        let last = all().max_by_key(|one| (one.from, one.to))?;
        (last.step_seconds <= 1).then(|| Self {
            from: last.from,
            to: last.to,
            answered: last.answered,
            replaced: last.replaced,
            failed: last.unanswered,
            not_sent: last.not_sent,
            earlier: all().count() as u64 - 1,
        })
    }

    /// Whether nothing is known that it answered since.
    pub(super) const fn goes_on(&self) -> bool {
        self.answered.is_none() && self.replaced.is_none()
    }

    /// Whether a mirror has just said that it goes on.
    pub(super) fn is_now(&self, at: Timestamp) -> bool {
        self.goes_on() && at.as_micros() - self.to.as_micros() <= NOW_MICROS
    }

    /// Up to when it is known to have lasted.
    pub(crate) fn end(&self) -> Timestamp {
        let over = self.answered.or(self.replaced);
        over.unwrap_or(self.to).max(self.to)
    }

    /// From when to when, as far as that is known; `moment` writes a time.
    pub(crate) fn span(&self, moment: impl Fn(Timestamp) -> String) -> String {
        if let Some(replaced) = self.replaced {
            return format!(
                "from {} until {}, when another version took its place",
                moment(self.from),
                moment(replaced)
            );
        }
        let to = match self.answered {
            Some(answered) => format!(
                "{} and answered again at {}",
                moment(self.to),
                moment(answered)
            ),
            None => format!(
                "{}, and nothing that it answered is recorded since",
                moment(self.to)
            ),
        };
        format!("from {} to {to}", moment(self.from))
    }

    /// On how many requests it failed, how many were not sent, and how many outages there were before it: in the words of the list of
    /// all.
    pub(crate) fn counted(&self) -> String {
        let earlier = match self.earlier {
            0 => String::new(),
            some => format!(
                "; {} before it in the time that is shown",
                plural(some, "outage", "outages")
            ),
        };
        format!("{}{earlier}", lost(self.failed, self.not_sent))
    }
}

/// Requests that an outage cost.
pub(in crate::view) fn lost(failed: u64, not_sent: u64) -> String {
    let not_sent = match not_sent {
        0 => String::new(),
        1 => ", and 1 was not sent to it".to_owned(),
        some => format!(", and {} were not sent to it", grouped(some)),
    };
    format!("{} failed{not_sent}", plural(failed, "request", "requests"))
}

/// Errors of a version.
pub(crate) struct Erring<'a> {
    /// The version, where several get requests now.
    pub(crate) version: Option<&'a str>,
    /// The last of them.
    pub(crate) errors: &'a CandidateErrors,
}

/// How many requests the candidate answered with errors, beside the legacy.
pub(in crate::view) fn errors_of(errors: &CandidateErrors) -> String {
    format!(
        "{} of {}",
        grouped(errors.errors),
        plural(errors.compared, "request", "requests")
    )
}

impl Erring<'_> {
    /// Whether it goes on.
    pub(crate) const fn goes_on(&self) -> bool {
        self.errors.ended.is_none()
    }

    /// How many, and when; `moment` writes a time.
    pub(crate) fn told(&self, moment: impl Fn(Timestamp) -> String) -> String {
        let CandidateErrors {
            from,
            to,
            legacy_errors,
            ..
        } = self.errors;
        let span = if self.goes_on() {
            format!("since {}", moment(*from))
        } else {
            format!("from {} to {}", moment(*from), moment(*to))
        };
        format!(
            "{} {span} (legacy: {})",
            errors_of(self.errors),
            grouped(*legacy_errors)
        )
    }
}

impl Beside<'_> {
    /// The last errors of each version that gets requests now, if they go on or were lately.
    pub(crate) fn erring<'b>(&'b self, history: Option<&'b History>) -> Vec<Erring<'b>> {
        let versions = self.versions(history);
        let all = history.map_or(&[][..], |history| &history.candidate_errors);
        let since = self.at.saturating_add_micros(-LATELY_MICROS);
        let each = versions.iter().filter_map(|version| {
            let of_it = all.iter().filter(|one| one.candidate_version == **version);
            let last = of_it.max_by_key(|one| (one.from, one.to))?;
            let is_told = last.ended.is_none() || last.to > since;
            is_told.then_some(Erring {
                version: (versions.len() > 1).then_some(*version),
                errors: last,
            })
        });
        each.collect()
    }
}
