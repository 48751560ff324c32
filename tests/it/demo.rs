//! `parity demo` finds exactly the differences of the sample rewrite, and docs/report.md shows its output.

use crate::docs::only;
use crate::support::process::Place;
use crate::support::report::Report;

#[test]
fn the_demo_finds_every_difference_and_nothing_else() {
    let place = Place::new();
    let ended = place.run(&["demo", "--output", "json"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let report = Report(ended.json());
    assert_eq!((report.count("received"), report.settled()), (4000, 4000));
    assert_eq!(
        report.not_compared().into_iter().collect::<Vec<_>>(),
        [("unsafe_method".to_owned(), 200)]
    );
    assert_eq!(
        report.groups(),
        [
            "GET /accounts/{id}/balance body /as_of value same_instant",
            "GET /accounts/{id}/balance body /balance value -",
            "GET /accounts/{id}/orders body /items order -",
            "GET /accounts/{id}/orders body /items/*/tags type null_vs_empty",
            "GET /accounts/{id}/orders body /next_cursor extra empty_vs_missing",
            "GET /accounts/{id}/statistics body /ledger_sequence value equal_double",
            "GET /orders/{id} body /code extra -",
            "GET /orders/{id} body /error value -",
        ]
    );
    let entries = report.0["groups"].as_array().map(Vec::len);
    assert_eq!(entries, Some(7), "of two that always come together, one");
    assert_eq!(
        std::fs::read_dir(place.path()).expect("readable").count(),
        0,
        "the demo leaves nothing behind"
    );
}

/// What differs from run to run: times, latencies, estimates of targets, which of several equal examples came first, and how
/// many mismatches were asked again.
fn steady(text: &str) -> String {
    let example = ["for example", "legacy", "candidate", "about"];
    let mut out = String::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let line = words
            .iter()
            .enumerate()
            .filter(|(index, word)| {
                let next = words.get(index + 1).copied().unwrap_or_default();
                let unit = |word: &str| ["µs", "ms", "s"].contains(&word);
                let figure = word.parse::<f64>().is_ok() && unit(next);
                !(figure
                    || (unit(word) && *index > 0)
                    || word.starts_with("20") && word.ends_with('Z'))
            })
            .map(|(_, word)| *word)
            .collect::<Vec<_>>()
            .join(" ");
        let (line, classes) = match line.split_once(" · ") {
            Some((begin, classes)) if begin.starts_with("for example") => (begin, Some(classes)),
            _ => (line.as_str(), None),
        };
        assert!(
            classes.is_none_or(|classes| classes.ends_with(char::is_numeric)),
            "{classes:?}"
        );
        let varies = example.iter().any(|word| line.starts_with(word));
        if let Some((mismatches, _)) = line.split_once(" mismatches: ") {
            out.push_str(mismatches);
        } else if varies {
            out.push_str(&without_numbers(line));
        } else {
            out.push_str(line);
        }
        out.push('\n');
    }
    out
}

/// The beginning of an example, so that any of several examples compares equal: each number becomes one sign, and the text
/// is cut only after that.
fn without_numbers(line: &str) -> String {
    let mut out = String::new();
    for character in line.chars() {
        match character.is_ascii_digit() {
            true if out.ends_with('#') => {}
            true => out.push('#'),
            false => out.push(character),
        }
    }
    out.chars().take(50).collect()
}

#[test]
fn the_documentation_shows_the_demo_as_it_is() {
    let shown = only("text", "demo");
    let ended = Place::new().run(&["demo"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert_eq!(
        steady(&shown),
        steady(&ended.stdout),
        "the demo of docs/report.md is out of date; paste:\n{}",
        ended.stdout
    );
}
