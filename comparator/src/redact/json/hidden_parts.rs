//! Names what is hidden in a document, for whoever must put something else there.

use std::ops::Range;

use super::Document;
use crate::notation::index::{NodeKind, ROOT, Tree};

/// Parts that are named; with more, the whole body is said to be hidden.
const MAX_PARTS: usize = 256;
/// Longest name of a part: longer keys are data.
const MAX_NAME: usize = 512;

impl Document {
    /// `body/card/number` for each value that is hidden or has a hidden part; only `body` if a key is hidden, or if there
    /// are too many.
    pub(in crate::redact) fn hidden_parts(&self) -> Vec<String> {
        let mut parts = Vec::new();
        let tree = self.index.tree(&self.original);
        match self.walk(tree, &mut parts) {
            Some(()) => parts,
            None => vec!["body".to_owned()],
        }
    }

    /// The members of the object that have a hidden part; `None` if a key is hidden, or if it is no object.
    pub(in crate::redact) fn hidden_members(&self) -> Option<Vec<String>> {
        let tree = self.index.tree(&self.original);
        if tree.kind(ROOT) != NodeKind::Object {
            return None;
        }
        let mut scratch = Vec::new();
        let mut members = Vec::new();
        for key in tree.keys(ROOT) {
            if self.is_touched(&tree.span(key)) {
                return None;
            }
            if self.is_touched(&tree.span(key + 1)) {
                let name = tree.unescaped(key, &mut scratch);
                members.push(String::from_utf8_lossy(name).into_owned());
            }
        }
        Some(members)
    }

    fn walk(&self, tree: Tree<'_>, parts: &mut Vec<String>) -> Option<()> {
        let mut open = vec![(ROOT, "body".to_owned())];
        let mut scratch = Vec::new();
        while let Some((at, name)) = open.pop() {
            let span = tree.span(at);
            if !self.is_touched(&span) {
                continue;
            }
            let kind = tree.kind(at);
            let is_whole = self.is_covered(&span);
            match kind {
                NodeKind::Object if !is_whole => {
                    for key in tree.keys(at) {
                        if self.is_touched(&tree.span(key)) {
                            return None;
                        }
                        if !self.is_touched(&tree.span(key + 1)) {
                            continue;
                        }
                        let key_name = tree.unescaped(key, &mut scratch);
                        let key_name = String::from_utf8_lossy(key_name);
                        let key_name = key_name.replace('~', "~0").replace('/', "~1");
                        open.push((key + 1, format!("{name}/{key_name}")));
                    }
                }
                NodeKind::Array if !is_whole => {
                    let elements = tree.elements(at).enumerate();
                    let elements = elements.filter(|(_, at)| self.is_touched(&tree.span(*at)));
                    open.extend(elements.map(|(index, at)| (at, format!("{name}/{index}"))));
                }
                _ if parts.len() < MAX_PARTS && name.len() <= MAX_NAME => parts.push(name),
                _ => return None,
            }
        }
        parts.sort();
        Some(())
    }

    fn is_touched(&self, span: &Range<usize>) -> bool {
        let first = self
            .replacements
            .partition_point(|replacement| replacement.span.end <= span.start);
        let first = self.replacements.get(first);
        first.is_some_and(|replacement| replacement.span.start < span.end)
    }

    fn is_covered(&self, span: &Range<usize>) -> bool {
        self.replacements.iter().any(|replacement| {
            replacement.span.start <= span.start && span.end <= replacement.span.end
        })
    }
}
