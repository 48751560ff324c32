//! What is printed gives no order to whoever reads the log of a CI job.
//!
//! GitHub Actions obeys a line that begins with `::` after white space, and what stands anywhere behind `##[`; Azure Pipelines
//! and TeamCity have signs of their own. Such a line may come from a body, so each that is printed goes through here. It is told
//! as [`visible`](parity_schemas::visible::visible) tells what steers a terminal: one sign becomes an escape, and a reader sees
//! what it was.

use std::borrow::Cow;

/// What begins an order, wherever it stands.
const ANYWHERE: [&str; 3] = ["##[", "##vso[", "##teamcity["];

/// Text for people without such orders.
pub fn tame(text: &str) -> Cow<'_, str> {
    let begins = |line: &str| line.trim_start().starts_with("::");
    let has = ANYWHERE.iter().any(|order| text.contains(order));
    // Some readers end a line at a carriage return.
    if !has && !text.split(['\n', '\r']).any(begins) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for line in text.split_inclusive(['\n', '\r']) {
        let rest = line.trim_start();
        if begins(line) {
            let space = line.len() - rest.len();
            out.push_str(line.get(..space).unwrap_or_default());
            out.push_str("\\u{3a}");
            out.push_str(&without(rest.get(1..).unwrap_or_default(), "\\u{23}"));
        } else {
            out.push_str(&without(line, "\\u{23}"));
        }
    }
    Cow::Owned(out)
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
        ] {
            assert_eq!(tame(text), told);
            assert_eq!(tame(&tame(text)), told, "twice is once");
        }
    }

    #[test]
    fn a_document_stays_the_same() {
        let json = r###"{"a": "x ##[error]y ##vso[z]"}"###;
        let told = tame_json(json);
        assert!(!told.contains("##"), "{told}");
        let read = |json: &str| serde_json::from_str::<serde_json::Value>(json).expect("JSON");
        assert_eq!(read(&told), read(json));
    }
}
