//! A document in memory: names resolved, references undone, and only the white space that counts.

use std::rc::Rc;

use hashbrown::HashMap;
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
    /// The DTD that it names, which may give attributes values; empty if it names none.
    pub(super) dtd: String,
    /// What the prefixes of its values stand for.
    pub(super) bindings: Bindings,
    /// Bytes that it was read from.
    pub(super) bytes: usize,
}

/// What a prefix within a value stands for: the `s` of `<code>s:Client</code>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bound {
    /// Nothing declares it.
    Not,
    /// The position of a namespace among those of the document.
    To(usize),
}

/// What each prefix stands for that values of a document have; `None` if it stands for several namespaces. The service chooses
/// them, so the hash must not be predictable for it.
pub(super) type Bindings = HashMap<String, Option<Bound>, foldhash::fast::RandomState>;

/// That of `xsi:type`.
pub(super) const XSI_NAMESPACE: &str = "http://www.w3.org/2001/XMLSchema-instance";
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
    /// White space alone is text in it: `xml:space` says so, or a reference or CDATA stands for it.
    pub(super) keeps_space: bool,
    /// If it has text alone, and that has the form of a name with a prefix.
    pub(super) bound: Option<Bound>,
}

#[derive(Debug)]
pub(super) struct Attribute {
    pub(super) namespace: usize,
    /// Without the prefix.
    pub(super) name: String,
    pub(super) value: String,
    /// If the value has the form of a name with a prefix. Of `xsi:type` it is a name in any case.
    pub(super) bound: Option<Bound>,
}

impl Attribute {
    /// Whether it is `xsi:type`, whose value is the name of a type.
    pub(super) fn is_type(&self, namespaces: &[Rc<str>]) -> bool {
        let namespace = namespaces.get(self.namespace);
        self.name == "type" && namespace.is_some_and(|name| **name == *XSI_NAMESPACE)
    }
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
