//! Asks the gate about the evidence of what runs now, and keeps in the record what it decided where that decided over clients.

use std::sync::{Arc, Mutex, PoisonError};

use parity_dashboards::question::Question;
use parity_dashboards::view::{self, AfterLoss};
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
    /// What was lost with a process that was killed, if that is why only what came after it was decided on; in words.
    pub(super) lost: Option<String>,
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
}

impl Judgement {
    /// As people and programs see it.
    pub(super) fn document(&self, at: Timestamp) -> RolloutGate {
        RolloutGate {
            outcome: self.judged.outcome(),
            at,
            reason: match &self.judged {
                Judged::Pass => None,
                Judged::Fail(why) | Judged::Undecided(why) => Some(why.clone()),
            },
            lost: self.lost.clone(),
        }
    }
}

impl Deciding {
    pub(super) fn new(settings: &MirrorSettings, max_mismatch_rate: f64) -> Self {
        Self {
            // It is asked again and again of nearly the same record; after a process was killed of all of it and of a part, each time.
            store: settings.store.clone().remembering(),
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
        let Told {
            judged,
            decision,
            lost,
        } = self.judged(&identity, known, since);
        Judgement {
            judged,
            of: identity,
            decision: decision.map(Box::new),
            lost,
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
    ) -> Told {
        if matches!(self.store.url, StoreUrl::Kafka(_)) {
            return Told::undecided(
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
        let decided = || -> anyhow::Result<_> {
            let reader = view::reader(&self.store)?;
            Ok(view::settled_after_loss(&reader, &question)?)
        };
        match decided() {
            Ok((whole, after)) => {
                let whole = Told::of(whole, identity);
                match after.filter(|_| whole.decision.is_some()) {
                    Some(after) => Told::after_loss(whole, after, identity),
                    None => whole,
                }
            }
            Err(error) => {
                Told::undecided(format!("the gate cannot be asked: {}", error::line(&error)))
            }
        }
    }
}

/// What the gate says of what runs.
struct Told {
    judged: Judged,
    /// `None` where it rests on nothing of that.
    decision: Option<Decision>,
    lost: Option<String>,
}

impl Told {
    const fn undecided(why: String) -> Self {
        Self {
            judged: Judged::Undecided(why),
            decision: None,
            lost: None,
        }
    }

    /// By one decision.
    fn of(decision: Decision, identity: &Identity) -> Self {
        let reasons = decision.reasons.iter().take(MOST_REASONS);
        let why = reasons.map(String::as_str).collect::<Vec<_>>().join("; ");
        let running = (
            identity.legacy_version.as_str(),
            identity.candidate_version.as_str(),
            identity.rules_hash.as_str(),
        );
        if decision.evidence.is_some() && decision.versions() != running {
            return Self::undecided(
                "the gate is undecided: nothing is recorded yet of these versions under these rules"
                    .to_owned(),
            );
        }
        let judged = match decision.outcome {
            Outcome::Pass => Judged::Pass,
            Outcome::Fail => Judged::Fail(why),
            Outcome::Undecided => Judged::Undecided(format!("the gate is undecided: {why}")),
        };
        Self {
            judged,
            decision: Some(decision).filter(|decision| decision.evidence.is_some()),
            lost: None,
        }
    }

    /// By what came after a loss, where the whole record passes but for that. While that proves nothing, the record is told with the reason
    /// of the `whole`, which names the loss.
    fn after_loss(whole: Self, after: AfterLoss, identity: &Identity) -> Self {
        let AfterLoss {
            decision,
            lost,
            not_compared,
        } = after;
        let later = Self::of(decision, identity);
        let undecided = |why: String| Self {
            judged: Judged::Undecided(why),
            decision: whole.decision,
            lost: Some(lost.clone()),
        };
        match later.judged {
            Judged::Undecided(why) => undecided(format!("{why}; it decides {lost}")),
            Judged::Pass if !not_compared.is_empty() => {
                let more = not_compared.len().saturating_sub(MOST_REASONS);
                let named: Vec<&str> = not_compared
                    .iter()
                    .map(String::as_str)
                    .take(MOST_REASONS)
                    .collect();
                let more = match more {
                    0 => String::new(),
                    more => format!(" and {more} more"),
                };
                undecided(format!(
                    "the gate is undecided: nothing of {}{more} was compared yet; it decides {lost}",
                    named.join(", ")
                ))
            }
            judged => Self {
                judged,
                decision: later.decision,
                lost: Some(lost),
            },
        }
    }
}
