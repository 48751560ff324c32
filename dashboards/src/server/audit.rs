//! Who changed what: a line for each change by this port, and for each that was tried and did not succeed. Whoever may
//! not change anything is refused before it is tried: that has a line, too, but only so many in a minute and in a day ([`refused`]),
//! because anybody who reaches the port can cause one. Who shows a token has a number of their own, which strangers cannot use up.
//!
//! The line is written when the change is made, and no change waits for it or fails with it: stopping shadowing must always
//! be possible. It is in the log in any case. Where it cannot come to the record, the log says that, too.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use parity_schemas::audit::{
    Audit, AuditAction, AuditOutcome, AuditSource, MAX_DETAIL, WRONG_TOKEN,
};
use parity_schemas::id::new_id;
use parity_schemas::time::Timestamp;
use parity_schemas::visible::visible_up_to;
use uuid::Uuid;

use super::access::{Access, Role};
pub use super::site::Auditor;
use super::site::Site;
use super::visit::Visitor;

/// Refused changes of one [`MINUTE`] that have a line each: more than a person causes by mistake.
const MOST_IN_MINUTE: u32 = 20;
const MINUTE: Duration = Duration::from_mins(1);
/// Those of one [`DAY`] by who shows no token of this port: enough to see that somebody tries. The record keeps lines for long, and
/// strangers must not fill it: this is 80,000 lines in 400 days, and a list that people can still read.
const MOST_OF_STRANGERS: u32 = 200;
/// The same by who shows one: as long as a script that has the wrong token does so every minute.
const MOST_OF_KNOWN: u32 = 1_440;
const DAY: Duration = Duration::from_hours(24);

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

/// The token of somebody who asks for a change.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    /// What it lets them do; `None` if it is none of this port, or there is none.
    pub(super) role: Option<Role>,
    /// Whether there is one, and it is none of this port.
    pub(super) is_wrong: bool,
}

/// Writes that somebody asked for a change by this path, and may not.
pub(super) async fn refused(
    site: &Site,
    visitor: &Visitor,
    Token { role, is_wrong }: Token,
    path: &str,
    why: &str,
) {
    let Some((action, subject)) = change_at(path) else {
        return;
    };
    let Some(before) = refusals_of(&site.access, role).take(Instant::now()) else {
        return;
    };
    let mut asked = Asked::by(visitor, site, action, &subject);
    let token = match shown(site, role) {
        "" if is_wrong => WRONG_TOKEN,
        token => token,
    };
    token.clone_into(&mut asked.line.token);
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

/// The refusals of this process, of who shows no token. Whoever reaches a port without tokens is such a one: what is refused there comes from
/// pages of others.
static OF_STRANGERS: Refusals = Refusals::up_to(MOST_OF_STRANGERS);
/// Those of who shows one.
static OF_KNOWN: Refusals = Refusals::up_to(MOST_OF_KNOWN);

/// The refusals among which one of somebody with this role counts.
fn refusals_of(access: &Access, role: Option<Role>) -> &'static Refusals {
    if access.demands_token() && role.is_some() {
        &OF_KNOWN
    } else {
        &OF_STRANGERS
    }
}

/// How many refused changes have a line.
struct Refusals {
    most_in_day: u32,
    counted: Mutex<Option<Counted>>,
}

struct Counted {
    minute: Span,
    day: Span,
    untold: u64,
}

/// Lines since a time.
struct Span {
    since: Instant,
    told: u32,
}

impl Span {
    const fn new(since: Instant) -> Self {
        Self { since, told: 0 }
    }

    /// Whether it has so many; a span that is over begins anew.
    fn is_full(&mut self, now: Instant, long: Duration, most: u32) -> bool {
        if now.saturating_duration_since(self.since) >= long {
            *self = Self::new(now);
        }
        self.told >= most
    }
}

impl Refusals {
    const fn up_to(most_in_day: u32) -> Self {
        Self {
            most_in_day,
            counted: Mutex::new(None),
        }
    }

    /// Whether one more has a line, and then how many before it have none.
    fn take(&self, now: Instant) -> Option<u64> {
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        let counted = counted.get_or_insert_with(|| Counted {
            minute: Span::new(now),
            day: Span::new(now),
            untold: 0,
        });
        let full = [
            counted.minute.is_full(now, MINUTE, MOST_IN_MINUTE),
            counted.day.is_full(now, DAY, self.most_in_day),
        ];
        let (most, span) = match full {
            [_, true] => (self.most_in_day, "day"),
            [true, false] => (MOST_IN_MINUTE, "minute"),
            [false, false] => {
                counted.minute.told += 1;
                counted.day.told += 1;
                return Some(std::mem::take(&mut counted.untold));
            }
        };
        if counted.untold == 0 {
            tracing::warn!(
                "{most} changes were refused within a {span}; more of them are counted, and have no line of their own"
            );
        }
        counted.untold += 1;
        None
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

    /// Of this migration, where what is changed has one of its own: a port shows all that its store has.
    #[must_use]
    pub(super) fn of(mut self, migration: &str) -> Self {
        migration.clone_into(&mut self.line.migration);
        self
    }

    /// With the stored decision that it rests on.
    #[must_use]
    pub(super) fn about(mut self, decision: Option<Uuid>) -> Self {
        if let Some(id) = decision {
            self.line.subject = id.to_string();
        }
        self
    }

    /// Of when it was done, where that is told elsewhere, too: it may take as long as a decision until then.
    #[must_use]
    pub(super) const fn at(mut self, time: Timestamp) -> Self {
        self.line.time = time;
        self
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
        let refusals = Refusals::up_to(MOST_OF_STRANGERS);
        let start = Instant::now();
        for _ in 0..MOST_IN_MINUTE {
            assert_eq!(refusals.take(start), Some(0));
        }
        for _ in 0..3 {
            assert_eq!(refusals.take(start), None);
        }
        assert_eq!(refusals.take(start + MINUTE), Some(3));
        assert_eq!(refusals.take(start + MINUTE), Some(0));
    }

    #[test]
    fn whoever_tries_all_day_has_as_many_lines_as_a_day_has() {
        for most in [MOST_OF_STRANGERS, MOST_OF_KNOWN] {
            let refusals = Refusals::up_to(most);
            let start = Instant::now();
            let minutes = |count: u32| start + MINUTE * count;
            let tries = (0..24 * 60).flat_map(|minute| [minutes(minute); 30]);
            let told: Vec<u64> = tries.filter_map(|now| refusals.take(now)).collect();
            assert_eq!(told.len(), most as usize);
            let before: u64 = told.iter().map(|before| before + 1).sum();
            // The next day has lines again, and the first says how many have none.
            let untold = refusals.take(start + DAY).expect("a line");
            assert_eq!(before + untold, 24 * 60 * 30);
        }
    }

    /// Somebody without a token uses up what is for strangers, and nothing of those who have one.
    #[test]
    fn strangers_take_no_line_from_who_has_a_token() {
        let demands = Access::new(Some("changes".to_owned()), Some("looks".to_owned()));
        let open = Access::new(None, None);
        for (access, role, expected) in [
            (&demands, None, &OF_STRANGERS),
            (&demands, Some(Role::Look), &OF_KNOWN),
            (&demands, Some(Role::Change), &OF_KNOWN),
            // Everybody has the role there.
            (&open, Some(Role::Change), &OF_STRANGERS),
        ] {
            assert!(
                std::ptr::eq(refusals_of(access, role), expected),
                "{role:?}"
            );
        }
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
