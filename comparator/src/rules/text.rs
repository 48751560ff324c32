//! The text of rules in force, and its hash. What decides nothing (`mask`) is left out, as it is out of the hash.
//!
//! The record gets it from [`redact`](crate::redact::rules_text) only.

use parity_schemas::terms::{RuleText, RulesText};
use parity_schemas::time::Timestamp;

use super::hash::{self, COMPARATOR_VERSION};
use super::{Action, RuleConfig, Rules};

/// What can be said of the hash of a text of rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rehashed {
    /// It has this hash.
    Hash(String),
    /// It cannot be known, for this reason.
    Unknown(String),
}

impl Rules {
    /// What each of them says.
    pub fn texts(&self) -> impl Iterator<Item = &RuleText> {
        self.all.iter().map(|rule| &rule.text)
    }

    /// The text of these rules, with all that their hash covers.
    pub(crate) fn text(&self) -> RulesText {
        let deciding = self
            .all
            .iter()
            .filter(|rule| !matches!(rule.action, Action::Mask));
        RulesText {
            equality: COMPARATOR_VERSION,
            rules: deciding.map(|rule| rule.text.clone()).collect(),
            cut: false,
        }
    }
}

/// The hash that a mirror has under these rules, of the version that the text names. A newer one may hash otherwise.
pub fn rehash(text: &RulesText) -> Rehashed {
    if text.equality > COMPARATOR_VERSION {
        return Rehashed::Unknown(of_another_version(text.equality));
    }
    match compiled(text) {
        Ok(rules) => Rehashed::Hash(hash::hash(&rules.all, text.equality)),
        Err(why) => Rehashed::Unknown(why),
    }
}

/// The rules of a text, where what is equal by default is what it is here; the error says why they cannot be known.
pub(super) fn read(text: &RulesText) -> Result<Rules, String> {
    if text.equality == COMPARATOR_VERSION {
        compiled(text)
    } else {
        Err(of_another_version(text.equality))
    }
}

fn of_another_version(version: u32) -> String {
    format!(
        "it is of version {version} of what is equal by default, and this program has version {COMPARATOR_VERSION}"
    )
}

fn compiled(text: &RulesText) -> Result<Rules, String> {
    if text.cut {
        return Err("the rules were too long to be recorded".to_owned());
    }
    if let Some(hidden) = text.rules.iter().find(|rule| rule.is_hidden()) {
        return Err(format!(
            "the rule {} holds what looks like a secret, which is not recorded",
            hidden.id
        ));
    }
    let configs: Vec<RuleConfig> = text.rules.iter().map(config).collect();
    Rules::compile(&configs, Timestamp::from_micros(i64::MIN)).map_err(|errors| {
        format!(
            "this program cannot read them: {}",
            errors.first().map(ToString::to_string).unwrap_or_default()
        )
    })
}

impl RuleConfig {
    /// What it says, as a document has it.
    pub fn text(&self) -> RuleText {
        of(self)
    }
}

/// What a rule says.
pub(super) fn of(config: &RuleConfig) -> RuleText {
    let config = config.clone();
    RuleText {
        id: config.id,
        route: config.route,
        part: config.part,
        path: config.path,
        line: config.line,
        column: config.column,
        characters: config.characters,
        element: config.element,
        attribute: config.attribute,
        action: config.action,
        explanations: config.explanations,
        kind: config.kind,
        field: config.field,
        fields: config.fields,
        absolute: config.absolute,
        relative: config.relative,
        within: config.within,
        factor: config.factor,
        pattern: config.pattern,
        r#type: config.r#type,
        to: config.to,
        reason: config.reason,
        owner: config.owner,
        expires: config.expires,
    }
}

impl From<&RuleText> for RuleConfig {
    fn from(text: &RuleText) -> Self {
        let expires = text.expires.clone();
        Self {
            expires,
            ..config(text)
        }
    }
}

