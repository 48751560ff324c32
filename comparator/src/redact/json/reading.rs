//! A document with access to the names in it that tell what is secret.

use smallvec::SmallVec;

use crate::multipart;
use crate::notation::index::{NodeKind, Tree};
use crate::part_keys;
use crate::redact::Redactor;

/// A parsed document, and what is needed to read its names.
pub(super) struct NamedTree<'a> {
    pub(super) redactor: &'a Redactor,
    pub(super) tree: Tree<'a>,
    pub(super) scratch: Vec<u8>,
}

impl<'a> NamedTree<'a> {
    pub(super) fn new(redactor: &'a Redactor, tree: Tree<'a>) -> Self {
        Self {
            redactor,
            tree,
            scratch: Vec::new(),
        }
    }

    /// The content of a key or string, with escapes undone.
    pub(super) fn key_text(&mut self, key: u32) -> String {
        let content = self.tree.unescaped(key, &mut self.scratch);
        String::from_utf8_lossy(content).into_owned()
    }

    /// The keys of the header fields of a part of a multipart body.
    pub(super) fn fields_of_part(&self, part: u32) -> impl Iterator<Item = u32> {
        let tree = self.tree;
        let headers = tree
            .keys(part)
            .find(|key| self.tree.content(*key) == part_keys::HEADERS.as_bytes())
            .filter(|key| self.tree.kind(key + 1) == NodeKind::Object);
        headers
            .into_iter()
            .flat_map(move |headers| tree.keys(headers + 1))
    }

    /// Whether the header fields of a part tell its name, or that it needs none.
    pub(super) fn is_part_readable(&mut self, part: u32, form: bool) -> bool {
        let fields: SmallVec<[u32; 4]> = self.fields_of_part(part).collect();
        let mut named = !form;
        for key in fields {
            let disposition = self.tree.content(key) == b"content-disposition";
            let value = match self.tree.kind(key + 1) {
                NodeKind::String => self.key_text(key + 1),
                _ if disposition => return false,
                _ => continue,
            };
            if disposition {
                let mentions_secret = |text: &str| self.redactor.mentions_secret(text);
                named = multipart::is_readable(&value, form, mentions_secret);
                if !named {
                    return false;
                }
            } else if value.contains("form-data") {
                // The name of the header field is damaged.
                return false;
            }
        }
        named
    }
}
