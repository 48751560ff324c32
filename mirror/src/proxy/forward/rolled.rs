//! A request that the candidate serves, because a rollout says so.
//!
//! The client waits for the candidate until the head of its answer, at most for a time that the rollout sets. If there is no
//! head, nothing has reached the client, and the legacy answers in the candidate's place where that does no harm: a request
//! that has no effect by its method and no body, or one of which the candidate got nothing. Any other request is sent once,
//! and the client is told that there is no answer. Behind a head nothing can be repaired.
//!
//! The legacy gets a request without a body when the candidate's answer begins, and then as its shadow, or when there is none,
//! and then for the client. So it never gets a request twice.

use std::pin::pin;
use std::rc::Rc;
use std::time::{Duration, Instant};

use http::Response;

use super::{OpenRequest, by_legacy, passed, without_answer};
use crate::exchange::{Ask, Completion, RequestHead, Side};
use crate::proxy::answer::Answer;
use crate::proxy::client::Client;
use crate::proxy::generation::{Generation, Rolling};
use crate::proxy::outbound::Outbound;
use crate::proxy::serving::{self, Failed, NoAnswer, Subject};
use crate::proxy::upload::{ClientGone, Upload, UploadState};
use crate::proxy::waiting::Waiting;
use crate::upstream::{Sent, ServiceFault};

/// The candidate's answer, or the legacy's in its place, or our own.
pub(super) async fn serve(
    client: &Client,
    generation: &Generation,
    rolling: &Rolling,
    mut open: OpenRequest,
    mut shadow: Option<Ask>,
    started: Instant,
) -> Result<Response<Answer>, ClientGone> {
    let asker = rolling.asker();
    let upload = open.upload.as_ref();
    // What the request waited for before that was ours.
    let waiting = Waiting::since(
        Instant::now(),
        asker,
        (&open.subject, &open.client_ticket),
        upload,
        open.rolled.map(|rolled| rolled.client),
    );
    let asked = ask(client, rolling, &open, &mut shadow, started).await;
    waiting.ended();
    let Failed { why, unsent } = match asked {
        Ok((sent, completion)) => {
            rolling.candidate_did(None);
            if let Some(legacy) = shadow {
                asker.start(legacy);
            }
            return Ok(passed::answer(client, asker, open, sent, completion));
        }
        Err(failed) => failed,
    };
    let NoAnswer::Fault(_, fault) = why else {
        return without_answer(client, open, &why).await;
    };
    rolling.candidate_did(Some(fault));
    let is_safe = open.subject.with_head(RequestHead::is_safe);
    let may_repeat = unsent.is_some() || (is_safe && open.upload.is_none());
    let legacy = shadow.or(unsent.and_then(|unsent| unsent.shadow));
    open.subject = match (open.subject, legacy) {
        (Subject::Shadowed(candidate), Some(legacy)) if may_repeat => {
            candidate.fail(why.reason());
            Subject::Shadowed(legacy)
        }
        (alone @ Subject::Alone(_), _) if may_repeat => alone,
        (subject, legacy) => {
            open.subject = subject;
            // The candidate may have done what it was asked for, and the client is told otherwise: doing it once more, where
            // nobody waits for it, would not make that better.
            if let Some(legacy) = legacy {
                legacy.abandon();
            }
            return without_answer(client, open, &why).await;
        }
    };
    rolling.repaired();
    open.stands_in = true;
    open.rolled = None;
    by_legacy(client, generation.asker(), open, &mut None, Instant::now()).await
}

/// Asks the candidate, until the head of its answer is late.
async fn ask(
    client: &Client,
    rolling: &Rolling,
    open: &OpenRequest,
    shadow: &mut Option<Ask>,
    started: Instant,
) -> Result<(Sent<Outbound>, Option<Completion>), Failed> {
    let (worker, upload) = (client.worker(), open.upload.as_ref());
    let body = (upload, open.tape.as_ref());
    let sending = pin!(serving::send(
        worker,
        rolling.asker(),
        &open.subject,
        body,
        shadow,
        started
    ));
    let late = pin!(late(rolling.head_timeout(), upload));
    tokio::select! {
        biased;
        sent = sending => sent,
        () = late => Err(NoAnswer::Fault(Side::Candidate, ServiceFault::TimedOut).into()),
    }
}

/// Into so many parts the time for a head is cut while a body is sent: by so much it may be longer.
const PARTS: u32 = 8;

/// How far a client's body is.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Progress {
    state: UploadState,
    bytes: u64,
}

/// Ends when the head of an answer is late: after this time in which only the candidate could do something. That the client has nothing more to
/// send yet, or has not been asked to send, is no fault of the candidate; that it does not read what the client sends is.
async fn late(timeout: Duration, upload: Option<&Rc<Upload>>) {
    let Some(upload) = upload else {
        return tokio::time::sleep(timeout).await;
    };
    let look = || {
        let progress = Progress {
            state: upload.state(),
            bytes: upload.bytes(),
        };
        let is_running = progress.state == UploadState::Running;
        let by_client = is_running && (upload.waits_for_client() || upload.is_held());
        (progress, by_client)
    };
    let pause = timeout / PARTS;
    let mut patience = Patience::at(look().0);
    loop {
        tokio::time::sleep(pause).await;
        let (now, by_client) = look();
        if patience.is_over(now, by_client) {
            return;
        }
    }
}

/// What is left of the time for a head.
struct Patience {
    before: Progress,
    parts: u32,
}

impl Patience {
    fn at(before: Progress) -> Self {
        Self {
            before,
            parts: PARTS,
        }
    }

    /// One part more has passed. `now` is how far the body is, and `by_client` whether the client is waited for.
    fn is_over(&mut self, now: Progress, by_client: bool) -> bool {
        if now == self.before && !by_client {
            self.parts = self.parts.saturating_sub(1);
        } else {
            self.parts = PARTS;
        }
        self.before = now;
        self.parts == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After how many looks it is late, if `seen` says what each of them sees; `None` if it is not within a hundred.
    fn looks(seen: impl Fn(u32) -> (UploadState, u64, bool)) -> Option<u32> {
        let look = |at| {
            let (state, bytes, by_client) = seen(at);
            (Progress { state, bytes }, by_client)
        };
        let mut patience = Patience::at(look(0).0);
        (1..=100).find(|at| {
            let (now, by_client) = look(*at);
            patience.is_over(now, by_client)
        })
    }

    #[test]
    fn a_candidate_that_reads_nothing_is_late_and_one_whose_client_sends_slowly_is_not() {
        use UploadState::{Complete, Running};
        assert_eq!(looks(|_| (Complete, 9, false)), Some(PARTS));
        assert_eq!(looks(|_| (Running, 9, false)), Some(PARTS), "it would hang");
        assert_eq!(looks(|_| (Running, 9, true)), None);
        assert_eq!(looks(|at| (Running, u64::from(at), false)), None);
        // The time counts from the end of the body, not from a moment before it.
        let ends_late = looks(|at| {
            let state = if at < 7 { Running } else { Complete };
            (state, u64::from(at.min(7)), at < 7)
        });
        assert_eq!(ends_late, Some(7 + PARTS));
    }
}
