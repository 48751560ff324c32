//! `parity diff`: exit codes, kinds, both outputs, hostile content, rules, colours.

use crate::command_diff_text::diff_in;
use crate::support::process::Place;

/// Exit code and stderr+stdout of a diff of two files with these names and contents.
fn diff(files: [(&str, &str); 2], more: &[&str]) -> (i32, String) {
    let place = Place::new();
    for (name, text) in files {
        place.write(name, text);
    }
    let ended = place.run(&[&["diff", files[0].0, files[1].0], more].concat());
    (ended.code, ended.stdout + &ended.stderr)
}

#[test]
fn the_exit_code_is_the_verdict() {
    let json = |text| ("x.json", text);
    let other = |text| ("y.json", text);
    for (legacy, candidate, code, word) in [
        (
            "{\"a\":1,\"b\":[]}",
            "{ \"b\": [ ], \"a\": 1.0 }",
            0,
            "match",
        ),
        (
            "{\"a\":9007199254740993}",
            "{\"a\":9007199254740992}",
            1,
            "equal_double",
        ),
        ("{\"a\":null}", "{\"a\":[]}", 1, "null_vs_empty"),
        ("{\"a\":1}", "{\"a\":NaN}", 1, "is not what it claims to be"),
    ] {
        let (actual, text) = diff([json(legacy), other(candidate)], &[]);
        assert_eq!(actual, code, "{text}");
        assert!(text.contains(word), "{text}");
    }
    let deep = |last: &str| "[".repeat(100_000) + last + &"]".repeat(100_000);
    let (code, text) = diff([json(&deep("1")), other(&deep("2"))], &[]);
    assert_eq!(code, 3, "{text}");
    assert!(text.contains("too_deep"), "{text}");
}

#[test]
fn kinds_are_recognized_or_given() {
    assert_eq!(
        diff(
            [
                ("a.yaml", "x: 1\ny: [a]\n"),
                ("b.yaml", "y:\n  - a\nx: 1\n")
            ],
            &[]
        )
        .0,
        0
    );
    assert_eq!(
        diff([("a.txt", "one\ntwo\n"), ("b.txt", "one\ntwo")], &[]).0,
        0
    );
    assert_eq!(
        diff(
            [("a.txt", "{\"a\":1}"), ("b.txt", "{\"a\": 1}")],
            &["--as", "json"]
        )
        .0,
        0
    );
    assert_eq!(diff([("a", "{\"a\":1}"), ("b", "{\"a\": 1}")], &[]).0, 0);
    // A document on each line: recognized by content and by name.
    let (one, two) = ("{\"a\":1}\n{\"a\":2}\n", "{\"a\":1.0}\n\n{ \"a\":2}");
    assert_eq!(diff([("a", one), ("b", two)], &[]).0, 0);
    assert_eq!(diff([("a.jsonl", one), ("b.ndjson", two)], &[]).0, 0);
    // Names with contradicting extensions are ignored, in either order.
    let (one, two) = ("{\"a\":1,\"b\":2}", "{\"b\":2,\"a\":1}");
    assert_eq!(diff([("k.json", one), ("k.txt", two)], &[]).0, 0);
    assert_eq!(diff([("k.txt", one), ("k.json", two)], &[]).0, 0);
    let http = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nDate: x\r\n\r\n";
    let chunked = "HTTP/1.1 200 Fine\r\ncontent-type: application/json; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n7\r\n{\"a\":1}\r\n0\r\n\r\n";
    assert_eq!(
        diff([("a", &format!("{http}{{\"a\":1}}")), ("b", chunked)], &[]).0,
        0
    );
    let (code, text) = diff(
        [
            ("a", &format!("{http}{{\"a\":1}}")),
            ("b", "HTTP/1.1 500 No\r\n\r\n"),
        ],
        &[],
    );
    assert_eq!(code, 1);
    assert!(text.contains("status"), "{text}");
}

