//! Why something that differs counts as equal.
//!
//! In the program the reason is a [`Why`]. In a document and in a store it is one word with an optional name behind it,
//! `rule:ID`, and only this file writes and reads that form. A name may hold anything, for a service chooses its header
//! names and a user the ids of rules: what comes before the first colon is always ours.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::reason::Reason;
use crate::vocabulary::{UnknownWord, vocabulary};

vocabulary! {
    /// What counts as equal without any rule although its bytes differ.
    EqualByDefault as "default of what is equal" {
        /// Two spellings of one number.
        EqualDecimal = "equal_decimal" => "the same number in other digits",
        /// Two spellings of one JSON string.
        EqualString = "equal_string" => "the same text, escaped in another way",
        /// Only one of two texts ends with a newline.
        FinalNewline = "final_newline" => "a newline at the very end",
        /// The same errors of a GraphQL answer in another order.
        ErrorOrder = "error_order" => "the order of GraphQL errors, which is chance",
        /// Where in the text of the request, or in the program, a GraphQL error arose.
        ErrorPlace = "error_place" => "locations and stack traces of a GraphQL error",
    }
}

/// Why a difference counts as equal, or is not known to be one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Why {
    /// It is equal without any rule.
    Default(EqualByDefault),
    /// The header field of this name differs by its nature, such as `date`.
    Field(String),
    /// The rule of this id excuses it.
    Rule(String),
    /// The rule of this id pairs elements by a field, which is not unique here; so they were paired by their order.
    KeyNotUnique(String),
    /// The bodies were not compared, because the mismatch was proven without them.
    NotCompared(Reason),
    /// The same, for a reason that only a newer program knows.
    NotComparedBy(String),
    /// What only a newer program knows.
    Other(String),
}

const FIELD: &str = "default";
const RULE: &str = "rule";
const KEY_NOT_UNIQUE: &str = "key_not_unique";
const NOT_COMPARED: &str = "not_compared";

impl Why {
    /// Bytes of the name that it holds.
    pub fn held(&self) -> usize {
        match self {
            Self::Default(_) | Self::NotCompared(_) => 0,
            Self::Field(name)
            | Self::Rule(name)
            | Self::KeyNotUnique(name)
            | Self::NotComparedBy(name)
            | Self::Other(name) => name.len(),
        }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default(default) => write!(f, "{default}"),
            Self::Field(name) => write!(f, "{FIELD}:{name}"),
            Self::Rule(id) => write!(f, "{RULE}:{id}"),
            Self::KeyNotUnique(id) => write!(f, "{KEY_NOT_UNIQUE}:{id}"),
            Self::NotCompared(reason) => write!(f, "{NOT_COMPARED}:{reason}"),
            Self::NotComparedBy(word) => write!(f, "{NOT_COMPARED}:{word}"),
            Self::Other(words) => f.write_str(words),
        }
    }
}

impl From<Why> for String {
    fn from(why: Why) -> Self {
        why.to_string()
    }
}

impl From<String> for Why {
    fn from(words: String) -> Self {
        match words.split_once(':') {
            Some((FIELD, name)) => Self::Field(name.to_owned()),
            Some((RULE, id)) => Self::Rule(id.to_owned()),
            Some((KEY_NOT_UNIQUE, id)) => Self::KeyNotUnique(id.to_owned()),
            Some((NOT_COMPARED, word)) => word
                .parse()
                .map_or_else(|_| Self::NotComparedBy(word.to_owned()), Self::NotCompared),
            _ => match words.parse() {
                Ok(default) => Self::Default(default),
                Err(_) => Self::Other(words),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_is_stored_in_words_and_read_back() {
        let named = |name: &str| name.to_owned();
        for (words, why) in [
            ("rule:updated-at", Why::Rule(named("updated-at"))),
            ("rule:", Why::Rule(named(""))),
            ("default:date", Why::Field(named("date"))),
            ("key_not_unique:items", Why::KeyNotUnique(named("items"))),
            ("not_compared:stream", Why::NotCompared(Reason::Stream)),
            ("not_compared:dusk", Why::NotComparedBy(named("dusk"))),
            ("equal_dusk", Why::Other(named("equal_dusk"))),
            ("dusk:x", Why::Other(named("dusk:x"))),
        ] {
            assert_eq!(Why::from(words.to_owned()), why);
            assert_eq!(why.to_string(), words);
        }
        for default in EqualByDefault::ALL {
            let why = Why::Default(*default);
            assert_eq!(Why::from(default.to_string()), why);
            assert_eq!(String::from(why), default.as_str());
        }
    }

    #[test]
    fn no_name_passes_for_another_reason() {
        for name in ["rule:x", "not_compared:stream", "equal_decimal", "", ":"] {
            let name = name.to_owned();
            for why in [
                Why::Rule(name.clone()),
                Why::Field(name.clone()),
                Why::KeyNotUnique(name),
            ] {
                assert_eq!(Why::from(why.to_string()), why);
            }
        }
    }
}