/// The rule that decides the same: rules in force have no date on which they expire.
fn config(text: &RuleText) -> RuleConfig {
    let text = text.clone();
    RuleConfig {
        id: text.id,
        route: text.route,
        part: text.part,
        path: text.path,
        line: text.line,
        column: text.column,
        characters: text.characters,
        element: text.element,
        attribute: text.attribute,
        action: text.action,
        explanations: text.explanations,
        kind: text.kind,
        field: text.field,
        fields: text.fields,
        absolute: text.absolute,
        relative: text.relative,
        within: text.within,
        factor: text.factor,
        pattern: text.pattern,
        r#type: text.r#type,
        to: text.to,
        reason: text.reason,
        owner: text.owner,
        expires: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(configs: &[RuleConfig]) -> Rules {
        let compiled = Rules::compile(configs, Timestamp::from_micros(0)).expect("they are right");
        compiled.holding_at(Timestamp::from_micros(0))
    }

    fn some() -> Vec<RuleConfig> {
        vec![
            RuleConfig {
                reason: Some("set on read".to_owned()),
                expires: Some("2999-01-01".to_owned()),
                ..RuleConfig::new("updated", "/**/updated_at", "ignore")
            },
            RuleConfig {
                absolute: Some("0.01".to_owned()),
                route: Some("get /a".to_owned()),
                ..RuleConfig::new("near", "$.items[3].price", "tolerance")
            },
            RuleConfig {
                explanations: vec!["null_vs_missing".to_owned()],
                kind: Some("extra".to_owned()),
                ..RuleConfig::new("nulls", "/**", "accept")
            },
            RuleConfig {
                part: Some("header".to_owned()),
                ..RuleConfig::new("id", "X-Request-Id", "ignore")
            },
            RuleConfig::new("hide", "/name", "mask"),
        ]
    }

    #[test]
    fn the_text_has_the_hash_of_the_rules_and_is_all_that_decides() {
        for configs in [some(), Vec::new()] {
            let rules = rules(&configs);
            let text = rules.text();
            assert_eq!(rehash(&text), Rehashed::Hash(rules.hash().to_owned()));
            assert!(text.rules.iter().all(|rule| rule.action != "mask"));
            let json = serde_json::to_string(&text).expect("it is JSON");
            let read: RulesText = serde_json::from_str(&json).expect("it is read");
            assert_eq!(read, text);
        }
    }

    #[test]
    fn every_changed_word_of_the_text_changes_the_hash_but_for_names_and_reasons() {
        let rules = rules(&some());
        let text = rules.text();
        let changes: [fn(&mut RuleText); 3] = [
            |rule| rule.path.push_str("-x"),
            |rule| rule.route = Some("PUT /other".to_owned()),
            |rule| rule.part = Some("trailer".to_owned()),
        ];
        for change in changes {
            let mut changed = text.clone();
            change(&mut changed.rules[3]);
            assert_ne!(rehash(&changed), rehash(&text), "{changed:?}");
        }
        let mut fewer = text.clone();
        fewer.rules.pop();
        assert_ne!(rehash(&fewer), rehash(&text));
        let mut other_reason = text.clone();
        other_reason.rules[0].reason = None;
        assert_eq!(rehash(&other_reason), rehash(&text));
    }

    #[test]
    fn texts_of_a_newer_version_are_not_judged() {
        let mut text = rules(&some()).text();
        text.equality += 1;
        assert!(matches!(rehash(&text), Rehashed::Unknown(why) if why.contains("version")));
        // Those of an earlier one have their own hash, so that a decision is verified later, too; nothing is added to it.
        let mut text = rules(&some()).text();
        let now = rehash(&text);
        text.equality -= 1;
        assert!(
            matches!(rehash(&text), Rehashed::Hash(hash) if Rehashed::Hash(hash.clone()) != now)
        );
        assert!(read(&text).is_err_and(|why| why.contains("version")));
        let mut text = rules(&some()).text();
        text.rules[0].action = "a word of the future".to_owned();
        assert!(matches!(rehash(&text), Rehashed::Unknown(why) if why.contains("cannot read")));
    }
}
