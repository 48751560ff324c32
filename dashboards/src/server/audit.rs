//! Who changed what: a line for each change by this port, and for each that was tried and did not succeed. Whoever may
//! not change anything is refused before it is tried: that has a line, too, but only so many in a minute ([`refused`]), because
//! anybody who reaches the port can cause one.
//!
//! The line is written when the change is made, and no change waits for it or fails with it: stopping shadowing must always
//! be possible. It is in the log in any case. Where it cannot come to the record, the log says that, too.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use parity_schemas::audit::{Audit, AuditAction, AuditOutcome, AuditSource, MAX_DETAIL};
use parity_schemas::id::new_id;
use parity_schemas::time::Timestamp;
use parity_schemas::visible::visible_up_to;
use uuid::Uuid;

use super::access::Role;
pub use super::site::Auditor;
use super::site::Site;
use super::visit::Visitor;

/// Refused changes of one [`MINUTE`] that have a line each: more than a person causes by mistake, and nothing to a store.
const MOST_REFUSED: u32 = 20;
const MINUTE: Duration = Duration::from_mins(1);

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

/// Writes that somebody asked for a change by this path, and may not. `role` is what their token lets them do, if they have one.
pub(super) async fn refused(
    site: &Site,
    visitor: &Visitor,
    role: Option<Role>,
    path: &str,
    why: &str,
) {
    let Some((action, subject)) = change_at(path) else {
        return;
    };
    let Some(before) = REFUSALS.take() else {
        return;
    };
    let mut asked = Asked::by(visitor, site, action, &subject);
    asked.line.token = shown(site, role).to_owned();
    let more = match before {
        0 => String::new(),
        count => format!("; {count} more were refused before this and have no line"),
    };
    asked
        .written(AuditOutcome::Refused, format!("{why}{more}"))
        .await;
}

/// Which token was shown.
fn shown(site: &Site, role: Option<Role>) -> &'static str {
    match role {
        Some(Role::Change) if site.access.demands_token() => "change",
        Some(Role::Look) if site.access.demands_token() => "look",
        _ => "",
    }
}

/// What would be changed at a path, and what of: nothing where nothing can be.
fn change_at(path: &str) -> Option<(AuditAction, String)> {
    let path = path.strip_prefix("/api/v1").unwrap_or(path);
    let steps: Vec<&str> = path.split('/').skip(1).collect();
    Some(match steps.as_slice() {
        ["shadowing", "off"] => (AuditAction::ShadowingOff, String::new()),
        ["shadowing", "on"] => (AuditAction::ShadowingOn, String::new()),
        ["rollout", "back"] => (AuditAction::RolloutBack, String::new()),
        ["rollout", _] => (AuditAction::RolloutSet, String::new()),
        ["gate"] | ["gate", "flagger", _] => (AuditAction::Decision, String::new()),
        ["mismatches", id, "rerun"] => {
            let id = id.parse::<Uuid>().map(|id| id.to_string());
            (AuditAction::Rerun, id.unwrap_or_default())
        }
        _ => return None,
    })
}

/// The refusals of this process.
static REFUSALS: Refusals = Refusals(Mutex::new(None));

/// How many refused changes have a line.
struct Refusals(Mutex<Option<Counted>>);

struct Counted {
    since: Instant,
    told: u32,
    untold: u64,
}

impl Refusals {
    /// Whether one more has a line, and then how many before it have none.
    fn take(&self) -> Option<u64> {
        let mut counted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let counted = counted.get_or_insert(Counted {
            since: now,
            told: 0,
            untold: 0,
        });
        if now.duration_since(counted.since) >= MINUTE {
            (counted.since, counted.told) = (now, 0);
        }
        if counted.told >= MOST_REFUSED {
            if counted.untold == 0 {
                tracing::warn!(
                    "{MOST_REFUSED} changes were refused within a minute; more of them are counted, and have no line of their own"
                );
            }
            counted.untold += 1;
            return None;
        }
        counted.told += 1;
        Some(std::mem::take(&mut counted.untold))
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
        let token = shown(site, Some(visitor.role));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_so_many_refusals_have_a_line_and_the_rest_is_counted() {
        let refusals = Refusals(Mutex::new(None));
        for _ in 0..MOST_REFUSED {
            assert_eq!(refusals.take(), Some(0));
        }
        for _ in 0..3 {
            assert_eq!(refusals.take(), None);
        }
        // A minute later.
        if let Some(counted) = &mut *refusals.0.lock().expect("no panic") {
            counted.since = counted.since.checked_sub(MINUTE).expect("after the start");
        }
        assert_eq!(refusals.take(), Some(3));
        assert_eq!(refusals.take(), Some(0));
    }

    #[test]
    fn a_path_says_what_would_be_changed() {
        let id = "01900000-0000-7000-8000-000000000000";
        for (path, action, subject) in [
            ("/api/v1/shadowing/off", AuditAction::ShadowingOff, ""),
            ("/api/v1/shadowing/on", AuditAction::ShadowingOn, ""),
            ("/api/v1/rollout/30", AuditAction::RolloutSet, ""),
            ("/api/v1/rollout/back", AuditAction::RolloutBack, ""),
            ("/api/v1/gate", AuditAction::Decision, ""),
            ("/gate/flagger/confirm", AuditAction::Decision, ""),
            (
                &format!("/api/v1/mismatches/{id}/rerun"),
                AuditAction::Rerun,
                id,
            ),
            (&format!("/mismatches/{id}/rerun"), AuditAction::Rerun, id),
            ("/mismatches/<b>/rerun", AuditAction::Rerun, ""),
        ] {
            let found = change_at(path);
            assert_eq!(found, Some((action, subject.to_owned())), "{path}");
        }
        for path in [
            "/",
            "/api/v1/report",
            "/api/v1/shadowing/x",
            "/mismatches",
            "x",
        ] {
            assert_eq!(change_at(path), None, "{path}");
        }
    }
}
