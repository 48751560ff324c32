//! Readers of the files: two parsers of XML, which must agree, and one of HTML that knows only what the pages consist of.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::process::{Command, Stdio};

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

/// A case as a reader of JUnit sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Case {
    pub(super) class: String,
    pub(super) name: String,
    /// `failure`, `error` or `skipped`; empty if it passed.
    pub(super) state: String,
    /// What stands in that.
    pub(super) text: String,
}

/// A document of JUnit.
#[derive(Debug, Default)]
pub(super) struct Junit {
    pub(super) cases: Vec<Case>,
    pub(super) properties: BTreeMap<String, String>,
    /// tests, failures, errors, skipped, as the suite says.
    pub(super) sums: [usize; 4],
}

impl Junit {
    /// The cases of routes by their name.
    pub(super) fn of(&self, name: &str) -> &Case {
        let found = self.cases.iter().find(|case| case.name == name);
        found.unwrap_or_else(|| panic!("no case {name}: {:?}", self.cases))
    }

    pub(super) fn count(&self, state: &str) -> usize {
        let cases = self.cases.iter();
        cases.filter(|case| case.state == state).count()
    }
}

fn attribute(element: &BytesStart<'_>, name: &str) -> String {
    let mut all = element.attributes().map(|one| one.expect("well-formed"));
    let found = all.find(|one| one.key.as_ref() == name);
    let found = found.unwrap_or_else(|| panic!("no {name}"));
    resolved(&found.value)
}

/// With references replaced by what they mean.
fn resolved(text: &str) -> String {
    let mut parts = text.split('&');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once(';').expect("a reference ends");
        let code = name.strip_prefix('#').map(|code| {
            let code = code.strip_prefix('x').map_or_else(
                || code.parse().ok(),
                |hex| u32::from_str_radix(hex, 16).ok(),
            );
            code.and_then(char::from_u32).expect("a character")
        });
        out.push(code.unwrap_or_else(|| match name {
            "lt" => '<',
            "gt" => '>',
            "amp" => '&',
            "quot" => '"',
            "apos" => '\'',
            other => panic!("&{other};"),
        }));
        out.push_str(rest);
    }
    out
}

/// Reads a document, after a check that it has no character that XML forbids, and that Python's parser reads the same.
pub(super) fn junit(xml: &str) -> Junit {
    let is_allowed = |sign: char| matches!(sign, '\n' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
    assert_eq!(xml.chars().find(|sign| !is_allowed(*sign)), None);
    let mut read = Junit::default();
    let mut reader = Reader::from_str(xml);
    let mut depth = Vec::new();
    let mut case = Case::default();
    loop {
        match reader.read_event().expect("well-formed") {
            Event::Start(element) => {
                let name = element.name().as_ref().to_owned();
                match name.as_str() {
                    "testsuite" => {
                        read.sums = ["tests", "failures", "errors", "skipped"]
                            .map(|name| attribute(&element, name).parse().expect("a number"));
                    }
                    "testcase" => {
                        let seconds = attribute(&element, "time").parse::<f64>();
                        assert!(seconds.is_ok_and(|seconds| seconds < 60.0));
                        case = Case {
                            class: attribute(&element, "classname"),
                            name: attribute(&element, "name"),
                            ..Case::default()
                        };
                    }
                    "failure" | "error" | "skipped" => {
                        case.state.clone_from(&name);
                        assert!(!attribute(&element, "message").is_empty());
                    }
                    "testsuites" | "properties" | "system-out" => {}
                    other => panic!("an element <{other}> of nobody"),
                }
                depth.push(name);
            }
            Event::Empty(element) => {
                assert_eq!(element.name().as_ref(), "property");
                let name = attribute(&element, "name");
                read.properties.insert(name, attribute(&element, "value"));
            }
            Event::Text(text) => {
                let text = text.xml10_content();
                if depth.last().is_some_and(|name| name != "testcase") && depth.len() > 3 {
                    case.text.push_str(&text);
                } else {
                    assert_eq!(text.trim(), "");
                }
            }
            Event::GeneralRef(reference) => {
                case.text.push_str(&resolved(&format!("&{};", &*reference)));
            }
            Event::End(_) => {
                if depth.pop().as_deref() == Some("testcase") {
                    read.cases.push(std::mem::take(&mut case));
                }
            }
            Event::Decl(_) => {}
            Event::Eof => break,
            other => panic!("{other:?}"),
        }
    }
    assert!(depth.is_empty());
    let named: BTreeSet<&str> = read.cases.iter().map(|case| case.name.as_str()).collect();
    assert_eq!(
        named.len(),
        read.cases.len(),
        "GitLab drops the second case of a name"
    );
    let states = ["failure", "error", "skipped"].map(|state| read.count(state));
    assert_eq!(read.sums[0], read.cases.len());
    assert_eq!(read.sums[1..], states);
    assert_eq!(by_python(xml), read.cases, "both parsers read the same");
    read
}

/// The same by Python's parser, which is that of many readers of JUnit.
fn by_python(xml: &str) -> Vec<Case> {
    const PROGRAM: &str = r#"
import json, sys, xml.etree.ElementTree as tree
cases = []
for case in tree.fromstring(sys.stdin.buffer.read()).iter("testcase"):
    state = [one for one in case if one.tag in ("failure", "error", "skipped")]
    inner = list(case)
    cases.append([case.get("classname"), case.get("name"), state[0].tag if state else "", inner[0].text or ""])
json.dump(cases, sys.stdout)
"#;
    let mut child = Command::new("python3")
        .args(["-c", PROGRAM])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python3 is needed: its parser of XML is the judge");
    let mut input = child.stdin.take().expect("piped");
    input.write_all(xml.as_bytes()).expect("it reads");
    drop(input);
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success());
    let cases: Vec<[String; 4]> = serde_json::from_slice(&output.stdout).expect("its list");
    cases
        .into_iter()
        .map(|[class, name, state, text]| Case {
            class,
            name,
            state,
            text,
        })
        .collect()
}

