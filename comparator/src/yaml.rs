//! Converts YAML to the JSON with the same data, and compares that.
//!
//! The core schema of YAML 1.2 decides what a plain scalar is: `no` and `on` are strings, `0o17` is 15, `017` is 17,
//! `1:30`, `1_000` and dates are strings, and `<<` is a key like any other. A `%YAML 1.1` directive does not change
//! that. Where readers of YAML 1.1 see other data, [`for_older_readers`] shows it. Number text is kept if it is valid JSON. Aliases are expanded, and all output counts against a limit, so a few
//! lines that expand to gigabytes are refused.
//!
//! What JSON cannot express becomes an object with one key, as serde writes an enum: `!a 1` is `{"!a":1}`, `.inf` is
//! `{"!!float":".inf"}`. So neither passes for a plain string or number.

mod doubt;
mod keys;
mod older;

use std::rc::Rc;

use hashbrown::HashMap;
use parity_schemas::verdict::Reason;
use serde_saphyr::granit_parser::{Event, Parser, ScalarStyle, Tag};

use crate::notation::{number, string};
pub(crate) use doubt::is_doubtful;
pub(crate) use keys::{key_of, restore, unmarked};
use older::older_type;

/// A text may expand to this many times its own size. Without aliases JSON takes at most five times as many bytes; with
/// them, nothing that people write comes near.
const MAX_GROWTH: usize = 16;
/// Bytes that even the shortest text may expand to.
const MIN_EXPANDED_BYTES: usize = 1 << 20;
/// The namespace of YAML's own types.
const YAML_NAMESPACE: &str = "tag:yaml.org,2002:";

/// What is wrong with a text that is not YAML.
pub(crate) const INVALID: &str = "invalid YAML";

/// Why a text cannot be converted to JSON.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum YamlError {
    /// Not YAML, or YAML that JSON cannot express.
    #[error("{INVALID}: {0}")]
    Syntax(String),
    /// It exceeds a limit of ours.
    #[error("{0}")]
    Limit(Reason),
}

/// The documents of a stream as JSON texts. Together they may have `limit` bytes, and no more than [`MAX_GROWTH`]
/// allows.
pub(crate) fn documents(
    text: &str,
    max_depth: usize,
    limit: usize,
) -> Result<Vec<Vec<u8>>, YamlError> {
    read(text, max_depth, limit, false).map(|(documents, _)| documents)
}

/// The same, with each value that YAML 1.1 reads as another one replaced by a text that names its type there, and with the type of each key
/// that is no text beside it ([`keys`]); `None` if there is neither. Keys stay as they are, so that the same paths lead to the values.
pub(crate) fn for_older_readers(
    text: &str,
    max_depth: usize,
    limit: usize,
) -> Result<Option<Vec<Vec<u8>>>, YamlError> {
    let (documents, replaced) = read(text, max_depth, limit, true)?;
    Ok(replaced.then_some(documents))
}

fn read(
    text: &str,
    max_depth: usize,
    limit: usize,
    older: bool,
) -> Result<(Vec<Vec<u8>>, bool), YamlError> {
    let mut writer = Writer {
        out: Vec::new(),
        open: Vec::new(),
        anchors: HashMap::default(),
        written: 0,
        older,
        replaced: false,
        max_depth,
        limit: limit.min(
            text.len()
                .saturating_mul(MAX_GROWTH)
                .max(MIN_EXPANDED_BYTES),
        ),
    };
    let mut documents = Vec::new();
    for event in Parser::new_from_str(text) {
        let (event, _) = event.map_err(|error| YamlError::Syntax(error.to_string()))?;
        if matches!(event, Event::DocumentEnd) {
            documents.push(std::mem::take(&mut writer.out));
            writer.anchors.clear();
        } else {
            writer.event(event)?;
        }
    }
    Ok((documents, writer.replaced))
}

/// The documents as one JSON text: a `single` one as itself, several, or none, as a list.
pub(crate) fn joined(mut documents: Vec<Vec<u8>>, single: bool) -> Vec<u8> {
    if single {
        return documents.pop().unwrap_or_default();
    }
    let mut list = vec![b'['];
    list.extend(documents.join(&b','));
    list.push(b']');
    list
}

/// An open container.
struct OpenContainer {
    mapping: bool,
    /// Whether it is wrapped in an object that names its tag.
    tagged: bool,
    /// Values written so far, including keys.
    count: usize,
    /// Where it begins in the output, and its anchor.
    from: usize,
    anchor: usize,
}

struct Writer {
    out: Vec<u8>,
    open: Vec<OpenContainer>,
    /// By anchor id, which continues to count from one document to the next: the JSON of each anchor of this document.
    anchors: HashMap<usize, Rc<[u8]>, foldhash::fast::FixedState>,
    written: usize,
    /// Whether values that YAML 1.1 reads as others are replaced and keys have their types beside them, and whether there was one.
    older: bool,
    replaced: bool,
    max_depth: usize,
    limit: usize,
}

