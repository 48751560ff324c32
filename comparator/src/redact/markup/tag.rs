//! Parses start tags with their attributes.

use std::ops::Range;

use super::Dialect;

/// An attribute, and the span of its value.
pub(super) struct Attribute {
    pub(super) name: String,
    pub(super) value: Range<usize>,
}

/// A start tag.
pub(super) struct Tag {
    /// Where it begins.
    pub(super) at: usize,
    pub(super) name: String,
    pub(super) attributes: Vec<Attribute>,
    /// Whether it ends with `/>`.
    pub(super) closed: bool,
    /// Whether it may be damaged: attributes without a separator, or an attribute without the value that it always has.
    pub(super) odd: bool,
    /// The end, after its `>`.
    pub(super) end: usize,
}

/// Characters that a tag has only inside quotes.
fn is_foreign(sign: u8) -> bool {
    matches!(sign, b'"' | b'\'' | b'<' | b'`')
}

/// The start tag at `at`. `None` if it does not end, contains something that no undamaged tag has, or is not valid XML
/// in an XML document. In HTML, some damage only sets [`Tag::odd`].
pub(super) fn start(text: &str, at: usize, dialect: Dialect) -> Option<Tag> {
    let bytes = text.as_bytes();
    let name = name_at(text, at + 1);
    let mut from = at + 1 + name.len();
    let mut tag = Tag {
        at,
        name: name.to_owned(),
        attributes: Vec::new(),
        closed: false,
        odd: false,
        end: 0,
    };
    let blank = |from: usize| {
        let rest = bytes.get(from..).unwrap_or_default();
        from + rest
            .iter()
            .take_while(|byte| byte.is_ascii_whitespace())
            .count()
    };
    let parted = |from: usize| {
        let before = from.checked_sub(1).and_then(|before| bytes.get(before));
        before.is_some_and(|before| before.is_ascii_whitespace() || *before == b'/')
    };
    let is_quoted = |from: usize| {
        let before = from.checked_sub(1).and_then(|before| bytes.get(before));
        matches!(before, Some(b'"' | b'\''))
    };
    if name.bytes().any(is_foreign) {
        return None;
    }
    loop {
        from = blank(from);
        match bytes.get(from)? {
            b'>' => {
                tag.end = from + 1;
                return Some(tag);
            }
            b'/' => {
                from += 1;
                tag.closed = bytes.get(from) == Some(&b'>');
                continue;
            }
            // No undamaged tag has these characters here, or attributes without a separator.
            sign if is_foreign(*sign) => return None,
            _ if parted(from) => {}
            // Browsers accept an attribute that directly follows the quotes of another.
            _ if dialect == Dialect::Html && is_quoted(from) => tag.odd = true,
            _ => return None,
        }
        let start = from;
        let ends = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'=' | b'>' | b'/');
        // In HTML a name may begin with any character, even `=`.
        from += 1 + bytes
            .get(from + 1..)?
            .iter()
            .take_while(|byte| !ends(byte))
            .count();
        let name = text.get(start..from)?.to_owned();
        if name.bytes().any(is_foreign) {
            return None;
        }
        let sign = blank(from);
        if bytes.get(sign) != Some(&b'=') {
            if dialect == Dialect::Xml {
                return None;
            }
            // Attributes that name or hold something always have a value.
            tag.odd |= is_empty_only_by_accident(&name);
            // A value without a name, or a name without a value.
            tag.attributes.push(Attribute {
                name: String::new(),
                value: start..from,
            });
            continue;
        }
        let value = blank(sign + 1);
        let value = match bytes.get(value)? {
            quote @ (b'"' | b'\'') => {
                let length = memchr::memchr(*quote, bytes.get(value + 1..)?)?;
                from = value + 1 + length + 1;
                value + 1..value + 1 + length
            }
            b'>' => return None,
            _ if dialect == Dialect::Xml => return None,
            _ => {
                let rest = bytes.get(value..)?;
                let length = rest
                    .iter()
                    .take_while(|byte| !(byte.is_ascii_whitespace() || **byte == b'>'))
                    .count();
                if rest.iter().take(length).copied().any(is_foreign) {
                    return None;
                }
                let written = rest.get(..length)?;
                // The space before another attribute may have been lost; a URL contains `=` itself.
                tag.odd |= written.contains(&b'=')
                    && !(written.starts_with(b"http") || b"/.?#".contains(written.first()?));
                from = value + length;
                value..from
            }
        };
        tag.attributes.push(Attribute { name, value });
    }
}

/// Whether an attribute always has a value, so that one without is probably damaged.
fn is_empty_only_by_accident(name: &str) -> bool {
    super::is_naming(name)
        || ["class", "content", "href", "src", "style", "value"]
            .iter()
            .any(|known| name.eq_ignore_ascii_case(known))
}

/// The name of the element at `at`.
pub(super) fn name_at(text: &str, at: usize) -> &str {
    let rest = text.get(at..).unwrap_or_default();
    let end = rest.find(|end: char| end.is_whitespace() || matches!(end, '/' | '>' | '<' | '='));
    rest.get(..end.unwrap_or(rest.len())).unwrap_or_default()
}
