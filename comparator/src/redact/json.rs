//! Redacts JSON in place: secret values are replaced in the text, and everything else stays as received, including
//! number text, escapes and white space.
//!
//! Replacements are kept apart from the text, so the value of a finding is taken from the same redaction that the
//! sample shows. A container under a secret name is hidden whole: its keys, length and shape may tell as much as its
//! values.

mod columns;
mod declared;
mod hidden_parts;
mod naming;
mod reading;
mod replacement;
mod walk;

use std::borrow::Cow;
use std::ops::Range;

use super::Redactor;
use super::place::{Content, Place};
use crate::limits::MAX_DEPTH;
use crate::notation::index::{Index, Layout, NodeKind, ROOT, Tree};
use crate::rules::Scope;
use replacement::{Replacement, applied};
use walk::Walker;

/// JSON as it may be recorded.
pub(super) struct Document {
    original: Vec<u8>,
    index: Index,
    /// In order, without overlap.
    replacements: Vec<Replacement>,
    text: String,
}

/// A value in a document, as it may be recorded.
pub(super) enum FoundValue<'a> {
    /// Its text.
    Shown(String),
    /// A container around it is hidden; these are its own bytes.
    Hidden(Cow<'a, [u8]>),
}

impl Document {
    /// Parses and redacts `text`; returns it as the error if it is not JSON or nested too deep. If `aliased`, a secret
    /// may also occur under other names.
    pub(super) fn read(
        redactor: &Redactor,
        text: Vec<u8>,
        layout: Layout,
        content: Content,
        aliased: bool,
        scope: &Scope,
    ) -> Result<Self, Vec<u8>> {
        let mut index = Index::default();
        if index.read(&text, layout, MAX_DEPTH).is_err() {
            return Err(text);
        }
        let tree = index.tree(&text);
        let root = Place::root(content, redactor, scope);
        let replacements = Walker::of(redactor, scope, tree, 0, &root, aliased).replacements;
        let whole = 0..text.len();
        let shown = applied(&text, &whole, &replacements);
        Ok(Self {
            original: text,
            index,
            replacements,
            text: shown,
        })
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The value, or the values of a repeated key, that a JSON Pointer leads to; `None` if it leads nowhere or to
    /// several positions.
    pub(super) fn find(&self, pointer: &str) -> Option<FoundValue<'_>> {
        let tree = self.index.tree(&self.original);
        let mut at = vec![ROOT];
        for segment in pointer.split('/').skip(1) {
            let [only] = at.as_slice() else {
                return None;
            };
            at = children(tree, *only, segment);
        }
        let spans: Vec<Range<usize>> = at.iter().map(|at| tree.span(*at)).collect();
        let (first, last) = (spans.first()?, spans.last()?);
        let around = |span: &Range<usize>| {
            self.replacements.iter().any(|replacement| {
                let over = &replacement.span;
                over.start <= span.start && span.end <= over.end && over != span
            })
        };
        if spans.iter().any(around) {
            let bytes = match at.as_slice() {
                [only] => Cow::Borrowed(tree.raw(*only)),
                _ => Cow::Owned(self.original.get(first.start..last.end)?.to_vec()),
            };
            return Some(FoundValue::Hidden(bytes));
        }
        let texts: Vec<String> = spans
            .iter()
            .map(|span| applied(&self.original, span, &self.replacements))
            .collect();
        Some(FoundValue::Shown(texts.join(", ")))
    }
}

/// The values that a segment of a path leads to.
fn children(tree: Tree<'_>, at: u32, segment: &str) -> Vec<u32> {
    match tree.kind(at) {
        NodeKind::Array => {
            let index = segment.parse().ok();
            let element = index.and_then(|index| tree.elements(at).nth(index));
            element.into_iter().collect()
        }
        NodeKind::Object => {
            let name = segment.replace("~1", "/").replace("~0", "~");
            let mut scratch = Vec::new();
            tree.keys(at)
                .filter(|key| {
                    let content = tree.unescaped(*key, &mut scratch);
                    content == name.as_bytes() || String::from_utf8_lossy(content) == name
                })
                .map(|key| key + 1)
                .collect()
        }
        _ => Vec::new(),
    }
}
