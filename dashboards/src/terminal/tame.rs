//! What is printed gives no order to whoever reads the log of a CI job.
//!
//! GitHub Actions obeys a line that begins with `::` after white space, and what stands anywhere behind `##[`; Azure Pipelines
//! and TeamCity have signs of their own. Such a line may come from a body, so each that is printed goes through here. It is told
//! as [`visible`](parity_schemas::visible::visible) tells what steers a terminal: one sign becomes an escape, and a reader sees
//! what it was.

use std::borrow::Cow;

/// What begins a line that is an order.
const BEGIN: &str = "::";
/// What begins an order, wherever it stands.
const ANYWHERE: [&str; 3] = ["##[", "##vso[", "##teamcity["];

/// Text for people without such orders. A line that has one loses its colours with it: what is not seen when they are stripped
/// could part the signs of an order.
pub fn tame(text: &str) -> Cow<'_, str> {
    // An order has one of these, wherever colours part it.
    if !text.contains([':', '#']) {
        return Cow::Borrowed(text);
    }
    // Some readers end a line at a carriage return.
    let lines = || text.split_inclusive(['\n', '\r']);
    if !lines().any(|line| is_order(&plain(line))) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for line in lines() {
        let plain = plain(line);
        if !is_order(&plain) {
            out.push_str(line);
            continue;
        }
        let rest = plain.trim_start();
        let (space, rest) = plain.split_at(plain.len() - rest.len());
        out.push_str(space);
        match rest.strip_prefix(BEGIN) {
            Some(rest) => out.extend(["\\u{3a}:", &without(rest, "\\u{23}")]),
            None => out.push_str(&without(rest, "\\u{23}")),
        }
    }
    Cow::Owned(out)
}

/// A line without colours.
fn plain(line: &str) -> Cow<'_, str> {
    if line.contains('\u{1b}') {
        Cow::Owned(anstream::adapter::strip_str(line).to_string())
    } else {
        Cow::Borrowed(line)
    }
}

fn is_order(line: &str) -> bool {
    line.trim_start().starts_with(BEGIN) || ANYWHERE.iter().any(|order| line.contains(order))
}

/// The same of a JSON document, which stays the same document: such signs are within strings only, and no line of it begins with
/// a colon.
pub fn tame_json(json: &str) -> Cow<'_, str> {
    if ANYWHERE.iter().any(|order| json.contains(order)) {
        Cow::Owned(without(json, "\\u0023"))
    } else {
        Cow::Borrowed(json)
    }
}

fn without(text: &str, sign: &str) -> String {
    let orders = ANYWHERE.iter();
    orders.fold(text.to_owned(), |text, order| {
        let rest = order.strip_prefix('#').unwrap_or(order);
        text.replace(order, &format!("{sign}{rest}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_to_a_job_is_none_when_it_is_printed() {
        for (text, told) in [
            ("a :: b\n c::d", "a :: b\n c::d"),
            ("::error::x", "\\u{3a}:error::x"),
            ("a\n \t::error::x\n::y", "a\n \t\\u{3a}:error::x\n\\u{3a}:y"),
            ("a\r::y", "a\r\\u{3a}:y"),
            ("a ##[error]b ##[x]", "a \\u{23}#[error]b \\u{23}#[x]"),
            ("::##vso[x]", "\\u{3a}:\\u{23}#vso[x]"),
            ("###[x]", "#\\u{23}#[x]"),
            ("## [[rule]]\n", "## [[rule]]\n"),
            (
                "\u{1b}[2m ::x\u{1b}[0m\n\u{1b}[1m::\n",
                " \\u{3a}:x\n\\u{3a}:\n",
            ),
            ("\u{1b}[1ma#\u{1b}[0m#[x]", "a\\u{23}#[x]"),
            ("\u{1b}[1ma: #\u{1b}[0m", "\u{1b}[1ma: #\u{1b}[0m"),
        ] {
            assert_eq!(tame(text), told);
            assert_eq!(tame(&tame(text)), told, "twice is once");
        }
    }

    #[test]
    fn a_document_stays_the_same() {
        let json = r#"{"a": "x ##[error]y ##vso[z]"}"#;
        let told = tame_json(json);
        assert!(!told.contains("##"), "{told}");
        let read = |json: &str| serde_json::from_str::<serde_json::Value>(json).expect("JSON");
        assert_eq!(read(&told), read(json));
    }
}
