//! Builds documents from bytes: each byte is one choice, and bytes after the end count as zero.

use std::fmt::Write as _;

/// Depth of a built document: enough for every kind of container in every other.
const DEPTH: usize = 8;
/// Members of one container.
const MEMBERS: usize = 7;

pub(super) struct Source<'a>(&'a [u8]);

impl<'a> Source<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(super) fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        *first
    }

    pub(super) fn below(&mut self, limit: usize) -> usize {
        usize::from(self.byte()) % limit
    }

    pub(super) fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    pub(super) fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }
}

#[derive(Clone)]
pub(super) enum Document {
    Null,
    Bool(bool),
    /// As it is written.
    Number(String),
    Text(String),
    Array(Vec<Document>),
    /// Keys may be repeated.
    Object(Vec<(String, Document)>),
}

/// Keys that rules name, that look like an index, that are one name in several styles, or need an escape.
pub(super) const KEYS: &[&str] = &["a", "b", "id", "0", "userId", "user_id", "", "~/", "é", "*"];
const NUMBERS: &[&str] = &[
    "0",
    "-0",
    "1",
    "2",
    "1.0",
    "10e-1",
    "0.01",
    "-1",
    "12.50",
    "12.51",
    "9007199254740993",
    "9007199254740992",
    "1e999999999",
    "1e999999998",
    "1577934245",
    "1577934245123",
];
const TEXTS: &[&str] = &[
    "",
    "a",
    "A",
    "1",
    "true",
    "2020-01-02T03:04:05Z",
    "2020-01-02T03:04:05.000+00:00",
    "67e55044-10b1-426f-9247-bb680e5fe0c8",
    "67E55044-10B1-426F-9247-BB680E5FE0C8",
    "aGVsbG8/",
    "e\u{301}",
    "\u{e9}",
    "a\"\\\n",
    "😀",
];

impl Document {
    pub(super) fn from_source(source: &mut Source<'_>) -> Self {
        Self::nested(source, DEPTH)
    }

    fn nested(source: &mut Source<'_>, depth: usize) -> Self {
        let kinds = if depth == 0 { 5 } else { 9 };
        match source.below(kinds) {
            0 => Self::Null,
            1 => Self::Bool(source.byte() % 2 == 1),
            2 => Self::Number(source.pick(NUMBERS).to_owned()),
            3 => Self::Number(format!("{}.{}", source.byte(), source.byte())),
            4 => Self::Text(source.pick(TEXTS).to_owned()),
            5 | 6 => {
                let count = source.below(MEMBERS);
                Self::Array(
                    (0..count)
                        .map(|_| Self::nested(source, depth - 1))
                        .collect(),
                )
            }
            _ => {
                let count = source.below(MEMBERS);
                let mut member = || {
                    let key = source.pick(KEYS).to_owned();
                    (key, Self::nested(source, depth - 1))
                };
                Self::Object((0..count).map(|_| member()).collect())
            }
        }
    }

    /// Replaces one value, a scalar or container that the source selects.
    pub(super) fn edit(&mut self, source: &mut Source<'_>) {
        let deeper = source.below(4) > 0;
        match self {
            Self::Array(elements) if deeper && !elements.is_empty() => {
                let at = source.below(elements.len());
                match source.below(6) {
                    0 => drop(elements.remove(at)),
                    1 => elements.insert(at, Self::nested(source, 2)),
                    2 => elements.rotate_left(at),
                    _ => elements[at].edit(source),
                }
            }
            Self::Object(members) if deeper && !members.is_empty() => {
                let at = source.below(members.len());
                match source.below(6) {
                    0 => drop(members.remove(at)),
                    1 => {
                        let key = source.pick(KEYS).to_owned();
                        members.insert(at, (key, Self::nested(source, 2)));
                    }
                    2 => source.pick(KEYS).clone_into(&mut members[at].0),
                    _ => members[at].1.edit(source),
                }
            }
            other => *other = Self::nested(source, 3),
        }
    }

    /// The same data with the keys in another order; repeated keys keep theirs.
    pub(super) fn permute(&mut self, source: &mut Source<'_>) {
        match self {
            Self::Array(elements) => {
                for element in elements {
                    element.permute(source);
                }
            }
            Self::Object(members) => {
                for at in 1..members.len() {
                    if members[at - 1].0 != members[at].0 && source.byte().is_multiple_of(2) {
                        members.swap(at - 1, at);
                    }
                }
                for (_, member) in members {
                    member.permute(source);
                }
            }
            _ => {}
        }
    }

    /// As JSON, with spaces, escapes and spellings of numbers as the source chooses.
    pub(super) fn write(&self, source: &mut Source<'_>, out: &mut String) {
        space(source, out);
        match self {
            Self::Null => out.push_str("null"),
            Self::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Self::Number(lexeme) => number(lexeme, source, out),
            Self::Text(text) => quote(text, source, out),
            Self::Array(elements) => {
                out.push('[');
                for (index, element) in elements.iter().enumerate() {
                    out.push_str(if index == 0 { "" } else { "," });
                    element.write(source, out);
                }
                space(source, out);
                out.push(']');
            }
            Self::Object(members) => {
                out.push('{');
                for (index, (key, member)) in members.iter().enumerate() {
                    out.push_str(if index == 0 { "" } else { "," });
                    space(source, out);
                    quote(key, source, out);
                    space(source, out);
                    out.push(':');
                    member.write(source, out);
                }
                space(source, out);
                out.push('}');
            }
        }
        space(source, out);
    }

    /// As YAML in block style.
    pub(super) fn write_block(&self, indent: usize, out: &mut String) {
        let pad = "  ".repeat(indent);
        match self {
            Self::Array(elements) if !elements.is_empty() => {
                for element in elements {
                    out.push('\n');
                    out.push_str(&pad);
                    out.push('-');
                    element.write_block(indent + 1, out);
                }
            }
            Self::Object(members) if !members.is_empty() => {
                for (key, member) in members {
                    out.push('\n');
                    out.push_str(&pad);
                    quote(key, &mut Source::new(&[]), out);
                    out.push(':');
                    member.write_block(indent + 1, out);
                }
            }
            other => {
                out.push(' ');
                other.write(&mut Source::new(&[]), out);
            }
        }
    }
}

fn space(source: &mut Source<'_>, out: &mut String) {
    out.push_str(source.pick(&["", "", "", " ", "\n", "  "]));
}

/// The same decimal, written in one of several ways.
fn number(lexeme: &str, source: &mut Source<'_>, out: &mut String) {
    let (mantissa, exponent) = lexeme.split_once('e').unwrap_or((lexeme, "0"));
    let point = if mantissa.contains('.') { "" } else { "." };
    match source.below(4) {
        1 => write!(out, "{mantissa}{point}0e{exponent}"),
        2 => write!(out, "{mantissa}{point}000E{exponent}"),
        _ => write!(out, "{lexeme}"),
    }
    .expect("memory");
}

fn quote(text: &str, source: &mut Source<'_>, out: &mut String) {
    out.push('"');
    for character in text.chars() {
        let code = u32::from(character);
        // YAML has no surrogate pairs, so a character that needs one is written as it is.
        let escaped = character < ' '
            || matches!(character, '"' | '\\')
            || (code < 0x1_0000 && source.byte() % 4 == 1);
        if escaped {
            write!(out, "\\u{code:04x}").expect("memory");
        } else {
            out.push(character);
        }
    }
    out.push('"');
}
