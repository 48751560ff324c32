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
use crate::exchange::{Ask, Completion, Side, is_safe};
use crate::proxy::answer::Answer;
use crate::proxy::client::Client;
use crate::proxy::generation::{Generation, Rolling};
use crate::proxy::outbound::Outbound;
use crate::proxy::serving::{self, Failed, NoAnswer, Subject};
use crate::proxy::upload::{ClientGone, Upload, UploadState};
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
    let Failed { why, unsent } = match ask(client, rolling, &open, &mut shadow, started).await {
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
    let is_safe = open.subject.with_head(|head| is_safe(&head.method));
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

/// Ends when the head of an answer is late. As long as the client sends, nobody else is late.
async fn late(timeout: Duration, upload: Option<&Rc<Upload>>) {
    loop {
        tokio::time::sleep(timeout).await;
        if upload.is_none_or(|upload| upload.state() != UploadState::Running) {
            return;
        }
    }
}
