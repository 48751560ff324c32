//! YAML as data: turned into the JSON that it stands for, and compared as that.
//!
//! The core schema of YAML 1.2 decides what a plain scalar is, so `no` and `on` are strings and `0o17` is 15. Number
//! text is kept wherever JSON can say the same. Aliases are expanded, and everything that is written is counted against
//! a cap, so a few lines that stand for gigabytes end there. A tag of an application is part of the value: `!a 1` and
//! `1` differ.

use parity_schemas::verdict::Reason;
use serde_saphyr::granit_parser::{Event, Parser, ScalarStyle, Tag};

use crate::json::{number, string};

/// Why a text has no JSON.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum YamlError {
    /// Not YAML, or YAML that has no JSON.
    #[error("invalid YAML: {0}")]
    Syntax(String),
    /// Over a limit of ours.
    #[error("{0}")]
    Limit(Reason),
}

/// The documents of a stream as JSON texts. Expanded, they may have `limit` bytes together.
pub(crate) fn documents(
    text: &str,
    max_depth: usize,
    limit: usize,
) -> Result<Vec<Vec<u8>>, YamlError> {
    let mut writer = Writer {
        out: Vec::new(),
        open: Vec::new(),
        anchors: Vec::new(),
        written: 0,
        max_depth,
        limit,
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
    Ok(documents)
}

/// A container that has not ended.
struct Open {
    mapping: bool,
    /// Values written into it, keys included.
    count: usize,
    /// Where it begins in the output, and under which anchor.
    from: usize,
    anchor: usize,
}

struct Writer {
    out: Vec<u8>,
    open: Vec<Open>,
    /// By id: the JSON that an anchor stands for.
    anchors: Vec<Option<Vec<u8>>>,
    written: usize,
    max_depth: usize,
    limit: usize,
}

impl Writer {
    fn event(&mut self, event: Event<'_>) -> Result<(), YamlError> {
        match event {
            Event::Alias(id) => {
                let Some(value) = self.anchors.get(id).and_then(Clone::clone) else {
                    return Err(YamlError::Syntax(
                        "an alias stands inside of what it stands for".to_owned(),
                    ));
                };
                self.scalar(&value, 0)
            }
            Event::Scalar(value, style, anchor, tag) => {
                let json = scalar(&value, style, tag.as_deref());
                self.scalar(&json, anchor)
            }
            Event::SequenceStart(_, anchor, tag) => self.begin(false, anchor, tag.as_deref()),
            Event::MappingStart(_, anchor, tag) => self.begin(true, anchor, tag.as_deref()),
            Event::SequenceEnd | Event::MappingEnd => self.end(),
            _ => Ok(()),
        }
    }

    /// What comes before a value: a comma, or the colon behind a key. True where a key is due.
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

    fn scalar(&mut self, json: &[u8], anchor: usize) -> Result<(), YamlError> {
        let key = self.separate();
        let from = self.out.len();
        if key && json.first() != Some(&b'"') {
            // JSON keys are strings; a key that is none in YAML keeps its text.
            let text = String::from_utf8_lossy(json).into_owned();
            string::quote(&text, &mut self.out);
        } else {
            self.out.extend_from_slice(json);
        }
        self.count(self.out.len() - from)?;
        self.remember(anchor, from)
    }

    fn begin(&mut self, mapping: bool, anchor: usize, tag: Option<&Tag>) -> Result<(), YamlError> {
        if let Some(tag) = tag.filter(|tag| !is_core(tag)) {
            return Err(YamlError::Syntax(format!(
                "the tag `{tag}` on a collection has no JSON"
            )));
        }
        if self
            .open
            .last()
            .is_some_and(|container| container.mapping && container.count % 2 == 0)
        {
            return Err(YamlError::Syntax(
                "a collection as a key has no JSON".to_owned(),
            ));
        }
        if self.open.len() >= self.max_depth {
            return Err(YamlError::Limit(Reason::TooDeep));
        }
        self.separate();
        self.open.push(Open {
            mapping,
            count: 0,
            from: self.out.len(),
            anchor,
        });
        self.out.push(if mapping { b'{' } else { b'[' });
        self.count(2)
    }

    fn end(&mut self) -> Result<(), YamlError> {
        if let Some(container) = self.open.pop() {
            self.out.push(if container.mapping { b'}' } else { b']' });
            return self.remember(container.anchor, container.from);
        }
        Ok(())
    }

    fn remember(&mut self, anchor: usize, from: usize) -> Result<(), YamlError> {
        // The parser counts anchors from 1; 0 is none.
        if anchor > 0 {
            self.count(self.out.len() - from)?;
            if self.anchors.len() <= anchor {
                self.anchors.resize(anchor + 1, None);
            }
            self.anchors[anchor] = Some(self.out[from..].to_vec());
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

/// A scalar as JSON by the core schema.
fn scalar(value: &str, style: ScalarStyle, tag: Option<&Tag>) -> Vec<u8> {
    let quoted = |text: &str| {
        let mut out = Vec::with_capacity(text.len() + 2);
        string::quote(text, &mut out);
        out
    };
    match tag {
        Some(tag) if !is_core(tag) => quoted(&format!("{tag} {value}")),
        Some(tag) if tag.suffix() == "str" => quoted(value),
        None if style != ScalarStyle::Plain => quoted(value),
        _ => plain(value).unwrap_or_else(|| quoted(value)),
    }
}

fn is_core(tag: &Tag) -> bool {
    tag.is_yaml_core_schema()
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
    // `+1`, `.5`, `1.` and `007` are numbers here and not in JSON.
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
mod tests {
    use super::*;

    fn json(text: &str) -> Result<String, YamlError> {
        let documents = documents(text, 16, 10_000)?;
        let texts: Vec<_> = documents
            .iter()
            .map(|json| String::from_utf8_lossy(json).into_owned())
            .collect();
        Ok(texts.join("\n"))
    }

    #[test]
    fn scalars_follow_the_core_schema() {
        for (yaml, expected) in [
            ("no", r#""no""#),
            ("true", "true"),
            ("'true'", r#""true""#),
            ("!!str 1", r#""1""#),
            ("~", "null"),
            ("0o17", "15"),
            ("0x1F", "31"),
            ("007", "7"),
            (".5", "0.5"),
            ("+1.50", "1.50"),
            ("1e3", "1e3"),
            (".inf", r#"".inf""#),
            ("2026-01-01", r#""2026-01-01""#),
            ("!custom 1", r#""!custom 1""#),
            ("|\n a\n b\n", r#""a\nb\n""#),
        ] {
            assert_eq!(json(yaml).as_deref(), Ok(expected), "{yaml}");
        }
    }

    #[test]
    fn collections_aliases_and_several_documents() {
        assert_eq!(
            json("a: &x [1, {b: 2}]\nc: *x\n1: d").as_deref(),
            Ok(r#"{"a":[1,{"b":2}],"c":[1,{"b":2}],"1":"d"}"#)
        );
        assert_eq!(json("--- 1\n--- {}\n").as_deref(), Ok("1\n{}"));
        assert_eq!(json("").as_deref(), Ok(""));
    }

    #[test]
    fn what_expands_without_end_is_stopped() {
        let mut lines = vec!["a0: &a0 [x, x, x, x, x, x, x, x, x]".to_owned()];
        for level in 1..9 {
            let aliases = vec![format!("*a{}", level - 1); 9].join(", ");
            lines.push(format!("a{level}: &a{level} [{aliases}]"));
        }
        let bomb = lines.join("\n");
        assert_eq!(json(&bomb), Err(YamlError::Limit(Reason::ResponseTooLarge)));
        assert!(matches!(json("a: [1"), Err(YamlError::Syntax(_))));
        assert!(json(&"[".repeat(100_000)).is_err());
        assert!(json(&"- ".repeat(5_000)).is_err());
    }
}
