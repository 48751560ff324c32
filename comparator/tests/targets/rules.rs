//! Rules: no configuration makes compilation panic, its errors name existing rules, and ignoring more never turns a
//! match into a mismatch.

use parity_comparator::rules::config::parse;
use parity_comparator::{Limits, RuleConfig, Rules};
use parity_schemas::time::Timestamp;
use parity_schemas::verdict::{Explanation, Part, Verdict};

use super::laws::{Judge, answer};
use super::source::{Document, KEYS, Source};
use super::{limits, parts};

const JSON: &str = "application/json";
/// Rules in one built configuration.
const RULES: usize = 6;

/// A configuration and two documents as they are, or built from the bytes.
pub(crate) fn rules(data: &[u8]) {
    let limits = limits(data);
    if let Some([file, legacy, candidate]) = parts(data) {
        let file = std::str::from_utf8(file).ok();
        if let Some(Ok(mut rules)) = file.map(parse) {
            // A rule with a kind has a direction, so swapping the sides may change the verdict.
            for rule in &mut rules {
                rule.kind = None;
            }
            walked(&rules, legacy, candidate, limits);
        }
        return;
    }
    let mut source = Source::new(data);
    let count = source.below(RULES);
    let rules: Vec<RuleConfig> = (0..count).map(|index| rule(index, &mut source)).collect();
    let document = Document::from_source(&mut source);
    let mut other = document.clone();
    for _ in 0..source.below(4) {
        other.edit(&mut source);
    }
    other.permute(&mut source);
    let (mut legacy, mut candidate) = (String::new(), String::new());
    document.write(&mut Source::new(&[]), &mut legacy);
    other.write(&mut source, &mut candidate);
    walked(&rules, legacy.as_bytes(), candidate.as_bytes(), limits);
}

fn rule(index: usize, source: &mut Source<'_>) -> RuleConfig {
    let part = source.pick(&[
        Part::Body,
        Part::Body,
        Part::Body,
        Part::Body,
        Part::Header,
        Part::Trailer,
        Part::Status,
    ]);
    let some = |source: &mut Source<'_>, choices: &[&str]| {
        (source.byte() % 4 != 3).then(|| source.pick(choices).to_owned())
    };
    let action = source.pick(&[
        "ignore",
        "ignore",
        "accept",
        "accept",
        "unordered",
        "unordered",
        "key",
        "tolerance",
        "scale",
        "parts",
        "as",
        "rename",
        "mask",
        "ignored",
    ]);
    // A part of a text has no path, and needs a text: both are mostly refused.
    let in_text = part == Part::Body && source.byte().is_multiple_of(8);
    let bounds = &["1", "0.01", "1e-9", "0", "1e999999999", "-1", "x"];
    RuleConfig {
        id: if source.byte() == 255 {
            "same".to_owned()
        } else {
            format!("rule-{index}")
        },
        route: (source.byte() % 16 == 15)
            .then(|| source.pick(&["GET /", "GET /other", "nowhere"]).to_owned()),
        part: Some(part.to_string()),
        path: match part {
            Part::Body if in_text => String::new(),
            Part::Body => path(source),
            Part::Status => source.pick(&["", "", "/x"]).to_owned(),
            _ => source
                .pick(&["content-type", "*", "set-cookie/a", "x/y", "\n"])
                .to_owned(),
        },
        action: action.to_owned(),
        explanations: if action == "accept" {
            explanations(source)
        } else {
            Vec::new()
        },
        kind: None,
        field: (action == "key")
            .then(|| some(source, &["id", "a", "", "é"]))
            .flatten(),
        absolute: (action == "tolerance")
            .then(|| some(source, bounds))
            .flatten(),
        relative: (action == "tolerance" && source.byte().is_multiple_of(4))
            .then(|| some(source, bounds))
            .flatten(),
        fields: if action == "key" && source.byte().is_multiple_of(4) {
            vec!["a".to_owned(), source.pick(&["id", "", "é"]).to_owned()]
        } else {
            Vec::new()
        },
        within: (action == "tolerance" && source.byte().is_multiple_of(4))
            .then(|| some(source, &["2s", "500ms", "PT1H", "-1s", "x"]))
            .flatten(),
        factor: (action == "scale").then(|| some(source, bounds)).flatten(),
        pattern: (action == "parts")
            .then(|| {
                some(
                    source,
                    &["(a)", "a(.*)", "(?m)^(.)$", "((a)|b)*", "(", "a", "()"],
                )
            })
            .flatten(),
        r#type: (action == "as")
            .then(|| some(source, &["timestamp", "uuid", "number", "json", "date"]))
            .flatten(),
        reason: None,
        owner: None,
        expires: (source.byte() % 16 == 15)
            .then(|| some(source, &["2027-03-01", "1960-01-01", "soon"]))
            .flatten(),
        ..named(action, in_text, source)
    }
}

