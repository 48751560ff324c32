//! Recognizes values that one side put into something else: into a list, into a member of an object, into a text.

use parity_schemas::verdict::Explanation;

use super::content::{self, content, is_telling, same};
use super::{Value, localized};
use crate::limits::DEPTH;
use crate::notation::index::{Index, Layout, NodeKind, ROOT, Tree};

/// Relations between two kinds of which nothing simpler is known; the caller also tries them with the sides swapped.
pub(super) fn reshaped(one: &Value<'_>, two: &Value<'_>) -> Option<Explanation> {
    use NodeKind::{Array, Number, Object, String};
    if is_wrapped(one, two) {
        return Some(Explanation::Wrapped);
    }
    match (one.kind(), two.kind()) {
        (String, Array | Object) => {
            is_written_out(&one.text, two).then_some(Explanation::JsonInText)
        }
        (String, Number) => {
            localized::same_number(&one.text, two.content()).then_some(Explanation::Localized)
        }
        (Array, Object) => is_member(one, two).then_some(Explanation::Moved),
        _ => None,
    }
}

/// Whether two texts hold the same JSON document, an object or a list.
pub(crate) fn same_documents(one: &[u8], two: &[u8]) -> bool {
    let (mut first, mut second) = (Index::default(), Index::default());
    match (document(one, &mut first), document(two, &mut second)) {
        (Some(one), Some(two)) => one == two,
        _ => false,
    }
}

/// Whether two values are the same JSON document, each as it is or in a text.
pub(crate) fn same_json(one: Tree<'_>, at: u32, two: Tree<'_>, other: u32) -> bool {
    let (one, two) = (Value::new(one, at), Value::new(two, other));
    match (one.kind(), two.kind()) {
        (NodeKind::String, NodeKind::String) => same_documents(&one.text, &two.text),
        (NodeKind::String, _) => is_written_out(&one.text, &two),
        (_, NodeKind::String) => is_written_out(&two.text, &one),
        _ => false,
    }
}

/// `x` and `[x]`.
fn is_wrapped(one: &Value<'_>, list: &Value<'_>) -> bool {
    if list.kind() != NodeKind::Array || one.kind() == NodeKind::Array {
        return false;
    }
    let mut elements = list.tree.elements(list.at);
    match (elements.next(), elements.next()) {
        (Some(only), None) => same(one.tree, one.at, list.tree, only),
        _ => false,
    }
}

/// Whether a text is a value, written out as JSON.
fn is_written_out(text: &[u8], value: &Value<'_>) -> bool {
    let mut index = Index::default();
    document(text, &mut index).is_some_and(|held| content(value.tree, value.at) == Some(held))
}

/// `[…]` and `{"items":[…],"total":2}`: a list, and an object of which exactly one member is that list.
fn is_member(list: &Value<'_>, object: &Value<'_>) -> bool {
    is_telling(list.tree, list.at)
        && object
            .tree
            .keys(object.at)
            .filter(|key| same(list.tree, list.at, object.tree, key + 1))
            .count()
            == 1
}

/// The content of the object or list that a text holds. A scalar in a text is told by `type_only`.
fn document(text: &[u8], index: &mut Index) -> Option<Vec<u8>> {
    if text.len() > content::MAX_BYTES || !matches!(text.trim_ascii_start(), [b'{' | b'[', ..]) {
        return None;
    }
    let tree = index.read(text, Layout::Document, DEPTH).ok()?;
    content(tree, ROOT)
}
