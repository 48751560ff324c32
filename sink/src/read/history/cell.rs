//! What is needed of the counts of a tally, added up.

use parity_schemas::clients::{ClientOutcome, Clients};
use parity_schemas::recheck::ClassCounts;
use parity_schemas::record::MismatchClass;
use parity_schemas::verdict::Reason;

/// What is needed of the counts of a tally, or of several.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::read) struct Cell {
    pub(super) tallies: u64,
    pub(super) received: u64,
    pub(super) matched: u64,
    pub(super) mismatch: u64,
    pub(super) candidate_failures: u64,
    pub(super) candidate_unanswered: u64,
    clients: [u64; ClientOutcome::COUNT],
    pub(super) shadowing_off: u64,
    pub(super) breaker_open: u64,
    classes: [u64; MismatchClass::ALL.len()],
    /// Taken out of it afterwards.
    pub(super) excused: u64,
}

impl Cell {
    /// Of so many tallies: what was received, matched and did not match.
    pub(in crate::read) fn of(tallies: u64, [received, matched, mismatch]: [u64; 3]) -> Self {
        Self {
            tallies,
            received,
            matched,
            mismatch,
            ..Self::default()
        }
    }

    /// Adds a count by class of mismatch.
    pub(in crate::read) fn add_class(&mut self, class: MismatchClass, count: u64) {
        let sum = &mut self.classes[class as usize];
        *sum = sum.saturating_add(count);
    }

    /// Adds a count by reason of not being compared.
    pub(in crate::read) fn add_reason(&mut self, reason: Reason, count: u64) {
        if reason.is_candidate_failure() {
            self.candidate_failures = self.candidate_failures.saturating_add(count);
        }
        if reason.is_unanswered() {
            self.candidate_unanswered = self.candidate_unanswered.saturating_add(count);
        }
        let sum = match reason {
            Reason::ShadowingOff => &mut self.shadowing_off,
            Reason::BreakerOpen => &mut self.breaker_open,
            _ => return,
        };
        *sum = sum.saturating_add(count);
    }

    /// Adds a count by outcome of the client.
    pub(in crate::read) fn add_client(&mut self, outcome: ClientOutcome, count: u64) {
        let sum = &mut self.clients[outcome.index()];
        *sum = sum.saturating_add(count);
    }

    /// Mismatches that an older program did not class are unconfirmed.
    pub(super) fn complete(&mut self) {
        let told = self
            .classes
            .iter()
            .fold(0, |sum: u64, count| sum.saturating_add(*count));
        self.add_class(MismatchClass::default(), self.mismatch.saturating_sub(told));
    }

    pub(super) fn extent(&self) -> u64 {
        let counts = [
            self.received,
            self.matched,
            self.mismatch,
            self.candidate_failures,
            self.shadowing_off,
            self.breaker_open,
        ];
        let all = counts.iter().chain(&self.classes).chain(&self.clients);
        all.fold(0, |sum: u64, count| sum.saturating_add(*count))
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.tallies += other.tallies;
        self.received += other.received;
        self.matched += other.matched;
        self.mismatch += other.mismatch;
        self.candidate_failures += other.candidate_failures;
        self.candidate_unanswered += other.candidate_unanswered;
        self.shadowing_off += other.shadowing_off;
        self.breaker_open += other.breaker_open;
        for (sum, count) in self.clients.iter_mut().zip(other.clients) {
            *sum += count;
        }
        for (sum, count) in self.classes.iter_mut().zip(other.classes) {
            *sum += count;
        }
        self.excused += other.excused;
    }

    pub(super) const fn compared(&self) -> u64 {
        self.matched + self.mismatch + self.candidate_failures
    }

    /// Mismatches that count, but for those that are excused.
    pub(super) const fn counting(&self) -> u64 {
        self.mismatch
            .saturating_sub(self.classes[MismatchClass::Transient as usize])
    }

    pub(super) const fn differing(&self) -> u64 {
        self.counting().saturating_sub(self.excused) + self.candidate_failures
    }

    /// Takes out what is excused, which is never more than counts.
    pub(super) fn excuse(&mut self, count: u64) {
        self.excused = self.excused.saturating_add(count).min(self.counting());
    }

    pub(super) fn clients(&self) -> Clients {
        let counts = ClientOutcome::ALL.iter().copied().zip(self.clients);
        counts.filter(|(_, count)| *count > 0).collect()
    }

    /// Clients that were there and got no whole answer.
    pub(super) fn clients_failed(&self) -> u64 {
        let counts = ClientOutcome::ALL.iter().zip(self.clients);
        let failed = counts.filter(|(outcome, _)| outcome.is_failure());
        failed.map(|(_, count)| count).sum()
    }

    pub(super) fn classes(&self) -> ClassCounts {
        let counts = MismatchClass::ALL.iter().copied().zip(self.classes);
        counts.filter(|(_, count)| *count > 0).collect()
    }
}
