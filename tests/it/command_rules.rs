//! `parity rules`, and profiles where they are used.

use crate::support::process::Place;
use crate::support::service::{Answer, Service};
use crate::support::wait_for;

#[test]
fn profiles_are_listed_and_printed_as_rules_that_can_be_copied() {
    let place = Place::new();
    let list = place.run(&["rules", "profile"]);
    assert_eq!(list.code, 0);
    let names: Vec<&str> = list
        .stdout
        .lines()
        .filter_map(|line| line.split(' ').next())
        .collect();
    assert!(
        names.contains(&"go-to-rust") && names.contains(&"node-to-rust"),
        "{names:?}"
    );
    place.write(
        "old.json",
        r#"{"tags":null,"at":"2026-03-01T09:30:12.12Z","n":1}"#,
    );
    place.write(
        "new.json",
        r#"{"tags":[],"at":"2026-03-01T09:30:12.120Z","n":1.0}"#,
    );
    assert_eq!(place.run(&["diff", "old.json", "new.json"]).code, 1);
    for name in names {
        let text = place.run(&["rules", "profile", name]).stdout;
        place.write("copied.toml", &text);
        let diff = |more: &[&str]| {
            let ended = place.run(&[&["diff", "old.json", "new.json"], more].concat());
            (ended.code, ended.stdout)
        };
        // A profile by name and a copy of its rules have the same effect.
        assert_eq!(
            diff(&["--profile", name]),
            diff(&["--rules", "copied.toml"]),
            "{name}"
        );
    }
    let accepted = place.run(&["diff", "old.json", "new.json", "--profile", "go-to-rust"]);
    assert_eq!(accepted.code, 0, "{}", accepted.stdout);
    assert!(
        accepted.stdout.contains("go-to-rust/nil-slice-or-map"),
        "{}",
        accepted.stdout
    );
    // Node has no nil slices, so its profile does not accept them.
    assert_eq!(
        place
            .run(&["diff", "old.json", "new.json", "--profile", "node-to-rust"])
            .code,
        1
    );
}

#[test]
fn an_unknown_profile_and_one_that_is_copied_beside_itself_are_refused() {
    let place = Place::new();
    place.write("a.json", "1");
    let unknown = place.run(&["diff", "a.json", "a.json", "--profile", "go-to-rsut"]);
    assert_eq!(unknown.code, 2);
    assert!(
        unknown.stderr.contains("did you mean `go-to-rust`?"),
        "{}",
        unknown.stderr
    );
    let none = place.run(&["rules", "profile", "rust-to-go"]);
    assert_eq!(none.code, 2);
    assert!(
        none.stderr.contains("`rust-to-go` is not a profile"),
        "{}",
        none.stderr
    );
    let text = place.run(&["rules", "profile", "go-to-rust"]).stdout;
    place.write("twice.toml", format!("profiles = [\"go-to-rust\"]\n{text}"));
    let twice = place.run(&["diff", "a.json", "a.json", "--rules", "twice.toml"]);
    assert_eq!(twice.code, 2);
    assert!(
        twice.stderr.contains("already has the id"),
        "{}",
        twice.stderr
    );
}

#[test]
fn every_word_that_accept_takes_is_listed_with_its_meaning() {
    let place = Place::new();
    let list = place.run(&["rules", "explanations"]).stdout;
    place.write("a.json", "1");
    for line in list.lines() {
        let (word, meaning) = line.split_once("  ").expect("two columns");
        assert!(meaning.trim().len() > 10, "{line}");
        let rule = format!(
            "[[rule]]\nid = \"r\"\npath = \"/**\"\naction = \"accept\"\nexplanations = [\"{word}\"]\n"
        );
        place.write("rules.toml", &rule);
        let ended = place.run(&["diff", "a.json", "a.json", "--rules", "rules.toml"]);
        // What is known only when all is compared is what no rule takes.
        let expected = if matches!(word, "moved" | "other_name") {
            2
        } else {
            0
        };
        assert_eq!(ended.code, expected, "{word}: {}", ended.stderr);
    }
    assert!(list.lines().count() > 20);
}

#[test]
fn rules_that_excuse_everything_are_warned_of_with_their_line() {
    let place = Place::new();
    place.write(
        "parity.toml",
        "[[rule]]\nid = \"all\"\npath = \"/**\"\naction = \"ignore\"\n\n[[rule]]\nid = \"heads\"\npart = \"header\"\npath = \"*\"\naction = \"ignore\"\n\n[[rule]]\nid = \"one\"\npath = \"/**/at\"\naction = \"ignore\"\n",
    );
    let check = place.run(&["config", "check"]);
    assert_eq!(check.code, 0, "{}", check.stderr);
    for told in [
        "warning: parity.toml:3:1: rule `all` excuses everything in a body",
        "warning: parity.toml:9:1: rule `heads` excuses every header",
        "no problems, 2 warnings",
    ] {
        assert!(check.stderr.contains(told), "{told}: {}", check.stderr);
    }
    assert!(!check.stderr.contains("`one`"), "{}", check.stderr);
}

#[test]
fn a_rule_that_had_the_chance_and_excused_nothing_is_listed_with_since_when() {
    let place = Place::new();
    let legacy = Service::json(r#"{"at":1,"b":2}"#);
    let candidate = Service::start(|_| Answer::json(r#"{"at":2,"b":2}"#));
    place.write(
        "parity.toml",
        "[[rule]]\nid = \"used\"\npath = \"/at\"\naction = \"ignore\"\n\n[[rule]]\nid = \"slip\"\npath = \"/bb\"\naction = \"ignore\"\n\n[[rule]]\nid = \"elsewhere\"\nroute = \"GET /never\"\npath = \"/b\"\naction = \"ignore\"\n",
    );
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    mirror.get("/a");
    mirror.settled(1);
    // The text of the rules may come into the store after the counts.
    let page = wait_for("the text of the rules", || {
        let page = mirror.ask("/report").text();
        page.contains("idle-rules").then_some(page)
    });
    assert!(page.contains("<td>slip</td>"), "{page}");
    mirror.stop();
    let document = place.run(&["report", "--output", "json"]).json();
    let idle = document["idle_rules"].as_array().expect("a list");
    assert_eq!(idle.len(), 1, "{idle:?}");
    assert_eq!(
        (&idle[0]["id"], &idle[0]["compared"]),
        (&"slip".into(), &1.into())
    );
    assert!(
        idle[0]["since"]
            .as_str()
            .is_some_and(|since| since.ends_with('Z'))
    );
    let text = place.run(&["report"]).stdout;
    assert!(
        text.contains("RULES THAT EXCUSED NOTHING\n  slip  in 1 compared request since "),
        "{text}"
    );
}
