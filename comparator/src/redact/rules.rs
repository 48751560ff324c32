//! The text of rules as it may be recorded.
//!
//! The texts are the operator's own, but a person may have pasted a secret into a reason, or an id into a path. In reasons and
//! owners what looks like a secret is replaced, as in all that people write ([`by_hand`](super::by_hand())). A path or a field with
//! such a part is replaced as a whole, because half a path would be another rule; the hash of such rules cannot be made from
//! their text. The ids of rules and the names of routes are in every count, so nothing of them is hidden here.

use parity_schemas::terms::{HIDDEN, RulesText};

use super::RedactConfig;
use super::by_hand::ByHand;
use crate::rules::Rules;

/// The text of rules, without what looks like a secret by these settings.
pub fn rules_text(rules: &Rules, config: &RedactConfig) -> RulesText {
    let mut text = rules.text();
    let hand = ByHand::new(config);
    let hide = |text: &str| match &hand {
        Some(hand) => hand.hide(text).into_owned(),
        // Settings that are refused count nothing.
        None => HIDDEN.to_owned(),
    };
    for rule in &mut text.rules {
        for told in [&mut rule.reason, &mut rule.owner].into_iter().flatten() {
            *told = hide(told);
        }
        let fields = rule.field.iter_mut().chain(&mut rule.fields);
        let named = [
            &mut rule.pattern,
            &mut rule.line,
            &mut rule.element,
            &mut rule.attribute,
            &mut rule.to,
        ];
        let named = named.into_iter().flatten();
        for decides in fields.chain([&mut rule.path]).chain(named) {
            if hand.as_ref().is_none_or(|hand| hand.finds_in_path(decides)) {
                HIDDEN.clone_into(decides);
            }
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
        let text = rules_text(&rules, &RedactConfig::default());
        let json = serde_json::to_string(&text).expect("it is JSON");
        assert!(!json.contains(secret) && !json.contains("4111"), "{json}");
        assert!(matches!(rehash(&text), Rehashed::Unknown(why) if why.contains("rule a")));
        assert_eq!(text.rules[1].reason.as_deref(), Some("asked with (hidden)"));
    }

    #[test]
    fn names_and_paths_that_only_speak_of_secrets_stay_and_the_hash_with_them() {
        let configs = [
            RuleConfig {
                reason: Some("the password is Hunter2x".to_owned()),
                ..RuleConfig::new("token", "/user/password", "ignore")
            },
            RuleConfig {
                field: Some("token".to_owned()),
                ..RuleConfig::new("keyed", "/**/secret/*/api_key", "key")
            },
            RuleConfig::new("one", "$.items[*].access_token", "ignore"),
        ];
        let rules = Rules::compile(&configs, Timestamp::from_micros(0)).expect("they are right");
        let text = rules_text(&rules, &RedactConfig::default());
        assert_eq!(rehash(&text), Rehashed::Hash(rules.hash().to_owned()));
        assert_eq!(
            text.rules[0].reason.as_deref(),
            Some("the password is (hidden)")
        );
    }
}
