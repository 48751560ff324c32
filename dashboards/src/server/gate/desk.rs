//! Makes the decisions that are asked for by HTTP: few at a time, each once for all who ask the same, and each in time.
//!
//! Rollout controllers ask again and again, and many may ask at once, while the record is also written to. So equal questions
//! share a decision that is being made or began a moment ago, a few decisions are made at a time, and others wait for a place.
//! Nobody waits longer than [`WITHIN`]: a controller gives up after ten seconds, and would not learn why. A decision that is not
//! made by then is refused, and never guessed.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use parity_schemas::evidence::{Decision, Outcome};
use parity_schemas::known::KnownEntry;
use parity_sink::{StoreConfig, StoreError};
use tokio::sync::{Semaphore, watch};
use uuid::Uuid;

use super::super::answer::ErrorAnswer;
use super::super::question::Given;
use crate::question::Question;
use crate::view;

/// The longest time to an answer. Argo Rollouts and Flagger wait for ten seconds; with several machines the gate alone waits for
/// watermarks up to seven.
const WITHIN: Duration = Duration::from_secs(8);
/// The longest time for storing a decision, after it is made; what is left of the ten seconds.
const STORED_WITHIN: Duration = Duration::from_secs(1);
/// A decision that is made serves those who ask for the same while it began at most so long ago: mirrors write their watermarks
/// as often, so a later one would rarely know more. One that is still being made reads the store once more before it ends, so it
/// serves everybody who comes until then.
const SHARED_FOR: Duration = Duration::from_secs(1);
/// Decisions that are made at a time. Most of the time each only waits for the next watermark.
const PLACES: usize = 8;
/// Different questions that are remembered, for sharing decisions and for storing them not too often: more than the controllers
/// of one migration ask. Who asks a further one gets a decision of its own.
const MOST_QUESTIONS: usize = 64;
/// A decision with the same outcome as the last stored one is stored again after this time: decisions are kept for ever, and
/// a controller asks as often as every ten seconds.
const STORED_AGAIN: Duration = Duration::from_mins(1);

/// Where decisions are asked for.
pub(in crate::server) struct Desk {
    places: Arc<Semaphore>,
    made: Mutex<Vec<Made>>,
    kept: Mutex<Vec<Kept>>,
}

/// What a decision was, once it is made.
type Answer = Result<Arc<Decision>, ErrorAnswer>;

/// A decision that is being made, or was made a moment ago.
struct Made {
    given: Given,
    /// The register of known differences by which it is made: a reload may have replaced it.
    known: Arc<[KnownEntry]>,
    began: Instant,
    answer: watch::Receiver<Option<Answer>>,
}

/// The last decision on a subject that is stored, or is being stored.
struct Kept {
    subject: Subject,
    id: Uuid,
    outcome: Outcome,
    at: Instant,
    /// True once the write has succeeded. Its sender goes away with the write, so one that is gone without it has failed.
    stored: watch::Receiver<bool>,
}

/// What a stored decision is about. After a restart with another version, or with other rules or another register, the same
/// parameters ask for something else.
#[derive(PartialEq)]
struct Subject {
    given: Given,
    legacy_version: String,
    candidate_version: String,
    rules_hash: String,
    known: Arc<[KnownEntry]>,
}

impl Subject {
    fn of(given: &Given, known: &Arc<[KnownEntry]>, decision: &Decision) -> Self {
        let (legacy, candidate, rules) = decision.versions();
        Self {
            given: given.clone(),
            legacy_version: legacy.to_owned(),
            candidate_version: candidate.to_owned(),
            rules_hash: rules.to_owned(),
            known: Arc::clone(known),
        }
    }
}

/// Who stores a decision.
enum Claim {
    /// This one, who tells whether that succeeded.
    Ours(watch::Sender<bool>),
    /// Another one has stored that decision or is about to.
    Theirs(Uuid, watch::Receiver<bool>),
}

impl Desk {
    pub(in crate::server) fn new() -> Self {
        Self {
            places: Arc::new(Semaphore::new(PLACES)),
            made: Mutex::default(),
            kept: Mutex::default(),
        }
    }

