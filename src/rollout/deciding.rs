//! Asks the gate about the evidence of what runs now, and keeps in the record what it decided where that decided over clients.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use parity_dashboards::question::Question;
use parity_dashboards::view;
use parity_schemas::evidence::{Decision, Outcome, Thresholds};
use parity_schemas::known::KnownEntry;
use parity_schemas::rollout::RolloutGate;
use parity_schemas::tally::Identity;
use parity_schemas::time::Timestamp;
use parity_sink::{Selection, StoreConfig, StoreUrl};
use uuid::Uuid;

use crate::config::MirrorSettings;
use crate::error;

/// Reasons of a decision that are told.
const MOST_REASONS: usize = 3;

/// What asking takes.
pub(super) struct Deciding {
    store: StoreConfig,
    max_mismatch_rate: f64,
    /// What runs now.
    running: Mutex<(Identity, Arc<[KnownEntry]>)>,
}

/// What was asked, and decided.
pub(super) struct Judgement {
    pub(super) judged: Judged,
    /// What it is about.
    pub(super) of: Identity,
    /// The whole decision; `None` where there is none, or it is about something else than what runs.
    pub(super) decision: Option<Box<Decision>>,
}

/// What the gate says.
#[derive(Clone, PartialEq)]
pub(super) enum Judged {
    Pass,
    /// Why.
    Fail(String),
    /// Why it does not know.
    Undecided(String),
}

impl Judged {
    /// In one word.
    pub(super) const fn outcome(&self) -> Outcome {
        match self {
            Self::Pass => Outcome::Pass,
            Self::Fail(_) => Outcome::Fail,
            Self::Undecided(_) => Outcome::Undecided,
        }
    }

    /// As people and programs see it.
    pub(super) fn document(&self, at: Timestamp) -> RolloutGate {
        RolloutGate {
            outcome: self.outcome(),
            at,
            reason: match self {
                Self::Pass => None,
                Self::Fail(why) | Self::Undecided(why) => Some(why.clone()),
            },
        }
    }
}

impl Deciding {
    pub(super) fn new(settings: &MirrorSettings, max_mismatch_rate: f64) -> Self {
        Self {
            store: settings.store.clone(),
            max_mismatch_rate,
            running: Mutex::new((settings.identity.clone(), Arc::clone(&settings.known))),
        }
    }

    /// Something else runs from now on.
    pub(super) fn reload(&self, settings: &MirrorSettings) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        *running = (settings.identity.clone(), Arc::clone(&settings.known));
    }

    /// The decision on what was received since a time, or on all. It takes as long as the gate waits for watermarks.
    pub(super) fn judge(&self, since: Option<Timestamp>) -> Judgement {
        let (identity, known) = {
            let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
            running.clone()
        };
        let (judged, decision) = self.judged(&identity, known, since);
        Judgement {
            judged,
            of: identity,
            decision,
        }
    }

    /// Puts a decision into the record, as every other gate does, and says which it is there. It takes as long as the store does, so
    /// nothing that clients need is held meanwhile. What was decided holds without it.
    pub(super) fn keep(&self, decision: Option<Box<Decision>>) -> Option<Uuid> {
        let mut decision = decision?;
        view::keep(&mut decision, &self.store);
        match &decision.not_stored {
            None => Some(decision.decision_id),
            Some(why) => {
                tracing::warn!(
                    why,
                    "the decision of the gate by which the rollout goes is not in the record"
                );
                None
            }
        }
    }

    fn judged(
        &self,
        identity: &Identity,
        known: Arc<[KnownEntry]>,
        since: Option<Timestamp>,
    ) -> (Judged, Option<Box<Decision>>) {
        if matches!(self.store.url, StoreUrl::Kafka(_)) {
            let judged = Judged::Undecided(
                "the gate cannot be asked: the store of this mirror (kafka://) can only be written to, so nothing proves that the \
                 candidate may serve more; use a store that can be read, or let a rollout controller steer who reaches the candidate"
                    .to_owned(),
            );
            return (judged, None);
        }
        let question = Question {
            selection: Selection {
                migration: Some(identity.migration.clone()),
                legacy_version: Some(identity.legacy_version.clone()),
                candidate_version: Some(identity.candidate_version.clone()),
                since,
                ..Selection::default()
            },
            thresholds: Thresholds {
                max_mismatch_rate: self.max_mismatch_rate,
                ..Thresholds::default()
            },
            known,
            ..Question::default()
        };
        let decided = || -> anyhow::Result<Decision> {
            let reader = view::reader(&self.store)?;
            Ok(view::settled(&reader, &question, Duration::ZERO, |_| {})?)
        };
        match decided() {
            Ok(decision) => {
                let (judged, is_of_it) = of(&decision, identity);
                (judged, is_of_it.then(|| Box::new(decision)))
            }
            Err(error) => {
                let why = format!("the gate cannot be asked: {}", error::line(&error));
                (Judged::Undecided(why), None)
            }
        }
    }
}

/// What a decision says of what runs, and whether it rests on anything of that.
fn of(decision: &Decision, identity: &Identity) -> (Judged, bool) {
    let reasons = decision.reasons.iter().take(MOST_REASONS);
    let why = reasons.map(String::as_str).collect::<Vec<_>>().join("; ");
    let running = (
        identity.legacy_version.as_str(),
        identity.candidate_version.as_str(),
        identity.rules_hash.as_str(),
    );
    if decision.evidence.is_some() && decision.versions() != running {
        let judged = Judged::Undecided(
            "the gate is undecided: nothing is recorded yet of these versions under these rules"
                .to_owned(),
        );
        return (judged, false);
    }
    let judged = match decision.outcome {
        Outcome::Pass => Judged::Pass,
        Outcome::Fail => Judged::Fail(why),
        Outcome::Undecided => Judged::Undecided(format!("the gate is undecided: {why}")),
    };
    (judged, decision.evidence.is_some())
}
