//! What is left of rules when some of them have expired.
//!
//! A mirror that runs takes other rules when one expires. One that was stopped before does not, and its counts are still
//! those under the expired rule. So for who reads them later, a rule that has expired is one that was removed.

use parity_schemas::evidence::carried::{Expired, ExpiredRule, RulesCounted};
use parity_schemas::terms::RuleText;
use parity_schemas::time::Timestamp;

use crate::rules::compile::first_moment;
use crate::rules::text::{Rehashed, rehash};

/// The rules that have expired by the latest text, and the others; `None` if none has. A date that somebody has put off since
/// has another text.
pub(super) fn expired(rules: &RulesCounted, at: Timestamp) -> Option<Expired> {
    let mut text = rules.texts.first()?.clone();
    let ended = |rule: &RuleText| {
        let expires = first_moment(rule.expires.as_deref()?).ok()?;
        (expires <= at).then(|| ExpiredRule {
            id: rule.id.clone(),
            expires,
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
        assert_eq!(expired(&rules, moment.saturating_add_micros(-1)), None);
        let found = expired(&rules, moment).expect("it has expired");
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
        assert_eq!(expired(&both, at("2027-06-01")), None);
        assert!(expired(&both, at("2028-06-01")).is_some());
        assert_eq!(expired(&RulesCounted::default(), at("2028-06-01")), None);
    }

    #[test]
    fn of_a_text_that_cannot_be_read_nothing_is_kept() {
        let mut rules = text("2027-03-01");
        rules.texts[0].rules[1].path = parity_schemas::terms::HIDDEN.to_owned();
        let found = expired(&rules, at("2028-01-01")).expect("it has expired");
        assert!(redecide(&rules, &found.left, &[RouteCounted::default()]).is_err());
    }
}
