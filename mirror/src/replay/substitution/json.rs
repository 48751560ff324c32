//! One value in a text of JSON, by a JSON Pointer: where it stands, so that it can be replaced and all else stays as it is
//! written.

use std::borrow::Cow;
use std::ops::Range;

use serde::Deserialize;
use serde::de::{Deserializer as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::Value;

/// The value at a pointer, if it is a text, a number or a truth value.
pub(super) fn value(text: &str, pointer: &str) -> Option<Value> {
    let written = text.get(find(text, pointer)?)?;
    match written.as_bytes().first()? {
        b'"' => Some(Value {
            text: serde_json::from_str(written).ok()?,
            is_json: false,
        }),
        b'{' | b'[' | b'n' => None,
        _ => Some(Value {
            text: written.to_owned(),
            is_json: true,
        }),
    }
}

/// The text with another value at a pointer. With `adds`, an object that has no such member gets it.
pub(super) fn with(text: &str, pointer: &str, value: &Value, adds: bool) -> Option<String> {
    let new = if value.is_json {
        Cow::Borrowed(&*value.text)
    } else {
        Cow::Owned(serde_json::to_string(&value.text).ok()?)
    };
    if let Some(at) = find(text, pointer) {
        return Some([text.get(..at.start)?, &new, text.get(at.end..)?].concat());
    }
    if !adds {
        return None;
    }
    let (parent, name) = pointer.rsplit_once('/')?;
    let at = find(text, parent)?;
    let object = text.get(at.clone())?;
    let inside = object.strip_prefix('{')?;
    let name = serde_json::to_string(&unescaped(name)).ok()?;
    let comma = if inside.trim_ascii_start() == "}" {
        ""
    } else {
        ","
    };
    let member = format!("{{{name}:{new}{comma}{inside}");
    Some([text.get(..at.start)?, &member, text.get(at.end..)?].concat())
}

/// Where the value at a pointer stands.
pub(super) fn find(text: &str, pointer: &str) -> Option<Range<usize>> {
    let whole: &RawValue = serde_json::from_str(text).ok()?;
    let mut found = whole.get();
    for step in pointer.split('/').skip(1) {
        found = step_into(found, &unescaped(step))?;
    }
    // Both are slices of one text.
    let start = (found.as_ptr() as usize).checked_sub(text.as_ptr() as usize)?;
    Some(start..start + found.len())
}

fn unescaped(step: &str) -> Cow<'_, str> {
    if step.contains('~') {
        step.replace("~1", "/").replace("~0", "~").into()
    } else {
        step.into()
    }
}

fn step_into<'t>(text: &'t str, step: &str) -> Option<&'t str> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let found = reader.deserialize_any(Step(step)).ok()?;
    found.map(RawValue::get)
}

/// Looks for one member or element.
struct Step<'s>(&'s str);

impl<'de> Visitor<'de> for Step<'_> {
    type Value = Option<&'de RawValue>;

    fn expecting(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("an object or an array")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        // Of two members with one name, most readers take the last one.
        let mut found = None;
        while let Some(Name(name)) = map.next_key()? {
            if name == self.0 {
                found = Some(map.next_value()?);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Self::Value, A::Error> {
        let wanted = self.0.parse::<usize>().ok();
        let (mut found, mut index) = (None, 0);
        while let Some(element) = elements.next_element::<&RawValue>()? {
            if Some(index) == wanted {
                found = Some(element);
            }
            index += 1;
        }
        Ok(found)
    }
}

#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);
