//! What the hash follows, and that it stays.

use parity_schemas::time::Timestamp;

use crate::rules::config::parse;
use crate::rules::{PROFILES, RuleConfig, Rules};

fn config(id: &str, path: &str, action: &str) -> RuleConfig {
    RuleConfig::new(id, path, action)
}

fn time(text: &str) -> Timestamp {
    text.parse().expect("a time")
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

/// Evidence that is stored is bound to these hashes. They may change with what is equal by default, and with nothing
/// else: not with the name of a field or of a variant, and not with how rules are read.
#[test]
fn the_hash_of_a_rule_stays_the_same_from_one_build_to_the_next() {
    let hash = |rules: &[RuleConfig]| {
        let rules = Rules::compile(rules, time("2026-06-01T00:00:00Z"));
        rules.expect("rules").hash().to_owned()
    };
    let profiles = PROFILES.iter().map(|profile| hash(&profile.rules()));
    let hashes = [hash(&[]), hash(&parse(EVERY_ACTION).expect("rules"))];
    let hashes: Vec<String> = hashes.into_iter().chain(profiles).collect();
    assert_eq!(
        hashes,
        [
            "e8613f5a5bc9f9feeda32a8e7c80b69d",
            "53d68f6c6b3b1a0ffc9228c343ffa663",
            "90dc299a8107068867bffdcda4a34b27",
            "2e8187f0842e57182f83eb83d7a0b10b",
            "2e8187f0842e57182f83eb83d7a0b10b",
            "2e8187f0842e57182f83eb83d7a0b10b",
        ]
    );
}

const EVERY_ACTION: &str = r#"
[[rule]]
id = "ignore"
route = "get  /users/{id}"
path = "/**/updated_at"
action = "ignore"
reason = "set on read"
owner = "payments"
expires = "2027-03-01"
[[rule]]
id = "accept"
path = "$.items[*]['a/b'][0]"
action = "accept"
explanations = ["same_instant", "null_vs_empty"]
[[rule]]
id = "accept-extra"
path = "/**"
action = "accept"
explanations = ["empty_vs_missing"]
kind = "extra"
[[rule]]
id = "unordered"
part = "header"
path = "Vary"
action = "unordered"
[[rule]]
id = "key"
path = "/items"
action = "key"
field = "id"
[[rule]]
id = "absolute"
path = "/price"
action = "tolerance"
absolute = "0.010"
[[rule]]
id = "relative"
path = "/rate"
action = "tolerance"
relative = "1e-9"
[[rule]]
id = "timestamp"
part = "trailer"
path = "x-at"
action = "as"
type = "timestamp"
[[rule]]
id = "uuid"
path = "/id"
action = "as"
type = "uuid"
[[rule]]
id = "number"
path = "/n"
action = "as"
type = "number"
expires = "2027-03-01T12:00:00Z"
[[rule]]
id = "status"
part = "status"
action = "ignore"
[[rule]]
id = "mask"
path = "/iban"
action = "mask"
"#;

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
