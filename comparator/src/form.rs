//! Converts `application/x-www-form-urlencoded` to an object: the value of each name, or the list of its values if it
//! has several.
//!
//! The order of names does not count, that of the values of one name does. Escapes are undone, so `%7E`, `%7e` and `~`
//! are equal. A value that is then not UTF-8 becomes the object `{"percent":"%FF"}`, so that no text is equal to it.
//! Such a name gets a lone surrogate as its first character, which JSON can write and no decoded name contains.

use std::borrow::Cow;

use hashbrown::HashMap;
use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, percent_encode};

use crate::notation::string;

/// Bytes that are not UTF-8 stay escaped; the same bytes always give the same text.
const ESCAPED: &AsciiSet = &CONTROLS.add(b'%');

/// A name or value with escapes undone.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Plain<'a> {
    Text(Cow<'a, str>),
    /// Not UTF-8; everything but printable ASCII is escaped.
    Bytes(String),
}

/// The form as one JSON object.
pub(crate) fn to_json(text: &str) -> Vec<u8> {
    // In the order in which the names first occur.
    let mut names: Vec<(Plain<'_>, Vec<Plain<'_>>)> = Vec::new();
    // The service chooses the names, so the hash must not be predictable for it.
    let mut places: HashMap<Plain<'_>, usize, foldhash::fast::RandomState> = HashMap::default();
    for pair in text.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let (name, value) = (decoded(name), decoded(value));
        let place = *places.entry(name.clone()).or_insert(names.len());
        if place == names.len() {
            names.push((name, Vec::new()));
        }
        names[place].1.push(value);
    }
    let mut out = vec![b'{'];
    for (index, (name, values)) in names.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write_name(name, &mut out);
        out.push(b':');
        match values.as_slice() {
            [value] => write_value(value, &mut out),
            values => list(values, &mut out),
        }
    }
    out.push(b'}');
    out
}

/// A name of the form with escapes undone; `None` if it is not UTF-8.
pub(crate) fn plain_name(name: &str) -> Option<String> {
    match decoded(name) {
        Plain::Text(text) => Some(text.into_owned()),
        Plain::Bytes(_) => None,
    }
}

/// Whether every field has a value, even an empty one, and no field that `names` something has two `=`. A lost
/// character would join two fields, or a name and its value.
pub(crate) fn is_whole(text: &str, names: impl Fn(&str) -> bool) -> bool {
    text.trim_end().split(['&', ';']).all(|field| {
        field.is_empty()
            || field.split_once('=').is_some_and(|(_, value)| {
                !value.trim_end_matches('=').contains('=') || !names(field)
            })
    })
}

fn write_name(name: &Plain<'_>, out: &mut Vec<u8>) {
    match name {
        Plain::Text(text) => string::quote(text, out),
        Plain::Bytes(escaped) => {
            out.extend_from_slice(b"\"\\ud800");
            let mut quoted = Vec::with_capacity(escaped.len() + 2);
            string::quote(escaped, &mut quoted);
            out.extend_from_slice(&quoted[1..]);
        }
    }
}

fn write_value(value: &Plain<'_>, out: &mut Vec<u8>) {
    match value {
        Plain::Text(text) => string::quote(text, out),
        Plain::Bytes(escaped) => {
            out.extend_from_slice(b"{\"percent\":");
            string::quote(escaped, out);
            out.push(b'}');
        }
    }
}

fn list(values: &[Plain<'_>], out: &mut Vec<u8>) {
    out.push(b'[');
    for (index, value) in values.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write_value(value, out);
    }
    out.push(b']');
}

fn decoded(text: &str) -> Plain<'_> {
    if !text.contains(['+', '%']) {
        return Plain::Text(Cow::Borrowed(text));
    }
    let spaced = text.replace('+', " ");
    let bytes = Cow::from(percent_decode_str(&spaced));
    match String::from_utf8(bytes.into_owned()) {
        Ok(text) => Plain::Text(Cow::Owned(text)),
        Err(error) => Plain::Bytes(percent_encode(error.as_bytes(), ESCAPED).to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_is_an_object_of_texts() {
        for (text, expected) in [
            ("", "{}"),
            ("a=1&b=x+y%26", r#"{"a":"1","b":"x y&"}"#),
            ("a=1&b=2&a=3", r#"{"a":["1","3"],"b":"2"}"#),
            ("%61=%7E&a=~&b", r#"{"a":["~","~"],"b":""}"#),
            ("a=%ff&b=%zz", r#"{"a":{"percent":"%FF"},"b":"%zz"}"#),
            (
                "%ff%25=1&%FF%=2&%25ff=x",
                r#"{"\ud800%FF%25":["1","2"],"%ff":"x"}"#,
            ),
            ("a=\"=1\r\n", r#"{"a":"\"=1\r\n"}"#),
        ] {
            assert_eq!(String::from_utf8_lossy(&to_json(text)), expected, "{text}");
        }
    }
}
