//! XML: whatever the parser accepts converts to JSON, the same data in two forms is equal, and an edit is found.

use std::fmt::Write as _;

use parity_comparator::{Limits, Rules};
use parity_schemas::verdict::{Reason, Verdict};

use super::laws::{Judge, answer};
use super::source::Source;
use super::{limits, parts};

const XML: &str = "application/xml";
/// Depth of a built document, and children of one element.
const DEPTH: usize = 5;
const CHILDREN: usize = 4;
const NAMES: &[&str] = &["a", "b", "id", "A", "é", "a-1"];
const TEXTS: &[&str] = &["1", "x", "<&>", "]]>", "\"'", "\u{a0}", "1.0"];

/// Two texts that claim to be XML, or two documents built from the bytes.
pub(crate) fn xml(data: &[u8]) {
    let limits = limits(data);
    if let Some([legacy, candidate]) = parts(data) {
        judged(legacy, candidate, limits);
        return;
    }
    let mut source = Source::new(data);
    let element = Element::from_source(&mut source, DEPTH);
    let [mut plain, mut other, mut edited] = [const { String::new() }; 3];
    element.write(false, &mut plain);
    other.push_str("<?xml version='1.0'?>\n<!-- another -->\n");
    element.write(true, &mut other);
    let verdict = judged(plain.as_bytes(), other.as_bytes(), limits);
    assert_eq!(verdict, Verdict::Match, "{plain}\n{other}");
    let mut changed = element;
    changed.edit(&mut source);
    changed.write(true, &mut edited);
    let verdict = judged(plain.as_bytes(), edited.as_bytes(), limits);
    assert_eq!(verdict, Verdict::Mismatch, "{plain}\n{edited}");
}

fn judged(legacy: &[u8], candidate: &[u8], limits: Limits) -> Verdict {
    let mut judge = Judge::new(Rules::default(), limits);
    let verdict = judge
        .compare(&answer(XML, legacy), &answer(XML, candidate))
        .verdict;
    // Undecodable would mean that the JSON that we wrote is invalid.
    assert!(verdict != Verdict::NotCompared(Reason::Undecodable));
    verdict
}

enum Node {
    Text(&'static str),
    Child(Element),
}

struct Element {
    name: &'static str,
    /// With names that differ.
    attributes: Vec<(&'static str, &'static str)>,
    content: Vec<Node>,
}

impl Element {
    fn from_source(source: &mut Source<'_>, depth: usize) -> Self {
        let name = source.pick(NAMES);
        let some = source.below(NAMES.len());
        let attributes = NAMES
            .iter()
            .take(some)
            .map(|name| (*name, source.pick(TEXTS)));
        let attributes = attributes.collect();
        let count = if depth == 0 {
            0
        } else {
            source.below(CHILDREN)
        };
        let content = (0..count).map(|_| match source.below(3) {
            0 => Node::Text(source.pick(TEXTS)),
            _ => Node::Child(Self::from_source(source, depth - 1)),
        });
        Self {
            name,
            attributes,
            content: content.collect(),
        }
    }

    /// In one form, or in another one with the same data.
    fn write(&self, other: bool, out: &mut String) {
        let (prefix, quote) = if other { ("p:", '\'') } else { ("", '"') };
        let is_mixed = self
            .content
            .iter()
            .any(|node| matches!(node, Node::Text(_)));
        let _infallible = write!(out, "<{prefix}{}", self.name);
        let mut attributes = self.attributes.clone();
        // Each element declares what it is in, so that each may be the root.
        let (declaration, space) = if other {
            attributes.reverse();
            (" xmlns:p='u'", "\n  ")
        } else {
            (" xmlns=\"u\"", "")
        };
        out.push_str(declaration);
        for (name, value) in attributes {
            let _infallible = write!(out, " {name}={quote}{}{quote}", escaped(value, other));
        }
        if other && self.content.is_empty() {
            out.push_str("/>");
            return;
        }
        out.push('>');
        for node in &self.content {
            if !is_mixed {
                out.push_str(space);
            }
            match node {
                Node::Text(text) if other && !text.contains("]]>") => {
                    let _infallible = write!(out, "<![CDATA[{text}]]>");
                }
                Node::Text(text) => out.push_str(&escaped(text, other)),
                Node::Child(child) => child.write(other, out),
            }
        }
        let _infallible = write!(out, "</{prefix}{}>", self.name);
    }

    /// Changes one value, or adds an element.
    fn edit(&mut self, source: &mut Source<'_>) {
        match source.below(3) {
            0 if !self.attributes.is_empty() => {
                let at = source.below(self.attributes.len());
                self.attributes[at].1 = "edited";
            }
            1 => self.content.push(Node::Text("edited")),
            _ => {
                let inner = self.content.iter_mut().find_map(|node| match node {
                    Node::Child(child) => Some(child),
                    Node::Text(_) => None,
                });
                match inner {
                    Some(child) => child.edit(source),
                    None => self.content.push(Node::Child(Self {
                        name: "edited",
                        attributes: Vec::new(),
                        content: Vec::new(),
                    })),
                }
            }
        }
    }
}

fn escaped(text: &str, other: bool) -> String {
    if other {
        let mut references = String::new();
        for sign in text.chars() {
            let _infallible = write!(references, "&#x{:x};", u32::from(sign));
        }
        return references;
    }
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
