//! What a value is, whatever its spelling: a text that two values share exactly if they are equal without any rule.
//!
//! Members are sorted by key, numbers are written as exact decimals, strings without escapes. It is only made of small
//! values: of large ones it would cost more than it tells.

use crate::notation::index::{NodeKind, Tree};
use crate::notation::number::Decimal;

/// Largest value whose content is made, in bytes of JSON.
pub(crate) const MAX_BYTES: usize = 64 * 1024;

/// The content of a value; `None` if it is larger than [`MAX_BYTES`], or repeats a key: which of the values counts then
/// depends on the parser.
pub(crate) fn content(tree: Tree<'_>, at: u32) -> Option<Vec<u8>> {
    if tree.span(at).len() > MAX_BYTES {
        return None;
    }
    let mut out = Vec::new();
    push(tree, at, &mut out)?;
    Some(out)
}

/// Whether two values are equal; false if one is too large to tell.
pub(super) fn same(one: Tree<'_>, at: u32, two: Tree<'_>, other: u32) -> bool {
    one.kind(at) == two.kind(other)
        && content(one, at).is_some_and(|one| content(two, other) == Some(one))
}

/// Whether a value is so rare that another field has it by chance seldom only: neither empty nor a word of a few letters,
/// nor a number of one or two digits.
pub(crate) fn is_telling(tree: Tree<'_>, at: u32) -> bool {
    /// Countries and currencies have up to three letters.
    const MIN_TEXT_BYTES: usize = 4;
    const MIN_DIGITS: usize = 3;
    /// What stands for bytes in a multipart body; a text may read the same.
    const DIGEST: &[u8] = b"sha256:";
    match tree.kind(at) {
        NodeKind::Null | NodeKind::True | NodeKind::False => false,
        NodeKind::Number => {
            let digits = tree.content(at).iter().filter(|byte| byte.is_ascii_digit());
            digits.count() >= MIN_DIGITS
        }
        NodeKind::String | NodeKind::Key => {
            let text = tree.content(at);
            text.len() >= MIN_TEXT_BYTES && !text.starts_with(DIGEST)
        }
        NodeKind::Array => tree.elements(at).any(|element| is_telling(tree, element)),
        NodeKind::Object => tree.keys(at).any(|key| is_telling(tree, key + 1)),
    }
}

/// Lengths stand before texts, so that no two values have one content.
fn push(tree: Tree<'_>, at: u32, out: &mut Vec<u8>) -> Option<()> {
    let kind = tree.kind(at);
    out.push(kind as u8);
    match kind {
        NodeKind::Null | NodeKind::True | NodeKind::False => {}
        NodeKind::Number => {
            let lexeme = tree.content(at);
            match Decimal::parse(lexeme) {
                Some(number) => push_text(&number.canonical(), out),
                None => push_text(lexeme, out),
            }
        }
        NodeKind::String | NodeKind::Key => {
            push_text(tree.unescaped(at, &mut Vec::new()), out);
        }
        NodeKind::Array => {
            for element in tree.elements(at) {
                push(tree, element, out)?;
            }
            out.push(u8::MAX);
        }
        NodeKind::Object => {
            let mut members: Vec<[Vec<u8>; 2]> = Vec::new();
            for key in tree.keys(at) {
                let mut member = [Vec::new(), Vec::new()];
                push(tree, key, &mut member[0])?;
                push(tree, key + 1, &mut member[1])?;
                members.push(member);
            }
            members.sort_unstable();
            if members.windows(2).any(|pair| pair[0][0] == pair[1][0]) {
                return None;
            }
            out.extend(members.into_iter().flatten().flatten());
            out.push(u8::MAX);
        }
    }
    Some(())
}

fn push_text(text: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(text.len() as u64).to_le_bytes());
    out.extend_from_slice(text);
}
