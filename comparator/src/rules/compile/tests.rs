//! What the configuration gets told.

use super::*;
use crate::rules::Rules;

fn config(id: &str, path: &str, action: &str) -> RuleConfig {
    RuleConfig::new(id, path, action)
}

fn time(text: &str) -> Timestamp {
    text.parse().expect("a time")
}

fn errors(configs: &[RuleConfig]) -> Vec<(usize, &'static str, String)> {
    let errors = Rules::compile(configs, time("2026-06-01T00:00:00Z")).expect_err("wrong rules");
    errors
        .into_iter()
        .map(|error| {
            let hint = error
                .hint
                .as_ref()
                .map(|hint| format!(" [{hint}]"))
                .unwrap_or_default();
            (error.rule, error.key, format!("{error}{hint}"))
        })
        .collect()
}

fn accept(id: &str, action: &str, explanations: &[&str]) -> RuleConfig {
    let mut config = config(id, "/x", action);
    config.explanations = explanations.iter().map(|word| (*word).to_owned()).collect();
    config
}

#[test]
fn every_error_is_reported_at_once_with_its_key() {
    let mut expired = config("old", "/a", "ignore");
    expired.expires = Some("2026-06-01".to_owned());
    let mut typo = config("a", "x.y", "ignroe");
    typo.route = Some("users".to_owned());
    let mut both = config("b", "/x", "tolerance");
    both.absolute = Some("0.1".to_owned());
    both.relative = Some("0.1".to_owned());
    let mut kind = config("c", "/x", "as");
    kind.kind = Some("timestmp".to_owned());
    let mut status = config("d", "", "unordered");
    status.part = Part::Status;
    let found = errors(&[
        expired,
        typo,
        both,
        kind,
        status,
        config("a", "/y", "key"),
        config("", "/z", "mask"),
        config("e", "/z", "accept"),
        accept("f", "mask", &["same_instant"]),
        accept("g", "accept", &["same_instant", "same_instnat"]),
    ]);
    let keys: Vec<_> = found.iter().map(|(rule, key, _)| (*rule, *key)).collect();
    assert_eq!(
        keys,
        [
            (0, "expires"),
            (1, "route"),
            (1, "path"),
            (1, "action"),
            (2, "absolute"),
            (3, "type"),
            (4, "action"),
            (5, "id"),
            (5, "field"),
            (6, "id"),
            (7, "explanations"),
            (8, "explanations"),
            (9, "explanations"),
        ]
    );
    assert_eq!(
        found[3].2,
        "`ignroe` is not an action [did you mean `ignore`?]"
    );
    assert_eq!(
        found[5].2,
        "`timestmp` is not a type [did you mean `timestamp`?]"
    );
}

#[test]
fn the_hash_follows_what_decides_and_nothing_else() {
    let now = time("2026-06-01T00:00:00Z");
    let hash = |configs: &[RuleConfig]| {
        Rules::compile(configs, now)
            .expect("rules")
            .hash()
            .to_owned()
    };
    let base = config("a", "/x", "ignore");
    let mut renamed = base.clone();
    renamed.id = "b".to_owned();
    renamed.reason = Some("why".to_owned());
    assert_eq!(hash(std::slice::from_ref(&base)), hash(&[renamed]));
    assert_eq!(
        hash(std::slice::from_ref(&base)),
        hash(&[base.clone(), config("m", "/y", "mask")])
    );
    assert_ne!(hash(std::slice::from_ref(&base)), hash(&[]));
    assert_ne!(hash(&[base]), hash(&[config("a", "/y", "ignore")]));
    assert_eq!(hash(&[]).len(), 32);
}

#[test]
fn a_rule_ceases_at_its_date() {
    let mut rule = config("a", "/x", "ignore");
    rule.expires = Some("2026-07-01".to_owned());
    let rules = Rules::compile(&[rule], time("2026-06-01T00:00:00Z")).expect("rules");
    assert_eq!(
        rules.scope(None, time("2026-06-30T23:59:59.999999Z")).body,
        [0]
    );
    assert!(
        rules
            .scope(None, time("2026-07-01T00:00:00Z"))
            .body
            .is_empty()
    );
}

#[test]
fn what_has_expired_leaves_the_hash_of_what_holds() {
    let before = time("2026-06-01T00:00:00Z");
    let then = time("2026-07-01T00:00:00Z");
    let mut ending = config("ending", "/x", "ignore");
    ending.expires = Some("2026-07-01".to_owned());
    let staying = config("staying", "/y", "ignore");
    let compiled = |configs: &[RuleConfig]| Rules::compile(configs, before).expect("rules");
    let rules = compiled(&[ending.clone(), staying.clone()]);
    assert_eq!(rules.next_expiry(before), Some(then));
    assert_eq!(rules.next_expiry(then), None);
    let mut endless = ending;
    endless.expires = None;
    assert_eq!(
        rules.holding_at(before).hash(),
        compiled(&[endless, staying.clone()]).hash()
    );
    let left = rules.holding_at(then);
    assert_eq!(left.hash(), compiled(&[staying]).hash());
    assert!(left.ids().eq(["staying"]));
}
