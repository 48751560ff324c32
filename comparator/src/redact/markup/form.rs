//! Whether a text that does not say so is XML: it is well formed, and does not begin as a page or a part of one.

use super::tag::{self, name_at};
use super::{Dialect, MAX_OPEN};

/// Elements that begin a piece of HTML.
const OF_HTML: [&str; 20] = [
    "a", "b", "body", "br", "div", "em", "form", "h1", "h2", "head", "html", "i", "img", "li", "p",
    "span", "strong", "table", "ul", "input",
];

pub(super) fn is_xml(text: &str) -> bool {
    if text.starts_with("<?xml") {
        return true;
    }
    let first = text.match_indices('<').find_map(|(at, _)| {
        let name = name_at(text, at + 1);
        name.starts_with(char::is_alphabetic).then_some(name)
    });
    let html =
        first.is_none_or(|name| OF_HTML.iter().any(|known| name.eq_ignore_ascii_case(known)));
    !html && is_well_formed(text).is_some()
}

/// Every element ends, in order.
fn is_well_formed(text: &str) -> Option<()> {
    let mut open: Vec<&str> = Vec::new();
    let mut at = 0;
    while let Some(found) = text.get(at..)?.find('<') {
        at += found;
        let rest = text.get(at..)?;
        let skipped = [
            ("<!--", "-->"),
            ("<![CDATA[", "]]>"),
            ("<!", ">"),
            ("<?", "?>"),
        ]
        .into_iter()
        .find(|(begin, _)| rest.starts_with(begin));
        if let Some((_, end)) = skipped {
            at += rest.find(end)? + end.len();
        } else if rest.starts_with("</") {
            if !open.pop()?.eq_ignore_ascii_case(name_at(text, at + 2)) {
                return None;
            }
            at += rest.find('>')? + 1;
        } else {
            let tag = tag::start(text, at, Dialect::Xml)?;
            if !tag.closed {
                open.push(name_at(text, at + 1));
            }
            if open.len() > MAX_OPEN {
                return None;
            }
            at = tag.end;
        }
    }
    open.is_empty().then_some(())
}