    /// The decision on a question; `given` is how it was asked.
    pub(super) async fn decide(
        &self,
        store: &StoreConfig,
        given: &Given,
        question: &Question,
    ) -> Answer {
        let decided = self.decide_at_last(store, given, question);
        let late = |_| {
            Err(ErrorAnswer::unavailable(format!(
                "not decided within {} s: the store answers too slowly, or too much is asked at once; ask again",
                WITHIN.as_secs()
            )))
        };
        tokio::time::timeout(WITHIN, decided)
            .await
            .unwrap_or_else(late)
    }

    async fn decide_at_last(
        &self,
        store: &StoreConfig,
        given: &Given,
        question: &Question,
    ) -> Answer {
        loop {
            let (mut answer, first) = self.join(given, &question.known);
            let is_first = first.is_some();
            if let Some(told) = first {
                // Never closed; and if it were, there would be no decision.
                let Ok(place) = Arc::clone(&self.places).acquire_owned().await else {
                    return Err(ended());
                };
                let (store, question) = (store.clone(), question.clone());
                drop(tokio::task::spawn_blocking(move || {
                    told.send_replace(Some(decided(&store, &question)));
                    drop(place);
                }));
            }
            let made = answer.wait_for(Option::is_some).await;
            match made.ok().and_then(|made| made.clone()) {
                Some(answer) => return answer,
                None if is_first => return Err(ended()),
                // Who was first went away before it had a place.
                None => {}
            }
        }
    }

    /// A decision on the same question that began a moment ago; or else, this is the first who asks, who must make it.
    fn join(
        &self,
        given: &Given,
        known: &Arc<[KnownEntry]>,
    ) -> (
        watch::Receiver<Option<Answer>>,
        Option<watch::Sender<Option<Answer>>>,
    ) {
        let mut made = locked(&self.made);
        made.retain(|made| {
            if made.answer.borrow().is_some() {
                made.began.elapsed() < SHARED_FOR
            } else {
                // A sender that is gone without an answer will give none.
                made.answer.has_changed().is_ok()
            }
        });
        let same = |made: &&Made| made.given == *given && Arc::ptr_eq(&made.known, known);
        if let Some(same) = made.iter().find(same) {
            return (same.answer.clone(), None);
        }
        let (told, answer) = watch::channel(None);
        if made.len() < MOST_QUESTIONS {
            made.push(Made {
                given: given.clone(),
                known: Arc::clone(known),
                began: Instant::now(),
                answer: answer.clone(),
            });
        }
        (answer, Some(told))
    }

    /// Stores a decision, unless one with the same outcome was stored a moment ago; it then says whether it is stored. `written`
    /// hears of one that was, also when whoever asked no longer waits.
    pub(super) async fn keep(
        &self,
        store: &StoreConfig,
        given: &Given,
        known: &Arc<[KnownEntry]>,
        decision: &Decision,
        written: impl FnOnce(&Decision) + Send + 'static,
    ) -> Decision {
        let mut told = decision.clone();
        let subject = Subject::of(given, known, decision);
        let tell = match self.claim(subject, decision.outcome, decision.decision_id) {
            Claim::Ours(tell) => tell,
            Claim::Theirs(before, stored) => {
                after(&mut told, before, stored).await;
                return told;
            }
        };
        let (store, mut stored) = (store.clone(), told.clone());
        let storing = tokio::task::spawn_blocking(move || {
            view::keep(&mut stored, &store);
            // From here, so that those who wait learn it even if who asked first went away.
            let is_stored = stored.stored == Some(true);
            tell.send_replace(is_stored);
            if is_stored {
                written(&stored);
            }
            stored
        });
        match tokio::time::timeout(STORED_WITHIN, storing).await {
            Ok(Ok(kept)) => told = kept,
            Ok(Err(_)) => view::leave(&mut told, "storing it ended by a panic".to_owned()),
            Err(_) => view::leave(
                &mut told,
                format!("the store did not take it within {STORED_WITHIN:?}"),
            ),
        }
        told
    }

