//! Pairs of documents: the same values, with every object's keys in another order, and a given number of findings.

use std::fmt::Write as _;

const LEGACY: &[u8] = include_bytes!("../pair/legacy.json");
const CANDIDATE: &[u8] = include_bytes!("../pair/candidate.json");

/// Two documents.
pub(crate) struct Pair {
    /// Its name in the table.
    pub(crate) name: &'static str,
    /// The legacy's.
    pub(crate) legacy: Vec<u8>,
    /// The candidate's, its keys in another order.
    pub(crate) candidate: Vec<u8>,
}

/// From two kilobytes to ten megabytes.
pub(crate) fn pairs() -> Vec<Pair> {
    vec![
        Pair {
            name: "2 KB account",
            legacy: LEGACY.to_vec(),
            candidate: CANDIDATE.to_vec(),
        },
        order("20-item order", 20),
        list("100 KB list", 400),
        list("1 MB list", 4_000),
        list("10 MB list", 40_000),
    ]
}

/// One order with its lines.
fn order(name: &'static str, lines: usize) -> Pair {
    let write = |backwards| {
        let lines: Vec<String> = (0..lines).map(|line| element(line, backwards)).collect();
        let lines = lines.join(",");
        object(
            &[
                ("id", "\"ord-1\"".to_owned()),
                ("lines", format!("[{lines}]")),
                ("total", "1234.50".to_owned()),
            ],
            backwards,
        )
    };
    Pair {
        name,
        legacy: write(false).into_bytes(),
        candidate: write(true).into_bytes(),
    }
}

fn list(name: &'static str, elements: usize) -> Pair {
    let write = |backwards| {
        let elements: Vec<String> = (0..elements).map(|at| element(at, backwards)).collect();
        format!("[{}]", elements.join(",")).into_bytes()
    };
    Pair {
        name,
        legacy: write(false),
        candidate: write(true),
    }
}

/// About 250 bytes: texts with and without escapes, decimals in two spellings, nested containers.
fn element(at: usize, backwards: bool) -> String {
    let unit = if backwards { "" } else { "0" };
    let owner = object(
        &[
            ("name", format!("\"Customer {at}\"")),
            ("email", format!("\"c{at}@example.com\"")),
        ],
        backwards,
    );
    object(
        &[
            ("id", format!("\"ord-{at:06}\"")),
            ("amount", format!("{}.5{unit}", at * 7 % 1_000)),
            ("status", "\"settled\"".to_owned()),
            ("created_at", "\"2026-03-01T09:30:12.120Z\"".to_owned()),
            ("note", r#""R\u0026D \"étage 2\"""#.to_owned()),
            ("tags", "[\"card\",\"eu\",null]".to_owned()),
            ("open", "true".to_owned()),
            ("owner", owner),
        ],
        backwards,
    )
}

fn object(members: &[(&str, String)], backwards: bool) -> String {
    let mut out = String::from("{");
    let mut push = |(key, value): &(&str, String)| {
        let comma = if out.len() > 1 { "," } else { "" };
        write!(out, "{comma}\"{key}\":{value}").expect("memory");
    };
    if backwards {
        members.iter().rev().for_each(&mut push);
    } else {
        members.iter().for_each(&mut push);
    }
    out.push('}');
    out
}

/// The candidate with another status in `findings` elements, spread over the document.
pub(crate) fn with_findings(candidate: &[u8], findings: usize) -> Vec<u8> {
    let text = std::str::from_utf8(candidate).expect("UTF-8");
    let places = text.matches("\"settled\"").count();
    assert!(
        places >= findings,
        "{places} places for {findings} findings"
    );
    let every = places / findings;
    let mut out = String::with_capacity(text.len() + findings);
    for (at, piece) in text.split("\"settled\"").enumerate() {
        if at > 0 {
            let changed = (at - 1) % every == 0 && (at - 1) / every < findings;
            out.push_str(if changed {
                "\"pending\""
            } else {
                "\"settled\""
            });
        }
        out.push_str(piece);
    }
    out.into_bytes()
}
