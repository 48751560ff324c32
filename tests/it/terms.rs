//! The record holds the text of the rules, and what of the traffic was compared.

use parity_comparator::rules::{Rehashed, rehash};
use parity_schemas::terms::Terms;
use parity_sink::read::TermsFilter;
use parity_sink::{Reader, StoreUrl};

use crate::support::process::{Mirror, Place};
use crate::support::service::Service;
use crate::support::wait_for;

const RULES: &str = r#"
[[rule]]
id = "stamp"
path = "/**/stamp"
action = "ignore"
reason = "set on read"
owner = "payments"

[[rule]]
id = "hide"
path = "/name"
action = "mask"

[[route]]
match = "POST /quotes"
shadow = true
"#;

fn reader(place: &Place) -> Reader {
    let url = StoreUrl::Sqlite(place.path().join("parity.db"));
    Reader::open(&url.into()).expect("the store is there")
}

fn terms(mirror: &Mirror<'_>, place: &Place, expected: usize) -> Vec<Terms> {
    let rules_hash = mirror.status()["rules_hash"]
        .as_str()
        .expect("a hash")
        .to_owned();
    wait_for("the terms", || {
        let found = reader(place)
            .terms(&TermsFilter {
                migration: "default".to_owned(),
                rules_hash: rules_hash.clone(),
                ..TermsFilter::default()
            })
            .expect("they are read")
            .terms;
        (found.len() == expected).then_some(found)
    })
}

#[test]
fn each_change_of_rules_or_sampling_is_recorded_once_with_the_text_that_has_the_hash() {
    let place = Place::new();
    let service = Service::json("{\"a\":1}");
    place.write("parity.toml", RULES);
    let start = || {
        let mirror = place.mirror(&service.url(), &service.url(), &[]);
        mirror.get("/items/1");
        mirror
    };
    let mirror = start();
    mirror.settled(1);
    let first = terms(&mirror, &place, 1).remove(0);
    let text = &first.rules.rules;
    assert_eq!(text.len(), 1, "a mask decides nothing: {text:?}");
    assert_eq!(text[0].path, "/**/stamp");
    assert_eq!(text[0].reason.as_deref(), Some("set on read"));
    assert!((first.coverage.sample - 1.0).abs() < f64::EPSILON);
    assert_eq!(first.coverage.routes[0].route, "POST /quotes");
    assert_eq!(first.coverage.routes[0].shadow, Some(true));
    let hash = &first.identity.rules_hash;
    assert_eq!(rehash(&first.rules), Rehashed::Hash(hash.clone()));
    let by_hash = reader(&place).rule_text("default", hash);
    assert_eq!(by_hash.expect("it is read"), Some(first.rules.clone()));
    assert_eq!(mirror.stop().0, 0);

    let mirror = start();
    mirror.settled(2);
    assert_eq!(
        terms(&mirror, &place, 1),
        std::slice::from_ref(&first),
        "a restart changes nothing"
    );

    place.write("parity.toml", format!("[mirror]\nsample = 0.5\n{RULES}"));
    mirror.signal("HUP");
    let both = terms(&mirror, &place, 2);
    assert!((both[0].coverage.sample - 0.5).abs() < f64::EPSILON);
    assert_eq!(both[1], first);

    place.write("parity.toml", "");
    mirror.signal("HUP");
    wait_for("other rules", || {
        (mirror.status()["rules_hash"] != **hash).then_some(())
    });
    let without = terms(&mirror, &place, 1).remove(0);
    assert!(without.rules.rules.is_empty());
    let hash = without.identity.rules_hash.clone();
    assert_eq!(rehash(&without.rules), Rehashed::Hash(hash));
    assert_eq!(mirror.stop().0, 0);
}
