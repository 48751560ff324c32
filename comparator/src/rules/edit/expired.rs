//! What is left of rules when some of them have expired.
//!
//! A mirror that runs takes other rules when one expires. One that was stopped before does not, and its counts are still
//! those under the expired rule. So for who reads them later, a rule that has expired is one that was removed.

use std::collections::HashMap;

use parity_schemas::evidence::carried::{Expired, ExpiredRule, RulesCounted};
use parity_schemas::terms::{RuleText, RulesText};
use parity_schemas::time::Timestamp;

use crate::rules::compile::first_moment;
use crate::rules::hash::COMPARATOR_VERSION;
use crate::rules::text::{Rehashed, rehash};

/// The rules that have expired by the text that was last in force, or by `own` rules of who asks; and the others. `None` if
/// none has. A date that somebody has changed since has another text.
pub(super) fn expired(rules: &RulesCounted, own: &[RuleText], at: Timestamp) -> Option<Expired> {
    let mut text = rules.texts.first()?.clone();
    let by_reader = ByReader::of(own, at);
    let ended = |rule: &RuleText| {
        let over = over(rule, at);
        let told = by_reader.over(rule);
        Some(ExpiredRule {
            id: rule.id.clone(),
            expires: over.into_iter().chain(told).min()?,
            by_reader: over.is_none(),
        })
    };
    let expired: Vec<ExpiredRule> = text.rules.iter().filter_map(ended).collect();
    if expired.is_empty() {
        return None;
    }
    text.rules.retain(|rule| ended(rule).is_none());
    let left = RulesCounted {
        hash: match rehash(&text) {
            Rehashed::Hash(hash) => hash,
            // Who reads it is told why it cannot be known.
            Rehashed::Unknown(_) => String::new(),
        },
        texts: vec![text],
    };
    Some(Expired { expired, left })
}

/// When a rule expired, if it has.
fn over(rule: &RuleText, at: Timestamp) -> Option<Timestamp> {
    let expires = first_moment(rule.expires.as_deref()?).ok()?;
    (expires <= at).then_some(expires)
}

/// What has expired by the configuration of who asks: it may have an earlier date than the mirror had, which was not started
/// with it yet, or never will be. A later date there says nothing: who puts off a date starts the mirror with it.
struct ByReader<'a> {
    ids: HashMap<&'a str, Timestamp>,
    contents: HashMap<String, Timestamp>,
}

impl<'a> ByReader<'a> {
    fn of(own: &'a [RuleText], at: Timestamp) -> Self {
        let ended = || own.iter().filter_map(|rule| Some((rule, over(rule, at)?)));
        Self {
            ids: ended()
                .map(|(rule, over)| (rule.id.as_str(), over))
                .collect(),
            contents: ended()
                .filter_map(|(rule, over)| Some((content(rule)?, over)))
                .collect(),
        }
    }

    /// When a recorded rule expired by that: one of the same name, or that decides the same under another name.
    fn over(&self, rule: &RuleText) -> Option<Timestamp> {
        let named = self.ids.get(rule.id.as_str()).copied();
        let same = || self.contents.get(&content(rule)?).copied();
        match &self.contents {
            none if none.is_empty() => named,
            _ => named.into_iter().chain(same()).min(),
        }
    }
}

