//! The meaning of two JSON texts by another parser, in the simplest way: the comparator's verdict must be the same.
//!
//! `serde_json` parses the structure and keeps the text of every number. It refuses lone surrogates, so the oracle has
//! no answer for such strings.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// Digits of an exponent that the oracle adds to.
const EXPONENT_DIGITS: usize = 30;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    Null,
    Bool(bool),
    /// Sign, digits without zeros at either end, and the power of ten of the last.
    Number(bool, String, i128),
    Text(String),
    Array(Vec<Meaning>),
    /// A repeated key is equal only to one that is repeated with the same values in the same order.
    Object(BTreeMap<String, Vec<Meaning>>),
}

pub(super) fn is_json(text: &[u8]) -> bool {
    serde_json::from_slice::<&RawValue>(text).is_ok()
}

/// What a text means; `None` when this oracle cannot say.
pub(super) fn meaning(text: &[u8]) -> Option<Meaning> {
    read(serde_json::from_slice::<&RawValue>(text).ok()?)
}

fn read(raw: &RawValue) -> Option<Meaning> {
    let text = raw.get().trim_ascii();
    Some(match text.as_bytes().first()? {
        b'n' => Meaning::Null,
        b't' => Meaning::Bool(true),
        b'f' => Meaning::Bool(false),
        b'"' => Meaning::Text(serde_json::from_str(text).ok()?),
        b'[' => {
            let elements: Vec<&RawValue> = serde_json::from_str(text).ok()?;
            let elements: Option<Vec<Meaning>> = elements.into_iter().map(read).collect();
            Meaning::Array(elements?)
        }
        b'{' => {
            let members: Members<'_> = serde_json::from_str(text).ok()?;
            let mut object: BTreeMap<String, Vec<Meaning>> = BTreeMap::new();
            for (key, value) in members.0 {
                object.entry(key).or_default().push(read(value)?);
            }
            Meaning::Object(object)
        }
        _ => number(text)?,
    })
}

fn number(text: &str) -> Option<Meaning> {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (negative, mantissa) = mantissa
        .strip_prefix('-')
        .map_or((false, mantissa), |rest| (true, rest));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let significant = digits.trim_start_matches('0').trim_end_matches('0');
    if significant.is_empty() {
        return Some(Meaning::Number(false, String::new(), 0));
    }
    if exponent.len() > EXPONENT_DIGITS {
        return None;
    }
    let behind = digits.len() - digits.trim_end_matches('0').len();
    let exponent: i128 = exponent.parse().ok()?;
    let power = exponent - fraction.len() as i128 + behind as i128;
    Some(Meaning::Number(negative, significant.to_owned(), power))
}

/// Every member of an object, including those with repeated keys.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct All;
        impl<'de> Visitor<'de> for All {
            type Value = Members<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(All)
    }
}
