//! JSON as text: white space between tokens is taken out or put in, and every token stays as it is.
//!
//! A document that was stored by another version of the program has members that this one does not know, and numbers
//! that a parser would round. So it is never read and written again: it is only laid out.

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::visible::{begins_command, is_hidden};

/// With the characters that [`visible`](crate::visible::visible) replaces written as `\\u…`. Apart from line breaks, JSON has
/// them only within strings, where the escape means the same. So the document is unchanged, and a terminal executes nothing
/// in it.
pub fn escaped(json: &str) -> Cow<'_, str> {
    let obeyed = |character: char| character != '\n' && is_hidden(character);
    if !json.contains(obeyed) && !json.contains("##") {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len() + json.len() / 8);
    for character in json.chars() {
        if obeyed(character) || begins_command(&out, character) {
            for unit in character.encode_utf16(&mut [0; 2]) {
                // Writing to a String cannot fail.
                let _infallible = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(character);
        }
    }
    Cow::Owned(out)
}

/// Without any white space between tokens. The text must be JSON.
pub fn compact(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    each_token(json, |token| out.push_str(token));
    out
}

/// In lines, as `serde_json` lays out a document for people. The text must be JSON.
pub fn pretty(json: &str) -> String {
    let mut out = String::with_capacity(json.len() * 2);
    let mut depth = 0_usize;
    let mut just_opened = false;
    each_token(json, |token| {
        let closes = matches!(token, "}" | "]");
        if closes {
            depth = depth.saturating_sub(1);
        }
        if just_opened != closes && (just_opened || closes) {
            new_line(&mut out, depth);
        }
        out.push_str(token);
        just_opened = matches!(token, "{" | "[");
        match token {
            "{" | "[" => depth += 1,
            "," => new_line(&mut out, depth),
            ":" => out.push(' '),
            _ => {}
        }
    });
    out
}

fn new_line(out: &mut String, depth: usize) {
    out.push('\n');
    for _ in 0..depth {
        out.push_str("  ");
    }
}

fn each_token<'a>(json: &'a str, mut take: impl FnMut(&'a str)) {
    let bytes = json.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let begin = at;
        at += 1;
        match byte {
            b' ' | b'\t' | b'\n' | b'\r' => continue,
            b'{' | b'}' | b'[' | b']' | b',' | b':' => {}
            b'"' => {
                while let Some(byte) = bytes.get(at) {
                    at += 1;
                    match byte {
                        b'"' => break,
                        b'\\' => at += 1,
                        _ => {}
                    }
                }
            }
            _ => {
                while bytes
                    .get(at)
                    .is_some_and(|byte| !b" \t\n\r{}[],:\"".contains(byte))
                {
                    at += 1;
                }
            }
        }
        // Every token begins and ends at an ASCII character, or at the end of a text that is no JSON.
        take(json.get(begin..at.min(bytes.len())).unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn tokens_stay_as_they_are() {
        let text = "{ \"b\" : [ 1.10 , 1e400, -0, \"a\\\" , :\\u00e9é\" ] ,\"a\":{ },\"c\":[\n] , \"d\":null}";
        let compacted =
            "{\"b\":[1.10,1e400,-0,\"a\\\" , :\\u00e9é\"],\"a\":{},\"c\":[],\"d\":null}";
        assert_eq!(compact(text), compacted);
        assert_eq!(compact(&pretty(text)), compacted);
        assert_eq!(
            pretty("{\"a\":[1,{}],\"b\":[]}"),
            "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": []\n}"
        );
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(|number| json!(number)),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map(any::<String>(), inner, 0..4)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn lines_are_those_of_serde_json(value in value()) {
            let compacted = serde_json::to_string(&value).expect("JSON");
            let lines = serde_json::to_string_pretty(&value).expect("JSON");
            prop_assert_eq!(&pretty(&compacted), &lines);
            prop_assert_eq!(&pretty(&lines), &lines);
            prop_assert_eq!(compact(&lines), compacted);
        }

        #[test]
        fn no_text_is_too_strange(text in any::<String>()) {
            let _no_panic = (pretty(&text), compact(&text));
        }
    }
}
