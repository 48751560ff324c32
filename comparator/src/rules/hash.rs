//! The hash of the rules, to which evidence is bound.

use sha2::{Digest, Sha256};

use super::Rule;
use super::action::Action;

/// Version of what is equal by default. It is part of the rules hash, so evidence gathered under other semantics is
/// never added to new evidence. Raise it with every change that could turn a match into a mismatch or back, and with every
/// new kind of what rechecks count: of that the earlier ones say nothing, and would count as if they had not seen it.
pub(super) const COMPARATOR_VERSION: u32 = 7;

/// Hash of everything that decides what is equal. Rules are hashed in their order, which decides which of two rules
/// is applied to an array and which is credited with a hit. `version` is that of what is equal by default.
pub(super) fn hash(rules: &[Rule], version: u32) -> String {
    let mut hasher = Sha256::new();
    hasher.update(version.to_le_bytes());
    for rule in rules
        .iter()
        .filter(|rule| !matches!(rule.action, Action::Mask))
    {
        // Length before content, so that no two lists of rules have the same bytes.
        for text in [
            rule.route.as_deref().unwrap_or("\0any"),
            rule.part.as_str(),
            &rule.pattern.canonical(),
            &format!("{:?}", rule.action),
            &rule
                .expires
                .map(|time| time.as_micros().to_string())
                .unwrap_or_default(),
        ] {
            hasher.update((text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        }
    }
    crate::hex::encode(&hasher.finalize()[..16])
}

#[cfg(test)]
mod tests;
