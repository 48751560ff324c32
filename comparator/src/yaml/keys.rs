//! The types of keys. A key of JSON is text, so `1: a` and `"1": a` are the same JSON, and other data: the readers of most languages look
//! for an integer in one of them and for a string in the other.
//!
//! The first reading has the text of each key, by which rules and paths name it. A further one adds a member beside each key that is no text,
//! [`MARK`] and the key, with the type; rules treat it as the key itself. What differs there is told at the key. A key that stands twice in one
//! mapping, as a text and as something else, is not told from the same two in the other order.

use std::borrow::Cow;

use parity_schemas::verdict::{Finding, Kind, Side};
use serde_saphyr::granit_parser::{ScalarStyle, Tag};

use super::{is_non_specific, is_not_finite, name_of};

/// What precedes a key in the name of the member that has its type.
pub(super) const MARK: &str = "!!key ";

/// The key that a member with a type belongs to.
pub(crate) fn key_of(member: &[u8]) -> Option<&[u8]> {
    member.strip_prefix(MARK.as_bytes())
}

/// The type of a key that is no text, of which this is the JSON.
pub(super) fn type_of(
    value: &str,
    style: ScalarStyle,
    tag: Option<&Tag>,
    json: &[u8],
) -> Option<Cow<'static, str>> {
    if let Some(name) = type_of_json(json) {
        return Some(name.into());
    }
    match tag {
        None if style == ScalarStyle::Plain && is_not_finite(value) => Some("!!float".into()),
        None => None,
        Some(tag) if is_non_specific(tag) || tag.core_suffix() == Some("str") => None,
        Some(tag) => Some(name_of(tag).into()),
    }
}

/// The same of a key that an alias stands for.
pub(super) fn type_of_json(json: &[u8]) -> Option<&'static str> {
    match json.first()? {
        b'"' => None,
        b'n' => Some("!!null"),
        b't' | b'f' => Some("!!bool"),
        _ if json.iter().any(|byte| matches!(byte, b'.' | b'e' | b'E')) => Some("!!float"),
        _ => Some("!!int"),
    }
}

/// Turns a difference of types into one of the key; returns whether it was one.
pub(crate) fn restore(finding: &mut Finding) -> bool {
    let types = [&finding.legacy, &finding.candidate].map(|side| match side {
        Side::Absent => Some("a text as the key"),
        Side::Value(value) => words(&value.text),
        _ => None,
    });
    let [Some(legacy), Some(candidate)] = types else {
        return false;
    };
    let Some(path) = unmarked(&finding.path) else {
        return false;
    };
    if let Some(pattern) = unmarked(&finding.pattern) {
        finding.pattern = pattern;
    }
    let other = finding.candidate_path.as_deref().and_then(unmarked);
    finding.candidate_path = other.filter(|other| *other != path);
    finding.path = path;
    finding.kind = Kind::Type;
    finding.explanation = None;
    finding.legacy = Side::Described(legacy.into());
    finding.candidate = Side::Described(candidate.into());
    true
}

/// What a type is called. A tag of an application is a text of a service's, so it is not shown.
fn words(json: &str) -> Option<&'static str> {
    Some(match json.strip_prefix("\"!")?.trim_end_matches('"') {
        "!int" => "an integer as the key",
        "!float" => "a number as the key",
        "!bool" => "a boolean as the key",
        "!null" => "null as the key",
        _ => "another type as the key",
    })
}

/// A path whose last step is a member with a type, as the path of the key.
pub(crate) fn unmarked(path: &str) -> Option<String> {
    let (parent, last) = path.rsplit_once('/')?;
    let key = last.strip_prefix(MARK)?;
    Some(format!("{parent}/{key}"))
}

#[cfg(test)]
mod tests {
    use super::super::{documents, for_older_readers};

    /// What the further reading adds.
    fn added(yaml: &str) -> String {
        let read = for_older_readers(yaml, 16, 10_000).expect("it is YAML");
        let read = read.map(|documents| documents.concat());
        String::from_utf8(read.unwrap_or_default()).expect("it is text")
    }

    #[test]
    fn keys_that_are_no_text_have_their_type_beside_them() {
        for (yaml, expected) in [
            ("1: a", r#"{"!!key 1":"!!int","1":"a"}"#),
            ("0x1: a", r#"{"!!key 1":"!!int","1":"a"}"#),
            ("1.5: a", r#"{"!!key 1.5":"!!float","1.5":"a"}"#),
            (
                "x: 1\nTrue: b",
                r#"{"x":1,"!!key true":"!!bool","true":"b"}"#,
            ),
            ("~: a", r#"{"!!key null":"!!null","null":"a"}"#),
            (
                ".inf: a",
                r#"{"!!key !!float .inf":"!!float","!!float .inf":"a"}"#,
            ),
            ("!v a: b", r#"{"!!key !v a":"!v","!v a":"b"}"#),
            ("!!int '1': a", r#"{"!!key 1":"!!int","1":"a"}"#),
            ("- &k 1\n- *k : a", r#"[1,{"!!key 1":"!!int","1":"a"}]"#),
            (
                "&k 1: &v {2: b}\n3: *k",
                r#"{"!!key 1":"!!int","1":{"!!key 2":"!!int","2":"b"},"!!key 3":"!!int","3":"1"}"#,
            ),
            ("'1': a\n\"true\": b\n! 2: c\n!!str 3: d\nno: e", ""),
        ] {
            assert_eq!(added(yaml), expected, "{yaml}");
            let first = documents(yaml, 16, 10_000).expect("it is YAML").concat();
            assert!(!String::from_utf8_lossy(&first).contains("!!key"), "{yaml}");
        }
    }
}
