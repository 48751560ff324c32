//! A wrong configuration: every problem is reported at once, each with its place and a remedy; the exit code is 2, and
//! nothing is started.

use crate::support::process::{Ended, Place};
use crate::support::service::nobody;

pub(crate) const UPSTREAMS: &str =
    "[mirror]\nlegacy = \"http://127.0.0.1:7001\"\ncandidate = \"http://127.0.0.1:7002\"\n";

/// Runs `config check` on a file and expects these texts on stderr, in this order, and exit 2.
pub(crate) fn refused(text: &str, expected: &[&str]) {
    let place = Place::new();
    place.write("parity.toml", text);
    let ended = place.run(&["config", "check"]);
    assert_eq!(ended.code, 2, "{text}\n{}", ended.stderr);
    in_order(&ended, expected);
    // What `check` refuses, `mirror` refuses as well, and leaves nothing behind.
    let ended = place.run(&[
        "mirror",
        "--listen",
        "127.0.0.1:0",
        "--admin",
        "127.0.0.1:0",
    ]);
    assert_eq!(ended.code, 2, "{text}\n{}", ended.stderr);
    assert!(!place.path().join("parity.db").exists());
}

pub(crate) fn in_order(ended: &Ended, expected: &[&str]) {
    let mut rest = ended.stderr.as_str();
    for text in expected {
        let found = rest.find(text);
        assert!(
            found.is_some(),
            "`{text}` is missing or out of order in:\n{}",
            ended.stderr
        );
        rest = rest
            .get(found.expect("checked") + text.len()..)
            .expect("a boundary");
    }
    assert_eq!(ended.stdout, "");
}

#[test]
fn an_unknown_key_is_named_with_its_line_and_a_suggestion() {
    refused(
        &format!("{UPSTREAMS}samle = 0.5\n"),
        &[
            "parity.toml:4:1: unknown key `samle` in [mirror]",
            "did you mean `sample`?",
        ],
    );
    refused(
        &format!("{UPSTREAMS}\n[limit]\nbody = \"1MiB\"\n"),
        &[
            "parity.toml:5:",
            "unknown key `limit`",
            "did you mean `limits`?",
        ],
    );
    refused(
        &format!("sample = 1.0\n{UPSTREAMS}"),
        &[
            "parity.toml:1:1: unknown key `sample`",
            "it belongs into [mirror]",
        ],
    );
}

#[test]
fn two_errors_in_one_file_are_reported_together_in_its_order() {
    let text = "[mirror]\nlegacy = \"ftp://old\"\ncandidate = \"http://127.0.0.1:1\"\nsample = 3\n\n[limits]\nbody = \"big\"\n";
    refused(
        text,
        &[
            "parity.toml:2:1: mirror.legacy",
            "ftp://old",
            "parity.toml:4:1: mirror.sample",
            "`3`",
            "parity.toml:7:1: limits.body",
            "`big`",
        ],
    );
}

#[test]
fn bad_routes_rules_and_patterns_are_refused() {
    refused(
        &format!("{UPSTREAMS}[[route]]\nmatch = \"users\"\n"),
        &["parity.toml:5:1: match: `users` is not METHOD /path"],
    );
    refused(
        &format!("{UPSTREAMS}[[route]]\nshadow = true\n"),
        &["parity.toml:4:", "needs `match`"],
    );
    let rule = |body: &str| format!("{UPSTREAMS}[[rule]]\n{body}\n");
    refused(
        &rule("id = \"a\"\npath = \"no/slash\"\naction = \"ignore\""),
        &["parity.toml:6:1: rule `a`", "no/slash"],
    );
    refused(
        &rule("id = \"a\"\npath = \"/x\"\naction = \"ignor\""),
        &["parity.toml:7:1: rule `a`", "ignor", "ignore"],
    );
    refused(
        &rule("id = \"a\"\npath = \"/x\"\naction = \"ignore\"\nexpires = \"soon\""),
        &["parity.toml:8:1: rule `a`", "soon"],
    );
    refused(
        &rule("id = \"a\"\npath = \"/x\"\naction = \"tolerance\"\nabsolute = \"much\""),
        &["rule `a`", "much"],
    );
}

#[test]
fn an_expired_rule_is_an_error_of_the_check_and_keeps_no_mirror_from_starting() {
    let place = Place::new();
    place.write(
        "parity.toml",
        "[mirror]\nlegacy = \"http://127.0.0.1:7001\"\ncandidate = \"http://127.0.0.1:7002\"\n\
         [[rule]]\nid = \"a\"\npath = \"/x\"\naction = \"ignore\"\nexpires = \"2020-01-01\"\n",
    );
    let ended = place.run(&["config", "check"]);
    assert_eq!(ended.code, 2);
    in_order(&ended, &["parity.toml:8:1: rule `a`", "2020-01-01"]);
    let mirror = place.mirror("http://127.0.0.1:7001", "http://127.0.0.1:7002", &[]);
    assert!(
        mirror.log().contains("the rule has expired"),
        "{}",
        mirror.log()
    );
    assert_eq!(mirror.stop().0, 0);
}

#[test]
fn what_is_no_toml_is_refused_with_its_line_and_nothing_follows_from_it() {
    refused(
        "[mirror]\nlegacy = http://x\n",
        &["parity.toml:2:10: not TOML"],
    );
    refused("[mirror]\nsample = [1,\n}\n", &["parity.toml:3:"]);
    let place = Place::new();
    place.write("parity.toml", "[mirror]\nlegacy = http://x\n");
    let ended = place.run(&["config", "check"]);
    assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
}

