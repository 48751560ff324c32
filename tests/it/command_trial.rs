//! `parity rules test` on a store of much traffic, in which most mismatches have no stored answers.

use serde_json::Value;

use crate::support::process::Place;
use crate::support::service::{Answer, Service};

/// More than a store has the answers of, in one interval as in two.
const MANY: u64 = 130;

/// A place with the record of much traffic that differs in one way, and in which services answer so.
fn recorded_much(place: &Place, media_type: &'static str, [one, two]: [fn(u64) -> String; 2]) {
    let service = |body: fn(u64) -> String| {
        Service::start(move |request| {
            let number = request.target.rsplit('/').next().unwrap_or_default();
            let body = body(number.parse().unwrap_or(0));
            Answer::new(200, body).header("content-type", media_type)
        })
    };
    let (legacy, candidate) = (service(one), service(two));
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    for number in 0..MANY {
        mirror.get(&format!("/prices/{number}"));
    }
    mirror.settled(MANY);
    mirror.stop();
}

/// `rules test` with one rule for `keys`.
fn tried(place: &Place, keys: &str, more: &[&str]) -> (i32, Value) {
    place.write("one.toml", format!("[[rule]]\nid = \"one\"\n{keys}\n"));
    let asked = ["rules", "test", "--config", "one.toml", "--output", "json"];
    let ended = place.run(&[&asked, more].concat());
    (ended.code, ended.json())
}

#[test]
fn what_no_stored_answer_shows_is_neither_a_pass_nor_a_fail() {
    let place = Place::new();
    recorded_much(
        &place,
        "application/json",
        [
            |number| format!("{{\"total\":{number}.1}}"),
            |number| format!("{{\"total\":{number}.105}}"),
        ],
    );
    let asked = ["--max-mismatch-rate", "0.1"];
    let tolerance = |absolute: &str| {
        format!("path = \"/total\"\naction = \"tolerance\"\nabsolute = \"{absolute}\"")
    };
    let number = |value: &Value| value.as_u64().unwrap_or_default();
    // Every stored answer is equal now; of the others nothing is stored.
    let (code, document) = tried(&place, &tolerance("0.01"), &asked);
    let group = &document["groups"][0];
    let equal = number(&group["equal"]);
    assert_eq!(group["fate"], "equal_examples", "{document:#}");
    assert!((20..=60).contains(&equal), "{document:#}");
    assert_eq!(number(&group["untold"]["not_stored"]), MANY - equal);
    assert_eq!(document["before"]["outcome"], "fail");
    assert_eq!(document["if_equal"]["outcome"], "pass", "{document:#}");
    assert_eq!(document["if_different"]["outcome"], "fail", "{document:#}");
    assert_eq!(
        (code, &document["after"]["outcome"]),
        (3, &"undecided".into())
    );
    assert_eq!(number(&document["untold"]), MANY - equal);
    let text = place.run(&[&["rules", "test", "--config", "one.toml"], &asked[..]].concat());
    assert_eq!(text.code, 3);
    let unseen = MANY - equal;
    for told in [
        &format!("after   UNDECIDED  between 0 and {unseen} of 130 compared requests differ"),
        "no answers are stored",
        "if all of them are equal  PASS  0 of 130",
        &format!("if all of them differ     FAIL  {unseen} of 130"),
        "to know, run the mirror with these rules",
    ] {
        assert!(text.stdout.contains(told), "{told}: {}", text.stdout);
    }
    assert!(
        text.stdout.contains(&format!(
            "{equal} of {equal} that were compared again are equal"
        )),
        "{}",
        text.stdout
    );
    // The same with so much allowed that the unknown ones do not matter.
    let (code, document) = tried(&place, &tolerance("0.01"), &["--max-mismatch-rate", "1"]);
    assert_eq!((code, &document["after"]["outcome"]), (0, &"pass".into()));
    // What is seen to differ proves a fail on its own, and no more than that is said.
    let (code, document) = tried(
        &place,
        &tolerance("0.001"),
        &["--max-mismatch-rate", "0.01"],
    );
    assert_eq!(document["groups"][0]["fate"], "stays", "{document:#}");
    assert_eq!((code, &document["after"]["outcome"]), (1, &"fail".into()));
    assert_eq!(
        document["if_equal"]["differing"],
        document["groups"][0]["differ"]
    );
    let (code, _) = tried(&place, &tolerance("0.001"), &["--max-mismatch-rate", "0.5"]);
    assert_eq!(code, 3, "a few examples prove no half");
    // Certain by place, whatever is stored.
    let (code, document) = tried(&place, "path = \"/total\"\naction = \"ignore\"", &asked);
    assert_eq!((code, number(&document["untold"])), (0, 0), "{document:#}");
}

#[test]
fn a_group_of_which_some_examples_are_equal_is_in_doubt_between_these_and_all() {
    let place = Place::new();
    recorded_much(
        &place,
        "application/json",
        [
            |number| format!("{{\"total\":7{number:03}10}}"),
            |number| format!("{{\"total\":7{number:03}{}}}", 13 + number % 2 * 5),
        ],
    );
    let number = |value: &Value| value.as_u64().unwrap_or_default();
    let near = "path = \"/total\"\naction = \"tolerance\"\nabsolute = \"5\"";
    let (code, document) = tried(&place, near, &["--max-mismatch-rate", "0.3"]);
    let group = &document["groups"][0];
    assert_eq!(group["fate"], "partly", "{document:#}");
    assert_eq!(document["if_equal"]["differing"], group["differ"]);
    let equal = number(&group["equal"]);
    assert_eq!(number(&document["if_different"]["differing"]), MANY - equal);
    assert_eq!(code, 3, "{document:#}");
    // Known differences of the tried file count before and after, and that is said.
    let fingerprint = group["fingerprint"].as_str().expect("a name");
    let known = format!(
        "[[known]]\nid = \"k\"\nfingerprints = [\"{fingerprint}\"]\nreason = \"r\"\nowner = \"o\"\nexpires = \"2099-01-01\"\n"
    );
    place.write("known.toml", &known);
    let text = place.run(&["rules", "test", "--config", "known.toml"]);
    assert!(
        text.stdout
            .contains("decided with the 1 known difference of this configuration"),
        "{} {}",
        text.stdout,
        text.stderr
    );
}

#[test]
fn texts_with_hidden_tokens_are_told_where_the_rule_leaves_these_out() {
    let place = Place::new();
    recorded_much(
        &place,
        "text/plain",
        [
            |number| format!("settled in 95 ms, token=Kd83hfk29Fh{number}\n"),
            |number| format!("settled in 95 ms, token=Zu49Fjw8Dk{number}\n"),
        ],
    );
    let rule = |pattern: &str| format!("path = \"\"\naction = \"parts\"\npattern = '{pattern}'");
    let (_, document) = tried(&place, &rule("token=(\\S+)"), &[]);
    let group = &document["groups"][0];
    assert_eq!(group["fate"], "equal_examples", "{document:#}");
    assert!(group["untold"].get("hashed").is_none(), "{document:#}");
    for pattern in ["token=(\\d+)", "hmac:(.*)"] {
        let (code, document) = tried(&place, &rule(pattern), &[]);
        assert_eq!(document["groups"][0]["fate"], "cannot_tell", "{document:#}");
        assert!(document["groups"][0]["untold"]["hashed"].as_u64() >= Some(20));
        assert_eq!(code, 3);
    }
}
