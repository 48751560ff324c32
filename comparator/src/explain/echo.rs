//! Recognizes what the candidate only says because the mirror asked it: the header that marks a shadow, in the answer of
//! a service that repeats what it was sent.

use parity_schemas::exchange::SHADOW_HEADER;

use crate::notation::index::{NodeKind, Tree};

/// Longest text that is searched.
const MAX_TEXT_BYTES: usize = 64 * 1024;
/// What CGI and its heirs (WSGI, Rack, PHP) put before the name of a header.
const CGI: &[u8] = b"http-";

/// Whether a value is there because of the mark: its key is the header's name, or it is a text with that name.
pub(super) fn is_echo(tree: Tree<'_>, at: u32) -> bool {
    let mut scratch = Vec::new();
    // A key is always followed by its value, and so by nothing else.
    let key = at
        .checked_sub(1)
        .filter(|key| tree.kind(*key) == NodeKind::Key);
    key.is_some_and(|key| names_marker(tree.unescaped(key, &mut scratch)))
        || tree.kind(at) == NodeKind::String && has_marker(tree.unescaped(at, &mut scratch))
}

/// Whether this is the name of the header, in the spelling of headers or of CGI variables.
pub(crate) fn names_marker(name: &[u8]) -> bool {
    let longest = SHADOW_HEADER.len() + CGI.len();
    if name.len() < SHADOW_HEADER.len() || name.len() > longest {
        return false;
    }
    let name = plain(name);
    let name = name.strip_prefix(CGI).unwrap_or(&name);
    name == SHADOW_HEADER.as_bytes()
}

/// Whether two texts are the same but for the lines that name the header.
pub(super) fn is_all(one: &[u8], two: &[u8]) -> bool {
    if one.len().max(two.len()) > MAX_TEXT_BYTES || !(has_marker(one) || has_marker(two)) {
        return false;
    }
    let unmarked = |text: &'_ [u8]| -> Vec<u8> {
        let lines = text.split_inclusive(|byte| *byte == b'\n');
        lines
            .filter(|line| !has_marker(line))
            .flatten()
            .copied()
            .collect()
    };
    let (first, second) = (unmarked(one), unmarked(two));
    first == second && !first.is_empty()
}

fn has_marker(text: &[u8]) -> bool {
    text.len() >= SHADOW_HEADER.len()
        && text.len() <= MAX_TEXT_BYTES
        && text.windows(SHADOW_HEADER.len()).any(|part| {
            part[0].eq_ignore_ascii_case(&b'x') && plain(part) == SHADOW_HEADER.as_bytes()
        })
}

/// In lower case, with `-` for `_`.
fn plain(name: &[u8]) -> Vec<u8> {
    let plain = |byte: &u8| match byte {
        b'_' => b'-',
        other => other.to_ascii_lowercase(),
    };
    name.iter().map(plain).collect()
}