#[test]
fn an_unreadable_file_is_named() {
    let place = Place::new();
    let ended = place.run(&["mirror", "--config", "missing.toml"]);
    assert_eq!(ended.code, 2);
    in_order(&ended, &["cannot read missing.toml"]);
    let ended = place.run(&["config", "check"]);
    assert_eq!(ended.code, 2);
    in_order(&ended, &["cannot read parity.toml"]);
    place.write("parity.toml", [0xff, 0xfe, 0x00]);
    let ended = place.run(&["config", "check"]);
    assert_eq!(ended.code, 2);
    in_order(&ended, &["parity.toml", "UTF-8"]);
}

#[test]
fn missing_upstreams_and_bad_flags_are_told_at_once() {
    let place = Place::new();
    let ended = place.run(&["mirror"]);
    assert_eq!(ended.code, 2);
    in_order(
        &ended,
        &["no legacy is given", "--legacy", "no candidate is given"],
    );
    let ended = place.run(&[
        "mirror",
        "--legacy",
        "localhost:80",
        "--candidate",
        "http://x/path?q",
        "--sample",
        "x",
    ]);
    assert_eq!(ended.code, 2);
    for text in [
        "--legacy",
        "localhost:80",
        "--candidate",
        "http://x/path?q",
        "--sample",
        "`x`",
    ] {
        assert!(
            ended.stderr.contains(text),
            "{text} is missing in {}",
            ended.stderr
        );
    }
}

#[test]
fn a_file_named_by_a_setting_must_be_readable_and_long_enough() {
    let place = Place::new();
    let upstreams = [
        "mirror",
        "--legacy",
        "http://127.0.0.1:1",
        "--candidate",
        "http://127.0.0.1:2",
    ];
    let ended = place.run(
        &[
            &upstreams[..],
            &["--ca-file", "none.pem", "--redaction-key-file", "none.key"],
        ]
        .concat(),
    );
    assert_eq!(ended.code, 2);
    assert!(
        ended.stderr.contains("none.pem") && ended.stderr.contains("none.key"),
        "{}",
        ended.stderr
    );
    place.write("short.key", "abc\n");
    let ended = place.run(&[&upstreams[..], &["--redaction-key-file", "short.key"]].concat());
    assert_eq!(ended.code, 2);
    assert!(
        ended.stderr.contains("3 bytes") && !ended.stderr.contains("abc"),
        "{}",
        ended.stderr
    );
}

#[test]
fn an_admin_port_off_loopback_needs_a_token() {
    let place = Place::new();
    let (legacy, candidate) = (nobody(), nobody());
    let arguments = [
        "mirror",
        "--legacy",
        &legacy,
        "--candidate",
        &candidate,
        "--listen",
        "127.0.0.1:0",
        "--admin",
        "0.0.0.0:0",
    ];
    let ended = place.run(&arguments);
    assert_eq!(ended.code, 2);
    in_order(&ended, &["mirror.admin: 0.0.0.0:0", "--admin-token-file"]);
    assert!(!place.path().join("parity.db").exists());
}

#[test]
fn a_port_in_use_is_an_error_and_nothing_is_started() {
    let place = Place::new();
    let (legacy, candidate) = (nobody(), nobody());
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = taken.local_addr().expect("bound").to_string();
    for (listen, admin) in [
        (address.as_str(), "127.0.0.1:0"),
        ("127.0.0.1:0", address.as_str()),
    ] {
        let ended = place.run(&[
            "mirror",
            "--legacy",
            &legacy,
            "--candidate",
            &candidate,
            "--listen",
            listen,
            "--admin",
            admin,
        ]);
        assert_eq!(ended.code, 2, "{}", ended.stderr);
        assert!(ended.stderr.contains(&address), "{}", ended.stderr);
        assert!(!place.path().join("parity.db").exists());
    }
}

#[test]
fn flags_win_over_the_environment_and_the_environment_over_the_file() {
    let place = Place::new();
    place.write(
        "parity.toml",
        format!("migration = \"file\"\n{UPSTREAMS}listen = \"127.0.0.1:1\"\nworkers = 3\n"),
    );
    let environment = [
        ("PARITY_MIGRATION", "environment"),
        ("PARITY_LISTEN", "127.0.0.1:2"),
    ];
    let ended = place.run_with(
        &["config", "show", "--origin", "--listen", "127.0.0.1:3"],
        &environment,
        "",
    );
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let line = |key: &str| {
        ended
            .stdout
            .lines()
            .find(|line| line.split_whitespace().next() == Some(key))
            .expect("listed")
            .to_owned()
    };
    assert!(
        line("migration").ends_with("\"environment\"  # PARITY_MIGRATION"),
        "{}",
        line("migration")
    );
    assert!(
        line("mirror.listen").ends_with("\"127.0.0.1:3\"  # --listen"),
        "{}",
        line("mirror.listen")
    );
    assert!(
        line("mirror.workers").ends_with("\"3\"  # parity.toml:6:1"),
        "{}",
        line("mirror.workers")
    );
    assert!(
        line("limits.body").ends_with("\"1MiB\"  # default"),
        "{}",
        line("limits.body")
    );
    let ended = place.run_with(&["config", "show", "--output", "json"], &environment, "");
    assert_eq!(
        ended.json()["settings"]["migration"]["value"],
        "environment"
    );
}
