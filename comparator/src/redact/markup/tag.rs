//! Start tags with their attributes.

use std::ops::Range;

use super::Dialect;

/// An attribute; where its value stands.
pub(super) struct Attribute {
    pub(super) name: String,
    pub(super) value: Range<usize>,
}

/// A start tag.
pub(super) struct Tag {
    pub(super) name: String,
    pub(super) attributes: Vec<Attribute>,
    /// It is an end tag, too.
    pub(super) closed: bool,
    /// Something in it may be what damage left: attributes that nothing parts, or a name without the value that it always
    /// has.
    pub(super) odd: bool,
    /// Behind its `>`.
    pub(super) end: usize,
}

/// Signs that a tag has only in quotes.
fn is_foreign(sign: u8) -> bool {
    matches!(sign, b'"' | b'\'' | b'<' | b'`')
}

/// The start tag at `at`; `None` when it does not end, when something is in it that no sound one has, or when it is no XML
/// where that is due. In HTML, some of that is only [`Tag::odd`].
pub(super) fn start(text: &str, at: usize, dialect: Dialect) -> Option<Tag> {
    let bytes = text.as_bytes();
    let name = name_at(text, at + 1);
    let mut from = at + 1 + name.len();
    let mut tag = Tag {
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
            // Nothing sound has them there, nor attributes that nothing parts.
            sign if is_foreign(*sign) => return None,
            _ if parted(from) => {}
            // Browsers take one that stands right behind the quotes of another.
            _ if dialect == Dialect::Html && is_quoted(from) => tag.odd = true,
            _ => return None,
        }
        let start = from;
        let ends = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'=' | b'>' | b'/');
        // A name of HTML may begin with any sign, also `=`.
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
            // What says or holds something has a value.
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
                // The blank before another attribute may have been lost; in an address it is none.
                tag.odd |= written.contains(&b'=')
                    && !(written.starts_with(b"http") || b"/.?#".contains(written.first()?));
                from = value + length;
                value..from
            }
        };
        tag.attributes.push(Attribute { name, value });
    }
}

/// Whether an attribute has a value in every page that somebody wrote.
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