impl Writer {
    fn event(&mut self, event: Event<'_>) -> Result<(), YamlError> {
        match event {
            Event::Alias(id) => {
                let Some(value) = self.anchors.get(&id).map(Rc::clone) else {
                    return Err(YamlError::Syntax(
                        "an alias stands inside of what it stands for".to_owned(),
                    ));
                };
                if self.key_is_due() && matches!(value.first(), Some(b'[' | b'{')) {
                    return Err(YamlError::Syntax(
                        "a collection as a key has no JSON".to_owned(),
                    ));
                }
                let key_type = keys::type_of_json(&value);
                self.scalar(&value, key_type, 0)
            }
            Event::Scalar(value, style, anchor, tag) => {
                let key = self.key_is_due();
                let older = self.older && !key && tag.is_none() && style == ScalarStyle::Plain;
                let name = older.then(|| older_type(&value)).flatten();
                let json = match name {
                    Some(name) => {
                        self.replaced = true;
                        older_value(name, &value)
                    }
                    None => scalar(&value, style, tag.as_deref(), key),
                };
                let key_type = key.then(|| keys::type_of(&value, style, tag.as_deref(), &json));
                self.scalar(&json, key_type.flatten().as_deref(), anchor)
            }
            Event::SequenceStart(_, anchor, tag) => self.begin(false, anchor, tag.as_deref()),
            Event::MappingStart(_, anchor, tag) => self.begin(true, anchor, tag.as_deref()),
            Event::SequenceEnd | Event::MappingEnd => self.end(),
            _ => Ok(()),
        }
    }

    fn key_is_due(&self) -> bool {
        self.open
            .last()
            .is_some_and(|container| container.mapping && container.count % 2 == 0)
    }

    /// Writes what precedes a value: a comma, or the colon after a key. Returns true if a key comes next.
    fn separate(&mut self) -> bool {
        let Some(container) = self.open.last_mut() else {
            return false;
        };
        let key = container.mapping && container.count % 2 == 0;
        let separator = match (container.mapping, container.count) {
            (_, 0) => None,
            (true, _) if !key => Some(b':'),
            _ => Some(b','),
        };
        container.count += 1;
        self.out.extend(separator);
        key
    }

    /// Writes a value, or a key, with its type if it is no text.
    fn scalar(
        &mut self,
        json: &[u8],
        key_type: Option<&str>,
        anchor: usize,
    ) -> Result<(), YamlError> {
        let key = self.separate();
        if let Some(name) = key_type.filter(|_| key && self.older) {
            self.key_type(json, name)?;
        }
        let from = self.out.len();
        if key && json.first() != Some(&b'"') {
            // JSON keys are strings; a YAML key of another type keeps its text.
            let text = String::from_utf8_lossy(json).into_owned();
            string::quote(&text, &mut self.out);
        } else {
            self.out.extend_from_slice(json);
        }
        self.count(self.out.len() - from)?;
        self.remember(anchor, from)
    }

    /// Writes the member that has the type of the next key.
    fn key_type(&mut self, json: &[u8], name: &str) -> Result<(), YamlError> {
        let from = self.out.len();
        let json = String::from_utf8_lossy(json);
        let key = match json.strip_prefix('"') {
            // Of what was quoted only the first sign differs.
            Some(quoted) => format!("\"{}{quoted}", keys::MARK),
            None => format!("\"{}{json}\"", keys::MARK),
        };
        self.out.extend_from_slice(key.as_bytes());
        self.out.push(b':');
        string::quote(name, &mut self.out);
        self.out.push(b',');
        self.replaced = true;
        self.count(self.out.len() - from)
    }

    fn begin(&mut self, mapping: bool, anchor: usize, tag: Option<&Tag>) -> Result<(), YamlError> {
        if self.key_is_due() {
            return Err(YamlError::Syntax(
                "a collection as a key has no JSON".to_owned(),
            ));
        }
        if self.open.len() >= self.max_depth {
            return Err(YamlError::Limit(Reason::TooDeep));
        }
        self.separate();
        let from = self.out.len();
        let tag = tag.filter(|tag| tag.core_suffix().is_none() && !is_non_specific(tag));
        if let Some(tag) = tag {
            open_wrapper(&name_of(tag), &mut self.out);
        }
        self.open.push(OpenContainer {
            mapping,
            tagged: tag.is_some(),
            count: 0,
            from,
            anchor,
        });
        self.out.push(if mapping { b'{' } else { b'[' });
        self.count(self.out.len() - from + 1)
    }

    fn end(&mut self) -> Result<(), YamlError> {
        if let Some(container) = self.open.pop() {
            self.out.push(if container.mapping { b'}' } else { b']' });
            if container.tagged {
                self.out.push(b'}');
            }
            return self.remember(container.anchor, container.from);
        }
        Ok(())
    }

    fn remember(&mut self, anchor: usize, from: usize) -> Result<(), YamlError> {
        // The parser counts anchors from 1; 0 means none.
        if anchor > 0 {
            self.count(self.out.len() - from)?;
            self.anchors.insert(anchor, self.out[from..].into());
        }
        Ok(())
    }

    fn count(&mut self, bytes: usize) -> Result<(), YamlError> {
        self.written += bytes + 1;
        if self.written > self.limit {
            return Err(YamlError::Limit(Reason::ResponseTooLarge));
        }
        Ok(())
    }
}

