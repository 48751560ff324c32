//! What was changed and by whom, in words.

use parity_schemas::audit::{Audit, AuditAction, AuditOutcome, AuditSource, WRONG_TOKEN, shadows};

/// What was changed, or what somebody wanted to be.
pub(crate) fn what(change: &Audit) -> String {
    match change.outcome {
        AuditOutcome::Done => change.action.meaning().to_owned(),
        AuditOutcome::Refused | AuditOutcome::Failed => {
            format!("asked {}", change.action.wanted())
        }
    }
}

/// Who asked for a change, as far as that is known. It is not made visible.
pub(crate) fn who(change: &Audit) -> String {
    let source = change.source.meaning();
    let mut told = match change.source {
        AuditSource::AdminPort => {
            let user = match change.user.as_str() {
                "" => String::new(),
                user => format!("{user}, "),
            };
            let token = match change.token.as_str() {
                "" => "without a token".to_owned(),
                WRONG_TOKEN => "with a wrong token".to_owned(),
                token => format!("with the {token} token"),
            };
            format!("{user}{source}, {token}")
        }
        AuditSource::Command => match change.user.as_str() {
            "" => source.to_owned(),
            user => format!("{user}, {source}"),
        },
        AuditSource::Signal | AuditSource::Clock => source.to_owned(),
    };
    if !change.address.is_empty() {
        told = format!("{told}, from {}", change.address);
    }
    told
}

/// The last switch of shadowing of those in a list that has left it off, by whichever process; `None` if each is on again, or none
/// was ever told. A process that began without shadowing has switched it, too.
pub(crate) fn stopped(changes: &[Audit]) -> Option<&Audit> {
    let is_switch = |change: &&Audit| {
        let switches = matches!(
            change.action,
            AuditAction::ShadowingOff | AuditAction::ShadowingOn | AuditAction::Started
        );
        switches && change.outcome == AuditOutcome::Done
    };
    let key = |change: &Audit| (change.time, change.id);
    let is_last = |change: &&Audit| {
        let mut of_it = changes.iter().filter(is_switch);
        !of_it.any(|other| other.instance == change.instance && key(other) > key(change))
    };
    let is_off = |change: &&Audit| match change.action {
        AuditAction::Started => shadows(&change.detail) == Some(false),
        action => action == AuditAction::ShadowingOff,
    };
    let switches = changes.iter().filter(is_switch);
    let off = switches.filter(is_last).filter(is_off);
    off.max_by_key(|change| key(change))
}

/// Lines for tests, of so many seconds after the begin of 1970.
#[cfg(test)]
pub(crate) fn line(second: i64, instance: &str, action: AuditAction, detail: &str) -> Audit {
    Audit {
        time: parity_schemas::time::Timestamp::from_micros(second * 1_000_000),
        instance: instance.to_owned(),
        action,
        detail: detail.to_owned(),
        ..Audit::default()
    }
}

#[cfg(test)]
mod tests {
    use parity_schemas::audit::begins;

    use super::*;

    #[test]
    fn what_was_not_done_is_not_told_as_done() {
        for action in AuditAction::ALL {
            let told = |outcome| {
                what(&Audit {
                    action: *action,
                    outcome,
                    ..Audit::default()
                })
            };
            assert_eq!(told(AuditOutcome::Done), action.meaning());
            for outcome in [AuditOutcome::Refused, AuditOutcome::Failed] {
                let told = told(outcome);
                assert!(told.starts_with("asked to "), "{told}");
            }
        }
    }

    #[test]
    fn shadowing_is_off_by_the_last_switch_of_a_process_and_of_no_other() {
        use AuditAction::{ShadowingOff, ShadowingOn, Started};
        let seconds = |changes: &[Audit]| {
            let found = stopped(changes);
            found.map(|change| change.time.as_micros() / 1_000_000)
        };
        let off = line(3, "a", ShadowingOff, "");
        let before = line(1, "a", Started, begins(true));
        assert_eq!(seconds(&[off.clone(), before.clone()]), Some(3));
        assert_eq!(seconds(&[before]), None);
        // That another one shadows again says nothing of it.
        let other = line(9, "b", ShadowingOn, "");
        assert_eq!(seconds(&[other, off.clone()]), Some(3));
        for on in [
            line(5, "a", ShadowingOn, ""),
            line(5, "a", Started, begins(true)),
        ] {
            assert_eq!(seconds(&[on, off.clone()]), None);
        }
        let refused = Audit {
            outcome: AuditOutcome::Refused,
            ..line(5, "a", ShadowingOn, "")
        };
        assert_eq!(seconds(&[refused, off]), Some(3));
        assert_eq!(seconds(&[line(7, "c", Started, begins(false))]), Some(7));
    }

    #[test]
    fn a_wrong_token_is_not_called_none() {
        let told = |token: &str| {
            who(&Audit {
                token: token.to_owned(),
                source: AuditSource::AdminPort,
                ..Audit::default()
            })
        };
        assert!(told("").ends_with("without a token"));
        assert!(told(WRONG_TOKEN).ends_with("with a wrong token"));
        assert!(told("look").ends_with("with the look token"));
    }
}
