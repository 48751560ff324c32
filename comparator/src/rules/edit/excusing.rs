//! Which of some rules excuse a group, for people who ask why it is counted no more.
//!
//! It is told from the recorded text of the rules and from the group's place, kind and explanation. No count rests on it.

use parity_schemas::evidence::GroupEvidence;
use parity_schemas::terms::RulesText;

use crate::rules::text;

/// The rules that make the findings of a group equal, by their ids.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Excusing {
    /// Each of these makes all of them equal.
    pub surely: Vec<String>,
    /// Each of these makes some of them equal, or all, or none: their values decide.
    pub perhaps: Vec<String>,
}

/// Which rules of a text excuse a group; `None` if the text cannot be read, or says not all that they say.
pub fn excusing(text: &RulesText, group: &GroupEvidence) -> Option<Excusing> {
    let found = excusing_each(text, std::slice::from_ref(group))?;
    found.into_iter().next()
}

/// The same of each of some groups, with the text read once.
pub fn excusing_each(text: &RulesText, groups: &[GroupEvidence]) -> Option<Vec<Excusing>> {
    let rules = text::read(text).ok()?;
    let each = groups.iter().map(|group| {
        let mut found = Excusing::default();
        for rule in &rules.all {
            if rule.surely_excuses(group) {
                found.surely.push(rule.id.to_string());
            } else if rule.may_excuse(group) {
                found.perhaps.push(rule.id.to_string());
            }
        }
        found
    });
    Some(each.collect())
}

#[cfg(test)]
mod tests {
    use parity_schemas::tally::Group;
    use parity_schemas::terms::RuleText;
    use parity_schemas::verdict::{Kind, Part};

    use super::*;

    fn rule(id: &str, action: &str, path: &str) -> RuleText {
        RuleText {
            id: id.to_owned(),
            path: path.to_owned(),
            action: action.to_owned(),
            ..RuleText::default()
        }
    }

    #[test]
    fn the_rule_that_excuses_is_named_and_one_that_may_only_as_that() {
        let group = GroupEvidence {
            last_seen: parity_schemas::time::Timestamp::default(),
            route: "GET /orders/{id}".to_owned(),
            group: Group {
                fingerprint: "9f3a".to_owned(),
                part: Part::Body,
                pattern: "/total".to_owned(),
                kind: Kind::Value,
                ..Group::default()
            },
            count: 1,
            classes: std::collections::BTreeMap::new(),
            evidence: std::collections::BTreeMap::new(),
        };
        let text = |rules: Vec<RuleText>| RulesText {
            rules,
            ..crate::Rules::default().text()
        };
        let mut tolerance = rule("near", "tolerance", "/total");
        tolerance.absolute = Some("0.01".to_owned());
        let mut other = rule("of-another", "ignore", "/total");
        other.route = Some("GET /items".to_owned());
        let rules = vec![
            rule("elsewhere", "ignore", "/name"),
            other,
            tolerance,
            rule("total", "ignore", "/total"),
        ];
        let found = excusing(&text(rules), &group).expect("it is read");
        assert_eq!(
            (found.surely, found.perhaps),
            (vec!["total".to_owned()], vec!["near".to_owned()])
        );
        let unknown = text(vec![rule("new", "is-not-known-yet", "/total")]);
        assert_eq!(excusing(&unknown, &group), None);
    }
}
