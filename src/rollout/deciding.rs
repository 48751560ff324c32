//! Asks the gate about the evidence of what runs now.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use parity_dashboards::question::Question;
use parity_dashboards::view;
use parity_schemas::evidence::{Decision, Outcome, Thresholds};
use parity_schemas::known::KnownEntry;
use parity_schemas::tally::Identity;
use parity_schemas::time::Timestamp;
use parity_sink::{Selection, StoreConfig, StoreUrl};

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

/// What the gate says.
pub(super) enum Judged {
    Pass,
    /// Why.
    Fail(String),
    /// Why it does not know.
    Undecided(String),
}

impl Judged {
    /// In words.
    pub(super) fn told(&self, at: Timestamp) -> String {
        match self {
            Self::Pass => format!("pass at {at}"),
            Self::Fail(why) => format!("fail at {at}: {why}"),
            Self::Undecided(why) => format!("undecided at {at}: {why}"),
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

    /// The decision on what was received since a time, or on all, and what it is about. It takes as long as the gate waits for watermarks.
    pub(super) fn judge(&self, since: Option<Timestamp>) -> (Judged, Identity) {
        let (identity, known) = {
            let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
            running.clone()
        };
        (self.judged(&identity, known, since), identity)
    }

    fn judged(
        &self,
        identity: &Identity,
        known: Arc<[KnownEntry]>,
        since: Option<Timestamp>,
    ) -> Judged {
        if matches!(self.store.url, StoreUrl::Kafka(_)) {
            return Judged::Undecided(
                "the gate cannot be asked: the store of this mirror (kafka://) can only be written to, so nothing proves that the \
                 candidate may serve more; use a store that can be read, or let a rollout controller steer who reaches the candidate"
                    .to_owned(),
            );
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
            Ok(decision) => of(&decision, identity),
            Err(error) => {
                Judged::Undecided(format!("the gate cannot be asked: {}", error::line(&error)))
            }
        }
    }
}

fn of(decision: &Decision, identity: &Identity) -> Judged {
    let reasons = decision.reasons.iter().take(MOST_REASONS);
    let why = reasons.map(String::as_str).collect::<Vec<_>>().join("; ");
    let running = (
        identity.legacy_version.as_str(),
        identity.candidate_version.as_str(),
        identity.rules_hash.as_str(),
    );
    if decision.evidence.is_some() && decision.versions() != running {
        return Judged::Undecided(
            "the gate is undecided: nothing is recorded yet of these versions under these rules"
                .to_owned(),
        );
    }
    match decision.outcome {
        Outcome::Pass => Judged::Pass,
        Outcome::Fail => Judged::Fail(why),
        Outcome::Undecided => Judged::Undecided(format!("the gate is undecided: {why}")),
    }
}