/// A scalar as JSON by the core schema; a key is always text.
fn scalar(value: &str, style: ScalarStyle, tag: Option<&Tag>, key: bool) -> Vec<u8> {
    let is_plain = tag.is_none() && style == ScalarStyle::Plain;
    if is_plain && let Some(json) = plain(value) {
        return json;
    }
    let core = tag.and_then(Tag::core_suffix);
    let wrapper = match tag {
        None if is_plain && is_not_finite(value) => "!!float".to_owned(),
        None => return quoted(value),
        Some(tag) if is_non_specific(tag) || core == Some("str") => return quoted(value),
        Some(tag) => name_of(tag),
    };
    if let Some(core) = core
        && let Some(json) = plain(value).filter(|json| is_of(json, core))
    {
        return json;
    }
    if key {
        return quoted(&format!("{wrapper} {value}"));
    }
    let mut out = Vec::new();
    open_wrapper(&wrapper, &mut out);
    let spelling = if is_not_finite(value) && wrapper == "!!float" {
        let unsigned = value.strip_prefix('+').unwrap_or(value);
        quoted(&unsigned.to_ascii_lowercase())
    } else {
        quoted(value)
    };
    out.extend(spelling);
    out.push(b'}');
    out
}

/// Stands for a value that YAML 1.1 reads as another one. Of a time only the type is told, because rules may make two
/// times equal that are written otherwise.
fn older_value(name: &str, value: &str) -> Vec<u8> {
    if name == "!!timestamp" {
        return quoted(name);
    }
    quoted(&format!("{name} {value}"))
}

/// Whether a JSON text may be one of [`older_value`]: no other string begins with the mark of a type, except one that is
/// written so.
pub(crate) fn is_older_value(json: &[u8]) -> bool {
    json.starts_with(b"\"!!")
}

fn quoted(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 2);
    string::quote(text, &mut out);
    out
}

/// Writes the start of the object that names the type of its value.
fn open_wrapper(name: &str, out: &mut Vec<u8>) {
    out.push(b'{');
    string::quote(name, out);
    out.push(b':');
}

/// `!`: resolved by the kind of node alone, so a scalar is a string (YAML 1.2.2 §6.9.1).
fn is_non_specific(tag: &Tag) -> bool {
    tag.to_string() == "!"
}

/// A tag as people write it.
fn name_of(tag: &Tag) -> String {
    let name = tag.to_string();
    match name.strip_prefix(YAML_NAMESPACE) {
        Some(name) => format!("!!{name}"),
        None => name,
    }
}

/// Whether a scalar has the core type that its tag names.
fn is_of(json: &[u8], core: &str) -> bool {
    let number = matches!(json, [b'0'..=b'9' | b'-', ..]);
    match core {
        "null" => json == b"null",
        "bool" => matches!(json, b"true" | b"false"),
        "int" => number && !json.iter().any(|byte| matches!(byte, b'.' | b'e' | b'E')),
        "float" => number,
        _ => false,
    }
}

/// The infinities and NaN (YAML 1.2.2 §10.3.2), which JSON cannot express.
fn is_not_finite(value: &str) -> bool {
    let unsigned = value.strip_prefix(['-', '+']).unwrap_or(value);
    matches!(unsigned, ".inf" | ".Inf" | ".INF") || matches!(value, ".nan" | ".NaN" | ".NAN")
}

/// Null, booleans and numbers of the core schema (YAML 1.2.2 §10.3.2) as JSON.
fn plain(value: &str) -> Option<Vec<u8>> {
    let word = match value {
        "" | "~" | "null" | "Null" | "NULL" => "null",
        "true" | "True" | "TRUE" => "true",
        "false" | "False" | "FALSE" => "false",
        _ => return plain_number(value),
    };
    Some(word.as_bytes().to_vec())
}

fn plain_number(value: &str) -> Option<Vec<u8>> {
    let radix = |digits: &str, radix| {
        u128::from_str_radix(digits, radix)
            .ok()
            .map(|number| number.to_string().into_bytes())
    };
    if let Some(digits) = value.strip_prefix("0x") {
        return digits
            .bytes()
            .all(|byte| byte.is_ascii_hexdigit())
            .then(|| radix(digits, 16))?;
    }
    if let Some(digits) = value.strip_prefix("0o") {
        return digits
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'7'))
            .then(|| radix(digits, 8))?;
    }
    // `+1`, `.5`, `1.` and `007` are numbers in YAML and not in JSON.
    let (sign, unsigned) = match value.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", value.strip_prefix('+').unwrap_or(value)),
    };
    let exponent_at = unsigned.find(['e', 'E']).unwrap_or(unsigned.len());
    let (mantissa, exponent) = unsigned.split_at(exponent_at);
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let whole = whole.trim_start_matches('0');
    let text = format!(
        "{sign}{}{}{fraction}{exponent}",
        if whole.is_empty() { "0" } else { whole },
        if fraction.is_empty() { "" } else { "." },
    );
    number::is_number(text.as_bytes()).then(|| text.into_bytes())
}

#[cfg(test)]
mod tests;
