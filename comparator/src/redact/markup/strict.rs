//! Strict checks: what is well-formed XML, and what no page contains.
//!
//! A lost character changes a name or a tag, and a lenient parser may still accept the result. So everything is refused
//! here that no undamaged document has: an unquoted quote or `<` in a tag, attributes without a separator, end tags
//! with attributes, text next to the root element.

use super::Dialect;
use super::MAX_OPEN;
use super::known::is_of_html;
use super::tag::{self, Tag, name_at};

/// Elements with which a piece of HTML begins.
const BEGINS_HTML: [&str; 20] = [
    "a", "b", "body", "br", "div", "em", "form", "h1", "h2", "head", "html", "i", "img", "li", "p",
    "span", "strong", "table", "ul", "input",
];

/// Which dialect a text without a type is in: XML if it has a declaration, or is well formed and does not begin like HTML.
/// `None` if it can be neither: it has an end tag, so it claims to be markup, but begins with an element that HTML does
/// not have, and is not well formed.
pub(super) fn dialect_of(text: &str) -> Option<Dialect> {
    if text.starts_with("<?xml") {
        return Some(Dialect::Xml);
    }
    let first = text.match_indices('<').find_map(|(at, _)| {
        let name = name_at(text, at + 1);
        name.starts_with(char::is_alphabetic).then_some(name)
    });
    let begins = |name: &str| {
        BEGINS_HTML
            .iter()
            .any(|known| name.eq_ignore_ascii_case(known))
    };
    if first.is_none_or(begins) {
        return Some(Dialect::Html);
    }
    if structure_of(text).is_some() {
        return Some(Dialect::Xml);
    }
    let claims = text
        .trim_start_matches('\u{feff}')
        .trim_start()
        .starts_with('<')
        && text.contains("</");
    (!claims || first.is_some_and(is_of_html)).then_some(Dialect::Html)
}

/// What is known of a text in which all elements are closed in order.
#[derive(Default)]
pub(super) struct Structure {
    /// Number of root elements.
    roots: usize,
    /// Whether there is text outside of them.
    text_outside: bool,
    /// Whether a text contains `>`.
    stray: bool,
}

impl Structure {
    /// Whether it is a complete document.
    pub(super) fn is_document(&self) -> bool {
        self.roots == 1 && !self.text_outside
    }

    /// Whether it is a piece of a document, or a text without any trace of tags.
    pub(super) fn is_piece(&self) -> bool {
        !self.stray
    }
}

/// The structure of a text; `None` if a strict parser refuses it.
pub(super) fn structure_of(text: &str) -> Option<Structure> {
    let mut form = Structure::default();
    let mut open: Vec<&str> = Vec::new();
    // What is declared elsewhere may be any entity.
    let mut foreign = false;
    let mut at = 0;
    loop {
        let rest = text.get(at..)?;
        let length = memchr::memchr(b'<', rest.as_bytes()).unwrap_or(rest.len());
        let characters = rest.get(..length)?;
        if characters.contains("]]>") || !are_references_whole(characters, foreign) {
            return None;
        }
        form.stray |= characters.contains('>');
        let visible = characters.trim_start_matches('\u{feff}').trim();
        form.text_outside |= open.is_empty() && !visible.is_empty();
        at += length;
        let rest = text.get(at..)?;
        if rest.is_empty() {
            return open.is_empty().then_some(form);
        }
        if let Some(comment) = rest.strip_prefix("<!--") {
            let end = comment.find("--")?;
            comment.get(end..)?.strip_prefix("-->")?;
            at += 4 + end + 3;
        } else if let Some(characters) = rest.strip_prefix("<![CDATA[") {
            at += 9 + characters.find("]]>")? + 3;
        } else if rest.starts_with("<!") {
            let length = declaration(rest)?;
            if form.roots > 0 {
                return None;
            }
            let declared = rest.get(..length)?;
            foreign |= ["SYSTEM", "PUBLIC"]
                .iter()
                .any(|place| declared.contains(place));
            at += length;
        } else if rest.starts_with("<?") {
            at += rest.find("?>")? + 2;
        } else if rest.starts_with("</") {
            let (name, end) = end_tag(text, at)?;
            if open.pop()? != name {
                return None;
            }
            at = end;
        } else {
            let tag = tag::start(text, at, Dialect::Xml)?;
            form.roots += usize::from(open.is_empty());
            if !is_strict(text, &tag, foreign) {
                return None;
            }
            if !tag.closed {
                open.push(name_at(text, at + 1));
            }
            if open.len() > MAX_OPEN {
                return None;
            }
            at = tag.end;
        }
    }
}

/// Whether a start tag has a name, its attributes have names, and no value contains the start of another.
fn is_strict(text: &str, tag: &Tag, foreign: bool) -> bool {
    is_name(&tag.name)
        && tag.attributes.iter().enumerate().all(|(at, attribute)| {
            let value = text.get(attribute.value.clone()).unwrap_or_default();
            let before = tag.attributes.get(..at).unwrap_or_default();
            is_name(&attribute.name)
                && !value.contains('<')
                && are_references_whole(value, foreign)
                // Duplicates are searched only among the first attributes, so that a tag with many stays cheap.
                && (at > 64 || before.iter().all(|other| other.name != attribute.name))
        })
}