/// What the pages consist of.
const ELEMENTS: &str = "html head meta title style body header main h1 h2 p ul li section article div table thead tbody tfoot tr th \
                        td details summary strong small span code pre mark br a";
/// What may be written in an element.
const ATTRIBUTES: &str = "lang charset name content http-equiv class id scope title colspan role aria-label href tabindex";

/// Those without a value: what a script of the pages may put a button beside, and where its keys lead to.
const BARE: [&str; 2] = ["data-copy", "data-difference"];

/// The text outside of elements, after a check that no element is there but those of the pages, and nothing that runs or asks
/// for anything.
pub(super) fn html(text: &str) -> String {
    let (elements, attributes): (BTreeSet<&str>, BTreeSet<&str>) = (
        ELEMENTS.split(' ').collect(),
        ATTRIBUTES.split(' ').collect(),
    );
    let mut ids = BTreeSet::new();
    let mut targets = Vec::new();
    let mut parts = text.split('<');
    assert_eq!(parts.next(), Some(""));
    assert!(parts.next().is_some_and(|part| part == "!doctype html>\n"));
    let mut outside = String::new();
    for part in parts {
        let (tag, rest) = part.split_once('>').unwrap_or_else(|| panic!("<{part}"));
        let (name, inner) = tag.split_once(' ').unwrap_or((tag, ""));
        let name = name.strip_prefix('/').unwrap_or(name);
        assert!(elements.contains(name), "an element <{tag}> of nobody");
        let mut inner = inner.trim();
        while !inner.is_empty() {
            if let Some(after) = BARE.iter().find_map(|bare| inner.strip_prefix(bare)) {
                inner = after.trim();
                continue;
            }
            let (key, after) = inner.split_once("=\"").unwrap_or_else(|| panic!("<{tag}>"));
            let (value, after) = after.split_once('"').unwrap_or_else(|| panic!("<{tag}>"));
            assert!(attributes.contains(key), "<{tag}>");
            match key {
                "id" => assert!(ids.insert(value), "{value} is there twice"),
                "href" => targets.push(value.strip_prefix('#').expect("a place in the file")),
                _ => {}
            }
            inner = after.trim();
        }
        if name != "style" {
            outside.push_str(&resolved(rest));
        }
    }
    for target in targets {
        assert!(ids.contains(target), "a dead link to {target}");
    }
    assert!(!text.contains("url(") && !text.contains("@import"));
    assert!(text.contains("http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'"));
    outside
}
