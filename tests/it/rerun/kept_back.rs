//! What of a request the record hides, and what is sent only after a second yes.

use serde_json::{Value, json};

use super::{Stage, states};
use crate::support::service::Answer;
use crate::support::wait_for;

/// `part fate` of each hidden part.
fn hidden(document: &Value) -> Vec<String> {
    let all = document["hidden"].as_array().expect("a list");
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let line = |one: &Value| format!("{} {}", text(&one["part"]), text(&one["fate"]));
    all.iter().map(line).collect()
}

const SECRET: &str = "Zq8-operators-own-token";

/// An answer that says the secret in several spellings.
fn echoing() -> Answer {
    Answer::json(format!(
        r#"{{"a":1,"echo":"you are {SECRET}","all":["{SECRET}"],"spelt":"{}"}}"#,
        // As some services write JSON.
        SECRET.replace('-', "\\u002d").replace('/', "\\/")
    ))
    .header("server", SECRET)
}

#[test]
fn what_the_record_hides_is_named_and_not_made_up() {
    let stage = Stage::new(r#"{"a":1}"#, r#"{"a":2}"#);
    let headers = [
        ("authorization", "Bearer of-the-client"),
        ("x-region", "north"),
        ("accept-language", "de"),
    ];
    let id = stage.recorded(("GET", "/items/1?page=2&id=7", &headers, b""));
    let before = stage.candidate.seen();
    let document = stage.document(&id, &[]);
    assert_eq!(
        (&document["reason"], &document["sent"]),
        (&json!("hidden"), &json!(false))
    );
    assert_eq!(
        hidden(&document),
        [
            "query/id not_sent",
            "header/host left_out",
            "header/authorization not_sent",
            "header/x-region left_out",
        ]
    );
    assert_eq!(states(&document), ["unknown /a"]);
    let text = stage.rerun(&id, &[]);
    assert_eq!(text.code, 3);
    for told in [
        "hidden: header/authorization: the record has only its keyed hash; the request was not sent without it",
        "[[substitute]]",
        "--accept-hidden",
        "undecided: not sent",
    ] {
        assert!(text.stdout.contains(told), "{told}: {}", text.stdout);
    }
    assert_eq!(stage.candidate.seen(), before, "nothing was sent");

    // Somebody accepts that it is another request.
    let document = stage.document(&id, &["--accept-hidden"]);
    assert_eq!(
        hidden(&document)[..3],
        [
            "query/id as_hash",
            "header/host left_out",
            "header/authorization left_out"
        ]
    );
    stage.candidate.last(|request| {
        assert!(
            request.target.starts_with("/items/1?page=2&id=hmac:"),
            "{}",
            request.target
        );
        assert_eq!(request.header("authorization"), None);
        assert_eq!(request.header("accept-language"), Some("de"));
    });

    // The operator has values. One service says what it got: under no name, in no output.
    stage.place.write(
        "parity.toml",
        "[[substitute]]\nput = \"header:authorization\"\nenv = \"OUR_TOKEN\"\nas = \"Bearer {}\"\n\n\
         [[substitute]]\nput = \"query:id\"\nfile = \"id.txt\"\n",
    );
    stage.place.write("id.txt", "7\n");
    let (legacy, candidate) = (stage.legacy.url(), stage.candidate.url());
    let arguments = [
        "rerun",
        &*id,
        "--legacy",
        &legacy,
        "--candidate",
        &candidate,
    ];
    stage.candidate.answers(echoing());
    for output in ["text", "json"] {
        let arguments = [&arguments[..], &["--output", output]].concat();
        let ended = stage
            .place
            .run_with(&arguments, &[("OUR_TOKEN", SECRET)], "");
        assert_eq!(ended.code, 1, "{}", ended.stderr);
        assert!(ended.stdout.contains("/echo"), "{}", ended.stdout);
        for said in [&ended.stdout, &ended.stderr] {
            assert!(
                !said.contains(SECRET)
                    && !said.contains("of-the-client")
                    && !said.contains("u002d"),
                "{said}"
            );
        }
    }
    stage.candidate.last(|request| {
        let authorization = format!("Bearer {SECRET}");
        assert_eq!(request.header("authorization"), Some(&*authorization));
        assert_eq!(request.target, "/items/1?page=2&id=7");
    });
    // Without the variable, it says which one.
    let ended = stage.rerun(&id, &[]);
    assert_eq!(ended.code, 2);
    assert!(
        ended.stderr.contains("OUR_TOKEN is not set"),
        "{}",
        ended.stderr
    );
}

#[test]
fn a_post_is_sent_only_after_a_second_yes_and_as_it_was() {
    for (media, body, sent) in [
        ("application/json", r#"{"n": 1.50}"#, r#"{"n": 1.50}"#),
        (
            "application/x-www-form-urlencoded",
            "b=1&a=x+y",
            "b=1&a=x%20y",
        ),
    ] {
        let stage = Stage::new(r#"{"a":1}"#, r#"{"a":2}"#);
        stage.place.write(
            "parity.toml",
            "[[route]]\nmatch = \"POST /orders\"\nshadow = true\n",
        );
        let headers = [("content-type", media)];
        let id = stage.recorded(("POST", "/orders", &headers, body.as_bytes()));
        stage.place.write("parity.toml", "");
        let before = stage.candidate.seen();
        let document = stage.document(&id, &[]);
        assert_eq!(
            (&document["reason"], &document["sent"]),
            (&json!("unsafe_method"), &json!(false)),
            "{media}"
        );
        let text = stage.rerun(&id, &[]);
        assert!(text.stdout.contains("--allow-unsafe"), "{}", text.stdout);
        assert_eq!(stage.candidate.seen(), before, "nothing was sent");
        let ended = stage.rerun(&id, &["--allow-unsafe"]);
        assert_eq!(ended.code, 1, "{}", ended.stderr);
        assert!(
            ended.stderr.contains("do again what it did"),
            "{}",
            ended.stderr
        );
        stage.candidate.last(|request| {
            assert_eq!(String::from_utf8_lossy(&request.body), sent, "{media}");
            assert_eq!(request.header("content-type"), Some(media));
        });
    }
}

#[test]
fn a_body_that_is_not_there_whole_is_never_sent() {
    let stage = Stage::new(r#"{"a":1}"#, r#"{"a":2}"#);
    stage.place.write(
        "parity.toml",
        "[[route]]\nmatch = \"POST /x\"\nshadow = true\n",
    );
    let body = format!("{{\"text\":\"{}\"}}", "x".repeat(100_000));
    let headers = [("content-type", "application/json")];
    let id = stage.recorded(("POST", "/x", &headers, body.as_bytes()));
    let before = stage.legacy.seen();
    let document = stage.document(&id, &["--accept-hidden", "--allow-unsafe"]);
    assert_eq!(document["reason"], "hidden");
    assert_eq!(document["hidden"][1]["part"], "body", "{document}");
    assert_eq!(document["hidden"][1]["why"], "cut", "{document}");
    assert_eq!(stage.legacy.seen(), before);
    let text = stage.rerun(&id, &[]);
    assert!(!text.stdout.contains("--accept-hidden"), "{}", text.stdout);
}

#[test]
fn of_a_request_that_was_not_kept_nothing_can_be_sent() {
    let stage = Stage::new(r#"{"a":1}"#, r#"{"a":2}"#);
    let (mirror, _) = stage.mirror(("GET", "/items/1", &[], b""));
    for number in 0..60 {
        mirror.get(&format!("/items/{number}"));
    }
    mirror.settled(61);
    let without = wait_for("one whose request was not kept", || {
        let page = mirror.ask("/api/v1/mismatches?limit=100").json();
        let mut all = page["mismatches"].as_array()?.iter();
        all.find(|mismatch| mismatch["sample"].is_null()).cloned()
    });
    let id = without["id"].as_str().expect("an id");
    let page = mirror.ask(&format!("/mismatches/{id}")).text();
    assert!(!page.contains("Run again"), "{page}");
    mirror.stop();
    let before = stage.legacy.seen();
    let document = stage.document(id, &["--accept-hidden"]);
    assert_eq!(document["reason"], "not_kept");
    assert_eq!(states(&document), ["unknown /a"]);
    assert_eq!(stage.legacy.seen(), before);
}
