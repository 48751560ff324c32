//! Every directory of `tests/cases` is one comparison: `legacy.*`, `candidate.*`, optionally `rules.toml`, the name of
//! a `profile`, and `route`, and in `expected.json` the document that `parity diff --output json` must print.
//!
//! The extension tells how the two are compared: `json`, `graphql`, `yaml`, `txt`, `bin`, or `http` for a whole answer. `route`
//! holds the label of the route, whose first word is the method; `GET /` without it. `request` holds the value of the
//! request's `Accept-Encoding`, or nothing if it has none; without the file the request is not known. With `UPDATE_CASES=1`
//! the expected documents are rewritten, to be reviewed in the diff before they are committed.
//!
//! Every case is also compared with the sides swapped, and documents also as the bodies of answers: neither may change
//! the result. A file `one-way` marks a case whose findings (never its verdict) depend on the direction, and says why. With
//! a `request` the sides are not swapped, because only the candidate must answer it as the legacy does.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use http::Method;
use http::header::{ACCEPT_ENCODING, CONTENT_TYPE};
use parity_comparator::document::DiffDocument;
use parity_comparator::message::read_answer;
use parity_comparator::rules::Profile;
use parity_comparator::rules::config::parse;
use parity_comparator::{
    AnswerPair, Comparator, Comparison, DocumentKind, Limits, RuleConfig, Rules,
};
use parity_schemas::exchange::Capture;
use parity_schemas::fields::FieldLines;
use parity_schemas::time::Timestamp;
use parity_schemas::verdict::{Explanation, Finding, Kind, Verdict};
use similar::TextDiff;

/// The time at which the rules of the cases are compiled.
const COMPILED: &str = "2026-01-01T00:00:00Z";
/// The time of the exchanges of the cases; a rule may expire in between.
const EXCHANGED: &str = "2026-06-01T00:00:00Z";

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
    let pair = Pair::read(case);
    let comparison = pair.compare();
    let name = case.file_name().unwrap_or_default().display();
    if pair.request.is_none()
        && let Err(problem) = mirrors(case, &comparison, &pair.swapped().compare())
    {
        writeln!(failures, "case {name}, with its sides exchanged: {problem}").expect("memory");
    }
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
    writeln!(failures, "case {name}:\n{}", diff.unified_diff()).expect("memory");
}

/// Two sides and what they are compared by.
struct Pair {
    name: String,
    extension: String,
    route: String,
    request: Option<FieldLines>,
    rules: Vec<RuleConfig>,
    legacy: Vec<u8>,
    candidate: Vec<u8>,
}

impl Pair {
    fn read(case: &Path) -> Self {
        let mut rules = match fs::read_to_string(case.join("rules.toml")) {
            Ok(text) => parse(&text).unwrap_or_else(|error| panic!("{}: {error}", case.display())),
            Err(_) => Vec::new(),
        };
        if let Ok(name) = fs::read_to_string(case.join("profile")) {
            rules.extend(Profile::named(name.trim()).expect("a profile").rules());
        }
        let (legacy, extension) = side(case, "legacy");
        let (candidate, other) = side(case, "candidate");
        assert_eq!(extension, other, "{}", case.display());
        let route = fs::read_to_string(case.join("route")).unwrap_or_else(|_| "GET /".to_owned());
        let request = fs::read_to_string(case.join("request")).ok();
        let request = request.map(|value| {
            let value = Some(value.trim()).filter(|value| !value.is_empty());
            value
                .map(|value| (ACCEPT_ENCODING, value))
                .into_iter()
                .collect()
        });
        Self {
            name: case.display().to_string(),
            extension,
            route: route.trim().to_owned(),
            request,
            rules,
            legacy,
            candidate,
        }
    }

    /// A rule that accepts a value only in the candidate then accepts it only in the legacy, and one that multiplies by
    /// 100, or accepts that, divides by it. A renamed field has its names the other way round.
    fn swapped(mut self) -> Self {
        for rule in &mut self.rules {
            if let Some(kind) = &mut rule.kind {
                *kind = match kind.as_str() {
                    "missing" => "extra".to_owned(),
                    "extra" => "missing".to_owned(),
                    other => other.to_owned(),
                };
            }
            for word in &mut rule.explanations {
                if let Ok(known) = word.parse::<Explanation>() {
                    *word = known.reversed().to_string();
                }
            }
            if let Some(factor) = &mut rule.factor {
                assert_eq!(factor, "100", "the only factor whose reverse is known here");
                "0.01".clone_into(factor);
            }
            if let Some(to) = &mut rule.to {
                let start = rule.path.rfind('/').map_or(0, |slash| slash + 1);
                let from = rule.path.split_off(start);
                rule.path.push_str(&std::mem::replace(to, from));
            }
        }
        Self {
            legacy: self.candidate,
            candidate: self.legacy,
            ..self
        }
    }

