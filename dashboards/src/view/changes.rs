//! What was changed and by whom, in words.

use parity_schemas::audit::{Audit, AuditOutcome, AuditSource};

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

#[cfg(test)]
mod tests {
    use parity_schemas::audit::AuditAction;

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
}
