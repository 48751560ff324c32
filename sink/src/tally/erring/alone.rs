//! Server errors of the candidate where the legacy has none, among what was compared.

use parity_schemas::lately::CandidateErrors;
use parity_schemas::time::Timestamp;

use super::super::sighting::Sighting;
use super::{Counted, Span, joined};

/// Mismatches in which one service alone answered with a server error.
#[derive(Clone, Copy, Debug, Default)]
pub(in super::super) struct ErrorsAlone {
    pub(super) candidate: u64,
    pub(super) legacy: u64,
    /// When the first and the last request was received that the candidate alone answered so.
    pub(super) span: Span,
}

const fn is_error(status: u16) -> bool {
    matches!(status, 500..=599)
}

impl ErrorsAlone {
    /// Adds a mismatch. Each of its groups has the statuses of both answers.
    pub(in super::super) fn add(&mut self, seen: &Sighting<'_>) {
        let Some(group) = seen.groups.first() else {
            return;
        };
        match (
            is_error(group.legacy_status),
            is_error(group.candidate_status),
        ) {
            (false, true) => {
                self.candidate += 1;
                let (from, to) = self.span.unwrap_or((seen.time, seen.time));
                self.span = Some((from.min(seen.time), to.max(seen.time)));
            }
            (true, false) => self.legacy += 1,
            _ => {}
        }
    }

    fn merge(&mut self, other: &Self) {
        self.candidate = self.candidate.saturating_add(other.candidate);
        self.legacy = self.legacy.saturating_add(other.legacy);
        self.span = joined(self.span, other.span);
    }
}

/// What was compared between two looks.
#[derive(Clone, Copy, Debug, Default)]
pub(in super::super) struct Verdicts {
    pub(super) compared: u64,
    /// Answers of the legacy that are errors.
    pub(super) legacy_errors: u64,
    pub(super) alone: ErrorsAlone,
}

impl Verdicts {
    pub(in super::super) fn add_matches(&mut self, count: u64) {
        self.compared = self.compared.saturating_add(count);
    }

    pub(in super::super) fn add_mismatches(&mut self, count: u64, alone: &ErrorsAlone) {
        self.compared = self.compared.saturating_add(count);
        self.alone.merge(alone);
    }

    pub(in super::super) fn add_legacy_errors(&mut self, count: u64) {
        self.legacy_errors = self.legacy_errors.saturating_add(count);
    }
}

impl Counted for Verdicts {
    type Told = CandidateErrors;

    fn all(&self) -> u64 {
        self.compared
    }

    fn bad(&self) -> u64 {
        self.alone.candidate
    }

    fn merge(&mut self, other: &Self) {
        self.add_mismatches(other.compared, &other.alone);
        self.add_legacy_errors(other.legacy_errors);
    }

    fn told(&self, version: &str, ended: Option<Timestamp>) -> CandidateErrors {
        let Self {
            compared,
            legacy_errors,
            alone,
        } = *self;
        let both = legacy_errors.saturating_sub(alone.legacy);
        let (from, to) = alone.span.unwrap_or_default();
        CandidateErrors {
            candidate_version: version.to_owned(),
            from,
            to,
            ended,
            compared,
            errors: alone.candidate.saturating_add(both).min(compared),
            legacy_errors,
        }
    }

    fn size(told: &CandidateErrors) -> u64 {
        told.errors
    }
}