/// The keys for a new name, and for a part of a text.
fn named(action: &str, in_text: bool, source: &mut Source<'_>) -> RuleConfig {
    let some = |source: &mut Source<'_>, choices: &[&str]| {
        (source.byte() % 4 != 3).then(|| source.pick(choices).to_owned())
    };
    RuleConfig {
        line: in_text
            .then(|| some(source, &["1", "[0-9]", "^$", "a", "0", "("]))
            .flatten(),
        column: (in_text && source.byte().is_multiple_of(2))
            .then(|| some(source, &["1", "2", "0", "4000000000"]))
            .flatten(),
        characters: (in_text && source.byte().is_multiple_of(4))
            .then(|| some(source, &["1", "2-3", "3-2", "1-4000000000"]))
            .flatten(),
        element: (in_text && source.byte().is_multiple_of(8))
            .then(|| some(source, &["a", "[b=c]", "#a"]))
            .flatten(),
        attribute: (in_text && source.byte().is_multiple_of(8))
            .then(|| some(source, &["b", "c d"]))
            .flatten(),
        to: (action == "rename")
            .then(|| some(source, &["a", "id", "é", "x-b", "", "/a"]))
            .flatten(),
        ..RuleConfig::default()
    }
}

fn explanations(source: &mut Source<'_>) -> Vec<String> {
    (0..source.below(4))
        .map(|_| match source.byte() {
            255 => "same_instnat".to_owned(),
            byte => Explanation::ALL[usize::from(byte) % Explanation::ALL.len()].to_string(),
        })
        .collect()
}

fn path(source: &mut Source<'_>) -> String {
    let mut path = String::new();
    for _ in 0..source.below(5) {
        path.push('/');
        match source.below(4) {
            0 => path.push_str("**"),
            1 => path.push('*'),
            2 => path.push_str(source.pick(&["0", "1", "2", "01", "~", "~1", "~0"])),
            _ => path.push_str(source.pick(KEYS)),
        }
    }
    match source.byte() {
        // As JSONPath: the same segments, and sometimes an invalid one.
        0..16 => {
            let mut jsonpath = String::from("$");
            for segment in path.split('/').skip(1) {
                match segment {
                    "**" => jsonpath.push('.'),
                    "*" => jsonpath.push_str("[*]"),
                    "1" => jsonpath.push_str("[1]"),
                    "2" => jsonpath.push_str("[?@.a]"),
                    name => {
                        jsonpath.push('.');
                        jsonpath.push_str(name);
                    }
                }
            }
            jsonpath
        }
        _ => path,
    }
}

fn compiled(configs: &[RuleConfig]) -> Option<Rules> {
    match Rules::compile(configs, Timestamp::from_micros(0)) {
        Ok(rules) => {
            assert_eq!(rules.ids().count(), configs.len(), "{configs:?}");
            Some(rules)
        }
        Err(errors) => {
            assert!(!errors.is_empty());
            assert!(errors.iter().all(|error| error.rule < configs.len()));
            assert!(errors.is_sorted_by_key(|error| error.rule));
            None
        }
    }
}

fn walked(configs: &[RuleConfig], legacy: &[u8], candidate: &[u8], limits: Limits) {
    let Some(rules) = compiled(configs) else {
        return;
    };
    let (legacy, candidate) = (answer(JSON, legacy), answer(JSON, candidate));
    let is_directed = |word: &String| {
        let mut all = Explanation::ALL.iter();
        all.any(|known| known.as_str() == word && known.reversed() != *known)
    };
    let directed = configs.iter().any(|config| {
        matches!(config.action.as_str(), "scale" | "rename")
            || config.explanations.iter().any(is_directed)
    });
    let verdict = Judge::new(rules, limits)
        .directed(directed)
        .compare(&legacy, &candidate)
        .verdict;
    for path in ["", "/**/a", "/*", "/**/id", "/*/0", "/a/**"] {
        let mut more = configs.to_vec();
        more.push(RuleConfig::new("one more", path, "ignore"));
        let Some(rules) = compiled(&more) else {
            continue;
        };
        let with = Judge::new(rules, limits)
            .directed(directed)
            .compare(&legacy, &candidate)
            .verdict;
        assert!(
            verdict != Verdict::Match || with != Verdict::Mismatch,
            "to ignore `{path}` too made a mismatch"
        );
    }
}
