//! What a process looks at a few times a second of the services that serve its clients: when these got server errors, and when the legacy
//! was slow.
//!
//! It is of the process alone, which writes the latest into its watermark; no request pays for it.

use std::sync::PoisonError;

use parity_schemas::clients::ClientOutcome;
use parity_schemas::lately::{ClientErrors, SlowAnswers, Took, WaitedFor};
use parity_schemas::time::Timestamp;

use super::TallyBook;
use super::erring::{Answers, Pace, Surely};

const SERVICES: usize = WaitedFor::ALL.len();

/// See the module.
#[derive(Default)]
pub(super) struct Served {
    erring: [Surely<Answers>; SERVICES],
    /// What clients got since the last look, by the service that served them; `None` if nothing.
    answers: Option<[Answers; SERVICES]>,
    pace: Pace,
}

impl TallyBook {
    /// Looks at what was added since the last look.
    pub(super) fn look_at_served(&self, served: &mut Served, now: Timestamp) {
        let routes = self.routes.read().unwrap_or_else(PoisonError::into_inner);
        served.look(routes.versions(), now);
    }
}

impl Served {
    /// Adds requests that ended so for their clients.
    pub(super) fn add(&mut self, outcome: ClientOutcome, count: u64, now: Timestamp) {
        if let Some(service) = Answers::service(outcome) {
            let answers = self
                .answers
                .get_or_insert_with(|| WaitedFor::ALL.map(Answers::of));
            answers[service.index()].add(outcome, count, now);
        }
    }

    /// Adds answers of the legacy that took so long.
    pub(super) fn legacy_took(&mut self, bucket: u16, count: u64) {
        self.pace.add(bucket, count);
    }

    fn look(&mut self, versions: [&str; SERVICES], now: Timestamp) {
        if let Some(answers) = self.answers.take() {
            let each = self.erring.iter_mut().zip(&answers).zip(versions);
            for ((erring, look), version) in each {
                erring.look(look, version, now);
            }
        }
        for erring in &mut self.erring {
            erring.rest(now);
        }
        let [legacy, _] = versions;
        self.pace.look(legacy, now);
    }

    /// When clients got errors: by service, the earliest first.
    pub(super) fn errors(&self) -> Vec<ClientErrors> {
        self.erring.iter().flat_map(Surely::told).collect()
    }

    /// When the legacy was slow.
    pub(super) fn slow(&self) -> Vec<SlowAnswers> {
        self.pace.told()
    }

    /// How long the legacy took in the last seconds.
    pub(super) fn took(&self, now: Timestamp) -> Option<Took> {
        self.pace.took(now)
    }
}
