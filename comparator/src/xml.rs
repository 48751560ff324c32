//! Reads XML as data, and converts two documents to JSON so that they are compared as such.
//!
//! An element is an object, or a string if it has text alone. Its attributes are `@name`, the text beside them is
//! `#text`, and children of one name are a list. Of text among elements, all is listed in order as `#mixed`. Where two
//! documents are in doubt, as with a list of one, both take the form that either needs; so a difference is told where it
//! is, not as one of form. Names come without their prefix, and the namespace is shown as `#namespace` where it differs.
//!
//! The order of children with different names counts, because readers by position exist: it is `#order`, only where it
//! differs. What a document says beside its data (comments, processing instructions, the declaration, the kind of
//! quotes, character references, CDATA, prefixes of names) does not count. What decides on its data does: the namespace of a
//! prefix within a value, and the DTD that a document names, which is `#doctype` where it differs.
//!
//! Refused: a DOCTYPE with declarations, and entities that are not XML's own five. Nothing is expanded or fetched, so
//! such a document cannot be read as data and is compared as text.

mod pair;
mod parse;
mod renamed;
mod shapes;
mod tree;

pub(crate) use pair::as_json;
pub(crate) use parse::parse;
pub(crate) use tree::{Document, XmlError};

/// What is wrong with a text that is not XML.
pub(crate) const INVALID: &str = "not well-formed XML";

#[cfg(test)]
mod tests;
