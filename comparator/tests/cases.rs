//! Every directory of `tests/cases` is one comparison: `legacy.*`, `candidate.*`, perhaps `rules.toml`, the name of a
//! `profile`, and `route`, and the document that `parity diff --output json` must print for them in `expected.json`.
//!
//! The extension says how the two are compared: `json`, `yaml`, `txt`, `bin`, or `http` for a whole answer. `route` holds
//! the label of the route, whose first word is the method; `GET /` without it. With `UPDATE_CASES=1` the expected
//! documents are written anew, to be read in the diff before they are committed.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use http::Method;
use parity_comparator::document::DiffDocument;
use parity_comparator::message::read_answer;
use parity_comparator::rules::Profile;
use parity_comparator::{
    AnswerPair, Comparator, Comparison, DocumentKind, Limits, RuleConfig, Rules,
};
use parity_schemas::time::Timestamp;
use similar::TextDiff;

/// When the rules of the cases are read.
const COMPILED: &str = "2026-01-01T00:00:00Z";
/// When the exchanges of the cases happened; a rule may expire in between.
const EXCHANGED: &str = "2026-06-01T00:00:00Z";

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleFile {
    rule: Vec<RuleConfig>,
}

#[test]
fn check() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/cases");
    let mut names: Vec<PathBuf> = fs::read_dir(&directory)
        .expect("the directory of cases is there")
        .map(|entry| entry.expect("readable").path())
        .filter(|path| path.is_dir())
        .collect();
    names.sort();
    assert!(
        names.len() >= 80,
        "only {} cases in {}",
        names.len(),
        directory.display()
    );
    let mut failures = String::new();
    for case in &names {
        check_case(case, &mut failures);
    }
    assert!(
        failures.is_empty(),
        "{failures}\nUPDATE_CASES=1 writes what is printed with +; read it before you commit it"
    );
}

fn check_case(case: &Path, failures: &mut String) {
    let comparison = compare(case);
    let mut actual =
        serde_json::to_string_pretty(&DiffDocument::from(&comparison)).expect("a document");
    actual.push('\n');
    let path = case.join("expected.json");
    let expected = fs::read_to_string(&path).unwrap_or_default();
    if expected == actual {
        return;
    }
    if std::env::var_os("UPDATE_CASES").is_some() {
        fs::write(&path, actual).expect("the tree can be written");
        return;
    }
    let diff = TextDiff::from_lines(&expected, &actual);
    let name = case.file_name().unwrap_or_default().display();
    writeln!(failures, "case {name}:\n{}", diff.unified_diff()).expect("memory");
}

fn compare(case: &Path) -> Comparison {
    let time = |text: &str| text.parse::<Timestamp>().expect("a time");
    let mut rules = match fs::read_to_string(case.join("rules.toml")) {
        Ok(text) => {
            toml_edit::de::from_str::<RuleFile>(&text)
                .expect("rules.toml reads")
                .rule
        }
        Err(_) => Vec::new(),
    };
    if let Ok(name) = fs::read_to_string(case.join("profile")) {
        rules.extend(Profile::named(name.trim()).expect("a profile").rules());
    }
    let rules = Rules::compile(&rules, time(COMPILED))
        .unwrap_or_else(|errors| panic!("{}: {errors:?}", case.display()));
    let mut comparator = Comparator::new(Arc::new(rules), Limits::default());
    let (legacy, extension) = side(case, "legacy");
    let (candidate, _) = side(case, "candidate");
    let kind = match extension.as_str() {
        "http" => {
            return compare_answers(&mut comparator, case, &legacy, &candidate, time(EXCHANGED));
        }
        "json" => DocumentKind::Json,
        "yaml" => DocumentKind::Yaml,
        "txt" => DocumentKind::Text,
        "bin" => DocumentKind::Bytes,
        other => panic!("{}: nothing compares .{other}", case.display()),
    };
    comparator.compare_documents(&legacy, &candidate, kind, time(EXCHANGED))
}

fn compare_answers(
    comparator: &mut Comparator,
    case: &Path,
    legacy: &[u8],
    candidate: &[u8],
    time: Timestamp,
) -> Comparison {
    let route = fs::read_to_string(case.join("route")).unwrap_or_else(|_| "GET /".to_owned());
    let route = route.trim();
    let method: Method = route
        .split(' ')
        .next()
        .unwrap_or("GET")
        .parse()
        .expect("a method");
    let read = |text: &[u8]| {
        read_answer(text).unwrap_or_else(|error| panic!("{}: {error}", case.display()))
    };
    let (legacy, candidate) = (read(legacy), read(candidate));
    let pair = AnswerPair {
        route,
        method: &method,
        time,
        legacy: &legacy,
        candidate: &candidate,
    };
    let explained = comparator.explain_answers(pair);
    // What the mirror does must come to the same.
    let compared = comparator.compare_answers(pair);
    assert_eq!(compared.verdict, explained.verdict, "{}", case.display());
    assert_eq!(
        compared.rule_hits,
        explained.rule_hits,
        "{}",
        case.display()
    );
    assert!(
        compared.findings == explained.findings,
        "{}",
        case.display()
    );
    explained
}

/// A side's bytes and the extension of its file.
fn side(case: &Path, name: &str) -> (Vec<u8>, String) {
    for extension in ["json", "yaml", "txt", "bin", "http"] {
        if let Ok(bytes) = fs::read(case.join(name).with_extension(extension)) {
            return (bytes, extension.to_owned());
        }
    }
    panic!("{}: no file for the {name}", case.display());
}
