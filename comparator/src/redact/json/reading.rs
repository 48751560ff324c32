//! A document that is being read, and whose names say what is secret in it.

use crate::notation::index::Tree;
use crate::redact::Redactor;

/// See the module.
pub(super) struct Reading<'a> {
    pub(super) redactor: &'a Redactor,
    pub(super) tree: Tree<'a>,
    pub(super) scratch: Vec<u8>,
}

impl<'a> Reading<'a> {
    pub(super) fn new(redactor: &'a Redactor, tree: Tree<'a>) -> Self {
        Self {
            redactor,
            tree,
            scratch: Vec::new(),
        }
    }

    /// The content of a key or string without escapes, as text.
    pub(super) fn key_text(&mut self, key: u32) -> String {
        let content = self.tree.unescaped(key, &mut self.scratch);
        String::from_utf8_lossy(content).into_owned()
    }
}
