//! One recorded mismatch.

use parity_comparator::limits::TOLERATED;
use parity_schemas::record::{Mismatch, MismatchClass, RecordedMessage, Sample};
use parity_schemas::route::split_operation;
use parity_schemas::verdict::Why;
use parity_schemas::visible::visible;
use serde_json::Value;

use super::bodies::BodyDiff;
use super::difference::Difference;
use super::excused::Excused;
use super::words::shown;

/// Variables in the head of a page: a few lines. All of them are in the body of the request.
const MAX_VARIABLES: usize = 20;

/// A message of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    /// What the client sent.
    Request,
    /// What it got.
    Legacy,
    /// What the candidate answered.
    Candidate,
}

impl Which {
    /// In the order of an exchange.
    pub(crate) const ALL: [Self; 3] = [Self::Request, Self::Legacy, Self::Candidate];

    /// As a title.
    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::Request => "Request",
            Self::Legacy => "Legacy",
            Self::Candidate => "Candidate",
        }
    }

    /// As a part of an address.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Legacy => "legacy",
            Self::Candidate => "candidate",
        }
    }

    /// That of a sample.
    pub(crate) const fn of(self, sample: &Sample) -> &RecordedMessage {
        match self {
            Self::Request => &sample.request,
            Self::Legacy => &sample.legacy,
            Self::Candidate => &sample.candidate,
        }
    }
}

/// A mismatch with all that was recorded of it.
#[derive(Clone, Copy)]
pub(crate) struct MismatchView<'a> {
    /// The record.
    pub(crate) mismatch: &'a Mismatch,
}

impl<'a> MismatchView<'a> {
    /// Which request it was.
    pub(crate) fn request(self) -> String {
        visible(&format!(
            "{} {}",
            self.mismatch.method,
            self.mismatch.target()
        ))
    }

    /// The variables of a GraphQL request as they were kept: all requests of an operation have the same text, and only these
    /// tell one from another. The whole text stands further below.
    pub(crate) fn variables(self) -> Option<String> {
        split_operation(&self.mismatch.route)?;
        let sample = self.mismatch.sample.as_ref()?;
        let body: Value = serde_json::from_str(&sample.request.body).ok()?;
        let variables = body.get("variables")?.as_object()?;
        (!variables.is_empty()).then(|| {
            let first = variables.iter().take(MAX_VARIABLES);
            let mut each: Vec<String> = first
                .map(|(name, value)| shown(&format!("{name} = {value}")))
                .collect();
            if variables.len() > MAX_VARIABLES {
                each.push("…".to_owned());
            }
            each.join(" · ")
        })
    }

    /// What differs.
    pub(crate) fn differences(self) -> impl Iterator<Item = Difference<'a>> + use<'a> {
        self.mismatch.findings.iter().map(Difference::from)
    }

    /// Whether a mismatch of its class counts against the candidate, in one sentence.
    pub(crate) fn counts(self) -> &'static str {
        match self.mismatch.class {
            MismatchClass::Confirmed | MismatchClass::Unstable | MismatchClass::Unconfirmed => {
                "It counts against the candidate, unless all that differs in it is proven to be noise; the report says what is."
            }
            MismatchClass::Noise => {
                "It counts against the candidate until all that differs in it is proven to be noise; the report says what is."
            }
            MismatchClass::Transient => "It does not count against the candidate.",
        }
    }

    /// Why the bodies were not compared, if they were not: the reason, and its meaning if this program knows it.
    pub(crate) fn not_compared(self) -> Option<String> {
        let mut tolerated = self.mismatch.tolerated.iter();
        tolerated.find_map(|tolerated| match &tolerated.why {
            Why::NotCompared(reason) => Some(format!("{reason}, {}", reason.meaning())),
            Why::NotComparedBy(word) => Some(visible(word)),
            _ => None,
        })
    }

    /// What differs and counts as equal.
    pub(crate) fn excused(self) -> Excused<'a> {
        let listed = &self.mismatch.tolerated;
        Excused::recorded(listed, listed.len() >= TOLERATED)
    }

    /// The two bodies by line, where that can be shown.
    pub(crate) fn bodies(self) -> Option<BodyDiff> {
        BodyDiff::of(self.mismatch.sample.as_ref()?)
    }

    /// Whether what differs is behind what is stored of the two bodies: their stored parts are the same.
    pub(crate) fn is_behind(self) -> bool {
        let sample = self.mismatch.sample.as_ref();
        sample.is_some_and(
            |Sample {
                 legacy, candidate, ..
             }| {
                let is_cut = legacy.body_cut && candidate.body_cut;
                is_cut && !legacy.body.is_empty() && legacy.body == candidate.body
            },
        )
    }

    /// The request and the two answers, if they were kept.
    pub(crate) fn messages(self) -> Vec<(Which, &'a RecordedMessage)> {
        let sample = self.mismatch.sample.as_ref();
        sample.map_or_else(Vec::new, |sample| {
            Which::ALL.map(|which| (which, which.of(sample))).into()
        })
    }
}