#[test]
fn the_document_is_the_one_of_the_design() {
    let place = Place::new();
    place.write(
        "a.json",
        "{\"items\":[{\"price\":12.50}],\"total\":1,\"ts\":\"x\"}",
    );
    place.write(
        "b.json",
        "{\"items\":[{\"price\":12.51}],\"total\":1.0,\"ts\":\"y\"}",
    );
    place.write(
        "rules.toml",
        "[[rule]]\nid = \"ts\"\npath = \"/ts\"\naction = \"ignore\"\n",
    );
    let ended = place.run(&[
        "diff",
        "a.json",
        "b.json",
        "--rules",
        "rules.toml",
        "--output",
        "json",
    ]);
    assert_eq!(ended.code, 1, "{}", ended.stderr);
    let document = ended.json();
    assert_eq!(document["schema"], "parity.diff/v1");
    assert_eq!(document["verdict"], "mismatch");
    assert_eq!(document["truncated"], false);
    let finding = &document["findings"][0];
    assert_eq!(finding["path"], "/items/0/price");
    assert_eq!(finding["pattern"], "/items/*/price");
    assert_eq!(
        (&finding["legacy"], &finding["candidate"]),
        (&"12.50".into(), &"12.51".into())
    );
    let why: Vec<_> = document["tolerated"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|entry| entry["why"].clone())
        .collect();
    assert_eq!(why, ["equal_decimal", "rule:ts"]);
}

#[test]
fn input_can_be_piped_and_what_cannot_be_read_is_an_error() {
    let place = Place::new();
    place.write("a.json", "[1]");
    assert_eq!(place.run_with(&["diff", "a.json", "-"], &[], "[1]").code, 0);
    for arguments in [["diff", "-", "-"], ["diff", "a.json", "none.json"]] {
        let ended = place.run(&arguments);
        assert_eq!(ended.code, 2);
        assert!(ended.stderr.starts_with("error: "), "{}", ended.stderr);
    }
    place.write(
        "rules.toml",
        "[[rule]]\nid = \"x\"\npath = \"/x\"\naction = \"forget\"\n",
    );
    let ended = place.run(&["diff", "a.json", "a.json", "--rules", "rules.toml"]);
    assert_eq!(ended.code, 2);
    assert!(ended.stderr.contains("rules.toml:4:1"), "{}", ended.stderr);
}

#[test]
fn hostile_values_reach_the_terminal_spelt_out_and_without_colour_off_it() {
    let (code, text) = diff(
        [
            ("a.json", "{\"a\":\"x\"}"),
            ("b.json", "{\"a\":\"\u{202e}\u{9b}31m\"}"),
        ],
        &[],
    );
    assert_eq!(code, 1);
    assert!(
        text.contains("\\u{202e}") && !text.contains(['\u{202e}', '\u{9b}', '\u{1b}']),
        "{text}"
    );
}

#[test]
fn a_rules_file_that_is_missing_or_broken_is_an_error() {
    let place = Place::new();
    place.write("a.json", "{\"a\":1}");
    place.write("broken.toml", "[[rule]\n");
    place.write("unknown.toml", "ignored = true\n");
    for rules in ["missing.toml", "broken.toml", "unknown.toml"] {
        let ended = place.run(&["diff", "a.json", "a.json", "--rules", rules]);
        assert_eq!(ended.code, 2, "{rules}: {}", ended.stderr);
        assert!(ended.stderr.contains(rules), "{}", ended.stderr);
    }
}

#[test]
fn one_side_alone_cannot_hide_a_header_by_nominating_it() {
    let legacy = "HTTP/1.1 200 OK\r\nlocation: /a\r\n\r\n";
    let candidate = "HTTP/1.1 200 OK\r\nconnection: location\r\nlocation: /b\r\n\r\n";
    let (code, text) = diff([("a.http", legacy), ("b.http", candidate)], &[]);
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("header location"), "{text}");
}