/// What a rule decides, whatever it is called; `None` where that cannot be read.
fn content(rule: &RuleText) -> Option<String> {
    let alone = RulesText {
        equality: COMPARATOR_VERSION,
        rules: vec![rule.clone()],
        cut: false,
    };
    match rehash(&alone) {
        Rehashed::Hash(hash) => Some(hash),
        Rehashed::Unknown(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use parity_schemas::evidence::carried::{Fate, RouteCounted};
    use parity_schemas::tally::Counts;

    use super::*;
    use crate::rules::edit::redecide;
    use crate::rules::{RuleConfig, Rules};

    fn text(expires: &str) -> RulesCounted {
        let day = RuleConfig {
            expires: Some(expires.to_owned()),
            ..RuleConfig::new("day", "/a", "ignore")
        };
        let rules = Rules::compile(
            &[day, RuleConfig::new("ever", "/b", "ignore")],
            Timestamp::from_micros(0),
        );
        let rules = rules
            .expect("they are right")
            .holding_at(Timestamp::from_micros(0));
        RulesCounted {
            hash: rules.hash().to_owned(),
            texts: vec![rules.text()],
        }
    }

    fn at(text: &str) -> Timestamp {
        first_moment(text).expect("a time")
    }

    #[test]
    fn a_rule_that_has_expired_is_one_that_was_removed() {
        let rules = text("2027-03-01");
        let moment = at("2027-03-01");
        assert_eq!(expired(&rules, &[], moment.saturating_add_micros(-1)), None);
        let found = expired(&rules, &[], moment).expect("it has expired");
        let ids: Vec<&str> = found.expired.iter().map(|rule| rule.id.as_str()).collect();
        assert_eq!(ids, ["day"]);
        assert_ne!(found.left.hash, rules.hash);
        let route = |hits: &[(&str, u64)]| RouteCounted {
            route: "GET /a".to_owned(),
            counts: Counts {
                received: 9,
                matched: 9,
                ..Counts::default()
            },
            rule_hits: hits
                .iter()
                .map(|(id, hits)| ((*id).to_owned(), *hits))
                .collect(),
            ..RouteCounted::default()
        };
        let counted = [route(&[("day", 1)]), route(&[("ever", 9)]), route(&[])];
        let fates = redecide(&rules, &found.left, &counted).expect("they are known");
        assert!(
            matches!(&fates[0], Fate::Anew(why) if why.contains("`day`")),
            "{fates:?}"
        );
        assert_eq!(fates[1..], [Fate::Untouched, Fate::Untouched]);
    }

    #[test]
    fn the_latest_text_says_when_a_rule_expires() {
        let (first, later) = (text("2027-03-01"), text("2028-03-01"));
        assert_eq!(first.hash, later.hash, "when it expires is not hashed");
        let both = RulesCounted {
            texts: [later.texts, first.texts].concat(),
            ..first
        };
        assert_eq!(expired(&both, &[], at("2027-06-01")), None);
        assert!(expired(&both, &[], at("2028-06-01")).is_some());
        assert_eq!(
            expired(&RulesCounted::default(), &[], at("2028-06-01")),
            None
        );
    }

    #[test]
    fn of_a_text_that_cannot_be_read_nothing_is_kept() {
        let mut rules = text("2027-03-01");
        rules.texts[0].rules[1].path = parity_schemas::terms::HIDDEN.to_owned();
        let found = expired(&rules, &[], at("2028-01-01")).expect("it has expired");
        assert!(redecide(&rules, &found.left, &[RouteCounted::default()]).is_err());
    }

    #[test]
    fn an_earlier_date_of_who_asks_holds_and_a_later_one_does_not() {
        let rules = text("2028-03-01");
        let own = |id: &str, path: &str, expires: &str| RuleText {
            id: id.to_owned(),
            path: path.to_owned(),
            action: "ignore".to_owned(),
            expires: Some(expires.to_owned()),
            ..RuleText::default()
        };
        let now = at("2027-06-01");
        for (own, expected) in [
            (own("day", "/a", "2027-03-01"), Some("day")),
            (own("other name", "$.a", "2027-03-01"), Some("day")),
            (own("ever", "/elsewhere", "2027-03-01"), Some("ever")),
            (own("day", "/a", "2027-07-01"), None),
            (own("x", "/x", "2027-03-01"), None),
            (own("x", "a path that cannot be read [", "2027-03-01"), None),
        ] {
            let found = expired(&rules, std::slice::from_ref(&own), now);
            let ids = found.iter().flat_map(|found| &found.expired);
            let ids: Vec<_> = ids.map(|rule| (rule.id.as_str(), rule.by_reader)).collect();
            let expected: Vec<_> = expected.map(|id| (id, true)).into_iter().collect();
            assert_eq!(ids, expected, "{own:?}");
        }
        // What the mirror knew itself is not told as news.
        let later = own("day", "/a", "2999-03-01");
        let found = expired(&rules, &[later], at("2028-06-01")).expect("it has expired");
        assert!(!found.expired[0].by_reader);
        assert_eq!(found.expired[0].expires, at("2028-03-01"));
    }
}
