//! Who changed what: a line for each change by this port, and for each that was tried and did not succeed. Whoever may
//! not change anything is refused before it is tried: that has no line, because nobody could bound their number.
//!
//! The line is written when the change is made, and no change waits for it or fails with it: stopping shadowing must always
//! be possible. It is in the log in any case. Where it cannot come to the record, the log says that, too.

use std::sync::Arc;

use parity_schemas::audit::{Audit, AuditAction, AuditOutcome, AuditSource, MAX_DETAIL};
use parity_schemas::id::new_id;
use parity_schemas::time::Timestamp;
use parity_schemas::visible::visible_up_to;

use super::access::Role;
pub use super::site::Auditor;
use super::site::Site;
use super::visit::Visitor;

/// A line of a change that is made now; what came of it is filled in.
pub fn line(action: AuditAction, source: AuditSource) -> Audit {
    Audit {
        id: new_id(),
        time: Timestamp::now(),
        action,
        source,
        ..Audit::default()
    }
}

/// Keeps a line, and writes it to the log.
pub fn keep(auditor: &dyn Auditor, mut change: Audit) {
    change.detail = visible_up_to(&change.detail, MAX_DETAIL);
    let kept = auditor.keep(&mut change);
    let Audit {
        action,
        outcome,
        source,
        token,
        user,
        address,
        subject,
        detail,
        ..
    } = &change;
    match kept {
        Ok(()) => tracing::info!(
            %action, %outcome, %source, token, user, address, subject, detail, "change"
        ),
        Err(why) => tracing::warn!(
            %action, %outcome, %source, token, user, address, subject, detail, why,
            "change; this line is not in the record"
        ),
    }
}

/// A change that somebody asks for.
pub(super) struct Asked {
    auditor: Arc<dyn Auditor>,
    line: Audit,
}

impl Asked {
    /// By this visitor, of this.
    pub(super) fn by(visitor: &Visitor, site: &Site, action: AuditAction, subject: &str) -> Self {
        let token = match visitor.role {
            Role::Change if site.access.demands_token() => "change",
            Role::Change | Role::Look => "",
        };
        let address = visitor.address.map(|address| address.to_string());
        Self {
            auditor: Arc::clone(&site.auditor),
            line: Audit {
                migration: site.migration.clone(),
                token: token.to_owned(),
                user: visitor.user.clone().unwrap_or_default(),
                address: address.unwrap_or_default(),
                subject: subject.to_owned(),
                ..line(action, AuditSource::AdminPort)
            },
        }
    }

    /// The same off the runtime. Whoever asked may be gone meanwhile: it is written all the same.
    pub(super) async fn written(self, outcome: AuditOutcome, detail: impl Into<String>) {
        let detail = detail.into();
        let written = tokio::task::spawn_blocking(move || self.ended(outcome, detail));
        if let Err(panicked) = written.await {
            tracing::error!(%panicked, "the line of a change");
        }
    }

    /// Writes what came of it. It may take as long as writing to a store.
    pub(super) fn ended(self, outcome: AuditOutcome, detail: impl Into<String>) {
        let change = Audit {
            outcome,
            detail: detail.into(),
            ..self.line
        };
        keep(&*self.auditor, change);
    }
}
