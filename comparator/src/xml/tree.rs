//! A document in memory: names resolved, references undone, and only the white space that counts.

use std::rc::Rc;

use parity_schemas::verdict::Reason;

/// Why a text cannot be read as data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum XmlError {
    /// It is not well-formed; says what is wrong.
    Syntax(String),
    /// It declares what it consists of, or refers to such a declaration.
    Declares,
    /// It exceeds a limit of ours.
    Limit(Reason),
}

/// A well-formed document.
#[derive(Debug)]
pub(crate) struct Document {
    pub(super) root: Element,
    /// All that it declares, once each; the first is that of names in none, which is empty.
    pub(super) namespaces: Vec<Rc<str>>,
    /// Bytes that it was read from.
    pub(super) bytes: usize,
}

/// The position of the namespace of names that are in none.
pub(super) const NO_NAMESPACE: usize = 0;

#[derive(Debug)]
pub(super) struct Element {
    /// Without the prefix.
    pub(super) name: String,
    /// Its position among those of the document. A namespace may be as long as the document, so elements that share one
    /// hold no copy and are not compared by its text.
    pub(super) namespace: usize,
    pub(super) attributes: Vec<Attribute>,
    /// Neighbouring texts are one. White space between elements is left out if there is no other text among them.
    pub(super) content: Vec<Content>,
}

#[derive(Debug)]
pub(super) struct Attribute {
    pub(super) namespace: usize,
    /// Without the prefix.
    pub(super) name: String,
    pub(super) value: String,
}

#[derive(Debug)]
pub(super) enum Content {
    Text(String),
    Child(Element),
}

impl Element {
    pub(super) fn children(&self) -> impl Iterator<Item = &Self> {
        self.content.iter().filter_map(|content| match content {
            Content::Child(child) => Some(child),
            Content::Text(_) => None,
        })
    }

    /// Its text, if it is among no elements.
    pub(super) fn text(&self) -> &str {
        match self.content.as_slice() {
            [Content::Text(text)] => text,
            _ => "",
        }
    }

    /// Whether it has text among elements.
    pub(super) fn is_mixed(&self) -> bool {
        let is_text = |content: &Content| matches!(content, Content::Text(_));
        self.content.iter().any(is_text) && !self.content.iter().all(is_text)
    }
}
