//! `application/x-www-form-urlencoded` as an object: a name's value, or the list of its values when it has several.
//!
//! Names have no order, the values of one name do. Escapes are undone, so `%7E`, `%7e` and `~` are one; what is then no
//! UTF-8 is kept as it was sent, so that two different bytes are never shown as the same replacement character.

use std::borrow::Cow;

use hashbrown::HashMap;
use percent_encoding::percent_decode_str;

use crate::json::string;

/// The form as one JSON object.
pub(crate) fn to_json(text: &str) -> Vec<u8> {
    // In the order in which names come first.
    let mut names: Vec<(Cow<'_, str>, Vec<Cow<'_, str>>)> = Vec::new();
    // The names are the service's choice, so the hash must not be one that it knows.
    let mut places: HashMap<Cow<'_, str>, usize, foldhash::fast::RandomState> = HashMap::default();
    for pair in text
        .trim_end_matches(['\r', '\n'])
        .split('&')
        .filter(|pair| !pair.is_empty())
    {
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
        string::quote(name, &mut out);
        out.push(b':');
        match values.as_slice() {
            [value] => string::quote(value, &mut out),
            values => list(values, &mut out),
        }
    }
    out.push(b'}');
    out
}

fn list(values: &[Cow<'_, str>], out: &mut Vec<u8>) {
    out.push(b'[');
    for (index, value) in values.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        string::quote(value, out);
    }
    out.push(b']');
}

fn decoded(text: &str) -> Cow<'_, str> {
    if !text.contains(['+', '%']) {
        return Cow::Borrowed(text);
    }
    let spaced = text.replace('+', " ");
    let plain = percent_decode_str(&spaced).decode_utf8();
    plain.map_or(Cow::Borrowed(text), |plain| Cow::Owned(plain.into_owned()))
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
            ("a=%ff&b=%zz", r#"{"a":"%ff","b":"%zz"}"#),
            ("a=\"=1\r\n", r#"{"a":"\"=1"}"#),
        ] {
            assert_eq!(String::from_utf8_lossy(&to_json(text)), expected, "{text}");
        }
    }
}
