//! The text of rules as it may be recorded.
//!
//! The texts are the operator's own, but a person may have pasted a secret into a reason, or an id into a path. What
//! looks like a token or the number of a card is replaced; the hash of such rules cannot be made from their text.

use parity_schemas::secret::is_token;
use parity_schemas::terms::{HIDDEN, RulesText};

use super::cards;
use crate::rules::Rules;

/// The text of rules, without what looks like a secret.
pub fn rules_text(rules: &Rules) -> RulesText {
    let mut text = rules.text();
    for text in text
        .rules
        .iter_mut()
        .flat_map(parity_schemas::terms::RuleText::texts_mut)
    {
        if is_token(text) || !cards::find(text).is_empty() {
            HIDDEN.clone_into(text);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::{Rehashed, RuleConfig, rehash};
    use parity_schemas::time::Timestamp;

    #[test]
    fn what_looks_like_a_secret_is_not_in_the_text_and_the_hash_is_then_not_claimed() {
        let secret = "xK9fQ2mZ7pL4vR8tW3sB6nD1";
        let configs = [
            RuleConfig::new("a", &format!("/resets/{secret}"), "ignore"),
            RuleConfig {
                reason: Some(format!("asked with {secret}")),
                owner: Some("4111 1111 1111 1111".to_owned()),
                ..RuleConfig::new("b", "/b", "ignore")
            },
        ];
        let rules = Rules::compile(&configs, Timestamp::from_micros(0)).expect("they are right");
        let text = rules_text(&rules);
        let json = serde_json::to_string(&text).expect("it is JSON");
        assert!(!json.contains(secret) && !json.contains("4111"), "{json}");
        assert!(matches!(rehash(&text), Rehashed::Unknown(why) if why.contains("rule a")));
    }
}
