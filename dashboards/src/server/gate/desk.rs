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

/// The last stored decision on a question.
struct Kept {
    given: Given,
    id: Uuid,
    outcome: Outcome,
    at: Instant,
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

    /// Stores a decision, unless one with the same outcome was stored a moment ago; it then says whether it is stored.
    pub(super) async fn keep(
        &self,
        store: &StoreConfig,
        given: &Given,
        decision: &Decision,
    ) -> Decision {
        let mut told = decision.clone();
        if let Some(before) = self.claim(given, decision) {
            if before == decision.decision_id {
                told.stored = Some(true);
            } else {
                let why = format!(
                    "decision {before} has the same outcome and was stored less than {} s ago",
                    STORED_AGAIN.as_secs()
                );
                view::leave(&mut told, why);
            }
            return told;
        }
        let (store, mut stored) = (store.clone(), told.clone());
        let storing = tokio::task::spawn_blocking(move || {
            view::keep(&mut stored, &store);
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
        if told.stored != Some(true) {
            locked(&self.kept).retain(|kept| kept.id != decision.decision_id);
        }
        told
    }

    /// Which stored decision will do. If none does, this one counts as stored from now on, so that nobody stores it twice.
    fn claim(&self, given: &Given, decision: &Decision) -> Option<Uuid> {
        let mut kept = locked(&self.kept);
        kept.retain(|kept| kept.at.elapsed() < STORED_AGAIN);
        if let Some(before) = kept.iter().find(|kept| kept.given == *given)
            && before.outcome == decision.outcome
        {
            return Some(before.id);
        }
        kept.retain(|kept| kept.given != *given);
        if kept.len() >= MOST_QUESTIONS {
            kept.remove(0);
        }
        kept.push(Kept {
            given: given.clone(),
            id: decision.decision_id,
            outcome: decision.outcome,
            at: Instant::now(),
        });
        None
    }
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