    /// Who stores a decision. If nobody else does, its write counts as pending from now on, so that nobody stores it twice.
    fn claim(&self, subject: Subject, outcome: Outcome, id: Uuid) -> Claim {
        let mut kept = locked(&self.kept);
        kept.retain(|kept| {
            // In this order: a write that ends in between has told before.
            let is_pending = kept.stored.has_changed().is_ok();
            kept.at.elapsed() < STORED_AGAIN && (is_pending || *kept.stored.borrow())
        });
        if let Some(before) = kept.iter().find(|kept| kept.subject == subject)
            && before.outcome == outcome
        {
            return Claim::Theirs(before.id, before.stored.clone());
        }
        kept.retain(|kept| kept.subject != subject);
        if kept.len() >= MOST_QUESTIONS {
            kept.remove(0);
        }
        let (tell, stored) = watch::channel(false);
        kept.push(Kept {
            subject,
            id,
            outcome,
            at: Instant::now(),
            stored,
        });
        Claim::Ours(tell)
    }
}

/// Writes into a decision what became of one with the same outcome, after waiting for its write.
async fn after(told: &mut Decision, before: Uuid, mut stored: watch::Receiver<bool>) {
    let written = tokio::time::timeout(STORED_WITHIN, stored.wait_for(|stored| *stored)).await;
    let is_stored = matches!(written, Ok(Ok(_)));
    if is_stored && before == told.decision_id {
        told.stored = Some(true);
        return;
    }
    let why = if is_stored {
        format!(
            "decision {before} has the same outcome and was stored less than {} s ago",
            STORED_AGAIN.as_secs()
        )
    } else {
        format!("another request began to store decision {before}, and the store did not take it")
    };
    view::leave(told, why);
}

/// Nothing here panics while it holds the lock, and what it guards is complete at every moment.
fn locked<T>(guarded: &Mutex<T>) -> MutexGuard<'_, T> {
    guarded.lock().unwrap_or_else(PoisonError::into_inner)
}

fn decided(store: &StoreConfig, question: &Question) -> Answer {
    let settled = || -> Result<Decision, StoreError> {
        view::settled(&view::reader(store)?, question, Duration::ZERO, |_| {})
    };
    Ok(Arc::new(settled()?))
}

fn ended() -> ErrorAnswer {
    ErrorAnswer::broken("deciding ended by a panic; the log has it".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subject() -> Subject {
        Subject {
            given: vec![("max_mismatch_rate".to_owned(), "0.5".to_owned())],
            legacy_version: "1".to_owned(),
            candidate_version: "1".to_owned(),
            rules_hash: "a".to_owned(),
            known: Arc::default(),
        }
    }

    fn claim(desk: &Desk, subject: Subject, id: u128) -> Claim {
        desk.claim(subject, Outcome::Pass, Uuid::from_u128(id))
    }

    #[test]
    fn a_decision_on_other_versions_rules_or_known_differences_is_stored_too() {
        let other = |change: fn(&mut Subject)| {
            let mut other = subject();
            change(&mut other);
            other
        };
        for other in [
            other(|other| other.legacy_version = "2".to_owned()),
            other(|other| other.candidate_version = "2".to_owned()),
            other(|other| other.rules_hash = "b".to_owned()),
            other(|other| other.known = Arc::from([KnownEntry::default()])),
        ] {
            let desk = Desk::new();
            let Claim::Ours(tell) = claim(&desk, subject(), 1) else {
                panic!("nothing is stored yet");
            };
            tell.send_replace(true);
            drop(tell);
            assert!(
                matches!(claim(&desk, subject(), 2), Claim::Theirs(id, _) if id == Uuid::from_u128(1))
            );
            assert!(matches!(claim(&desk, other, 3), Claim::Ours(_)));
        }
    }

    #[test]
    fn a_decision_is_stored_once_its_write_has_succeeded() {
        let desk = Desk::new();
        let Claim::Ours(tell) = claim(&desk, subject(), 1) else {
            panic!("nothing is stored yet");
        };
        let Claim::Theirs(_, stored) = claim(&desk, subject(), 1) else {
            panic!("it is being stored");
        };
        assert!(!*stored.borrow(), "its write is pending");
        // It fails: who waits is told so, and the next one stores it.
        drop(tell);
        assert!(stored.has_changed().is_err() && !*stored.borrow());
        let Claim::Ours(tell) = claim(&desk, subject(), 2) else {
            panic!("its write has failed");
        };
        tell.send_replace(true);
        drop(tell);
        let Claim::Theirs(id, stored) = claim(&desk, subject(), 3) else {
            panic!("it is stored");
        };
        assert!(id == Uuid::from_u128(2) && *stored.borrow());
    }
}