/// Whether a text is a name in XML, approximately.
fn is_name(text: &str) -> bool {
    let begins = |first: char| first.is_alphabetic() || matches!(first, '_' | ':');
    text.starts_with(begins)
        && text.chars().all(|character| {
            !character.is_ascii()
                || character.is_ascii_alphanumeric()
                || matches!(character, '_' | ':' | '-' | '.')
        })
}

/// Whether every `&` begins a complete reference: to a character, to an entity that XML has, or to one that may be declared
/// in a `foreign` document.
fn are_references_whole(text: &str, foreign: bool) -> bool {
    text.split('&').skip(1).all(|rest| {
        let length = rest.find(';').unwrap_or(0);
        let name = rest.get(..length).unwrap_or_default();
        match name.strip_prefix('#') {
            Some(number) => match number.strip_prefix('x') {
                Some(hex) => !hex.is_empty() && hex.bytes().all(|digit| digit.is_ascii_hexdigit()),
                None => !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit()),
            },
            None if foreign => {
                !name.is_empty() && name.bytes().all(|letter| letter.is_ascii_alphanumeric())
            }
            None => ["amp", "apos", "gt", "lt", "quot"].contains(&name),
        }
    })
}

/// The end tag at `at`: its name, and where it ends; `None` if it contains anything else.
pub(super) fn end_tag(text: &str, at: usize) -> Option<(&str, usize)> {
    let name = name_at(text, at + 2);
    let after = text.get(at + 2 + name.len()..)?;
    let end = after.trim_ascii_start().strip_prefix('>')?;
    (!name.contains(['"', '\'', '&', ';'])).then_some((name, text.len() - end.len()))
}

/// Length of the `<!DOCTYPE …>` at the start. `None` if it is another declaration, or defines entities, which could
/// stand for any text.
pub(super) fn declaration(text: &str) -> Option<usize> {
    const KEYWORD: &str = "<!doctype";
    if let Some(inner) = text.strip_prefix("<![") {
        return condition(inner).map(|length| "<![".len() + length);
    }
    let keyword = text.get(..KEYWORD.len())?;
    let mut rest = text.get(KEYWORD.len()..)?;
    if !keyword.eq_ignore_ascii_case(KEYWORD)
        || !rest.starts_with(|sign: char| sign.is_ascii_whitespace())
    {
        return None;
    }
    loop {
        rest = rest.trim_ascii_start();
        let first = rest.chars().next()?;
        match first {
            '>' => return Some(text.len() - rest.len() + 1),
            '[' => {
                rest = rest.get(1..)?;
                rest = rest.get(subset(rest)?..)?;
            }
            '"' | '\'' => {
                let length = rest.get(1..)?.find(first)?;
                let literal = rest.get(1..=length)?;
                if literal.contains(['<', '>', '=']) {
                    return None;
                }
                rest = rest.get(length + 2..)?;
            }
            _ => {
                let length = rest.find(|end: char| end.is_ascii_whitespace() || end == '>')?;
                if !is_name(rest.get(..length)?) {
                    return None;
                }
                rest = rest.get(length..)?;
            }
        }
    }
}

/// Length of the rest of `<![if !IE]>` or `<![endif]>` after `<![`.
fn condition(text: &str) -> Option<usize> {
    let length = text.find("]>")?;
    let words = text.get(..length)?;
    let sound = |sign: u8| sign.is_ascii_alphanumeric() || b" ()!&|.".contains(&sign);
    ((words.starts_with("if ") || words == "endif") && words.bytes().all(sound))
        .then_some(length + "]>".len())
}

/// Length of the internal subset, with its `]`. It may declare only elements, and attributes without defaults, which
/// hold nothing but names.
fn subset(text: &str) -> Option<usize> {
    let mut rest = text;
    loop {
        rest = rest.trim_ascii_start();
        if let Some(after) = rest.strip_prefix(']') {
            return Some(text.len() - after.len());
        }
        if let Some(comment) = rest.strip_prefix("<!--") {
            // A comment is recorded unchanged.
            let length = comment.find("-->")?;
            let harmless = |sign: u8| sign.is_ascii_alphabetic() || sign == b' ';
            if !comment.get(..length)?.bytes().all(harmless) {
                return None;
            }
            rest = comment.get(length + 3..)?;
            continue;
        }
        let declared = ["<!ELEMENT ", "<!ATTLIST "]
            .iter()
            .find_map(|keyword| rest.strip_prefix(keyword))?;
        let length = declared.find('>')?;
        let sound = |sign: char| sign.is_alphanumeric() || "_:-. ()|,*+?#\n\r\t".contains(sign);
        if !declared.get(..length)?.chars().all(sound) {
            return None;
        }
        rest = declared.get(length + 1..)?;
    }
}
