//! What clients got, in words.

use parity_schemas::clients::{ClientOutcome, Clients};

use crate::view::Tone;
use crate::view::words::grouped;

/// What clients got. It comes before everything else, because nothing is worse than users without an answer.
pub(crate) struct ClientsView {
    /// How many requests.
    pub(crate) received: u64,
    /// What became of them.
    pub(crate) counts: Clients,
    /// Whether a process may still say what became of the others.
    pub(crate) goes_on: bool,
    /// Whether a process was killed, and perhaps knew of some of them.
    pub(crate) is_lost: bool,
}

impl ClientsView {
    /// How good that is.
    pub(crate) fn tone(&self) -> Tone {
        let failed = self.counts.keys().any(|outcome| outcome.is_failure());
        let answered = self.counts.keys().all(|outcome| outcome.is_answered());
        // Who still waits has lost nothing yet.
        match (
            failed,
            answered && (self.goes_on && !self.is_lost || self.without_outcome() == 0),
        ) {
            (true, _) => Tone::Bad,
            (false, true) => Tone::Good,
            (false, false) => Tone::Open,
        }
    }

    /// Why some clients have no outcome.
    pub(crate) const fn open(&self) -> &'static str {
        match (self.goes_on, self.is_lost) {
            (true, false) => "under way",
            (true, true) => "under way, or lost with a process that was killed",
            (false, _) => "not known",
        }
    }

    /// What became of those that have an outcome, in one sentence.
    pub(crate) fn told(&self) -> String {
        parity_schemas::clients::told(&self.counts, grouped)
    }

    /// Requests that have no outcome.
    pub(crate) fn without_outcome(&self) -> u64 {
        self.received.saturating_sub(self.counts.values().sum())
    }

    /// Those that the service that served them answered whole, by the class of the answer.
    pub(crate) fn answered(&self) -> Vec<(ClientOutcome, u64)> {
        self.of(ClientOutcome::is_answered)
    }

    /// All others, by outcome.
    pub(crate) fn not_answered(&self) -> Vec<(ClientOutcome, u64)> {
        self.of(|outcome| !outcome.is_answered())
    }

    fn of(&self, wanted: impl Fn(ClientOutcome) -> bool) -> Vec<(ClientOutcome, u64)> {
        let counts = self.counts.iter();
        counts
            .map(|(outcome, count)| (*outcome, *count))
            .filter(|(outcome, _)| wanted(*outcome))
            .collect()
    }
}
