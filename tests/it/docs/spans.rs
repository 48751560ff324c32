//! Commands, flags, settings, variables, metrics and links that running text names: each must exist.

use std::collections::BTreeSet;

use parity_schemas::clients::ClientOutcome;
use parity_schemas::verdict::{Kind, Reason};

use super::page::{files, text};
use super::session::CARGO_RUN;
use super::words::checks_flags;
use crate::support::process::Place;
use crate::support::root;

/// The lines of a page that are in no block.
fn prose(file: &str) -> Vec<(usize, String)> {
    let mut within = false;
    let mut lines = Vec::new();
    for (line, number) in text(file).lines().zip(1..) {
        if line.starts_with("```") {
            within = !within;
        } else if !within {
            lines.push((number, line.to_owned()));
        }
    }
    lines
}

/// What stands between backticks.
fn spans(file: &str) -> Vec<(String, String)> {
    let mut spans = Vec::new();
    for (number, line) in prose(file) {
        let parts: Vec<&str> = line.split('`').collect();
        assert!(
            parts.len() % 2 == 1,
            "{file}:{number}: a backtick without its other"
        );
        for span in parts.iter().skip(1).step_by(2) {
            spans.push((format!("{file}:{number}"), span.replace("\\|", "|")));
        }
    }
    spans
}

/// Every word that docs/settings.md knows, which is made by the program.
fn known() -> BTreeSet<String> {
    let spans = spans("docs/settings.md").into_iter();
    spans.map(|(_, span)| span).collect()
}

#[test]
fn commands_flags_settings_and_variables_in_the_text_are_those_of_the_program() {
    let known = known();
    let is_key = |text: &str| {
        text.bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte == b'_')
    };
    let sections: BTreeSet<&str> = known
        .iter()
        .filter_map(|word| word.split_once('.'))
        .filter(|(section, key)| *section != "parity" && is_key(section) && is_key(key))
        .map(|(section, _)| section)
        .collect();
    let place = Place::new();
    let (mut commands, mut words) = (0, 0);
    for (at, span) in files().iter().flat_map(|file| spans(file)) {
        let shown = span.replace(CARGO_RUN, "parity ");
        for command in shown
            .split(" | ")
            .filter(|part| part.starts_with("parity "))
        {
            checks_flags(&place, &at, command);
            commands += 1;
        }
        let word = span.split([' ', '=']).next().unwrap_or_default();
        let is_flag = word.starts_with("--") && word.len() > 2;
        let is_variable = word.starts_with("PARITY_") && !word.contains('…');
        let is_setting = span
            .split_once('.')
            .is_some_and(|(section, key)| sections.contains(section) && is_key(key));
        if (is_flag && word != "--features") || is_variable || is_setting {
            let word = if is_setting { &span } else { word };
            assert!(known.contains(word), "{at}: the program knows no `{word}`");
            words += 1;
        }
    }
    assert!(commands > 20 && words > 100, "{commands} {words}");
}

/// The source text of the whole program.
fn source() -> String {
    let mut source = String::new();
    let crates = ["src", "mirror", "sink", "dashboards", "comparator/src"];
    let mut folders: Vec<_> = crates.map(|folder| root().join(folder)).into();
    folders.push(root().join("schemas"));
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("readable") {
            let path = entry.expect("readable").path();
            if path.is_dir() {
                folders.push(path);
            } else if path
                .extension()
                .is_some_and(|end| end == "rs" || end == "sql")
            {
                source.push_str(&std::fs::read_to_string(&path).expect("readable"));
            }
        }
    }
    source
}

#[test]
fn metrics_fields_and_words_in_the_text_are_in_the_program() {
    let source = source();
    let (mut metrics, mut words) = (0, 0);
    for (at, span) in files().iter().flat_map(|file| spans(file)) {
        if span.contains("=debug") {
            continue;
        }
        let name = span.split([' ', '=', '{']).next().unwrap_or_default();
        if name.starts_with("parity_") {
            let registered = format!("\"{}\"", name.trim_end_matches("_total"));
            assert!(
                source.contains(&registered),
                "{at}: nothing counts `{name}`"
            );
            metrics += 1;
        } else if name.contains('_')
            && name
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte == b'_')
        {
            // Parameters are declared as flags are written.
            let flag = format!("\"{}\"", name.replace('_', "-"));
            assert!(
                source.contains(name) || source.contains(&flag),
                "{at}: the program has no `{name}`"
            );
            words += 1;
        }
    }
    assert!(metrics > 5 && words > 50, "{metrics} {words}");
}

#[test]
fn every_reason_outcome_and_kind_is_explained() {
    let explained: BTreeSet<String> = spans("docs/report.md")
        .into_iter()
        .map(|(_, span)| span)
        .collect();
    let reasons = Reason::ALL.iter().map(|reason| reason.as_str());
    let outcomes = ClientOutcome::ALL.iter().map(|outcome| outcome.as_str());
    let kinds = Kind::ALL.iter().map(|kind| kind.as_str());
    for word in reasons.chain(outcomes).chain(kinds) {
        assert!(
            explained.contains(word),
            "docs/report.md does not explain `{word}`"
        );
    }
}

/// The name by which a heading is linked.
fn anchor(heading: &str) -> String {
    let kept = heading.trim_start_matches('#').trim().chars();
    kept.filter(|character| character.is_alphanumeric() || " -_".contains(*character))
        .map(|character| match character {
            ' ' => '-',
            other => other.to_ascii_lowercase(),
        })
        .collect()
}

#[test]
fn links_lead_somewhere() {
    let others = ["ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"].map(str::to_owned);
    let mut links = 0;
    for file in files().into_iter().chain(others) {
        let folder = root().join(&file);
        let folder = folder.parent().expect("a file is in a folder");
        for (number, line) in prose(&file) {
            for link in line.split("](").skip(1) {
                let link = link.split(')').next().unwrap_or_default();
                if link.starts_with("http") {
                    continue;
                }
                let (path, place) = link.split_once('#').unwrap_or((link, ""));
                let target = match path {
                    "" => root().join(&file),
                    path => folder.join(path),
                };
                assert!(target.exists(), "{file}:{number}: there is no {link}");
                links += 1;
                if place.is_empty() {
                    continue;
                }
                let target = target.canonicalize().expect("it is there");
                let target = target.strip_prefix(root()).expect("ours").to_owned();
                let headings = prose(target.to_str().expect("UTF-8")).into_iter();
                let mut anchors = headings
                    .filter(|(_, line)| line.starts_with('#'))
                    .map(|(_, line)| anchor(&line));
                assert!(
                    anchors.any(|anchor| anchor == place),
                    "{file}:{number}: no heading is {link}"
                );
            }
        }
    }
    assert!(links > 60, "{links}");
}
