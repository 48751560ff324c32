//! A client that waits for the head of an answer, and what it means if it leaves.
//!
//! Who leaves has no answer, so nothing else would tell what it waited for: a service that hangs would be as good as the few answers that it
//! gives. In a rollout it also counts as an error. It borrows all that it needs, so that a request which is answered costs nothing more;
//! behind the head the [`Relay`] does the same.
//!
//! [`Relay`]: crate::proxy::relay::Relay

use std::rc::Rc;
use std::time::Instant;

use parity_schemas::verdict::Reason;

use crate::exchange::{Asker, Side};
use crate::proxy::outbound::Outbound;
use crate::proxy::serving::Subject;
use crate::proxy::ticket::ClientTicket;
use crate::proxy::upload::{Upload, UploadState};
use crate::upstream::ServiceFault;

/// Dropped before [`Self::ended`], it means that the client has left.
pub(super) struct Waiting<'a> {
    asker: &'a Rc<Asker<Outbound>>,
    subject: &'a Subject,
    ticket: &'a ClientTicket,
    upload: Option<&'a Rc<Upload>>,
    since: Instant,
    /// Whether the request counts in a rollout.
    counts: bool,
    over: bool,
}

impl<'a> Waiting<'a> {
    /// Since then a client waits for the service that serves it by this asker.
    pub(super) fn since(
        since: Instant,
        asker: &'a Rc<Asker<Outbound>>,
        (subject, ticket): (&'a Subject, &'a ClientTicket),
        upload: Option<&'a Rc<Upload>>,
        counts: bool,
    ) -> Self {
        Self {
            asker,
            subject,
            ticket,
            upload,
            since,
            counts,
            over: false,
        }
    }

    /// There is an answer, or it is known why there is none.
    pub(super) fn ended(mut self) {
        self.over = true;
    }

    /// Whether the service waits for the rest of what the client sends.
    fn is_for_client(&self) -> bool {
        self.upload.is_some_and(|upload| {
            let is_running = upload.state() == UploadState::Running;
            is_running && (upload.waits_for_client() || upload.is_held())
        })
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let terms = self.asker.terms();
        if self.over || terms.drop_reason() != Reason::ClientAborted || self.is_for_client() {
            return;
        }
        let serving = self.asker.serving();
        let side = serving.side();
        let waited = self.since.elapsed();
        terms.left(side, waited, false);
        if !self.counts {
            return;
        }
        let is_longest = serving.given_up(side, self.ticket.route(), waited, false);
        if is_longest && side == Side::Candidate {
            let fault = ServiceFault::TimedOut;
            terms.candidate_did(Some(fault), waited);
            if let Subject::Shadowed(ask) = self.subject {
                ask.pending().dropped_for(side.reason(fault, false));
            }
        }
    }
}