    fn compare(&self) -> Comparison {
        let rules = Rules::compile(&self.rules, time(COMPILED))
            .unwrap_or_else(|errors| panic!("{}: {errors:?}", self.name));
        let mut comparator = Comparator::new(Arc::new(rules), Limits::default());
        let (legacy, candidate) = (self.legacy.as_slice(), self.candidate.as_slice());
        let kind = match self.extension.as_str() {
            "http" => {
                let read = |text| {
                    read_answer(text).unwrap_or_else(|error| panic!("{}: {error}", self.name))
                };
                return self.compare_answers(&mut comparator, &read(legacy), &read(candidate));
            }
            "json" => DocumentKind::Json,
            "graphql" => DocumentKind::Graphql,
            "ndjson" => DocumentKind::JsonLines,
            "yaml" => DocumentKind::Yaml,
            "xml" => DocumentKind::Xml,
            "csv" => DocumentKind::Csv,
            "txt" => DocumentKind::Text,
            "bin" => DocumentKind::Bytes,
            other => panic!("{}: nothing compares .{other}", self.name),
        };
        let compared = comparator.compare_documents(legacy, candidate, kind, time(EXCHANGED));
        // The same two texts as the bodies of answers must give the same result.
        let media_type = match kind {
            DocumentKind::Json => "application/json",
            DocumentKind::Graphql => "application/graphql-response+json",
            DocumentKind::JsonLines => "application/x-ndjson",
            DocumentKind::Yaml => "application/yaml",
            DocumentKind::Xml => "application/xml",
            DocumentKind::Csv => "text/csv",
            DocumentKind::Text => "text/plain",
            DocumentKind::Bytes => "application/octet-stream",
        };
        let answer = |body: &[u8]| Capture {
            status: 200,
            headers: FieldLines::from_iter([(CONTENT_TYPE, media_type)]),
            body: body.to_vec().into(),
            trailers: None,
            hidden: None,
            head_elapsed: Duration::ZERO,
            elapsed: Duration::ZERO,
        };
        let mirrored = self.compare_answers(&mut comparator, &answer(legacy), &answer(candidate));
        assert_same(&self.name, &mirrored, &compared);
        assert_eq!(mirrored.tolerated, compared.tolerated, "{}", self.name);
        compared
    }

    /// The mirror and `parity diff` must give the same result.
    fn compare_answers(
        &self,
        comparator: &mut Comparator,
        legacy: &Capture,
        candidate: &Capture,
    ) -> Comparison {
        let method: Method = self
            .route
            .split(' ')
            .next()
            .unwrap_or("GET")
            .parse()
            .expect("a method");
        let pair = AnswerPair {
            route: &self.route,
            method: &method,
            request: self.request.as_ref(),
            time: time(EXCHANGED),
            legacy,
            candidate,
            asked_together: true,
        };
        let explained = comparator.explain_answers(pair);
        assert_same(&self.name, &comparator.compare_answers(pair), &explained);
        explained
    }
}

fn assert_same(case: &str, one: &Comparison, two: &Comparison) {
    assert_eq!(one.verdict, two.verdict, "{case}");
    assert_eq!(one.rule_hits, two.rule_hits, "{case}");
    assert_eq!(one.findings_cut, two.findings_cut, "{case}");
    assert!(one.findings == two.findings, "{case}");
}

/// Checks that swapping the sides swaps the findings and changes nothing else. A case whose findings depend on the
/// direction has a file `one-way` that says why; the verdict never does.
fn mirrors(case: &Path, forth: &Comparison, back: &Comparison) -> Result<(), String> {
    // The side to blame changes; the event does not.
    let verdict = |comparison: &Comparison| match comparison.verdict {
        Verdict::NotCompared(reason) => Verdict::NotCompared(reason.of_candidate_alone()),
        verdict => verdict,
    };
    let verdicts = (verdict(forth), forth.findings_cut) == (verdict(back), back.findings_cut);
    if !verdicts {
        return Err(format!("{:?} becomes {:?}", forth.verdict, back.verdict));
    }
    let (one, two) = (seen(&forth.findings, false), seen(&back.findings, true));
    match (one == two, case.join("one-way").exists()) {
        (true, false) | (false, true) => Ok(()),
        (true, true) => Err("it is the same, so the file `one-way` is wrong".to_owned()),
        (false, false) => {
            let diff = TextDiff::from_lines(&one, &two);
            Err(format!("the findings become\n{}", diff.unified_diff()))
        }
    }
}

/// A sorted list with a line for each finding, as they look with the sides swapped if `exchanged`.
fn seen(findings: &[Finding], exchanged: bool) -> String {
    let mut lines: Vec<String> = findings
        .iter()
        .map(|finding| {
            let other_path = finding.candidate_path.as_ref().unwrap_or(&finding.path);
            let (mut paths, mut values) = (
                [&finding.path, other_path],
                [finding.legacy.shown(), finding.candidate.shown()],
            );
            let mut kind = finding.kind;
            if exchanged {
                paths.reverse();
                values.reverse();
                kind = match kind {
                    Kind::Missing => Kind::Extra,
                    Kind::Extra => Kind::Missing,
                    same => same,
                };
            }
            let pattern = &finding.pattern;
            let explanation = finding
                .explanation
                .map(|word| if exchanged { word.reversed() } else { word });
            let shows_diff = finding.text_diff.is_some();
            format!(
                "{} {paths:?} {pattern} {kind} {values:?} {explanation:?} {shows_diff}\n",
                finding.part
            )
        })
        .collect();
    lines.sort();
    lines.concat()
}

fn time(text: &str) -> Timestamp {
    text.parse().expect("a time")
}

/// A side's bytes and the extension of its file.
fn side(case: &Path, name: &str) -> (Vec<u8>, String) {
    for extension in [
        "json", "graphql", "ndjson", "yaml", "xml", "csv", "txt", "bin", "http",
    ] {
        if let Ok(bytes) = fs::read(case.join(name).with_extension(extension)) {
            return (bytes, extension.to_owned());
        }
    }
    panic!("{}: no file for the {name}", case.display());
}
