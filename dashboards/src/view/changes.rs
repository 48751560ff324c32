//! Who changed something, in words.

use parity_schemas::audit::{Audit, AuditSource};

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
