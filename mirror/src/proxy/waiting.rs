//! A client of a rollout that waits for the head of an answer, and what it means if it leaves.
//!
//! Who leaves has no answer, so nothing else would count it: neither as an error nor as slow. A candidate that hangs would then be as good
//! as the few answers that it gives. It is looked at only where there is a rollout; behind the head the [`Relay`] does the same.
//!
//! [`Relay`]: crate::proxy::relay::Relay

use std::rc::Rc;
use std::time::Instant;

use parity_schemas::verdict::Reason;

use crate::exchange::{Asker, Pending, Side};
use crate::proxy::outbound::Outbound;
use crate::proxy::serving::Subject;
use crate::proxy::upload::{Upload, UploadState};
use crate::upstream::ServiceFault;

/// Dropped before [`Self::ended`], it means that the client has left.
pub(super) struct Waiting {
    asker: Rc<Asker<Outbound>>,
    pending: Option<Rc<Pending>>,
    upload: Option<Rc<Upload>>,
    since: Instant,
    over: bool,
}

impl Waiting {
    /// Since then a client waits for the service that serves it by this asker.
    pub(super) fn since(
        since: Instant,
        asker: &Rc<Asker<Outbound>>,
        subject: &Subject,
        upload: Option<&Rc<Upload>>,
    ) -> Self {
        Self {
            asker: Rc::clone(asker),
            pending: match subject {
                Subject::Alone(_) => None,
                Subject::Shadowed(ask) => Some(Rc::clone(ask.pending())),
            },
            upload: upload.map(Rc::clone),
            since,
            over: false,
        }
    }

    /// There is an answer, or it is known why there is none.
    pub(super) fn ended(mut self) {
        self.over = true;
    }

    /// Whether the service waits for the rest of what the client sends.
    fn is_for_client(&self) -> bool {
        let upload = self.upload.as_ref();
        upload.is_some_and(|upload| {
            let is_running = upload.state() == UploadState::Running;
            is_running && (upload.waits_for_client() || upload.is_held())
        })
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let terms = self.asker.terms();
        if self.over || terms.drop_reason() != Reason::ClientAborted || self.is_for_client() {
            return;
        }
        let side = self.asker.serving().side();
        let waited = self.since.elapsed();
        if self.asker.serving().given_up(side, waited, false) && side == Side::Candidate {
            let fault = ServiceFault::TimedOut;
            terms.candidate_did(Some(fault));
            if let Some(pending) = &self.pending {
                pending.dropped_for(side.reason(fault, false));
            }
        }
    }
}
