//! One recorded mismatch.

use parity_comparator::limits::TOLERATED;
use parity_schemas::record::{Mismatch, MismatchClass, RecordedMessage};
use parity_schemas::verdict::Why;
use parity_schemas::visible::visible;

use super::difference::Difference;
use super::excused::Excused;

/// A mismatch with all that was recorded of it.
#[derive(Clone, Copy)]
pub(crate) struct MismatchView<'a> {
    /// The record.
    pub(crate) mismatch: &'a Mismatch,
}

impl<'a> MismatchView<'a> {
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

    /// The request and the two answers, if they were kept; each with a title.
    pub(crate) fn messages(self) -> Vec<(&'static str, &'a RecordedMessage)> {
        let sample = self.mismatch.sample.as_ref();
        sample.map_or_else(Vec::new, |sample| {
            vec![
                ("Request", &sample.request),
                ("Legacy", &sample.legacy),
                ("Candidate", &sample.candidate),
            ]
        })
    }
}