#[test]
fn rules_are_told_with_what_they_excused_or_did_not() {
    let place = Place::new();
    place.write(
        "rules.toml",
        "[[rule]]\nid = \"times\"\npath = \"/*/t\"\naction = \"ignore\"\n\
         [[rule]]\nid = \"nothing\"\npath = \"/x\"\naction = \"ignore\"\n\
         [[rule]]\nid = \"there\"\nroute = \"GET /x\"\npath = \"/**/t\"\naction = \"ignore\"\n",
    );
    let files = [
        ("a.json", &br#"[{"t":1},{"t":2},{"t":3},{"t":4}]"#[..]),
        ("b.json", &br#"[{"t":5},{"t":6},{"t":7},{"t":8}]"#[..]),
    ];
    let ended = diff_in(&place, files, &["--rules", "rules.toml"]);
    assert_eq!(
        (ended.code, &*ended.stdout),
        (
            0,
            "equal: 4 × by rule times: /0/t, /1/t, /2/t, …\n1 rule excused nothing here: nothing\n1 rule is for one route, not applied without --route: there\nmatch\n"
        )
    );
    let ended = diff_in(
        &place,
        files,
        &["--rules", "rules.toml", "--output", "json"],
    );
    let rules = &ended.json()["rules"];
    assert_eq!(rules[0]["hits"], 4);
    assert_eq!(
        (&rules[1]["id"], &rules[1]["hits"]),
        (&"nothing".into(), &0.into())
    );
}

#[test]
fn rules_of_a_route_apply_to_the_answers_of_a_request_that_is_named() {
    let place = Place::new();
    place.write(
        "rules.toml",
        "[[route]]\nmatch = \"GET /by-name/{name}\"\n\
         [[rule]]\nid = \"users\"\nroute = \"GET /users/{id}\"\npath = \"/t\"\naction = \"ignore\"\n\
         [[rule]]\nid = \"names\"\nroute = \"GET /by-name/{name}\"\npath = \"/t\"\naction = \"ignore\"\n",
    );
    let files = [
        ("a.json", &br#"{"t":1}"#[..]),
        ("b.json", &br#"{"t":2}"#[..]),
    ];
    let asked = |route: &str| {
        let rules = ["--rules", "rules.toml", "--route", route];
        diff_in(&place, files, &rules)
    };
    for (request, rule) in [
        ("GET /users/42", "users"),
        ("GET /users/42?page=1", "users"),
        ("GET /users/42 HTTP/1.1", "users"),
        ("get /users/{id}", "users"),
        ("GET /by-name/ada", "names"),
    ] {
        let ended = asked(request);
        let told = format!("equal: 1 × by rule {rule}: /t\nmatch\n");
        assert_eq!(
            (ended.code, &*ended.stdout),
            (0, &*told),
            "{request}: {}",
            ended.stderr
        );
    }
    let other = asked("POST /users/42");
    assert_eq!(other.code, 1, "{}", other.stdout);
    assert!(
        other
            .stderr
            .contains("--route: no rule is for `POST /users/{id}` alone"),
        "{}",
        other.stderr
    );
    assert!(!other.stdout.contains("not applied"), "{}", other.stdout);
    for (route, wrong) in [("/users/42", "--route"), ("GET users", "--route")] {
        let refused = asked(route);
        assert_eq!(refused.code, 2, "{}", refused.stdout);
        assert!(refused.stderr.contains(wrong), "{}", refused.stderr);
    }
    let alone = diff_in(&place, files, &["--route", "GET /users/42"]);
    assert_eq!(alone.code, 2);
    assert!(alone.stderr.contains("--rules"), "{}", alone.stderr);
}

#[test]
fn colours_are_for_terminals_unless_asked_for_and_mark_what_changed() {
    let place = Place::new();
    place.write("a.json", "{\"name\":\"the old name\"}");
    place.write("b.json", "{\"name\":\"the new name\"}");
    for (flags, environment, coloured) in [
        (&["diff", "a.json", "b.json"][..], &[][..], false),
        (
            &["diff", "a.json", "b.json"],
            &[("CLICOLOR_FORCE", "1")],
            true,
        ),
        (
            &["diff", "a.json", "b.json", "--color", "always"],
            &[("NO_COLOR", "1")],
            true,
        ),
        (
            &["diff", "a.json", "b.json", "--color", "never"],
            &[("CLICOLOR_FORCE", "1")],
            false,
        ),
    ] {
        let text = place.run_with(flags, environment, "").stdout;
        assert_eq!(text.contains('\u{1b}'), coloured, "{text:?}");
        let marked = "\u{1b}[31m- \"the \u{1b}[0m\u{1b}[1m\u{1b}[4m\u{1b}[31mold\u{1b}[0m";
        assert_eq!(text.contains(marked), coloured, "{text:?}");
    }
}
