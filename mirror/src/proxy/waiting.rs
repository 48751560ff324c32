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

use crate::exchange::{Asker, Came, Left, Side};
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
    /// Where the client stands, if the request counts in a rollout.
    counts: Option<u64>,
    over: bool,
}

impl<'a> Waiting<'a> {
    /// Since then a client waits for the service that serves it by this asker.
    pub(super) fn since(
        since: Instant,
        asker: &'a Rc<Asker<Outbound>>,
        (subject, ticket): (&'a Subject, &'a ClientTicket),
        upload: Option<&'a Rc<Upload>>,
        counts: Option<u64>,
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
        // That the service waited for the client is not its fault.
        let by_client = self.upload.map(|upload| upload.waited());
        let waited = self
            .since
            .elapsed()
            .saturating_sub(by_client.unwrap_or_default());
        terms.left(side, waited, false);
        let Some(client) = self.counts else {
            return;
        };
        let judged = serving.given_up(&Left {
            route: self.ticket.route().get().label(),
            client,
            asked: self.since,
            waited,
            came: Came::Nothing,
            waits: false,
        });
        if side == Side::Legacy {
            return;
        }
        let fault = ServiceFault::TimedOut;
        if judged.is_longest && judged.is_unanswered {
            terms.candidate_did(Some(fault), waited);
        }
        if judged.is_longest
            && let Subject::Shadowed(ask) = self.subject
        {
            ask.pending().dropped_for(side.reason(fault, false));
        }
    }
}
